-- What MySQL Workbench (8.0) asks: at connect, for its schema tree, its inspectors and its administration.
SET CHARACTER SET utf8;
SET NAMES utf8;
SET SQL_SAFE_UPDATES=1;
SELECT CONNECTION_ID(); -- rows
SHOW SESSION STATUS LIKE 'Ssl_cipher'; -- rows
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
set autocommit=1;
SHOW SESSION VARIABLES LIKE 'lower_case_table_names'; -- rows
SHOW SESSION VARIABLES LIKE 'sql_mode'; -- rows
SHOW VARIABLES LIKE 'version_compile_os'; -- rows
SHOW SESSION VARIABLES LIKE 'version_comment'; -- rows
SHOW SESSION VARIABLES LIKE 'version'; -- rows
SELECT current_user(); -- rows
SELECT @@default_storage_engine; -- rows
SELECT @@character_set_server, @@collation_server; -- rows
SHOW DATABASES; -- rows
SELECT DATABASE(); -- rows
USE `clients_tools`;
SHOW FULL TABLES FROM `clients_tools`; -- rows
SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.tables WHERE table_schema = 'clients_tools'; -- rows
SHOW PROCEDURE STATUS WHERE Db='clients_tools';
SHOW FUNCTION STATUS WHERE Db='clients_tools';
SHOW FULL COLUMNS FROM `clients_tools`.`every type`; -- rows
SHOW INDEXES FROM `clients_tools`.`child`; -- rows
SHOW TRIGGERS FROM `clients_tools` LIKE 'child';
SHOW TRIGGERS FROM `clients_tools`;
SHOW EVENTS FROM `clients_tools`;
SHOW CREATE TABLE `clients_tools`.`child`; -- rows
SHOW TABLE STATUS FROM `clients_tools` LIKE 'child'; -- rows
SELECT * FROM information_schema.referential_constraints WHERE constraint_schema = 'clients_tools' AND table_name = 'child'; -- rows
SELECT default_character_set_name, default_collation_name FROM information_schema.schemata WHERE schema_name = 'clients_tools'; -- rows
SELECT t.*, t15.PARTITION_METHOD FROM information_schema.tables t JOIN information_schema.schemata s ON s.schema_name = t.table_schema LEFT JOIN information_schema.partitions t15 ON (t15.table_schema = t.table_schema AND t15.table_name = t.table_name) WHERE t.table_schema = 'clients_tools' LIMIT 10; -- rows
SELECT SUM(DATA_LENGTH + INDEX_LENGTH), COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'clients_tools'; -- rows
SELECT st.* FROM performance_schema.events_statements_summary_by_digest st LIMIT 1;
SELECT * FROM `clients_tools`.`parts` LIMIT 0, 1000; -- rows
EXPLAIN SELECT * FROM parts; -- rows
EXPLAIN FORMAT=JSON SELECT * FROM parts; -- rows
EXPLAIN FORMAT=TREE SELECT * FROM parts; -- rows
UPDATE parts SET b = b; -- error 1175
DELETE FROM parts; -- error 1175
DELETE FROM parts WHERE b > '2024-01-01'; -- error 1175
UPDATE parts SET b = b WHERE a = 1;
SHOW PLUGINS; -- rows
SHOW ENGINES; -- rows
SHOW CHARSET; -- rows
SHOW COLLATION; -- rows
SHOW GLOBAL VARIABLES; -- rows
SHOW GLOBAL STATUS; -- rows
SHOW FULL PROCESSLIST; -- rows
SELECT * FROM mysql.user WHERE User = 'root' ORDER BY User, Host; -- rows
SELECT User, Host FROM mysql.user; -- rows
SELECT * FROM mysql.db;
SELECT * FROM mysql.tables_priv;
SHOW GRANTS FOR 'root'@'%'; -- rows
SHOW PRIVILEGES; -- rows
SHOW BINARY LOGS; -- error 1381
SHOW MASTER STATUS;
SHOW SLAVE STATUS;
SHOW REPLICA STATUS;
SHOW SLAVE HOSTS;
SHOW REPLICAS;
SHOW PROFILES;
SHOW OPEN TABLES;
SHOW ENGINE INNODB STATUS; -- rows
SET SQL_SAFE_UPDATES=0;
