-- A database with every type, key and clause that a dump has to carry. Without generated columns: mariadb-dump writes values for them, which
-- MySQL refuses as well (3105).
CREATE TABLE `every type` (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  a TINYINT, b SMALLINT UNSIGNED, c MEDIUMINT, d INT(7) ZEROFILL, e BOOL, f BIT(11), y YEAR,
  n DECIMAL(30, 10), x FLOAT, z DOUBLE, u FLOAT(7, 3),
  s CHAR(9), v VARCHAR(200) COLLATE utf8mb4_bin, l VARCHAR(9) CHARACTER SET latin1, t TEXT, mt MEDIUMTEXT,
  bi BINARY(4), vb VARBINARY(300), bl BLOB, lb LONGBLOB,
  da DATE, ti TIME(2), dt DATETIME(6), ts TIMESTAMP(3) NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP(3),
  en ENUM('one', 'it''s', 'z,z') NOT NULL DEFAULT 'one', se SET('r', 'w', 'x'), j JSON,
  w INT DEFAULT (1 + 1), i INT INVISIBLE DEFAULT 5,
  PRIMARY KEY (id), UNIQUE KEY uq (v(20), a DESC), KEY `by ``en` (en, se), KEY fn ((LOWER(s))), CONSTRAINT `c k` CHECK (a < 100)
) AUTO_INCREMENT = 100 COMMENT 'it''s one';
INSERT INTO `every type` (a, b, c, d, e, f, y, n, x, z, u, s, v, l, t, mt, bi, vb, bl, lb, da, ti, dt, ts, en, se, j) VALUES
  (-128, 65535, -8388608, 42, TRUE, b'10000000001', 2155, '-12345678901234567890.0123456789', 1.5e-20, -1.7976931348623157e308, 1234.567,
   'trail  ', 'é🦀\\''"\n\t\0', 'café', REPEAT('long ', 5000), 'm', x'00ff', x'5c27220a0d1a00', x'fffe00', REPEAT('b', 70000),
   '0001-01-01', '-838:59:58.99', '9999-12-31 23:59:59.999999', '2024-02-29 12:00:00.125', 'it''s', 'r,x', '{"k": [1, 2.5, null, "é"]}'),
  (NULL, 0, 0, 0, FALSE, b'0', 1901, 0, 0, 0, 0, '', '', '', '', '', '', '', '', '', NULL, '00:00:00', '1000-01-01 00:00:00', NULL, 'z,z', '', 'null');
CREATE TABLE parts (a INT, b DATE NOT NULL, PRIMARY KEY (a, b)) PARTITION BY RANGE COLUMNS (b) (PARTITION p0 VALUES LESS THAN ('2024-01-01'), PARTITION p1 VALUES LESS THAN (MAXVALUE));
INSERT INTO parts VALUES (1, '2023-05-05'), (2, '2024-05-05'), (3, '2023-12-31');
CREATE TABLE parent (id INT PRIMARY KEY, `key` INT, UNIQUE (`key`));
CREATE TABLE child (id INT PRIMARY KEY, p INT, k INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE SET NULL, CONSTRAINT named FOREIGN KEY (k) REFERENCES parent (`key`));
INSERT INTO parent VALUES (1, 10), (2, 20);
INSERT INTO child VALUES (1, 1, 20), (2, NULL, NULL);
CREATE TABLE without_key (a INT, b TEXT);
INSERT INTO without_key VALUES (1, 'twice'), (1, 'twice');
CREATE VIEW v AS SELECT c.id, p.`key` FROM child c JOIN parent p ON p.id = c.p;
CREATE VIEW checked AS SELECT id, `key` FROM parent WHERE id < 50 WITH CASCADED CHECK OPTION;
CREATE VIEW `on v` AS SELECT COUNT(*) AS n FROM v;
