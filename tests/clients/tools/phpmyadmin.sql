-- What phpMyAdmin (5.2) asks: at login, in its navigation, its pages of a database, a table, accounts, status and variables.
SELECT @@version, @@version_comment; -- rows
SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci';
SET collation_connection = 'utf8mb4_unicode_ci';
SET lc_messages = 'en_US';
SELECT CURRENT_USER(); -- rows
SELECT CURRENT_ROLE(); -- rows
SELECT 1 FROM mysql.user LIMIT 1; -- rows
SHOW GRANTS; -- rows
SELECT `PRIVILEGE_TYPE` FROM `INFORMATION_SCHEMA`.`USER_PRIVILEGES` WHERE GRANTEE='''root''@''%''' AND PRIVILEGE_TYPE='CREATE USER' LIMIT 1; -- rows
SELECT `PRIVILEGE_TYPE` FROM (SELECT `GRANTEE`, `PRIVILEGE_TYPE`, `IS_GRANTABLE` FROM `INFORMATION_SCHEMA`.`COLUMN_PRIVILEGES` UNION SELECT `GRANTEE`, `PRIVILEGE_TYPE`, `IS_GRANTABLE` FROM `INFORMATION_SCHEMA`.`TABLE_PRIVILEGES` UNION SELECT `GRANTEE`, `PRIVILEGE_TYPE`, `IS_GRANTABLE` FROM `INFORMATION_SCHEMA`.`SCHEMA_PRIVILEGES` UNION SELECT `GRANTEE`, `PRIVILEGE_TYPE`, `IS_GRANTABLE` FROM `INFORMATION_SCHEMA`.`USER_PRIVILEGES`) t WHERE `IS_GRANTABLE` = 'YES' AND '''root''@''%''' LIKE GRANTEE LIMIT 1; -- rows
SELECT @@lower_case_table_names; -- rows
SELECT `SCHEMA_NAME` FROM `INFORMATION_SCHEMA`.`SCHEMATA`; -- rows
SELECT `SCHEMA_NAME` FROM `INFORMATION_SCHEMA`.`SCHEMATA`, (SELECT DB_first_level FROM (SELECT DISTINCT SUBSTRING_INDEX(SCHEMA_NAME, '_', 1) DB_first_level FROM INFORMATION_SCHEMA.SCHEMATA WHERE TRUE) t ORDER BY DB_first_level ASC LIMIT 0, 100) t2 WHERE TRUE AND 1 = LOCATE(CONCAT(DB_first_level, '_'), CONCAT(SCHEMA_NAME, '_')) ORDER BY SCHEMA_NAME ASC; -- rows
SELECT COUNT(*) FROM (SELECT DISTINCT SUBSTRING_INDEX(SCHEMA_NAME, '_', 1) DB_first_level FROM INFORMATION_SCHEMA.SCHEMATA WHERE TRUE) t; -- rows
SHOW SESSION VARIABLES LIKE 'FOREIGN_KEY_CHECKS'; -- rows
SELECT @@storage_engine; -- error 1193
SHOW VARIABLES WHERE Variable_name LIKE 'character_set_server' OR Variable_name LIKE 'collation_server'; -- rows
SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'clients_tools' LIMIT 1; -- rows
SHOW TABLES FROM `clients_tools`; -- rows
SHOW FULL TABLES FROM `clients_tools` WHERE `Table_type` IN ('BASE TABLE', 'SYSTEM VERSIONED'); -- rows
SHOW FULL TABLES FROM `clients_tools` WHERE `Table_type` NOT IN ('BASE TABLE', 'SYSTEM VERSIONED'); -- rows
SELECT *, `TABLE_SCHEMA` AS `Db`, `TABLE_NAME` AS `Name`, `TABLE_TYPE` AS `TABLE_TYPE`, `ENGINE` AS `Engine`, `ENGINE` AS `Type`, `VERSION` AS `Version`, `ROW_FORMAT` AS `Row_format`, `TABLE_ROWS` AS `Rows`, `AVG_ROW_LENGTH` AS `Avg_row_length`, `DATA_LENGTH` AS `Data_length`, `MAX_DATA_LENGTH` AS `Max_data_length`, `INDEX_LENGTH` AS `Index_length`, `DATA_FREE` AS `Data_free`, `AUTO_INCREMENT` AS `Auto_increment`, `CREATE_TIME` AS `Create_time`, `UPDATE_TIME` AS `Update_time`, `CHECK_TIME` AS `Check_time`, `TABLE_COLLATION` AS `Collation`, `CHECKSUM` AS `Checksum`, `CREATE_OPTIONS` AS `Create_options`, `TABLE_COMMENT` AS `Comment` FROM `information_schema`.`TABLES` t WHERE `TABLE_SCHEMA` IN ('clients_tools') ORDER BY Name ASC; -- rows
SELECT *, CAST(BIN_NAME AS CHAR CHARACTER SET utf8) AS SCHEMA_NAME FROM (SELECT BINARY s.SCHEMA_NAME AS BIN_NAME, s.DEFAULT_COLLATION_NAME, COUNT(t.TABLE_SCHEMA) AS SCHEMA_TABLES, SUM(t.TABLE_ROWS) AS SCHEMA_TABLE_ROWS, SUM(t.DATA_LENGTH) AS SCHEMA_DATA_LENGTH, SUM(t.MAX_DATA_LENGTH) AS SCHEMA_MAX_DATA_LENGTH, SUM(t.INDEX_LENGTH) AS SCHEMA_INDEX_LENGTH, SUM(t.DATA_LENGTH + t.INDEX_LENGTH) AS SCHEMA_LENGTH, SUM(IF(t.ENGINE <> 'InnoDB', t.DATA_FREE, 0)) AS SCHEMA_DATA_FREE FROM `information_schema`.SCHEMATA s LEFT JOIN `information_schema`.TABLES t ON BINARY t.TABLE_SCHEMA = BINARY s.SCHEMA_NAME GROUP BY BINARY s.SCHEMA_NAME, s.DEFAULT_COLLATION_NAME ORDER BY BINARY `SCHEMA_NAME` ASC LIMIT 0, 250) a; -- rows
SELECT `ROUTINE_NAME` AS `name` FROM `INFORMATION_SCHEMA`.`ROUTINES` WHERE `ROUTINE_SCHEMA` COLLATE utf8_bin='clients_tools' AND `ROUTINE_TYPE`='FUNCTION' ORDER BY `ROUTINE_NAME` ASC;
SELECT `EVENT_NAME` AS `name` FROM `INFORMATION_SCHEMA`.`EVENTS` WHERE `EVENT_SCHEMA` COLLATE utf8_bin='clients_tools' ORDER BY `EVENT_NAME` ASC;
SELECT TRIGGER_SCHEMA, TRIGGER_NAME, EVENT_MANIPULATION, EVENT_OBJECT_TABLE, ACTION_TIMING, ACTION_STATEMENT, EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, DEFINER FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA COLLATE utf8_bin= 'clients_tools' AND EVENT_OBJECT_TABLE COLLATE utf8_bin = 'child';
SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = 'clients_tools' AND TABLE_NAME = 'v' AND IS_UPDATABLE = 'YES'; -- rows
SHOW INDEXES FROM `clients_tools`.`child`; -- rows
SHOW FULL COLUMNS FROM `clients_tools`.`child`; -- rows
SHOW COLUMNS FROM `clients_tools`.`child`; -- rows
SHOW CREATE TABLE `clients_tools`.`child`; -- rows
SELECT `CHECK_CLAUSE` FROM `INFORMATION_SCHEMA`.`CHECK_CONSTRAINTS` LIMIT 1; -- rows
SELECT * FROM `clients_tools`.`parts` ORDER BY `parts`.`a` ASC LIMIT 0, 25; -- rows
SELECT COUNT(*) FROM `clients_tools`.`parts`; -- rows
SELECT SQL_CALC_FOUND_ROWS * FROM `clients_tools`.`parts` LIMIT 1; -- rows
SELECT FOUND_ROWS() AS count; -- rows
SET PROFILING = 1; -- error 1235
SELECT `PARTITION_NAME` FROM `information_schema`.`PARTITIONS` WHERE `TABLE_SCHEMA` = 'clients_tools' AND `TABLE_NAME` = 'parts'; -- rows
SELECT DISTINCT `PARTITION_METHOD` FROM `information_schema`.`PARTITIONS` WHERE `TABLE_SCHEMA` = 'clients_tools' AND `TABLE_NAME` = 'parts' LIMIT 1; -- rows
SELECT `column_name`, `table_name`, `table_schema`, `referenced_column_name` FROM `information_schema`.`key_column_usage` WHERE `referenced_table_name` = 'parent' AND `referenced_table_schema` = 'clients_tools'; -- rows
SHOW STORAGE ENGINES; -- rows
SHOW PLUGINS; -- rows
SELECT `PLUGIN_NAME`, `PLUGIN_DESCRIPTION` FROM `information_schema`.`PLUGINS` WHERE `PLUGIN_TYPE` = 'AUTHENTICATION'; -- rows
SELECT * FROM information_schema.PLUGINS ORDER BY PLUGIN_TYPE, PLUGIN_NAME; -- rows
SELECT `User`, `Host` FROM `mysql`.`user`; -- rows
SELECT *, IF(`authentication_string` = '', 'N', 'Y') AS `Password` FROM `mysql`.`user` ORDER BY `User` ASC, `Host` ASC; -- rows
SELECT * FROM `mysql`.`user` WHERE `User` = 'root' AND `Host` = '%'; -- rows
SELECT `plugin` FROM `mysql`.`user` WHERE `User` = 'root' AND `Host` = '%' LIMIT 1; -- rows
SELECT * FROM `mysql`.`db` WHERE `Db` = 'clients_tools';
SELECT `Table_name`, `Column_name`, `Column_priv` FROM `mysql`.`columns_priv` WHERE `User` = 'root';
SELECT * FROM `mysql`.`procs_priv` WHERE `User` = 'root';
SHOW GRANTS FOR 'root'@'%'; -- rows
SHOW CREATE USER 'root'@'%'; -- rows
SHOW GLOBAL STATUS; -- rows
SHOW GLOBAL VARIABLES; -- rows
SHOW SESSION VARIABLES; -- rows
SHOW FULL PROCESSLIST; -- rows
SHOW PROCESSLIST; -- rows
SHOW BINARY LOGS; -- error 1381
SHOW MASTER STATUS;
SHOW SLAVE STATUS;
SHOW SLAVE HOSTS;
SHOW MASTER LOGS; -- error 1381
SHOW CHARACTER SET; -- rows
SHOW COLLATION; -- rows
SELECT `CHARACTER_SET_NAME` AS `Charset`, `DEFAULT_COLLATE_NAME` AS `Default collation`, `DESCRIPTION` AS `Description`, `MAXLEN` AS `Maxlen` FROM `information_schema`.`CHARACTER_SETS`; -- rows
SELECT `COLLATION_NAME` AS `Collation`, `CHARACTER_SET_NAME` AS `Charset`, `ID` AS `Id`, `IS_DEFAULT` AS `Default`, `IS_COMPILED` AS `Compiled`, `SORTLEN` AS `Sortlen` FROM `information_schema`.`COLLATIONS`; -- rows
SELECT * FROM `information_schema`.`PROCESSLIST`; -- rows
SELECT UNIX_TIMESTAMP() - 10; -- rows
SHOW TABLE STATUS FROM `clients_tools` WHERE `Name` LIKE 'parts%'; -- rows
SHOW CREATE DATABASE `clients_tools`; -- rows
EXPLAIN SELECT * FROM `clients_tools`.`parts`; -- rows
SHOW WARNINGS;
SELECT @@global.max_allowed_packet; -- rows
SHOW VARIABLES LIKE 'tx_isolation';
SHOW VARIABLES LIKE 'datadir'; -- rows
