//! System views: the tables of `information_schema`, `performance_schema` and `sys`, and those of `mysql`
//! that are not stored. A statement that names one is bound together with its current rows, and bound anew
//! for each execution. SHOW TABLE STATUS, COLUMNS and INDEX select columns of the same rows.

mod absent;
mod character_sets;
mod column_statistics;
pub(crate) mod columns;
mod connect_attributes;
mod constraints;
mod events;
mod index_statistics;
mod index_usage;
mod keywords;
mod optimizer_trace;
mod partitions;
mod privileges;
mod process_list;
mod resource_groups;
mod roles;
pub(crate) mod routines;
mod schemata;
mod server;
mod sizes;
mod statement_digests;
pub(crate) mod statistics;
mod system_view;
pub(crate) mod tables;
mod tablespaces;
mod transactions;
mod triggers;
mod views;
mod visible;

pub(crate) use character_sets::{character_sets, collations};
pub(crate) use columns::view_as_table;
pub(crate) use process_list::{PERCENT, doing, percent};
pub(crate) use server::{LICENSE, PLUGINS, engines};
pub(crate) use system_view::SystemView;

use crate::system_names::{PERFORMANCE, STANDARD, STATEMENT_DIGESTS, SYS, database};
use crate::system_table::SYSTEM_DATABASE;
use leafline_planner::SystemRows;
use leafline_syntax::quoted;
use leafline_table::TableDef;
use leafline_types::error::errno;
use leafline_types::{Coercibility, Collation, ExprType, MysqlError, SqlType, Value};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

/// Names and types of columns.
pub(crate) type Columns = Vec<(String, ExprType)>;
/// Values by row.
pub(crate) type Rows = Vec<Vec<Value>>;

/// The standard's name of the only catalog.
const CATALOG: &str = "def";

/// A system view, with the function that computes its rows.
pub(crate) struct Definition {
    /// The database, which the catalog does not list.
    pub(crate) database: &'static str,
    pub(crate) name: &'static str,
    pub(crate) columns: fn() -> Columns,
    rows: fn(&SystemView<'_>) -> Result<Rows, MysqlError>,
}

impl Definition {
    /// The `TABLE_TYPE`. Everything in `sys` is a view, as in MySQL.
    pub(crate) fn kind(&self) -> &'static str {
        if self.database == SYS { "VIEW" } else { "SYSTEM VIEW" }
    }

    /// A query with the view's columns, for SHOW CREATE VIEW; the rows themselves come from code.
    pub(crate) fn view_query(&self) -> String {
        let columns = (self.columns)().into_iter();
        let columns: Vec<String> = columns.map(|(name, _)| format!("NULL AS {}", quoted(&name))).collect();
        format!("SELECT {} LIMIT 0", columns.join(","))
    }
}

