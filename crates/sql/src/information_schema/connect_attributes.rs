//! `performance_schema.session_connect_attrs` and `session_account_connect_attrs`: what clients have said of themselves when they came.

use super::{Columns, Rows, name_column, nullable_column, number_column, text, text_column};
use crate::session::{Session, SessionEntry};
use leafline_types::{MysqlError, SqlType, Value};

pub(super) fn columns() -> Columns {
    vec![
        number_column("PROCESSLIST_ID", SqlType::BIGINT_UNSIGNED),
        name_column("ATTR_NAME"),
        text_column("ATTR_VALUE", SqlType::Varchar { len: 1024 }),
        nullable_column("ORDINAL_POSITION", SqlType::Int { unsigned: false }),
    ]
}

/// Those of all sessions.
pub(super) fn rows(session: &Session) -> Result<Rows, MysqlError> {
    Ok(rows_of(session, |_| true))
}

/// Those of the sessions of the session's own account.
pub(super) fn account_rows(session: &Session) -> Result<Rows, MysqlError> {
    let own = session.access.account();
    Ok(rows_of(session, |entry| entry.account.as_ref() == Some(&own)))
}

fn rows_of(session: &Session, is_shown: impl Fn(&SessionEntry) -> bool) -> Rows {
    let mut rows = Rows::new();
    for entry in session.instance.sessions().into_iter().filter(|entry| is_shown(entry)) {
        for (at, (name, value)) in entry.attributes().iter().enumerate() {
            let position = Value::Int(i64::try_from(at).unwrap_or(i64::MAX));
            rows.push(vec![Value::UInt(entry.id), text(name.as_str()), text(value.as_str()), position]);
        }
    }
    rows
}
