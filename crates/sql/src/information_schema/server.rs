//! `information_schema.ENGINES`, `PLUGINS`, `USER_PRIVILEGES`, `SCHEMA_PRIVILEGES` and `TABLE_PRIVILEGES`.

use super::privileges;
use super::{Columns, Rows, SystemView, long_text, name_column, nullable_name, text, text_column};
use crate::result::RowSet;
use leafline_table::Organisation;
use leafline_types::{MysqlError, SqlType, Value};

pub(super) fn engine_columns() -> Columns {
    vec![
        name_column("ENGINE"),
        name_column("SUPPORT"),
        text_column("COMMENT", SqlType::Varchar { len: 80 }),
        nullable_name("TRANSACTIONS"),
        nullable_name("XA"),
        nullable_name("SAVEPOINTS"),
    ]
}

pub(super) fn engine_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    Ok(engines(system.settings.organisation).rows)
}

pub(super) fn plugin_columns() -> Columns {
    vec![
        name_column("PLUGIN_NAME"),
        name_column("PLUGIN_VERSION"),
        name_column("PLUGIN_STATUS"),
        name_column("PLUGIN_TYPE"),
        name_column("PLUGIN_TYPE_VERSION"),
        nullable_name("PLUGIN_LIBRARY"),
        nullable_name("PLUGIN_LIBRARY_VERSION"),
        nullable_name("PLUGIN_AUTHOR"),
        long_text("PLUGIN_DESCRIPTION"),
        nullable_name("PLUGIN_LICENSE"),
        name_column("LOAD_OPTION"),
    ]
}

pub(super) fn plugin_rows(_: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let version = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
    let row = |(name, kind, description)| {
        let known = [name, version, "ACTIVE", kind, version].map(text);
        let about = ["Leafline", description, LICENSE, "ON"].map(text);
        [&known[..], &[Value::Null, Value::Null], &about].concat()
    };
    Ok(PLUGINS.into_iter().map(row).collect())
}

/// The columns of a privilege table; `of` names the columns of the object.
fn columns_of_privileges(of: &[&str]) -> Columns {
    let mut columns =
        vec![text_column("GRANTEE", SqlType::Varchar { len: 292 }), name_column("TABLE_CATALOG")];
    columns.extend(of.iter().chain(&["PRIVILEGE_TYPE", "IS_GRANTABLE"]).map(|name| name_column(name)));
    columns
}

pub(super) fn privilege_columns() -> Columns {
    columns_of_privileges(&[])
}

pub(super) fn privilege_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    Ok(privileges::user_privileges(system))
}

pub(super) fn database_privilege_columns() -> Columns {
    columns_of_privileges(&["TABLE_SCHEMA"])
}

pub(super) fn database_privilege_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    Ok(privileges::database_privileges(system))
}

pub(super) fn table_privilege_columns() -> Columns {
    columns_of_privileges(&["TABLE_SCHEMA", "TABLE_NAME"])
}

pub(super) fn table_privilege_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    Ok(privileges::table_privileges(system))
}

pub(super) fn column_privilege_columns() -> Columns {
    columns_of_privileges(&["TABLE_SCHEMA", "TABLE_NAME", "COLUMN_NAME"])
}

pub(super) fn column_privilege_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    Ok(privileges::column_privileges(system))
}

/// The plugins as MySQL would list them: name, type, description.
pub(crate) const PLUGINS: [(&str, &str, &str); 4] = [
    ("mysql_native_password", "AUTHENTICATION", "Passwords by SHA-1 and a challenge"),
    ("caching_sha2_password", "AUTHENTICATION", "Passwords by SHA-256, salted"),
    ("InnoDB", "STORAGE ENGINE", "Leafline's clustered B+trees, transactions, recovery"),
    ("MyISAM", "STORAGE ENGINE", "Leafline's heaps, transactions, recovery"),
];

/// License of the plugins.
pub(crate) const LICENSE: &str = "Apache-2.0";

/// The organisations of tables, under the names of engines; `default` is the one of tables that name no
/// engine.
pub(crate) fn engines(default: Organisation) -> RowSet {
    let mut rows = RowSet::text(["Engine", "Support", "Comment", "Transactions", "XA", "Savepoints"]);
    for (organisation, comment) in [
        (
            Organisation::Clustered,
            "Leafline's clustered B+trees: transactions, row locks, foreign keys, recovery",
        ),
        (
            Organisation::Heap,
            "Leafline's heaps: all indexes beside the rows; transactions, row locks, recovery",
        ),
    ] {
        let support = if organisation == default { "DEFAULT" } else { "YES" };
        rows.push([organisation.engine(), support, comment, "YES", "NO", "YES"].map(text).to_vec());
    }
    rows
}