/// All system views, by database and name.
pub(crate) const TABLES: &[Definition] = &[
    standard("ADMINISTRABLE_ROLE_AUTHORIZATIONS", roles::applicable_columns, roles::administrable_rows),
    standard("APPLICABLE_ROLES", roles::applicable_columns, roles::applicable_rows),
    standard("CHARACTER_SETS", character_sets::columns, character_sets::rows),
    standard("CHECK_CONSTRAINTS", constraints::check_columns, constraints::check_rows),
    standard("COLLATIONS", character_sets::collation_columns, character_sets::collation_rows),
    standard(
        "COLLATION_CHARACTER_SET_APPLICABILITY",
        character_sets::applicability_columns,
        character_sets::applicability_rows,
    ),
    standard("COLUMNS", columns::columns, columns::rows),
    standard("COLUMN_PRIVILEGES", server::column_privilege_columns, server::column_privilege_rows),
    standard("COLUMN_STATISTICS", column_statistics::columns, column_statistics::rows),
    standard("ENABLED_ROLES", roles::enabled_columns, roles::enabled_rows),
    standard("ENGINES", server::engine_columns, server::engine_rows),
    standard("EVENTS", events::columns, events::rows),
    standard("FILES", absent::files, absent::rows),
    standard("INNODB_INDEX_STATS", index_statistics::columns, index_statistics::rows),
    standard("INNODB_TABLESPACES", tablespaces::columns, tablespaces::rows),
    standard("INNODB_TRX", transactions::columns, transactions::rows),
    standard("KEYWORDS", keywords::columns, keywords::rows),
    standard("KEY_COLUMN_USAGE", constraints::key_columns, constraints::key_rows),
    standard("OPTIMIZER_TRACE", optimizer_trace::columns, optimizer_trace::rows),
    standard("PARAMETERS", routines::parameter_columns, routines::parameter_rows),
    standard("PARTITIONS", partitions::columns, partitions::rows),
    standard("PLUGINS", server::plugin_columns, server::plugin_rows),
    standard("PROCESSLIST", process_list::columns, process_list::rows),
    standard("REFERENTIAL_CONSTRAINTS", constraints::referential_columns, constraints::referential_rows),
    standard("RESOURCE_GROUPS", resource_groups::columns, resource_groups::rows),
    standard("ROLE_COLUMN_GRANTS", roles::column_grant_columns, roles::column_grant_rows),
    standard("ROLE_ROUTINE_GRANTS", roles::routine_grant_columns, roles::routine_grant_rows),
    standard("ROLE_TABLE_GRANTS", roles::table_grant_columns, roles::table_grant_rows),
    standard("ROUTINES", routines::columns, routines::rows),
    standard("SCHEMATA", schemata::columns, schemata::rows),
    standard("SCHEMA_PRIVILEGES", server::database_privilege_columns, server::database_privilege_rows),
    standard("STATISTICS", statistics::columns, statistics::rows),
    standard("TABLES", tables::columns, tables::rows),
    standard("TABLE_CONSTRAINTS", constraints::table_columns, constraints::table_rows),
    standard("TABLE_PRIVILEGES", server::table_privilege_columns, server::table_privilege_rows),
    standard("TRIGGERS", triggers::columns, triggers::rows),
    standard("USER_PRIVILEGES", server::privilege_columns, server::privilege_rows),
    standard("VIEWS", views::columns, views::rows),
    Definition {
        database: SYSTEM_DATABASE,
        name: "general_log",
        columns: absent::general_log,
        rows: absent::rows,
    },
    Definition { database: SYSTEM_DATABASE, name: "slow_log", columns: absent::slow_log, rows: absent::rows },
    Definition {
        database: STATEMENT_DIGESTS.0,
        name: STATEMENT_DIGESTS.1,
        columns: statement_digests::columns,
        rows: statement_digests::rows,
    },
    Definition {
        database: PERFORMANCE,
        name: "session_account_connect_attrs",
        columns: connect_attributes::columns,
        rows: connect_attributes::account_rows,
    },
    Definition {
        database: PERFORMANCE,
        name: "session_connect_attrs",
        columns: connect_attributes::columns,
        rows: connect_attributes::rows,
    },
    in_sys("schema_redundant_indexes", index_usage::redundant_columns, index_usage::redundant_rows),
    in_sys("schema_unused_indexes", index_usage::unused_columns, index_usage::unused_rows),
    in_sys(
        "statements_with_wrong_estimates",
        statement_digests::wrong_columns,
        statement_digests::wrong_rows,
    ),
];

const fn standard(
    name: &'static str,
    columns: fn() -> Columns,
    rows: fn(&SystemView<'_>) -> Result<Rows, MysqlError>,
) -> Definition {
    Definition { database: STANDARD, name, columns, rows }
}

const fn in_sys(
    name: &'static str,
    columns: fn() -> Columns,
    rows: fn(&SystemView<'_>) -> Result<Rows, MysqlError>,
) -> Definition {
    Definition { database: SYS, name, columns, rows }
}

/// The system views of a database.
pub(crate) fn tables_of(database: &str) -> impl Iterator<Item = &'static Definition> {
    TABLES.iter().filter(move |table| table.database.eq_ignore_ascii_case(database))
}

/// The system view of this name.
pub(crate) fn definition(database: &str, name: &str) -> Option<&'static Definition> {
    tables_of(database).find(|table| table.name.eq_ignore_ascii_case(name))
}

/// The columns and the current rows of a view of `information_schema`.
///
/// # Errors
/// 1109 for an unknown name; the errors of the view.
pub(crate) fn contents(system: &SystemView<'_>, name: &str) -> Result<(Columns, Rows), MysqlError> {
    let definition =
        definition(STANDARD, name).ok_or_else(|| MysqlError::unknown_table_in(name, STANDARD))?;
    Ok(((definition.columns)(), (definition.rows)(system)?))
}

/// The system view of this name, with its current rows.
///
/// # Errors
/// Errors of reading the data behind the rows.
pub(crate) fn table(
    system: &SystemView<'_>,
    database: &str,
    name: &str,
) -> Result<Option<SystemRows>, MysqlError> {
    let Some(definition) = definition(database, name) else { return Ok(None) };
    let rows = match Computing::begin() {
        Some(_computing) => (definition.rows)(system)?,
        None => Vec::new(),
    };
    Ok(Some(SystemRows { columns: (definition.columns)(), rows }))
}

thread_local! {
    /// True while this thread computes rows of a system view.
    static COMPUTING: Cell<bool> = const { Cell::new(false) };
}

/// Marks that this thread computes rows. Rows about views bind the views' queries, which may name system
/// views again; these then give columns without rows, so that the recursion ends.
struct Computing;

