//! The error catalogue: number, SQLSTATE, MySQL's symbol, a constructor, and the message text of MySQL 8.0.

use std::fmt::Display;

use super::MysqlError;

/// One entry of the catalogue.
#[derive(Debug, Clone, Copy)]
pub struct ErrorInfo {
    /// MySQL's error number.
    pub code: u16,
    /// Its SQLSTATE.
    pub sqlstate: &'static str,
    /// MySQL's symbol for it.
    pub symbol: &'static str,
    /// The message, with the constructor's arguments in braces.
    pub template: &'static str,
}

macro_rules! catalogue {
    ($($code:literal $state:literal $symbol:ident $name:ident($($arg:ident),*) $text:literal;)*) => {
        /// Every error the product can give, ordered by number.
        pub const CATALOGUE: &[ErrorInfo] = &[$(ErrorInfo {
            code: $code, sqlstate: $state, symbol: stringify!($symbol), template: $text,
        }),*];

        /// MySQL's symbols for the error numbers.
        pub mod errno {
            $(#[doc = $text] pub const $symbol: u16 = $code;)*
        }

        /// One constructor per error.
        impl MysqlError {
            $(#[doc = concat!("`", $code, "` (", $state, "): ", $text)]
            pub fn $name($($arg: impl Display),*) -> Self {
                Self::new($code, $state, format!($text))
            })*
        }
    };
}

catalogue! {
    1007 "HY000" ER_DB_CREATE_EXISTS database_exists(database) "Can't create database '{database}'; database exists";
    1008 "HY000" ER_DB_DROP_EXISTS no_database_to_drop(database) "Can't drop database '{database}'; database doesn't exist";
    1020 "HY000" ER_CHECKREAD record_changed(table) "Record has changed since last read in table '{table}'";
    1021 "HY000" ER_DISK_FULL disk_full(path, os_code, os_text) "Disk full ({path}); waiting for someone to free some space... (errno: {os_code} - {os_text})";
    1030 "HY000" ER_GET_ERRNO storage_engine_error(os_code, text) "Got error {os_code} - '{text}' from storage engine";
    1031 "HY000" ER_ILLEGAL_HA no_such_table_option(table) "Table storage engine for '{table}' doesn't have this option";
    1037 "HY001" ER_OUTOFMEMORY out_of_memory(bytes) "Out of memory; restart server and try again (needed {bytes} bytes)";
    1038 "HY001" ER_OUT_OF_SORTMEMORY out_of_sort_memory() "Out of sort memory, consider increasing server sort buffer size";
    1040 "08004" ER_CON_COUNT_ERROR too_many_connections() "Too many connections";
    1041 "HY000" ER_OUT_OF_RESOURCES out_of_resources() "Out of memory; check if mysqld or some other process uses all available memory; if not, you may have to use 'ulimit' to allow mysqld to use more memory or you can add more swap space";
    1043 "08S01" ER_HANDSHAKE_ERROR bad_handshake() "Bad handshake";
    1044 "42000" ER_DBACCESS_DENIED_ERROR database_access_denied(user, host, database) "Access denied for user '{user}'@'{host}' to database '{database}'";
    1045 "28000" ER_ACCESS_DENIED_ERROR access_denied(user, host, using_password) "Access denied for user '{user}'@'{host}' (using password: {using_password})";
    1046 "3D000" ER_NO_DB_ERROR no_database_selected() "No database selected";
    1047 "08S01" ER_UNKNOWN_COM_ERROR unknown_command() "Unknown command";
    1048 "23000" ER_BAD_NULL_ERROR bad_null(column) "Column '{column}' cannot be null";
    1049 "42000" ER_BAD_DB_ERROR unknown_database(database) "Unknown database '{database}'";
    1050 "42S01" ER_TABLE_EXISTS_ERROR table_exists(table) "Table '{table}' already exists";
    1051 "42S02" ER_BAD_TABLE_ERROR unknown_table(table) "Unknown table '{table}'";
    1052 "23000" ER_NON_UNIQ_ERROR ambiguous_column(column, clause) "Column '{column}' in {clause} is ambiguous";
    1053 "08S01" ER_SERVER_SHUTDOWN server_shutdown() "Server shutdown in progress";
    1054 "42S22" ER_BAD_FIELD_ERROR unknown_column(column, clause) "Unknown column '{column}' in '{clause}'";
    1055 "42000" ER_WRONG_FIELD_WITH_GROUP not_in_group_by(number, clause, column) "Expression #{number} of {clause} is not in GROUP BY clause and contains nonaggregated column '{column}' which is not functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by";
    1056 "42000" ER_WRONG_GROUP_FIELD cannot_group_on(expression) "Can't group on '{expression}'";
    1059 "42000" ER_TOO_LONG_IDENT identifier_too_long(name) "Identifier name '{name}' is too long";
    1060 "42S21" ER_DUP_FIELDNAME duplicate_column(column) "Duplicate column name '{column}'";
    1061 "42000" ER_DUP_KEYNAME duplicate_key_name(key) "Duplicate key name '{key}'";
    1062 "23000" ER_DUP_ENTRY dup_entry(entry, key) "Duplicate entry '{entry}' for key '{key}'";
    1063 "42000" ER_WRONG_FIELD_SPEC incorrect_column_specifier(column) "Incorrect column specifier for column '{column}'";
    1064 "42000" ER_PARSE_ERROR parse_error(what, near, line) "{what} near '{near}' at line {line}";
    1065 "42000" ER_EMPTY_QUERY empty_query() "Query was empty";
    1066 "42000" ER_NONUNIQ_TABLE not_unique_table(table) "Not unique table/alias: '{table}'";
    1067 "42000" ER_INVALID_DEFAULT invalid_default(column) "Invalid default value for '{column}'";
    1068 "42000" ER_MULTIPLE_PRI_KEY multiple_primary_key() "Multiple primary key defined";
    1069 "42000" ER_TOO_MANY_KEYS too_many_keys(max) "Too many keys specified; max {max} keys allowed";
    1070 "42000" ER_TOO_MANY_KEY_PARTS too_many_key_parts(max) "Too many key parts specified; max {max} parts allowed";
    1071 "42000" ER_TOO_LONG_KEY key_too_long(max) "Specified key was too long; max key length is {max} bytes";
    1072 "42000" ER_KEY_COLUMN_DOES_NOT_EXITS key_column_missing(column) "Key column '{column}' doesn't exist in table";
    1073 "42000" ER_BLOB_USED_AS_KEY blob_used_as_key(column) "BLOB column '{column}' can't be used in key specification with the used table type";
    1074 "42000" ER_TOO_BIG_FIELDLENGTH column_too_long(column, max) "Column length too big for column '{column}' (max = {max}); use BLOB or TEXT instead";
    1075 "42000" ER_WRONG_AUTO_KEY wrong_auto_key() "Incorrect table definition; there can be only one auto column and it must be defined as a key";
    1089 "HY000" ER_WRONG_SUB_KEY wrong_prefix_key() "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or the storage engine doesn't support unique prefix keys";
    1090 "42000" ER_CANT_REMOVE_ALL_FIELDS cannot_remove_all_columns() "You can't delete all columns with ALTER TABLE; use DROP TABLE instead";
    1091 "42000" ER_CANT_DROP_FIELD_OR_KEY cannot_drop(name) "Can't DROP '{name}'; check that column/key exists";
    1093 "HY000" ER_UPDATE_TABLE_USED update_table_used(table) "You can't specify target table '{table}' for update in FROM clause";
    1094 "HY000" ER_NO_SUCH_THREAD no_such_thread(id) "Unknown thread id: {id}";
    1096 "HY000" ER_NO_TABLES_USED no_tables_used() "No tables used";
    1097 "HY000" ER_TOO_BIG_SET too_many_strings(column, kind) "Too many strings for column {column} and {kind}";
    1099 "HY000" ER_TABLE_NOT_LOCKED_FOR_WRITE table_locked_for_read(table) "Table '{table}' was locked with a READ lock and can't be updated";
    1100 "HY000" ER_TABLE_NOT_LOCKED table_not_locked(table) "Table '{table}' was not locked with LOCK TABLES";
    1101 "42000" ER_BLOB_CANT_HAVE_DEFAULT blob_cannot_have_default(column) "BLOB, TEXT, GEOMETRY or JSON column '{column}' can't have a default value";
    1102 "42000" ER_WRONG_DB_NAME wrong_database_name(name) "Incorrect database name '{name}'";
    1103 "42000" ER_WRONG_TABLE_NAME wrong_table_name(name) "Incorrect table name '{name}'";
    1105 "HY000" ER_UNKNOWN_ERROR unknown_error(text) "{text}";
    1109 "42S02" ER_UNKNOWN_TABLE unknown_table_in(table, clause) "Unknown table '{table}' in {clause}";
    1110 "42000" ER_FIELD_SPECIFIED_TWICE column_specified_twice(column) "Column '{column}' specified twice";
    1111 "HY000" ER_INVALID_GROUP_FUNC_USE invalid_group_function() "Invalid use of group function";
    1113 "42000" ER_TABLE_MUST_HAVE_COLUMNS table_without_columns() "A table must have at least 1 column";
    1114 "HY000" ER_RECORD_FILE_FULL table_full(table) "The table '{table}' is full";
    1115 "42000" ER_UNKNOWN_CHARACTER_SET unknown_character_set(name) "Unknown character set: '{name}'";
    1116 "HY000" ER_TOO_MANY_TABLES too_many_tables(max) "Too many tables; MySQL can only use {max} tables in a join";
    1117 "HY000" ER_TOO_MANY_FIELDS too_many_columns() "Too many columns";
    1118 "42000" ER_TOO_BIG_ROWSIZE too_big_row_size(max) "Row size too large. The maximum row size for the used table type, not counting BLOBs, is {max}. This includes storage overhead, check the manual. You have to change some columns to TEXT or BLOBs";
    1130 "HY000" ER_HOST_NOT_PRIVILEGED host_not_privileged(host) "Host '{host}' is not allowed to connect to this MySQL server";
    1136 "21S01" ER_WRONG_VALUE_COUNT_ON_ROW wrong_value_count(row) "Column count doesn't match value count at row {row}";
    1138 "22004" ER_INVALID_USE_OF_NULL invalid_use_of_null() "Invalid use of NULL value";
    1140 "42000" ER_MIX_OF_GROUP_FUNC_AND_FIELDS nonaggregated_column(number, clause, column) "In aggregated query without GROUP BY, expression #{number} of {clause} contains nonaggregated column '{column}'; this is incompatible with sql_mode=only_full_group_by";
    1141 "42000" ER_NONEXISTING_GRANT no_such_grant(user, host) "There is no such grant defined for user '{user}' on host '{host}'";
    1142 "42000" ER_TABLEACCESS_DENIED_ERROR table_access_denied(command, user, host, table) "{command} command denied to user '{user}'@'{host}' for table '{table}'";
    1146 "42S02" ER_NO_SUCH_TABLE no_such_table(database, table) "Table '{database}.{table}' doesn't exist";
    1149 "42000" ER_SYNTAX_ERROR syntax_error() "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use";
    1153 "08S01" ER_NET_PACKET_TOO_LARGE packet_too_large() "Got a packet bigger than 'max_allowed_packet' bytes";
    1156 "08S01" ER_NET_PACKETS_OUT_OF_ORDER packets_out_of_order() "Got packets out of order";
    1158 "08S01" ER_NET_READ_ERROR net_read_error() "Got an error reading communication packets";
    1163 "42000" ER_TABLE_CANT_HANDLE_BLOB cannot_handle_blob() "The used table type doesn't support BLOB/TEXT columns";
    1164 "42000" ER_TABLE_CANT_HANDLE_AUTO_INCREMENT cannot_handle_auto_increment() "The used table type doesn't support AUTO_INCREMENT columns";
    1166 "42000" ER_WRONG_COLUMN_NAME wrong_column_name(name) "Incorrect column name '{name}'";
    1167 "42000" ER_WRONG_KEY_COLUMN wrong_key_column(column) "The used storage engine can't index column '{column}'";
    1170 "42000" ER_BLOB_KEY_WITHOUT_LENGTH blob_key_without_length(column) "BLOB/TEXT column '{column}' used in key specification without a key length";
    1171 "42000" ER_PRIMARY_CANT_HAVE_NULL primary_cannot_have_null() "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead";
    1172 "42000" ER_TOO_MANY_ROWS too_many_rows() "Result consisted of more than one row";
    1173 "42000" ER_REQUIRES_PRIMARY_KEY requires_primary_key() "This table type requires a primary key";
    1175 "HY000" ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE safe_update_mode(detail) "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column. {detail}";
    1176 "42000" ER_KEY_DOES_NOT_EXITS key_does_not_exist(key, table) "Key '{key}' doesn't exist in table '{table}'";
    1180 "HY000" ER_ERROR_DURING_COMMIT error_during_commit(os_code, text) "Got error {os_code} - '{text}' during COMMIT";
    1192 "HY000" ER_LOCK_OR_ACTIVE_TRANSACTION active_transaction() "Can't execute the given command because you have active locked tables or an active transaction";
    1193 "HY000" ER_UNKNOWN_SYSTEM_VARIABLE unknown_system_variable(name) "Unknown system variable '{name}'";
    1194 "HY000" ER_CRASHED_ON_USAGE table_crashed(table) "Table '{table}' is marked as crashed and should be repaired";
    1205 "HY000" ER_LOCK_WAIT_TIMEOUT lock_wait_timeout() "Lock wait timeout exceeded; try restarting transaction";
    1206 "HY000" ER_LOCK_TABLE_FULL lock_table_full() "The total number of locks exceeds the lock table size";
    1210 "HY000" ER_WRONG_ARGUMENTS wrong_arguments(place) "Incorrect arguments to {place}";
    1213 "40001" ER_LOCK_DEADLOCK deadlock() "Deadlock found when trying to get lock; try restarting transaction";
    1215 "HY000" ER_CANNOT_ADD_FOREIGN cannot_add_foreign_key() "Cannot add foreign key constraint";
    1221 "HY000" ER_WRONG_USAGE wrong_usage(first, second) "Incorrect usage of {first} and {second}";
    1222 "21000" ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT wrong_number_of_columns_in_select() "The used SELECT statements have a different number of columns";
    1223 "HY000" ER_CANT_UPDATE_WITH_READLOCK conflicting_read_lock() "Can't execute the query because you have a conflicting read lock";
    1227 "42000" ER_SPECIFIC_ACCESS_DENIED_ERROR specific_access_denied(privilege) "Access denied; you need (at least one of) the {privilege} privilege(s) for this operation";
    1228 "HY000" ER_LOCAL_VARIABLE session_variable(name) "Variable '{name}' is a SESSION variable and can't be used with SET GLOBAL";
    1229 "HY000" ER_GLOBAL_VARIABLE global_variable(name) "Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL";
    1230 "42000" ER_NO_DEFAULT no_default_for_variable(name) "Variable '{name}' doesn't have a default value";
    1231 "42000" ER_WRONG_VALUE_FOR_VAR wrong_value_for_variable(name, value) "Variable '{name}' can't be set to the value of '{value}'";
    1232 "42000" ER_WRONG_TYPE_FOR_VAR wrong_type_for_variable(name) "Incorrect argument type to variable '{name}'";
    1234 "42000" ER_CANT_USE_OPTION_HERE cannot_use_option_here(option) "Incorrect usage/placement of '{option}'";
    1235 "42000" ER_NOT_SUPPORTED_YET not_supported(what) "This version of Leafline doesn't yet support '{what}'";
    1238 "HY000" ER_INCORRECT_GLOBAL_LOCAL_VAR incorrect_variable_scope(name, kind) "Variable '{name}' is a {kind} variable";
    1239 "42000" ER_WRONG_FK_DEF wrong_foreign_key(name) "Incorrect foreign key definition for '{name}': Key reference and table reference don't match";
    1241 "21000" ER_OPERAND_COLUMNS operand_columns(count) "Operand should contain {count} column(s)";
    1242 "21000" ER_SUBQUERY_NO_1_ROW subquery_more_than_one_row() "Subquery returns more than 1 row";
    1243 "HY000" ER_UNKNOWN_STMT_HANDLER unknown_statement_handler(name, command) "Unknown prepared statement handler ({name}) given to {command}";
    1247 "42S22" ER_ILLEGAL_REFERENCE illegal_reference(name, reason) "Reference '{name}' not supported ({reason})";
    1248 "42000" ER_DERIVED_MUST_HAVE_ALIAS derived_without_alias() "Every derived table must have its own alias";
    1250 "42000" ER_TABLENAME_NOT_ALLOWED_HERE table_name_not_allowed(table, clause) "Table '{table}' from one of the SELECTs cannot be used in {clause}";
    1253 "42000" ER_COLLATION_CHARSET_MISMATCH collation_charset_mismatch(collation, charset) "COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'";
    1256 "HY000" ER_TOO_BIG_FOR_UNCOMPRESS uncompressed_data_too_large(max) "Uncompressed data size too large; the maximum size is {max} (probably, length of uncompressed data was corrupted)";
    1259 "HY000" ER_ZLIB_Z_DATA_ERROR corrupted_compressed_data() "ZLIB: Input data corrupted";
    1260 "HY000" ER_CUT_VALUE_GROUP_CONCAT cut_by_group_concat(row) "Row {row} was cut by GROUP_CONCAT()";
    1261 "01000" ER_WARN_TOO_FEW_RECORDS too_few_records(row) "Row {row} doesn't contain data for all columns";
    1262 "01000" ER_WARN_TOO_MANY_RECORDS too_many_records(row) "Row {row} was truncated; it contained more data than there were input columns";
    1264 "22003" ER_WARN_DATA_OUT_OF_RANGE out_of_range(column, row) "Out of range value for column '{column}' at row {row}";
    1265 "01000" WARN_DATA_TRUNCATED data_truncated(column, row) "Data truncated for column '{column}' at row {row}";
    1267 "HY000" ER_CANT_AGGREGATE_2COLLATIONS illegal_mix_of_collations(first, first_coercibility, second, second_coercibility, operation) "Illegal mix of collations ({first},{first_coercibility}) and ({second},{second_coercibility}) for operation '{operation}'";
    1271 "HY000" ER_CANT_AGGREGATE_NCOLLATIONS illegal_mix_of_many_collations(operation) "Illegal mix of collations for operation '{operation}'";
    1273 "HY000" ER_UNKNOWN_COLLATION unknown_collation(name) "Unknown collation: '{name}'";
    1280 "42000" ER_WRONG_NAME_FOR_INDEX wrong_index_name(name) "Incorrect index name '{name}'";
    1286 "42000" ER_UNKNOWN_STORAGE_ENGINE unknown_storage_engine(name) "Unknown storage engine '{name}'";
    1287 "HY000" ER_WARN_DEPRECATED_SYNTAX deprecated_syntax(old, new) "'{old}' is deprecated and will be removed in a future release. Please use {new} instead";
    1288 "HY000" ER_NON_UPDATABLE_TABLE non_updatable_table(table, statement) "The target table {table} of the {statement} is not updatable";
    1290 "HY000" ER_OPTION_PREVENTS_STATEMENT option_prevents_statement(option) "The MySQL server is running with the {option} option so it cannot execute this statement";
    1291 "HY000" ER_DUPLICATED_VALUE_IN_TYPE duplicated_value_in_type(column, value, kind) "Column '{column}' has duplicated value '{value}' in {kind}";
    1292 "22007" ER_TRUNCATED_WRONG_VALUE truncated_wrong_value(kind, value) "Truncated incorrect {kind} value: '{value}'";
    1294 "HY000" ER_INVALID_ON_UPDATE invalid_on_update(column) "Invalid ON UPDATE clause for '{column}' column";
    1295 "HY000" ER_UNSUPPORTED_PS unsupported_in_prepared() "This command is not supported in the prepared statement protocol yet";
    1298 "HY000" ER_UNKNOWN_TIME_ZONE unknown_time_zone(name) "Unknown or incorrect time zone: '{name}'";
    1299 "HY000" ER_WARN_INVALID_TIMESTAMP invalid_timestamp(column, row) "Invalid TIMESTAMP value in column '{column}' at row {row}";
    1300 "HY000" ER_INVALID_CHARACTER_STRING invalid_character_string(charset, bytes) "Invalid {charset} character string: '{bytes}'";
    1301 "HY000" ER_WARN_ALLOWED_PACKET_OVERFLOWED allowed_packet_overflowed(function, max) "Result of {function}() was larger than max_allowed_packet ({max}) - truncated";
    1305 "42000" ER_SP_DOES_NOT_EXIST does_not_exist(kind, name) "{kind} {name} does not exist";
    1317 "70100" ER_QUERY_INTERRUPTED query_interrupted() "Query execution was interrupted";
    1327 "42000" ER_SP_UNDECLARED_VAR undeclared_variable(name) "Undeclared variable: {name}";
    1329 "02000" ER_SP_FETCH_NO_DATA no_data() "No data - zero rows fetched, selected, or processed";
    1347 "HY000" ER_WRONG_OBJECT wrong_object(database, name, kind) "'{database}.{name}' is not {kind}";
    1348 "HY000" ER_NONUPDATEABLE_COLUMN non_updatable_column(column) "Column '{column}' is not updatable";
    1350 "HY000" ER_VIEW_SELECT_CLAUSE view_with_clause(clause) "View's SELECT contains a '{clause}' clause";
    1351 "HY000" ER_VIEW_SELECT_VARIABLE view_with_variable() "View's SELECT contains a variable or parameter";
    1352 "HY000" ER_VIEW_SELECT_TMPTABLE view_of_temporary_table(table) "View's SELECT refers to a temporary table '{table}'";
    1354 "HY000" ER_WARN_VIEW_MERGE view_not_merged() "View merge algorithm can't be used here for now (assumed undefined algorithm)";
    1355 "HY000" ER_WARN_VIEW_WITHOUT_KEY view_without_key() "View being updated does not have complete key of underlying table in it";
    1356 "HY000" ER_VIEW_INVALID view_invalid(database, name) "View '{database}.{name}' references invalid table(s) or column(s) or function(s) or definer/invoker of view lack rights to use them";
    1364 "HY000" ER_NO_DEFAULT_FOR_FIELD no_default_for_field(column) "Field '{column}' doesn't have a default value";
    1365 "22012" ER_DIVISION_BY_ZERO division_by_zero() "Division by 0";
    1366 "HY000" ER_TRUNCATED_WRONG_VALUE_FOR_FIELD incorrect_value_for_column(kind, value, column, row) "Incorrect {kind} value: '{value}' for column '{column}' at row {row}";
    1367 "22007" ER_ILLEGAL_VALUE_FOR_TYPE illegal_value_for_type(kind, value) "Illegal {kind} '{value}' value found during parsing";
    1368 "HY000" ER_VIEW_NONUPD_CHECK check_option_of_read_only_view(database, name) "CHECK OPTION on non-updatable view '{database}.{name}'";
    1369 "HY000" ER_VIEW_CHECK_FAILED check_option_failed(view) "CHECK OPTION failed '{view}'";
    1390 "HY000" ER_PS_MANY_PARAM too_many_placeholders() "Prepared statement contains too many placeholders";
    1391 "HY000" ER_KEY_PART_0 key_part_length_zero(column) "Key part '{column}' length cannot be 0";
    1393 "HY000" ER_VIEW_MULTIUPDATE change_of_several_tables_of_view(view) "Can not modify more than one base table through a join view '{view}'";
    1394 "HY000" ER_VIEW_NO_INSERT_FIELD_LIST insert_into_join_view_without_columns(view) "Can not insert into join view '{view}' without fields list";
    1395 "HY000" ER_VIEW_DELETE_MERGE_VIEW delete_from_join_view(view) "Can not delete from join view '{view}'";
    1396 "HY000" ER_CANNOT_USER cannot_user(operation, user) "Operation {operation} failed for {user}";
    1406 "22001" ER_DATA_TOO_LONG data_too_long(column, row) "Data too long for column '{column}' at row {row}";
    1411 "HY000" ER_WRONG_VALUE_FOR_TYPE wrong_value_for_function(kind, value, function) "Incorrect {kind} value: '{value}' for function {function}";
    1412 "HY000" ER_TABLE_DEF_CHANGED table_definition_changed() "Table definition has changed, please retry transaction";
    1423 "HY000" ER_NO_DEFAULT_FOR_VIEW_FIELD no_default_for_view_field(database, view) "Field of view '{database}.{view}' underlying table doesn't have a default value";
    1425 "42000" ER_TOO_BIG_SCALE too_big_scale(scale, column, max) "Too big scale {scale} specified for column '{column}'. Maximum is {max}.";
    1426 "42000" ER_TOO_BIG_PRECISION too_big_precision(precision, column, max) "Too-big precision {precision} specified for '{column}'. Maximum is {max}.";
    1427 "42000" ER_M_BIGGER_THAN_D precision_less_than_scale(column) "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{column}').";
    1436 "HY000" ER_STACK_OVERRUN_NEED_MORE nested_too_deeply(levels) "Thread stack overrun: the statement is nested more than {levels} levels deep";
    1439 "42000" ER_TOO_BIG_DISPLAYWIDTH too_big_display_width(column, max) "Display width out of range for column '{column}' (max = {max})";
    1441 "22008" ER_DATETIME_FUNCTION_OVERFLOW datetime_overflow(function) "Datetime function: {function} field overflow";
    1443 "HY000" ER_VIEW_PREVENT_UPDATE view_prevents_change(table, statement, target) "The definition of table '{table}' prevents operation {statement} on table '{target}'.";
    1450 "HY000" ER_FORBID_SCHEMA_CHANGE change_of_schema(from, to) "Changing schema from '{from}' to '{to}' is not allowed.";
    1451 "23000" ER_ROW_IS_REFERENCED_2 row_is_referenced(detail) "Cannot delete or update a parent row: a foreign key constraint fails ({detail})";
    1452 "23000" ER_NO_REFERENCED_ROW_2 no_referenced_row(detail) "Cannot add or update a child row: a foreign key constraint fails ({detail})";
    1461 "42000" ER_MAX_PREPARED_STMT_COUNT_REACHED too_many_prepared_statements(max) "Can't create more than max_prepared_stmt_count statements (current value: {max})";
    1462 "HY000" ER_VIEW_RECURSIVE view_recursive(database, name) "`{database}`.`{name}` contains view recursion";
    1467 "HY000" ER_AUTOINC_READ_FAILED auto_increment_exhausted() "Failed to read auto-increment value from storage engine";
    1471 "HY000" ER_NON_INSERTABLE_TABLE non_insertable_table(table, statement) "The target table {table} of the {statement} is not insertable-into";
    1525 "HY000" ER_WRONG_VALUE wrong_value(kind, value) "Incorrect {kind} value: '{value}'";
    1553 "HY000" ER_DROP_INDEX_FK drop_index_of_foreign_key(index) "Cannot drop index '{index}': needed in a foreign key constraint";
    1568 "25001" ER_CANT_CHANGE_TX_CHARACTERISTICS cannot_change_transaction() "Transaction characteristics can't be changed while a transaction is in progress";
    1582 "42000" ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT wrong_parameter_count(function) "Incorrect parameter count in the call to native function '{function}'";
    1583 "42000" ER_WRONG_PARAMETERS_TO_NATIVE_FCT wrong_parameters(function) "Incorrect parameters in the call to native function '{function}'";
    1618 "HY000" WARN_OPTION_IGNORED option_ignored(option) "<{option}> option ignored";
    1621 "HY000" ER_VARIABLE_IS_READONLY variable_is_readonly(scope, variable, other) "{scope} variable '{variable}' is read-only. Use SET {other} to assign the value";
    1630 "42000" ER_FUNC_INEXISTENT_NAME_COLLISION unknown_function(name) "FUNCTION {name} does not exist. Check the 'Function Name Parsing and Resolution' section in the Reference Manual";
    1649 "HY000" ER_UNKNOWN_LOCALE unknown_locale(name) "Unknown locale: '{name}'";
    1681 "HY000" ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT deprecated(what, advice) "{what} is deprecated and {advice}.";
    1690 "22003" ER_DATA_OUT_OF_RANGE data_out_of_range(kind, expression) "{kind} value is out of range in '{expression}'";
    1701 "42000" ER_TRUNCATE_ILLEGAL_FK truncate_of_parent(database, table, key) "Cannot truncate a table referenced in a foreign key constraint (`{database}`.`{table}`, CONSTRAINT `{key}`)";
    1706 "HY000" ER_MULTI_UPDATE_KEY_CONFLICT multi_update_key_conflict(first, second) "Primary key/partition key update is not allowed since the table is updated both as '{first}' and '{second}'.";
    1712 "HY000" ER_INDEX_CORRUPT index_corrupt(index) "Index {index} is corrupted";
    1761 "23000" ER_FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO fk_duplicate_key(table, record, child, key) "Foreign key constraint for table '{table}', record '{record}' would lead to a duplicate entry in table '{child}', key '{key}'";
    1791 "HY000" ER_UNKNOWN_EXPLAIN_FORMAT unknown_explain_format(name) "Unknown EXPLAIN format name: '{name}'";
    1792 "25006" ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION read_only_transaction() "Cannot execute statement in a READ ONLY transaction.";
    1800 "HY000" ER_UNKNOWN_ALTER_ALGORITHM unknown_alter_algorithm(name) "Unknown ALGORITHM '{name}'";
    1801 "HY000" ER_UNKNOWN_ALTER_LOCK unknown_alter_lock(name) "Unknown LOCK type '{name}'";
    1815 "HY000" ER_INTERNAL_ERROR internal(detail) "Internal error: {detail}";
    1818 "HY000" ER_INVALID_YEAR_COLUMN_LENGTH invalid_year_length() "Supports only YEAR or YEAR(4) column.";
    1819 "HY000" ER_NOT_VALID_PASSWORD not_valid_password() "Your password does not satisfy the current policy requirements";
    1820 "HY000" ER_MUST_CHANGE_PASSWORD must_change_password() "You must reset your password using ALTER USER statement before executing this statement.";
    1822 "HY000" ER_FK_NO_INDEX_PARENT fk_no_parent_index(name, table) "Failed to add the foreign key constraint. Missing index for constraint '{name}' in the referenced table '{table}'";
    1824 "HY000" ER_FK_CANNOT_OPEN_PARENT fk_cannot_open_parent(table) "Failed to open the referenced table '{table}'";
    1826 "HY000" ER_FK_DUP_NAME fk_duplicate_name(name) "Duplicate foreign key constraint name '{name}'";
    1828 "HY000" ER_FK_COLUMN_CANNOT_DROP fk_column_cannot_drop(column, name) "Cannot drop column '{column}': needed in a foreign key constraint '{name}'";
    1829 "HY000" ER_FK_COLUMN_CANNOT_DROP_CHILD fk_column_cannot_drop_child(column, name, table) "Cannot drop column '{column}': needed in a foreign key constraint '{name}' of table '{table}'";
    1830 "HY000" ER_FK_COLUMN_NOT_NULL fk_column_not_null(column, name) "Column '{column}' cannot be NOT NULL: needed in a foreign key constraint '{name}' SET NULL";
    1832 "HY000" ER_FK_COLUMN_CANNOT_CHANGE fk_column_cannot_change(column, name) "Cannot change column '{column}': used in a foreign key constraint '{name}'";
    1833 "HY000" ER_FK_COLUMN_CANNOT_CHANGE_CHILD fk_column_cannot_change_child(column, name, table) "Cannot change column '{column}': used in a foreign key constraint '{name}' of table '{table}'";
    1835 "HY000" ER_MALFORMED_PACKET malformed_packet() "Malformed communication packet.";
    1836 "HY000" ER_READ_ONLY_MODE read_only_mode() "Running in read-only mode";
    1845 "0A000" ER_ALTER_OPERATION_NOT_SUPPORTED alter_operation_not_supported(what, instead) "{what} is not supported for this operation. Try {instead}.";
    1846 "0A000" ER_ALTER_OPERATION_NOT_SUPPORTED_REASON alter_not_supported(what, reason, instead) "{what} is not supported. Reason: {reason}. Try {instead}.";
    1877 "HY000" ER_TABLE_CORRUPT table_corrupt(database, table) "Operation cannot be performed. The table '{database}.{table}' is missing, corrupt or contains bad data.";
    1882 "HY000" ER_AES_INVALID_IV aes_iv_too_short(function, bytes) "The initialization vector supplied to {function} is too short. Must be at least {bytes} bytes long";
    3005 "HY000" ER_WARN_LEGACY_SYNTAX_CONVERTED legacy_syntax_converted(old, new) "{old} is no longer supported. The statement was converted to {new}.";
    3008 "HY000" ER_FK_DEPTH_EXCEEDED fk_depth_exceeded(depth) "Foreign key cascade delete/update exceeds max depth of {depth}.";
    3012 "HY000" ER_EXPLAIN_NOT_SUPPORTED statement_not_explainable() "EXPLAIN FOR CONNECTION command is supported only for SELECT/UPDATE/INSERT/DELETE/REPLACE";
    3013 "42000" ER_INVALID_FIELD_SIZE invalid_size_of_column(column) "Invalid size for column '{column}'.";
    3020 "2201E" ER_INVALID_ARGUMENT_FOR_LOGARITHM invalid_logarithm() "Invalid argument for logarithm";
    3024 "HY000" ER_QUERY_TIMEOUT query_timeout() "Query execution was interrupted, maximum statement execution time exceeded";
    3057 "42000" ER_USER_LOCK_WRONG_NAME wrong_user_lock_name(name) "Incorrect user-level lock name '{name}'.";
    3058 "HY000" ER_USER_LOCK_DEADLOCK user_lock_deadlock() "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing locks and restarting lock acquisition.";
    3064 "HY000" ER_INCORRECT_TYPE incorrect_type(number, function) "Incorrect type for argument {number} in function {function}.";
    3065 "HY000" ER_FIELD_IN_ORDER_NOT_SELECT order_by_not_in_select(number, clause, column, reason) "Expression #{number} of {clause} is not in SELECT list, references column '{column}' which is not in SELECT list; this is incompatible with {reason}";
    3102 "HY000" ER_GENERATED_COLUMN_FUNCTION_IS_NOT_ALLOWED generated_column_not_allowed(column) "Expression of generated column '{column}' contains a disallowed function.";
    3104 "HY000" ER_WRONG_FK_OPTION_FOR_GENERATED_COLUMN fk_generated_column(clause) "Cannot define foreign key with {clause} clause on a generated column.";
    3105 "HY000" ER_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN value_for_generated_column(column, table) "The value specified for generated column '{column}' in table '{table}' is not allowed.";
    3106 "HY000" ER_UNSUPPORTED_ACTION_ON_GENERATED_COLUMN unsupported_on_generated_column(action) "'{action}' is not supported for generated columns.";
    3107 "HY000" ER_GENERATED_COLUMN_NON_PRIOR generated_column_non_prior() "Generated column can refer only to generated columns defined prior to it.";
    3108 "HY000" ER_DEPENDENT_BY_GENERATED_COLUMN dependent_by_generated_column(column) "Column '{column}' has a generated column dependency.";
    3109 "HY000" ER_GENERATED_COLUMN_REF_AUTO_INC generated_column_auto_increment(column) "Generated column '{column}' cannot refer to auto-increment column.";
    3118 "HY000" ER_ACCOUNT_HAS_BEEN_LOCKED account_locked(user, host) "Access denied for user '{user}'@'{host}'. Account is locked.";
    3125 "HY000" ER_WARN_UNSUPPORTED_MAX_EXECUTION_TIME unsupported_max_execution_time() "MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only";
    3126 "HY000" ER_WARN_CONFLICTING_HINT conflicting_hint(hint) "Hint {hint} is ignored as conflicting/duplicated";
    3127 "HY000" ER_WARN_UNKNOWN_QB_NAME unknown_block_of_hint(name, hint) "Query block name {name} is not found for {hint} hint";
    3128 "HY000" ER_UNRESOLVED_HINT_NAME unresolved_hint_name(name, hint) "Unresolved name {name} for {hint} hint";
    3140 "22032" ER_INVALID_JSON_TEXT invalid_json_text(what, position, column) "Invalid JSON text: \"{what}\" at position {position} in value for column '{column}'.";
    3141 "22032" ER_INVALID_JSON_TEXT_IN_PARAM invalid_json_argument(number, function, what, position) "Invalid JSON text in argument {number} to function {function}: \"{what}\" at position {position}.";
    3143 "42000" ER_INVALID_JSON_PATH invalid_json_path(position) "Invalid JSON path expression. The error is around character position {position}.";
    3144 "22032" ER_INVALID_JSON_CHARSET invalid_json_charset(charset) "Cannot create a JSON value from a string with CHARACTER SET '{charset}'.";
    3146 "22032" ER_INVALID_TYPE_FOR_JSON invalid_type_for_json(number, function) "Invalid data type for JSON data in argument {number} to function {function}; a JSON string or JSON type is required.";
    3149 "42000" ER_INVALID_JSON_PATH_WILDCARD json_path_wildcard() "In this situation, path expressions may not contain the * and ** tokens or an array range.";
    3151 "22032" ER_JSON_KEY_TOO_BIG json_key_too_big() "The JSON object contains a key name that is too long.";
    3152 "42000" ER_JSON_USED_AS_KEY json_used_as_key(column) "JSON column '{column}' supports indexing only via generated columns on a specified JSON path.";
    3153 "42000" ER_JSON_VACUOUS_PATH json_vacuous_path() "The path expression '$' is not allowed in this context.";
    3154 "42000" ER_JSON_BAD_ONE_OR_ALL_ARG json_bad_one_or_all(function) "The oneOrAll argument to {function} may take these values: 'one' or 'all'.";
    3155 "22003" ER_NUMERIC_JSON_VALUE_OUT_OF_RANGE json_value_out_of_range(target, column, row) "Out of range JSON value for CAST to {target} from column {column} at row {row}";
    3156 "22018" ER_INVALID_JSON_VALUE_FOR_CAST json_value_for_cast(target, column, row) "Invalid JSON value for CAST to {target} from column {column} at row {row}";
    3157 "22032" ER_JSON_DOCUMENT_TOO_DEEP json_document_too_deep() "The JSON document exceeds the maximum depth.";
    3158 "22032" ER_JSON_DOCUMENT_NULL_KEY json_null_key() "JSON documents may not contain NULL member names.";
    3165 "42000" ER_INVALID_JSON_PATH_ARRAY_CELL json_path_no_cell() "A path expression is not a path to a cell in an array.";
    3170 "HY000" ER_CAPACITY_EXCEEDED capacity_exceeded(bytes, variable, consequence) "Memory capacity of {bytes} bytes for '{variable}' exceeded. {consequence}";
    3502 "HY000" ER_UNSUPPORTED_INDEX_ALGORITHM index_algorithm_not_supported(algorithm) "This storage engine does not support the {algorithm} index algorithm, storage engine default was used instead.";
    3513 "HY000" ER_INVALID_BITWISE_OPERANDS_SIZE invalid_bitwise_operands_size() "Binary operands of bitwise operators must be of equal length";
    3516 "HY000" ER_INVALID_BITWISE_AGGREGATE_OPERANDS_SIZE invalid_bitwise_aggregate_operands_size() "Aggregate bitwise functions cannot accept arguments longer than 511 bytes; consider using the SUBSTRING() function";
    3522 "HY000" ER_PK_INDEX_CANT_BE_INVISIBLE primary_key_cannot_be_invisible() "A primary key index cannot be invisible";
    3568 "HY000" ER_UNRESOLVED_TABLE_LOCK unresolved_table_lock(table) "Unresolved table name `{table}` in locking clause.";
    3569 "HY000" ER_DUPLICATE_TABLE_LOCK duplicate_table_lock(table) "Table `{table}` appears in multiple locking clauses.";
    3572 "HY000" ER_LOCK_NOWAIT lock_not_available() "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.";
    3579 "HY000" ER_WINDOW_NO_SUCH_WINDOW no_such_window(window) "Window name '{window}' is not defined.";
    3580 "HY000" ER_WINDOW_CIRCULARITY_IN_WINDOW_GRAPH circular_windows() "There is a circularity in the window dependency graph.";
    3581 "HY000" ER_WINDOW_NO_CHILD_PARTITIONING partition_of_dependent_window() "A window which depends on another cannot define partitioning.";
    3582 "HY000" ER_WINDOW_NO_INHERIT_FRAME inherited_window_has_frame(window) "Window '{window}' has a frame definition, so cannot be referenced by another window.";
    3583 "HY000" ER_WINDOW_NO_REDEFINE_ORDER_BY window_order_redefined(window, base) "Window '{window}' cannot inherit '{base}' since both contain an ORDER BY clause.";
    3584 "HY000" ER_WINDOW_FRAME_START_ILLEGAL illegal_frame_start(window) "Window '{window}': frame start cannot be UNBOUNDED FOLLOWING.";
    3585 "HY000" ER_WINDOW_FRAME_END_ILLEGAL illegal_frame_end(window) "Window '{window}': frame end cannot be UNBOUNDED PRECEDING.";
    3586 "HY000" ER_WINDOW_FRAME_ILLEGAL illegal_frame(window) "Window '{window}': frame start or end is negative, NULL or of non-integral type";
    3587 "HY000" ER_WINDOW_RANGE_FRAME_ORDER_TYPE range_frame_order(window) "Window '{window}' with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY expression, of numeric or temporal type";
    3588 "HY000" ER_WINDOW_RANGE_FRAME_TEMPORAL_TYPE range_frame_wants_interval(window) "Window '{window}' with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound value allowed.";
    3589 "HY000" ER_WINDOW_RANGE_FRAME_NUMERIC_TYPE range_frame_wants_number(window) "Window '{window}' with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not allowed.";
    3590 "HY000" ER_WINDOW_RANGE_BOUND_NOT_CONSTANT frame_bound_not_constant(window) "Window '{window}' has a non-constant frame bound.";
    3591 "HY000" ER_WINDOW_DUPLICATE_NAME duplicate_window(window) "Window '{window}' is defined twice.";
    3592 "HY000" ER_WINDOW_ILLEGAL_ORDER_BY window_order_by_position(window) "Window '{window}': ORDER BY or PARTITION BY uses legacy position indication which is not supported, use expression.";
    3593 "HY000" ER_WINDOW_INVALID_WINDOW_FUNC_USE invalid_window_function(function) "You cannot use the window function '{function}' in this context.'";
    3594 "HY000" ER_WINDOW_INVALID_WINDOW_FUNC_ALIAS_USE invalid_window_alias(alias) "You cannot use the alias '{alias}' of an expression containing a window function in this context.'";
    3595 "HY000" ER_WINDOW_NESTED_WINDOW_FUNC_USE_IN_WINDOW_SPEC window_function_in_window(window) "You cannot nest a window function in the specification of window '{window}'.";
    3596 "HY000" ER_WINDOW_ROWS_INTERVAL_USE interval_in_rows_frame(window) "Window '{window}': INTERVAL can only be used with RANGE frames.";
    3599 "HY000" ER_WINDOW_FUNCTION_IGNORES_FRAME window_function_ignores_frame(function, window) "Window function '{function}' ignores the frame clause of window '{window}' and aggregates over the whole partition";
    3601 "HY000" ER_INVALID_NO_OF_ARGS too_many_arguments(function, count, max) "Too many arguments for function {function}: {count}; maximum allowed is {max}.";
    3602 "HY000" ER_FIELD_IN_GROUPING_NOT_GROUP_BY grouping_argument_not_key(number) "Argument #{number} of GROUPING function is not in GROUP BY";
    3637 "HY000" ER_NOT_HINT_UPDATABLE_VARIABLE not_hint_updatable(variable) "Variable '{variable}' cannot be set using SET_VAR hint.";
    3650 "HY000" ER_RESOURCE_GROUP_EXISTS resource_group_exists(name) "Resource Group '{name}' exists";
    3651 "HY000" ER_RESOURCE_GROUP_NOT_EXISTS no_such_resource_group(name) "Resource Group '{name}' does not exist.";
    3652 "HY000" ER_INVALID_VCPU_ID invalid_vcpu(number) "Invalid cpu id {number}";
    3653 "HY000" ER_INVALID_VCPU_RANGE invalid_vcpu_range(first, last) "Invalid VCPU range {first}-{last}";
    3654 "HY000" ER_INVALID_THREAD_PRIORITY invalid_thread_priority(priority, kind, name, least, most) "Invalid thread priority value {priority} for {kind} resource group {name}. Allowed range is [{least}, {most}].";
    3655 "HY000" ER_DISALLOWED_OPERATION disallowed_operation(operation, what) "{operation} operation is disallowed on {what}";
    3656 "HY000" ER_RESOURCE_GROUP_BUSY resource_group_busy(name) "Resource group {name} is busy.";
    3657 "HY000" ER_RESOURCE_GROUP_DISABLED resource_group_disabled(name) "Resource group {name} is disabled.";
    3659 "HY000" ER_ATTRIBUTE_IGNORED attribute_ignored(attribute, why) "Attribute {attribute} is ignored ({why}).";
    3660 "HY000" ER_INVALID_THREAD_ID invalid_thread_id(thread) "Invalid thread id ({thread}).";
    3661 "HY000" ER_RESOURCE_GROUP_BIND_FAILED resource_group_not_bound(name, thread, why) "Unable to bind resource group {name} with thread id ({thread}).({why}).";
    3662 "HY000" ER_INVALID_USE_OF_FORCE_OPTION force_without_disable() "Option FORCE invalid as DISABLE option is not specified.";
    3665 "22035" ER_MISSING_JSON_TABLE_VALUE missing_json_table_value(column) "Missing value for JSON_TABLE column '{column}'";
    3666 "2203F" ER_WRONG_JSON_TABLE_VALUE wrong_json_table_value(column) "Can't store an array or an object in the scalar JSON_TABLE column '{column}'";
    3667 "42000" ER_TF_MUST_HAVE_ALIAS table_function_without_alias() "Every table function must have an alias.";
    3669 "22003" ER_JT_VALUE_OUT_OF_RANGE json_table_value_out_of_range(column) "Value is out of range for JSON_TABLE's column '{column}'";
    3684 "HY000" ER_REGEXP_BUFFER_OVERFLOW regexp_buffer_overflow() "The result string is larger than the result buffer.";
    3685 "HY000" ER_REGEXP_ILLEGAL_ARGUMENT regexp_illegal_argument() "Illegal argument to a regular expression.";
    3686 "HY000" ER_REGEXP_INDEX_OUTOFBOUNDS_ERROR regexp_index_out_of_bounds() "Index out of bounds in regular expression search.";
    3688 "HY000" ER_REGEXP_RULE_SYNTAX regexp_syntax(line, character) "Syntax error in regular expression on line {line}, character {character}.";
    3689 "HY000" ER_REGEXP_BAD_ESCAPE_SEQUENCE regexp_bad_escape() "Unrecognized escape sequence in regular expression.";
    3691 "HY000" ER_REGEXP_MISMATCHED_PAREN regexp_mismatched_parenthesis() "Mismatched parenthesis in regular expression.";
    3692 "HY000" ER_REGEXP_BAD_INTERVAL regexp_bad_interval() "Incorrect description of a {{min,max}} interval.";
    3693 "HY000" ER_REGEXP_MAX_LT_MIN regexp_max_below_min() "The maximum is less than the minimum in a {{min,max}} interval.";
    3694 "HY000" ER_REGEXP_INVALID_BACK_REF regexp_invalid_back_reference() "Invalid back-reference in regular expression.";
    3696 "HY000" ER_REGEXP_MISSING_CLOSE_BRACKET regexp_unclosed_bracket() "The regular expression contains an unclosed bracket expression.";
    3697 "HY000" ER_REGEXP_INVALID_RANGE regexp_invalid_range() "The regular expression contains an [x-y] character range where x comes after y.";
    3698 "HY000" ER_REGEXP_STACK_OVERFLOW regexp_too_large() "Overflow in the regular expression backtrack stack.";
    3730 "HY000" ER_FK_CANNOT_DROP_PARENT fk_cannot_drop_parent(table, name, child) "Cannot drop table '{table}' referenced by a foreign key constraint '{name}' on table '{child}'.";
    3733 "HY000" ER_FK_CANNOT_USE_VIRTUAL_COLUMN fk_virtual_column(name, column) "Foreign key '{name}' uses virtual column '{column}' which is not supported.";
    3734 "HY000" ER_FK_NO_COLUMN_PARENT fk_no_parent_column(column, name, table) "Failed to add the foreign key constraint. Missing column '{column}' for constraint '{name}' in the referenced table '{table}'";
    3751 "01000" ER_WARN_DATA_TRUNCATED_FUNCTIONAL_INDEX functional_index_truncated(index, row) "Data truncated for functional index '{index}' at row {row}";
    3752 "01000" ER_WARN_DATA_OUT_OF_RANGE_FUNCTIONAL_INDEX functional_index_out_of_range(index, row) "Value is out of range for functional index '{index}' at row {row}";
    3753 "HY000" ER_FUNCTIONAL_INDEX_ON_JSON_OR_GEOMETRY_FUNCTION functional_index_on_json() "Cannot create a functional index on a function that returns a JSON or GEOMETRY value";
    3754 "HY000" ER_FUNCTIONAL_INDEX_REF_AUTO_INCREMENT functional_index_auto_increment(index) "Functional index '{index}' cannot refer to an auto-increment column.";
    3756 "HY000" ER_FUNCTIONAL_INDEX_PRIMARY_KEY functional_primary_key() "The primary key cannot be a functional index";
    3757 "HY000" ER_FUNCTIONAL_INDEX_ON_LOB functional_index_on_lob() "Cannot create a functional index on an expression that returns a BLOB or TEXT. Please consider using CAST.";
    3758 "HY000" ER_FUNCTIONAL_INDEX_FUNCTION_IS_NOT_ALLOWED functional_index_function(index) "Expression of functional index '{index}' contains a disallowed function.";
    3761 "HY000" ER_WRONG_KEY_COLUMN_FUNCTIONAL_INDEX functional_index_not_indexable(expression) "The used storage engine cannot index the expression '{expression}'.";
    3762 "HY000" ER_FUNCTIONAL_INDEX_ON_FIELD functional_index_on_column() "Functional index on a column is not supported. Consider using a regular index instead.";
    3763 "HY000" ER_GENERATED_COLUMN_NAMED_FUNCTION_IS_NOT_ALLOWED generated_column_function(column, function) "Expression of generated column '{column}' contains a disallowed function: {function}.";
    3766 "HY000" ER_DEPENDENT_BY_DEFAULT_GENERATED_VALUE dependent_by_default(column, table) "Column '{column}' of table '{table}' has a default value expression dependency and cannot be dropped or renamed.";
    3767 "HY000" ER_DEFAULT_VAL_GENERATED_NON_PRIOR default_non_prior(column) "Default value expression of column '{column}' cannot refer to a column defined after it if that column is a generated column or has an expression as default value.";
    3768 "HY000" ER_DEFAULT_VAL_GENERATED_REF_AUTO_INC default_auto_increment(column) "Default value expression of column '{column}' cannot refer to an auto-increment column.";
    3773 "HY000" ER_DEFAULT_AS_VAL_GENERATED default_of_expression() "DEFAULT function cannot be used with default value expressions";
    3780 "HY000" ER_FK_INCOMPATIBLE_COLUMNS fk_incompatible_columns(column, parent, name) "Referencing column '{column}' and referenced column '{parent}' in foreign key constraint '{name}' are incompatible.";
    3812 "HY000" ER_NON_BOOLEAN_EXPR_FOR_CHECK_CONSTRAINT check_not_boolean(name) "An expression of non-boolean type specified to a check constraint '{name}'.";
    3813 "HY000" ER_COLUMN_CHECK_CONSTRAINT_REFERENCES_OTHER_COLUMN column_check_other_column(name) "Column check constraint '{name}' references other column.";
    3814 "HY000" ER_CHECK_CONSTRAINT_NAMED_FUNCTION_IS_NOT_ALLOWED check_function(name, function) "An expression of a check constraint '{name}' contains disallowed function: {function}.";
    3818 "HY000" ER_CHECK_CONSTRAINT_REFERS_AUTO_INCREMENT_COLUMN check_auto_increment(name) "Check constraint '{name}' cannot refer to an auto-increment column.";
    3819 "HY000" ER_CHECK_CONSTRAINT_VIOLATED check_violated(name) "Check constraint '{name}' is violated.";
    3820 "HY000" ER_CHECK_CONSTRAINT_REFERS_UNKNOWN_COLUMN check_unknown_column(name, column) "Check constraint '{name}' refers to non-existing column '{column}'.";
    3821 "HY000" ER_CHECK_CONSTRAINT_NOT_FOUND check_not_found(name) "Check constraint '{name}' is not found in the table.";
    3822 "HY000" ER_CHECK_CONSTRAINT_DUP_NAME check_duplicate_name(name) "Duplicate check constraint name '{name}'.";
    3823 "HY000" ER_CHECK_CONSTRAINT_CLAUSE_USING_FK_REFER_ACTION_COLUMN check_of_foreign_column(column, check, key) "Column '{column}' cannot be used in a check constraint '{check}': needed in a foreign key constraint '{key}' referential action.";
    3837 "HY000" ER_DEPENDENT_BY_FUNCTIONAL_INDEX dependent_by_functional_index(column) "Column '{column}' has a functional index dependency and cannot be dropped or renamed.";
    3853 "22032" ER_INVALID_JSON_TYPE json_type_required(number, function, wanted) "Invalid JSON type in argument {number} to function {function}; an {wanted} is required.";
    3903 "22018" ER_INVALID_JSON_VALUE_FOR_FUNC_INDEX functional_index_invalid_json(index) "Invalid JSON value for CAST for functional index '{index}'.";
    3904 "22003" ER_JSON_VALUE_OUT_OF_RANGE_FOR_FUNC_INDEX functional_index_json_out_of_range(index) "Out of range JSON value for CAST for functional index '{index}'.";
    3907 "22001" ER_FUNCTIONAL_INDEX_DATA_IS_TOO_LONG functional_index_too_long(index) "Data too long for functional index '{index}'.";
    3939 "HY000" ER_MULTIPLE_CONSTRAINTS_WITH_SAME_NAME constraint_name_ambiguous(name) "Table has multiple constraints with the name '{name}'. Please use constraint specific 'DROP' clause.";
    3940 "HY000" ER_CONSTRAINT_NOT_FOUND constraint_not_found(name) "Constraint '{name}' does not exist.";
    3941 "HY000" ER_ALTER_CONSTRAINT_ENFORCEMENT_NOT_SUPPORTED constraint_enforcement_not_supported(name) "Altering constraint enforcement is not supported for the constraint '{name}'. Enforcement state alter is not supported for the PRIMARY, UNIQUE and FOREIGN KEY type constraints.";
    3959 "HY000" ER_DEPENDENT_BY_CHECK_CONSTRAINT dependent_by_check(name, column) "Check constraint '{name}' uses column '{column}', hence column cannot be dropped or renamed.";
    3966 "22035" ER_MISSING_JSON_VALUE missing_json_value(function) "No value was found by '{function}' on the specified path.";
    3967 "22034" ER_MULTIPLE_JSON_VALUES multiple_json_values(function) "More than one value was found by '{function}' on the specified path.";
    3978 "HY000" ER_FOREIGN_KEY_WITH_ATOMIC_CREATE_SELECT foreign_key_with_create_select() "Foreign key creation is not allowed with CREATE TABLE as SELECT statement.";
    3986 "HY000" ER_IMPLICIT_COMPARISON_FOR_JSON implicit_comparison_for_json() "Evaluating a JSON value in SQL boolean context does an implicit comparison against JSON integer 0; if this is not what you want, consider converting JSON to a SQL numeric type with JSON_VALUE RETURNING";
    3995 "HY000" ER_CHARACTER_SET_MISMATCH character_set_mismatch(first, second, function) "Character set '{first}' cannot be used in conjunction with '{second}' in call to {function}.";
    4028 "HY000" ER_TABLE_MUST_HAVE_A_VISIBLE_COLUMN table_without_visible_columns() "A table must have at least one visible column.";
}
