//! `information_schema.ENGINES`, `PLUGINS`, `USER_PRIVILEGES`, `SCHEMA_PRIVILEGES` and `TABLE_PRIVILEGES`.

use super::{Columns, Rows, name_column, nullable_name, text_column};
use crate::accounts;
use crate::session::Session;
use leafline_types::{MysqlError, SqlType};

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
