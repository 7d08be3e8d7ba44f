//! `information_schema.ENGINES`, `PLUGINS`, `USER_PRIVILEGES`, `SCHEMA_PRIVILEGES` and `TABLE_PRIVILEGES`.

use super::{Columns, Rows, long_text, name_column, nullable_name, text, text_column};
use crate::accounts;
use crate::session::Session;
use crate::show::server::{LICENSE, PLUGINS};
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

pub(super) fn engine_rows(session: &Session) -> Result<Rows, MysqlError> {
    Ok(crate::show::engines(session.settings.organisation).rows)
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

pub(super) fn plugin_rows(_: &Session) -> Result<Rows, MysqlError> {
    let version = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
    let row = |(name, kind, description)| {
        let known = [name, version, "ACTIVE", kind, version].map(text);
        let about = ["Leafline", description, LICENSE, "ON"].map(text);
        [&known[..], &[Value::Null, Value::Null], &about].concat()
    };
    Ok(PLUGINS.into_iter().map(row).collect())
}

/// The columns of a table of privileges; `of` are the names of what each is granted on.
fn columns_of_privileges(of: &[&str]) -> Columns {
    let mut columns =
        vec![text_column("GRANTEE", SqlType::Varchar { len: 292 }), name_column("TABLE_CATALOG")];
    columns.extend(of.iter().chain(&["PRIVILEGE_TYPE", "IS_GRANTABLE"]).map(|name| name_column(name)));
    columns
}

pub(super) fn privilege_columns() -> Columns {
    columns_of_privileges(&[])
}

pub(super) fn privilege_rows(session: &Session) -> Result<Rows, MysqlError> {
    Ok(accounts::user_privileges(session))
}

pub(super) fn database_privilege_columns() -> Columns {
    columns_of_privileges(&["TABLE_SCHEMA"])
}

pub(super) fn database_privilege_rows(session: &Session) -> Result<Rows, MysqlError> {
    Ok(accounts::database_privileges(session))
}

pub(super) fn table_privilege_columns() -> Columns {
    columns_of_privileges(&["TABLE_SCHEMA", "TABLE_NAME"])
}

pub(super) fn table_privilege_rows(session: &Session) -> Result<Rows, MysqlError> {
    Ok(accounts::table_privileges(session))
}
