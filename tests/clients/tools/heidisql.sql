-- What HeidiSQL (12) asks: dbstructures.mysql.pas, dbconnection.pas, main.pas.
SELECT 1; -- rows
SELECT CONNECTION_ID(); -- rows
SET NAMES utf8mb4;
SHOW VARIABLES; -- rows
SHOW /*!50002 GLOBAL */ STATUS; -- rows
SHOW /*!50002 GLOBAL */ STATUS LIKE 'Com\_%'; -- rows
SELECT NOW(); -- rows
SELECT CURRENT_USER(); -- rows
SHOW DATABASES; -- rows
SHOW OPEN TABLES FROM `clients_tools` WHERE in_use!=0;
USE `clients_tools`;
SELECT `DEFAULT_COLLATION_NAME` FROM `information_schema`.`SCHEMATA` WHERE `SCHEMA_NAME`='clients_tools'; -- rows
SHOW TABLE STATUS FROM `clients_tools`; -- rows
SHOW FUNCTION STATUS WHERE `Db`='clients_tools';
SHOW PROCEDURE STATUS WHERE `Db`='clients_tools';
SHOW TRIGGERS FROM `clients_tools`;
SELECT *, EVENT_SCHEMA AS `Db`, EVENT_NAME AS `Name` FROM INFORMATION_SCHEMA.`EVENTS` WHERE EVENT_SCHEMA='clients_tools';
SHOW ENGINES; -- rows
SHOW COLLATION; -- rows
SHOW CHARSET; -- rows
SELECT * FROM `information_schema`.`COLUMNS` WHERE TABLE_SCHEMA='clients_tools' AND TABLE_NAME='child' ORDER BY ORDINAL_POSITION; -- rows
SHOW INDEXES FROM `child` FROM `clients_tools`; -- rows
SELECT * FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA='clients_tools' AND TABLE_NAME='child' AND REFERENCED_TABLE_NAME IS NOT NULL; -- rows
SELECT * FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA='clients_tools' AND TABLE_NAME='child' AND REFERENCED_TABLE_NAME IS NOT NULL; -- rows
SELECT tc.CONSTRAINT_NAME, cc.CHECK_CLAUSE FROM `information_schema`.`CHECK_CONSTRAINTS` AS cc, `information_schema`.`TABLE_CONSTRAINTS` AS tc WHERE tc.CONSTRAINT_SCHEMA='clients_tools' AND tc.TABLE_NAME='every type' AND tc.CONSTRAINT_TYPE='CHECK' AND tc.CONSTRAINT_SCHEMA=cc.CONSTRAINT_SCHEMA AND tc.CONSTRAINT_NAME=cc.CONSTRAINT_NAME; -- rows
SELECT DISTINCT k.TABLE_SCHEMA, k.TABLE_NAME FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE k WHERE REFERENCED_TABLE_SCHEMA = 'clients_tools' AND REFERENCED_TABLE_NAME = 'parent'; -- rows
SHOW CREATE TABLE `clients_tools`.`child`; -- rows
SELECT CAST(LOAD_FILE(CONCAT(IFNULL(@@GLOBAL.datadir, CONCAT(@@GLOBAL.basedir, 'data/')), 'clients_tools/v.frm')) AS CHAR CHARACTER SET utf8); -- 1 rows
SHOW CREATE VIEW `clients_tools`.`v`; -- rows
SELECT `a`, `b` FROM `clients_tools`.`parts` LIMIT 1000; -- rows
SHOW TABLE STATUS FROM `clients_tools` LIKE 'parts'; -- rows
SELECT `id`, LEFT(`t`, 256) FROM `clients_tools`.`every type` ORDER BY `id` ASC LIMIT 1000; -- rows
SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0;
SET FOREIGN_KEY_CHECKS=IFNULL(@OLD_FOREIGN_KEY_CHECKS, 1);
SELECT `User`, `Host`, `authentication_string` AS `Password` FROM `mysql`.`user`; -- rows
SELECT PLUGIN_NAME FROM INFORMATION_SCHEMA.PLUGINS WHERE PLUGIN_TYPE='AUTHENTICATION' AND PLUGIN_STATUS='ACTIVE'; -- rows
SHOW GRANTS FOR 'root'@'%'; -- rows
SHOW PRIVILEGES; -- rows
SHOW FULL PROCESSLIST; -- rows
SELECT `ID`, `USER`, `HOST`, `DB`, `COMMAND`, `TIME`, `STATE`, LEFT(`INFO`, 51200) AS `Info` FROM `information_schema`.`PROCESSLIST`; -- rows
EXPLAIN SELECT * FROM child; -- rows
EXPLAIN FORMAT=TRADITIONAL SELECT * FROM child; -- rows
SHOW WARNINGS;
SHOW SESSION VARIABLES LIKE 'sql_mode'; -- rows
CHECK TABLE `clients_tools`.`child` QUICK; -- rows
ANALYZE TABLE `clients_tools`.`child`; -- rows
FLUSH PRIVILEGES;
