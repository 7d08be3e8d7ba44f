-- What DBeaver (25) asks through Connector/J: at connect, for the navigator, the editors of a table, users, sessions and plans.
SELECT @@session.auto_increment_increment AS auto_increment_increment, @@character_set_client AS character_set_client, @@character_set_connection AS character_set_connection, @@character_set_results AS character_set_results, @@character_set_server AS character_set_server, @@collation_server AS collation_server, @@collation_connection AS collation_connection, @@init_connect AS init_connect, @@interactive_timeout AS interactive_timeout, @@license AS license, @@lower_case_table_names AS lower_case_table_names, @@max_allowed_packet AS max_allowed_packet, @@net_write_timeout AS net_write_timeout, @@performance_schema AS performance_schema, @@sql_mode AS sql_mode, @@system_time_zone AS system_time_zone, @@time_zone AS time_zone, @@transaction_isolation AS transaction_isolation, @@wait_timeout AS wait_timeout; -- rows
SET character_set_results = NULL;
SET autocommit=1;
SET sql_mode='STRICT_TRANS_TABLES';
SET SQL_SELECT_LIMIT=DEFAULT;
SELECT @@GLOBAL.character_set_server, @@GLOBAL.collation_server; -- rows
SELECT @@session.transaction_isolation; -- rows
SELECT @@session.transaction_read_only; -- rows
SHOW VARIABLES LIKE 'lower_case_table_names'; -- rows
SHOW VARIABLES LIKE 'aurora\_version';
SELECT VERSION(); -- rows
SELECT DATABASE(); -- rows
SHOW ENGINES; -- rows
SHOW CHARSET; -- rows
SHOW COLLATION; -- rows
SHOW PLUGINS; -- rows
SHOW DATABASES; -- rows
SELECT * FROM information_schema.SCHEMATA; -- rows
SELECT table_schema, SUM(data_length + index_length) FROM information_schema.tables GROUP BY table_schema; -- rows
USE clients_tools;
SHOW FULL TABLES FROM `clients_tools`; -- rows
SHOW TABLE STATUS FROM `clients_tools`; -- rows
SHOW TABLE STATUS FROM `clients_tools` LIKE 'child'; -- rows
SELECT * FROM information_schema.COLUMNS WHERE TABLE_SCHEMA='clients_tools' AND TABLE_NAME='child' ORDER BY ORDINAL_POSITION; -- rows
SELECT s.* FROM information_schema.STATISTICS s WHERE s.TABLE_SCHEMA='clients_tools' AND s.TABLE_NAME='child' ORDER BY s.INDEX_NAME,s.SEQ_IN_INDEX; -- rows
SELECT kc.CONSTRAINT_NAME,kc.TABLE_NAME,kc.COLUMN_NAME,kc.ORDINAL_POSITION FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE kc WHERE kc.TABLE_SCHEMA='clients_tools' AND kc.REFERENCED_TABLE_NAME IS NULL AND kc.TABLE_NAME='child' ORDER BY kc.CONSTRAINT_NAME,kc.ORDINAL_POSITION; -- rows
SELECT cc.CONSTRAINT_NAME, cc.CHECK_CLAUSE, tc.TABLE_NAME FROM (SELECT CONSTRAINT_NAME, CHECK_CLAUSE FROM INFORMATION_SCHEMA.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'clients_tools' ORDER BY CONSTRAINT_NAME) cc, (SELECT TABLE_NAME, CONSTRAINT_NAME from INFORMATION_SCHEMA.TABLE_CONSTRAINTS WHERE CONSTRAINT_TYPE='CHECK' AND TABLE_SCHEMA='clients_tools') tc WHERE cc.CONSTRAINT_NAME = tc.CONSTRAINT_NAME ORDER BY cc.CONSTRAINT_NAME; -- rows
SELECT A.REFERENCED_TABLE_SCHEMA AS PKTABLE_CAT, NULL AS PKTABLE_SCHEM, A.REFERENCED_TABLE_NAME AS PKTABLE_NAME, A.REFERENCED_COLUMN_NAME AS PKCOLUMN_NAME, A.TABLE_SCHEMA AS FKTABLE_CAT, NULL AS FKTABLE_SCHEM, A.TABLE_NAME AS FKTABLE_NAME, A.COLUMN_NAME AS FKCOLUMN_NAME, A.ORDINAL_POSITION AS KEY_SEQ, CASE WHEN R.UPDATE_RULE='CASCADE' THEN 0 WHEN R.UPDATE_RULE='SET NULL' THEN 2 WHEN R.UPDATE_RULE='SET DEFAULT' THEN 4 WHEN R.UPDATE_RULE='RESTRICT' THEN 1 WHEN R.UPDATE_RULE='NO ACTION' THEN 1 ELSE 1 END AS UPDATE_RULE, CASE WHEN R.DELETE_RULE='CASCADE' THEN 0 ELSE 1 END AS DELETE_RULE, A.CONSTRAINT_NAME AS FK_NAME, R.UNIQUE_CONSTRAINT_NAME AS PK_NAME, 7 AS DEFERRABILITY FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE A JOIN INFORMATION_SCHEMA.TABLE_CONSTRAINTS B USING (CONSTRAINT_NAME, TABLE_NAME) JOIN INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS R ON (R.CONSTRAINT_NAME = B.CONSTRAINT_NAME AND R.TABLE_NAME = B.TABLE_NAME AND R.CONSTRAINT_SCHEMA = B.TABLE_SCHEMA) WHERE B.CONSTRAINT_TYPE = 'FOREIGN KEY' AND A.TABLE_SCHEMA LIKE 'clients_tools' AND A.TABLE_NAME LIKE 'child' AND A.REFERENCED_TABLE_SCHEMA IS NOT NULL ORDER BY A.REFERENCED_TABLE_SCHEMA, A.REFERENCED_TABLE_NAME, A.ORDINAL_POSITION; -- rows
SHOW CREATE TABLE `clients_tools`.`child`; -- rows
SHOW CREATE TABLE `clients_tools`.`v`; -- rows
SHOW CREATE VIEW `clients_tools`.`v`; -- rows
SELECT VIEW_DEFINITION FROM INFORMATION_SCHEMA.VIEWS WHERE TABLE_SCHEMA = 'clients_tools' AND TABLE_NAME='v'; -- rows
SHOW CREATE DATABASE `clients_tools`; -- rows
SELECT * FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA='clients_tools' ORDER BY ROUTINE_NAME;
SELECT * FROM information_schema.PARAMETERS WHERE SPECIFIC_SCHEMA = 'clients_tools' ORDER BY SPECIFIC_SCHEMA, SPECIFIC_NAME, ROUTINE_TYPE, ORDINAL_POSITION;
SHOW FULL TRIGGERS FROM `clients_tools`;
SELECT * FROM INFORMATION_SCHEMA.TRIGGERS WHERE TRIGGER_SCHEMA='clients_tools' ORDER BY TRIGGER_NAME;
SELECT * FROM information_schema.EVENTS WHERE EVENT_SCHEMA='clients_tools';
SELECT * FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA='clients_tools' AND TABLE_NAME='parts' ORDER BY PARTITION_METHOD, PARTITION_ORDINAL_POSITION,SUBPARTITION_ORDINAL_POSITION; -- rows
SELECT TABLE_SCHEMA,TABLE_NAME FROM information_schema.TABLES WHERE (LOWER(TABLE_NAME) LIKE 'par%' OR LOWER(TABLE_COMMENT) LIKE 'par%') AND TABLE_SCHEMA='clients_tools' ORDER BY TABLE_NAME LIMIT 10; -- rows
SELECT TABLE_SCHEMA,TABLE_NAME,CONSTRAINT_NAME,CONSTRAINT_TYPE FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_NAME LIKE 'named%' ORDER BY CONSTRAINT_NAME LIMIT 10; -- rows
SELECT TABLE_SCHEMA,TABLE_NAME,COLUMN_NAME FROM information_schema.COLUMNS WHERE COLUMN_NAME LIKE 'key%' AND TABLE_SCHEMA='clients_tools' ORDER BY COLUMN_NAME LIMIT 10; -- rows
SET SQL_SELECT_LIMIT=2;
SELECT * FROM `every type`; -- rows
SELECT * FROM parts; -- 2 rows
SET SQL_SELECT_LIMIT=DEFAULT;
SELECT COUNT(*) FROM `clients_tools`.`parts`; -- rows
SELECT x.* FROM clients_tools.parts x ORDER BY x.a DESC LIMIT 0, 200; -- rows
SHOW INDEX FROM `child` FROM `clients_tools`; -- rows
SHOW FULL COLUMNS FROM `every type` FROM `clients_tools` LIKE '%'; -- rows
SELECT * FROM mysql.user ORDER BY user; -- rows
SHOW PRIVILEGES; -- rows
SHOW GRANTS FOR 'root'@'%'; -- rows
SHOW CREATE USER 'root'@'%'; -- rows
SHOW FULL PROCESSLIST; -- rows
SHOW STATUS; -- rows
SHOW GLOBAL STATUS; -- rows
SHOW VARIABLES; -- rows
SHOW GLOBAL VARIABLES; -- rows
SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Com\_%' OR Variable_name IN ('Queries', 'Connections', 'Bytes_sent'); -- rows
EXPLAIN FORMAT=JSON SELECT * FROM child c JOIN parent p ON p.id = c.p WHERE c.id = 1; -- rows
EXPLAIN SELECT * FROM child; -- rows
SHOW WARNINGS;
SELECT 'Keep alive'; -- rows
