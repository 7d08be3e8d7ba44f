//! `performance_schema.session_connect_attrs` and `session_account_connect_attrs`: the connection attributes
//! of clients.

use super::{Columns, Rows, SystemView, name_column, nullable_column, number_column, text, text_column};
use crate::session_entry::SessionEntry;
use leafline_planner::Authority;
use leafline_types::{MysqlError, SqlType, Value};

pub(super) fn columns() -> Columns {
    vec![
        number_column("PROCESSLIST_ID", SqlType::BIGINT_UNSIGNED),
        name_column("ATTR_NAME"),
        text_column("ATTR_VALUE", SqlType::Varchar { len: 1024 }),
        nullable_column("ORDINAL_POSITION", SqlType::Int { unsigned: false }),
    ]
}

/// The attributes of all sessions.
pub(super) fn rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    Ok(rows_of(system, |_| true))
}

/// The attributes of the sessions of the current account.
pub(super) fn account_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let own = system.access.account();
    Ok(rows_of(system, |entry| entry.account.as_ref() == Some(&own)))
}

fn rows_of(system: &SystemView<'_>, is_shown: impl Fn(&SessionEntry) -> bool) -> Rows {
    let mut rows = Rows::new();
    for entry in system.instance.sessions().into_iter().filter(|entry| is_shown(entry)) {
        for (at, (name, value)) in entry.attributes().iter().enumerate() {
            let position = Value::Int(i64::try_from(at).unwrap_or(i64::MAX));
            rows.push(vec![Value::UInt(entry.id), text(name.as_str()), text(value.as_str()), position]);
        }
    }
    rows
}
