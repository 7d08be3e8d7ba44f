-- A table, what it must hold in the end, and a procedure that changes both by random statements until `stop` has a row. A transaction
-- that fails changes neither.
DROP DATABASE IF EXISTS pt_load; CREATE DATABASE pt_load; USE pt_load;
CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, k INT, a INT, b VARCHAR(60) CHARACTER SET utf8mb4, UNIQUE KEY k (k), KEY a (a));
INSERT INTO t (k, a, b) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT x.i * 900 + y.i, y.i % 97, CONCAT('row ', x.i, ' ', y.i) FROM n x, n y WHERE x.i <= 40;
CREATE TABLE expected LIKE t; INSERT INTO expected SELECT * FROM t;
CREATE TABLE stop (n INT);
CREATE TABLE writers (seed INT PRIMARY KEY, done INT, failed INT);
DELIMITER $$
CREATE PROCEDURE writer(IN seed BIGINT)
BEGIN
  DECLARE x BIGINT UNSIGNED DEFAULT seed;
  DECLARE i, failed, target, unique_key INT DEFAULT 0;
  INSERT INTO writers VALUES (seed, 0, 0);
  WHILE NOT EXISTS (SELECT 1 FROM stop) DO
    SET x = (x * 1103515245 + 12345) % 2147483648;
    SET target = (x DIV 64) % 37000, unique_key = 900 + (x DIV 8) % 37000, i = i + 1;
    BEGIN
      DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; SET failed = failed + 1; END;
      START TRANSACTION;
      CASE (x DIV 1048576) % 8
      WHEN 0 THEN
        INSERT IGNORE INTO t (id, k, a, b) VALUES (target, unique_key, x % 97, CONCAT('inserted ', x));
        INSERT IGNORE INTO expected (id, k, a, b) VALUES (target, unique_key, x % 97, CONCAT('inserted ', x));
      WHEN 1 THEN
        UPDATE t SET a = a + 1, b = CONCAT('updated ', x) WHERE id = target;
        UPDATE expected SET a = a + 1, b = CONCAT('updated ', x) WHERE id = target;
      WHEN 2 THEN
        DELETE FROM t WHERE id = target;
        DELETE FROM expected WHERE id = target;
      WHEN 3 THEN
        REPLACE INTO t (id, k, a, b) VALUES (target, unique_key, x % 97, CONCAT('replaced ', x));
        REPLACE INTO expected (id, k, a, b) VALUES (target, unique_key, x % 97, CONCAT('replaced ', x));
      WHEN 4 THEN
        INSERT INTO t (id, k, a, b) VALUES (target, unique_key, 1, 'duplicate') ON DUPLICATE KEY UPDATE a = a + 2, b = CONCAT('again ', x);
        INSERT INTO expected (id, k, a, b) VALUES (target, unique_key, 1, 'duplicate') ON DUPLICATE KEY UPDATE a = a + 2, b = CONCAT('again ', x);
      WHEN 5 THEN
        UPDATE t SET id = target + 40000 + seed * 50000 WHERE id = target;
        UPDATE expected SET id = target + 40000 + seed * 50000 WHERE id = target;
      WHEN 6 THEN
        UPDATE t SET b = CONCAT('range ', x) WHERE id BETWEEN target AND target + 5;
        UPDATE expected SET b = CONCAT('range ', x) WHERE id BETWEEN target AND target + 5;
      ELSE
        UPDATE t SET k = unique_key WHERE id = target;
        UPDATE expected SET k = unique_key WHERE id = target;
        IF x % 2 THEN ROLLBACK; END IF;
      END CASE;
      COMMIT;
    END;
    IF i % 50 = 0 THEN UPDATE writers SET done = i WHERE writers.seed = seed; END IF;
  END WHILE;
  UPDATE writers w SET w.done = i, w.failed = failed WHERE w.seed = seed;
END$$
DELIMITER ;
