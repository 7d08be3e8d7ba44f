-- What mycli (2.30) asks for its completion; its login is tried with the program itself. Without a table of help it goes on.
SHOW DATABASES; -- rows
USE clients_tools;
SHOW TABLES; -- rows
SELECT CONCAT("'", user, "'@'",host,"'") FROM mysql.user; -- rows
SELECT ROUTINE_NAME FROM INFORMATION_SCHEMA.ROUTINES WHERE ROUTINE_TYPE="FUNCTION" AND ROUTINE_SCHEMA = 'clients_tools';
SELECT ROUTINE_NAME FROM INFORMATION_SCHEMA.ROUTINES WHERE ROUTINE_TYPE="PROCEDURE" AND ROUTINE_SCHEMA = 'clients_tools';
SHOW CHARACTER SET; -- rows
SHOW COLLATION; -- rows
select TABLE_NAME, COLUMN_NAME from information_schema.columns where table_schema = 'clients_tools' order by table_name,ordinal_position; -- rows
SELECT DISTINCT TABLE_NAME, COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'clients_tools' AND SEQ_IN_INDEX = 1 AND COLUMN_NAME IS NOT NULL ORDER BY TABLE_NAME, COLUMN_NAME; -- rows
select TABLE_NAME, COLUMN_NAME, COLUMN_TYPE from information_schema.columns where table_schema = 'clients_tools' and data_type = 'enum' order by table_name,ordinal_position; -- rows
SELECT TABLE_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = 'clients_tools' AND REFERENCED_TABLE_NAME IS NOT NULL; -- rows
SELECT name from mysql.help_topic WHERE name like "SHOW %"; -- error 1146
SELECT NOW(); -- rows
