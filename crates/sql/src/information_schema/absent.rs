//! Tables that are always empty: the files of Leafline's tables have no names of their own, and its logs are files.

use super::{
    Columns, Rows, SystemView, count_column, name_column, nullable_name, number_column, text_column,
};
use leafline_types::{MysqlError, SqlType};

/// Returns no rows.
pub(super) fn rows(_: &SystemView<'_>) -> Result<Rows, MysqlError> {
    Ok(Rows::new())
}

/// Columns of `mysql.general_log`, which dumps of all databases ask for.
pub(super) fn general_log() -> Columns {
    let text = |name| text_column(name, SqlType::Text { max_bytes: 16_777_215 });
    vec![
        number_column("event_time", SqlType::DateTime { fsp: 6 }),
        text("user_host"),
        count_column("thread_id"),
        number_column("server_id", SqlType::Int { unsigned: true }),
        text_column("command_type", SqlType::Varchar { len: 64 }),
        text("argument"),
    ]
}

/// Columns of `mysql.slow_log`, which the same dumps ask for.
pub(super) fn slow_log() -> Columns {
    let text = |name| text_column(name, SqlType::Text { max_bytes: 16_777_215 });
    let number = |name| number_column(name, SqlType::Int { unsigned: false });
    vec![
        number_column("start_time", SqlType::DateTime { fsp: 6 }),
        text("user_host"),
        number_column("query_time", SqlType::Time { fsp: 6 }),
        number_column("lock_time", SqlType::Time { fsp: 6 }),
        number("rows_sent"),
        number("rows_examined"),
        text_column("db", SqlType::Varchar { len: 512 }),
        number("last_insert_id"),
        number("insert_id"),
        number_column("server_id", SqlType::Int { unsigned: true }),
        text("sql_text"),
        count_column("thread_id"),
    ]
}

/// The columns of MySQL's FILES that dump tools ask for.
pub(super) fn files() -> Columns {
    named(&[
        "FILE_ID",
        "FILE_NAME",
        "FILE_TYPE",
        "TABLESPACE_NAME",
        "TABLE_CATALOG",
        "TABLE_SCHEMA",
        "TABLE_NAME",
        "LOGFILE_GROUP_NAME",
        "ENGINE",
        "FREE_EXTENTS",
        "TOTAL_EXTENTS",
        "EXTENT_SIZE",
        "INITIAL_SIZE",
        "MAXIMUM_SIZE",
        "STATUS",
        "EXTRA",
    ])
}

/// Text columns with these names; all but the first are nullable.
fn named(names: &[&str]) -> Columns {
    let first = names.iter().take(1).map(|name| name_column(name));
    first.chain(names.iter().skip(1).map(|name| nullable_name(name))).collect()
}
