-- Stored programs of every kind, with what a dump may get wrong: quotes, comments, modes, character sets, definers, attributes, and
-- triggers whose order is not that of their names. They work in MySQL, MariaDB and Leafline.
SET NAMES utf8mb4;
CREATE TABLE watched (id INT PRIMARY KEY AUTO_INCREMENT, a INT, note VARCHAR(200));
CREATE TABLE log (n INT PRIMARY KEY AUTO_INCREMENT, what VARCHAR(200));
INSERT INTO watched (a, note) VALUES (1, 'before triggers');
DELIMITER $$
CREATE FUNCTION plain(x INT, y VARCHAR(20) CHARACTER SET latin1) RETURNS VARCHAR(40) CHARACTER SET utf8mb4 DETERMINISTIC
  COMMENT 'it''s a "function"' RETURN CONCAT(x, ' of ', y)$$
CREATE FUNCTION counted(x INT) RETURNS BIGINT UNSIGNED READS SQL DATA SQL SECURITY INVOKER
BEGIN
  -- a comment; with a semicolon, and 'a quote
  DECLARE n BIGINT UNSIGNED DEFAULT 0;
  /* another ; one $ */
  SELECT COUNT(*) INTO n FROM watched WHERE a > x; # and the third kind ; '
  RETURN n;
END$$
CREATE PROCEDURE `a ``quoted`` name`(IN `in` INT, OUT `out` VARCHAR(50), INOUT both_ways DECIMAL(10, 3))
BEGIN
  DECLARE CONTINUE HANDLER FOR SQLSTATE '23000', 1062 SET `out` = 'duplicate\\key';
  SET `out` = 'fine; \'quoted\' é🦀', both_ways = both_ways * 2;
  INSERT INTO watched (id, a) VALUES (`in`, 5);
END$$
CREATE PROCEDURE results(IN most INT)
  MODIFIES SQL DATA
label: BEGIN
  DECLARE i, v INT DEFAULT 0;
  DECLARE c CURSOR FOR SELECT a FROM watched ORDER BY id;
  DECLARE EXIT HANDLER FOR NOT FOUND BEGIN END;
  SELECT 'first' AS f;
  OPEN c;
  WHILE i < most DO
    FETCH c INTO v;
    SET i = i + 1;
    IF i = 2 THEN LEAVE label; END IF;
    CASE v WHEN 1 THEN SELECT 'one' AS o; ELSE BEGIN END; END CASE;
  END WHILE;
END$$
CREATE DEFINER=`nobody`@`nowhere` PROCEDURE by_another() SELECT CURRENT_USER() AS u$$
CREATE TRIGGER z_first BEFORE INSERT ON watched FOR EACH ROW SET NEW.note = CONCAT_WS(',', NEW.note, 'z;first')$$
CREATE TRIGGER a_second BEFORE INSERT ON watched FOR EACH ROW FOLLOWS z_first SET NEW.note = CONCAT_WS(',', NEW.note, 'a''second')$$
CREATE TRIGGER m_between BEFORE INSERT ON watched FOR EACH ROW PRECEDES a_second
BEGIN
  IF NEW.a > 1000 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'too much';
  END IF;
  SET NEW.note = CONCAT_WS(',', NEW.note, 'm_between');
END$$
CREATE TRIGGER logs AFTER UPDATE ON watched FOR EACH ROW INSERT INTO log (what) VALUES (CONCAT(OLD.a, ' -> ', NEW.a))$$
SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES'$$
CREATE FUNCTION ansi() RETURNS VARCHAR(30) NO SQL RETURN '\' || 'n' || 'ansi'$$
CREATE TRIGGER "in ansi" AFTER DELETE ON watched FOR EACH ROW INSERT INTO "log" (what) VALUES ('gone \' || OLD.id)$$
SET sql_mode = DEFAULT$$
SET NAMES latin1$$
CREATE FUNCTION in_latin1() RETURNS VARCHAR(30) CHARACTER SET latin1 NO SQL RETURN 'other characters in latin1: é'$$
SET NAMES utf8mb4$$
CREATE EVENT `every day` ON SCHEDULE EVERY '1:30' HOUR_MINUTE STARTS '2037-01-01 00:00:00' ENDS '2037-12-31 23:59:59'
  ON COMPLETION PRESERVE DISABLE COMMENT 'it''s daily' DO BEGIN INSERT INTO log (what) VALUES ('day;'); END$$
CREATE EVENT once ON SCHEDULE AT '2037-06-01 12:00:00' DO DELETE FROM log WHERE what = 'x'$$
DELIMITER ;
