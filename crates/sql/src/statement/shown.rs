//! SHOW: makes the rows, and keeps those that LIKE or WHERE selects.

use crate::evaluate;
use crate::like::like;
use crate::result::RowSet;
use crate::session::Session;
use crate::show;
use leafline_syntax::ast::{Show, ShowFilter, ShowKind};
use leafline_types::{MysqlError, Value};

/// Runs a SHOW statement; `text` is the statement with its parameters.
pub(super) fn show(session: &mut Session, show: &Show, text: (&str, &[Value])) -> Result<RowSet, MysqlError> {
    let rows = show::show(session, show)?;
    match &show.filter {
        None => Ok(rows),
        Some(filter) => filtered(session, rows, (&show.kind, filter), text),
    }
}

/// Keeps the rows that LIKE or WHERE of a SHOW statement asks for.
fn filtered(
    session: &mut Session,
    mut rows: RowSet,
    (kind, filter): (&ShowKind, &ShowFilter),
    text: (&str, &[Value]),
) -> Result<RowSet, MysqlError> {
    match filter {
        ShowFilter::Like(pattern) => {
            let place = show::name_column(kind);
            rows.rows
                .retain(|row| row.get(place).and_then(Value::as_str).is_some_and(|name| like(name, pattern)));
        }
        ShowFilter::Where(condition) => {
            let keep = evaluate::over_rows(session, condition, text, &rows)?;
            let mut keep = keep.into_iter();
            rows.rows.retain(|_| keep.next().unwrap_or(false));
        }
    }
    Ok(rows)
}
