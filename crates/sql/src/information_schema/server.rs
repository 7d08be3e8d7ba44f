//! `information_schema.ENGINES`, `PLUGINS` and `USER_PRIVILEGES`.

use super::{CATALOG, Columns, Rows, name_column, nullable_name, text, text_column, yes_no};
use crate::accounts::ROOT;
use crate::session::Session;
use leafline_types::{MysqlError, SqlType, Value};

/// What the account that there is may do: everything, under MySQL's names for it.
const PRIVILEGES: [&str; 28] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "RELOAD",
    "SHUTDOWN",
    "PROCESS",
    "FILE",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "SHOW DATABASES",
    "SUPER",
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "EXECUTE",
    "REPLICATION SLAVE",
    "REPLICATION CLIENT",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "CREATE USER",
    "EVENT",
    "TRIGGER",
    "CREATE TABLESPACE",
];

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

pub(super) fn engine_rows(session: &Session) -> Result<Rows, MysqlError> {
    Ok(crate::show::engines(session.settings.organisation).rows)
}

pub(super) fn plugin_columns() -> Columns {
    let names = ["PLUGIN_NAME", "PLUGIN_STATUS", "PLUGIN_TYPE"].map(name_column);
    names.into_iter().chain(["PLUGIN_LIBRARY", "PLUGIN_LICENSE"].map(nullable_name)).collect()
}

pub(super) fn plugin_rows(_: &Session) -> Result<Rows, MysqlError> {
    Ok(crate::show::plugins().rows)
}

pub(super) fn privilege_columns() -> Columns {
    vec![
        text_column("GRANTEE", SqlType::Varchar { len: 292 }),
        name_column("TABLE_CATALOG"),
        name_column("PRIVILEGE_TYPE"),
        name_column("IS_GRANTABLE"),
    ]
}

pub(super) fn privilege_rows(_: &Session) -> Result<Rows, MysqlError> {
    let grantee = format!("'{ROOT}'@'%'");
    let row = |privilege| -> Vec<Value> {
        vec![text(grantee.as_str()), text(CATALOG), text(privilege), yes_no(true)]
    };
    Ok(PRIVILEGES.into_iter().map(row).collect())
}
