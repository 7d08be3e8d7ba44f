-- What mysqldump (8.0, 8.4) asks for a database and its accounts' privileges, with --single-transaction --routines --triggers --events.
/*!40100 SET @@SQL_MODE='' */;
/*!40103 SET TIME_ZONE='+00:00' */;
/*!80000 SET SESSION information_schema_stats_expiry=0 */;
SET SESSION NET_READ_TIMEOUT= 86400, SESSION NET_WRITE_TIMEOUT= 86400;
FLUSH /*!40101 LOCAL */ TABLES;
FLUSH TABLES WITH READ LOCK;
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
START TRANSACTION /*!40100 WITH CONSISTENT SNAPSHOT */;
SHOW VARIABLES LIKE 'gtid\_mode';
UNLOCK TABLES;
SELECT LOGFILE_GROUP_NAME, FILE_NAME, TOTAL_EXTENTS, INITIAL_SIZE, ENGINE, EXTRA FROM INFORMATION_SCHEMA.FILES WHERE ENGINE = 'ndbcluster' AND FILE_TYPE = 'UNDO LOG' AND FILE_NAME IS NOT NULL AND LOGFILE_GROUP_NAME IS NOT NULL AND LOGFILE_GROUP_NAME IN (SELECT DISTINCT LOGFILE_GROUP_NAME FROM INFORMATION_SCHEMA.FILES WHERE ENGINE = 'ndbcluster' AND FILE_TYPE = 'DATAFILE' AND TABLESPACE_NAME IN (SELECT DISTINCT TABLESPACE_NAME FROM INFORMATION_SCHEMA.PARTITIONS WHERE TABLE_SCHEMA IN ('clients_tools'))) GROUP BY LOGFILE_GROUP_NAME, FILE_NAME, ENGINE, TOTAL_EXTENTS, INITIAL_SIZE, EXTRA ORDER BY LOGFILE_GROUP_NAME;
SELECT DISTINCT TABLESPACE_NAME, FILE_NAME, LOGFILE_GROUP_NAME, EXTENT_SIZE, INITIAL_SIZE, ENGINE FROM INFORMATION_SCHEMA.FILES WHERE ENGINE = 'ndbcluster' AND FILE_TYPE = 'DATAFILE' AND TABLESPACE_NAME IN (SELECT DISTINCT TABLESPACE_NAME FROM INFORMATION_SCHEMA.PARTITIONS WHERE TABLE_SCHEMA IN ('clients_tools')) ORDER BY TABLESPACE_NAME, LOGFILE_GROUP_NAME;
SHOW VARIABLES LIKE 'ndbinfo\_version';
USE `clients_tools`;
SHOW CREATE DATABASE IF NOT EXISTS `clients_tools`; -- rows
SAVEPOINT sp;
show tables; -- rows
show table status like 'every type'; -- rows
SET SQL_QUOTE_SHOW_CREATE=1;
SET SESSION character_set_results = 'binary';
show create table `every type`; -- rows
SET SESSION character_set_results = 'utf8mb4';
show fields from `every type`; -- rows
show fields from `v`; -- rows
SELECT /*!40001 SQL_NO_CACHE */ `id`, `a`, `b` FROM `every type`; -- rows
SELECT /*!40001 SQL_NO_CACHE */ * FROM `parts`; -- rows
SET SESSION character_set_results = 'binary';
use `clients_tools`;
select @@collation_database; -- rows
SHOW TRIGGERS LIKE 'every type';
SET SESSION character_set_results = 'utf8mb4';
SET SESSION character_set_results = 'binary';
SELECT COLUMN_NAME, JSON_EXTRACT(HISTOGRAM, '$."number-of-buckets-specified"') FROM information_schema.COLUMN_STATISTICS WHERE SCHEMA_NAME = 'clients_tools' AND TABLE_NAME = 'every type';
SET SESSION character_set_results = 'utf8mb4';
ROLLBACK TO SAVEPOINT sp;
RELEASE SAVEPOINT sp;
show events;
use `clients_tools`;
select @@collation_database; -- rows
SET SESSION character_set_results = 'binary';
SHOW FUNCTION STATUS WHERE Db = 'clients_tools';
SHOW PROCEDURE STATUS WHERE Db = 'clients_tools';
SET SESSION character_set_results = 'utf8mb4';
SELECT CHECK_OPTION, DEFINER, SECURITY_TYPE, CHARACTER_SET_CLIENT, COLLATION_CONNECTION FROM information_schema.views WHERE table_name="v" AND table_schema="clients_tools"; -- rows
SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES WHERE table_schema = 'performance_schema' AND table_name = 'session_variables';
SHOW PACKAGE STATUS; -- error 1064
COMMIT;