impl Computing {
    /// Returns `None` if the thread computes rows already.
    fn begin() -> Option<Computing> {
        // A second value would clear the mark when it is dropped.
        (!COMPUTING.replace(true)).then(|| Computing)
    }
}

impl Drop for Computing {
    fn drop(&mut self) {
        COMPUTING.set(false);
    }
}

/// The error for a missing table of one of these databases.
pub(crate) fn missing(database: &str, name: &str) -> Option<MysqlError> {
    let known = self::database(database)?;
    Some(match known {
        STANDARD => MysqlError::unknown_table_in(name.to_uppercase(), known),
        _ => MysqlError::no_such_table(known, name),
    })
}

/// The stored tables that the session may see, by database and name.
fn stored_tables(system: &SystemView<'_>) -> Vec<Arc<TableDef>> {
    system.visible().tables().cloned().collect()
}

/// The stored tables without the server's own.
fn users_tables(system: &SystemView<'_>) -> Vec<Arc<TableDef>> {
    let mut tables = stored_tables(system);
    tables.retain(|table| table.database != SYSTEM_DATABASE);
    tables
}

/// Calls `look` with the current definition of a table: with a newer one if the table was changed, and not at
/// all once it is dropped. So a statement about all tables continues beside DDL.
///
/// # Errors
/// Errors of `look` except 1412; 1317 if the statement is cancelled.
pub(crate) fn of_current<T: Default>(
    system: &SystemView<'_>,
    table: &Arc<TableDef>,
    look: impl Fn(&Arc<TableDef>) -> Result<T, MysqlError>,
) -> Result<T, MysqlError> {
    /// Number of attempts with a definition that is no longer in force and has no successor yet.
    const PATIENCE: u32 = 1000;
    let mut table = table.clone();
    for _ in 0..PATIENCE {
        match look(&table) {
            Err(error) if error.code == errno::ER_TABLE_DEF_CHANGED => {}
            found => return found,
        }
        system.cancel.check()?;
        match system.instance.engine().catalog().table(&table.database, &table.name) {
            Some(current) if Arc::ptr_eq(current, &table) => std::thread::sleep(Duration::from_millis(1)),
            Some(current) => table = current.clone(),
            None => break,
        }
    }
    Ok(T::default())
}

/// A string, or NULL for `None`.
fn text<'a>(value: impl Into<Option<&'a str>>) -> Value {
    value.into().map_or(Value::Null, Value::string)
}

fn yes_no(yes: bool) -> Value {
    text(if yes { "YES" } else { "NO" })
}

/// A column of a numeric type.
fn number_column(name: &str, ty: SqlType) -> (String, ExprType) {
    (name.into(), ExprType::column(ty, false, Collation::Binary))
}

/// A column of a numeric or temporal type that may be NULL.
fn nullable_column(name: &str, ty: SqlType) -> (String, ExprType) {
    (name.into(), ExprType::column(ty, true, Collation::Binary))
}

/// A column of counts.
fn count_column(name: &str) -> (String, ExprType) {
    number_column(name, SqlType::BIGINT_UNSIGNED)
}

/// A column of text that may be NULL.
fn text_column(name: &str, ty: SqlType) -> (String, ExprType) {
    (name.into(), ExprType::string(ty, true, Collation::Utf8mb4_0900AiCi, Coercibility::Implicit))
}

/// A column of names.
fn name_column(name: &str) -> (String, ExprType) {
    let ty = SqlType::Varchar { len: 64 };
    (name.into(), ExprType::string(ty, false, Collation::Utf8mb3GeneralCi, Coercibility::Implicit))
}

/// A column of names that may be NULL.
fn nullable_name(name: &str) -> (String, ExprType) {
    let (name, ty) = name_column(name);
    (name, ExprType { nullable: true, ..ty })
}

/// A column of long texts that may be NULL.
fn long_text(name: &str) -> (String, ExprType) {
    text_column(name, SqlType::Text { max_bytes: u32::MAX })
}

#[cfg(test)]
mod tests {
    use super::TABLES;
    use crate::system_names::DATABASES;
    use crate::system_table::SYSTEM_DATABASE;

    #[test]
    fn tables_are_in_order_and_have_columns_of_different_names() {
        let names = |at: usize| (TABLES[at].database, TABLES[at].name);
        assert!((1..TABLES.len()).all(|at| names(at - 1) < names(at)));
        for table in TABLES {
            assert!(DATABASES.contains(&table.database) || table.database == SYSTEM_DATABASE);
            let mut columns: Vec<String> = (table.columns)().into_iter().map(|(name, _)| name).collect();
            columns.sort_unstable();
            columns.dedup();
            assert_eq!(columns.len(), (table.columns)().len(), "{}", table.name);
        }
    }
}
