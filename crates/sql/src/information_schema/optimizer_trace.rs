//! `information_schema.OPTIMIZER_TRACE`: what the optimizer compared for the last statement that was planned with `optimizer_trace`.

use super::{SchemaTable, number_column, text_column};
use crate::session::Session;
use leafline_types::{SqlType, Value};

pub(super) fn table(session: &Session) -> SchemaTable {
    let text = |name| text_column(name, SqlType::Text { max_bytes: u32::MAX });
    let columns = vec![
        text("QUERY"),
        text("TRACE"),
        number_column("MISSING_BYTES_BEYOND_MAX_MEM_SIZE", SqlType::BIGINT),
        number_column("INSUFFICIENT_PRIVILEGES", SqlType::TinyInt { unsigned: false }),
    ];
    let row = session.optimizer_trace.iter().map(|trace| {
        let missing = Value::Int(i64::try_from(trace.missing).unwrap_or(i64::MAX));
        vec![Value::string(trace.sql.as_str()), Value::string(trace.text.as_str()), missing, Value::Int(0)]
    });
    SchemaTable { columns, rows: row.collect() }
}
