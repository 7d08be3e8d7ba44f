//! `information_schema.OPTIMIZER_TRACE`: the trace of the last statement that was planned under
//! `optimizer_trace`.

use super::{Columns, Rows, SystemView, long_text, number_column, text};
use leafline_types::{MysqlError, SqlType, Value};

pub(super) fn columns() -> Columns {
    vec![
        long_text("QUERY"),
        long_text("TRACE"),
        number_column("MISSING_BYTES_BEYOND_MAX_MEM_SIZE", SqlType::BIGINT),
        number_column("INSUFFICIENT_PRIVILEGES", SqlType::TinyInt { unsigned: false }),
    ]
}

pub(super) fn rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let row = system.optimizer_trace.iter().map(|trace| {
        let missing = Value::Int(i64::try_from(trace.missing).unwrap_or(i64::MAX));
        vec![text(trace.sql.as_str()), text(trace.text.as_str()), missing, Value::Int(0)]
    });
    Ok(row.collect())
}
