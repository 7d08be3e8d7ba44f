//! `information_schema.INNODB_TRX`: the open transactions, with MySQL's columns.

use super::{Columns, Rows, SystemView, count_column, nullable_column, number_column, text, text_column};
use crate::session_entry::{BegunTransaction, SessionEntry};
use leafline_table::{Isolation, TransactionFigures, TxnMode};
use leafline_types::convert::local;
use leafline_types::{DateTime, MysqlError, SqlType, Value};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(super) fn columns() -> Columns {
    let text = |name, len| text_column(name, SqlType::Varchar { len });
    let moment = |name| nullable_column(name, SqlType::DateTime { fsp: 0 });
    let choice = |name| number_column(name, SqlType::Int { unsigned: false });
    vec![
        count_column("trx_id"),
        text("trx_state", 13),
        moment("trx_started"),
        text("trx_requested_lock_id", 126),
        moment("trx_wait_started"),
        count_column("trx_weight"),
        count_column("trx_mysql_thread_id"),
        text("trx_query", 1024),
        text("trx_operation_state", 64),
        count_column("trx_tables_in_use"),
        count_column("trx_tables_locked"),
        count_column("trx_lock_structs"),
        count_column("trx_lock_memory_bytes"),
        count_column("trx_rows_locked"),
        count_column("trx_rows_modified"),
        count_column("trx_concurrency_tickets"),
        text("trx_isolation_level", 16),
        choice("trx_unique_checks"),
        choice("trx_foreign_key_checks"),
        text("trx_last_foreign_key_error", 256),
        choice("trx_adaptive_hash_latched"),
        count_column("trx_adaptive_hash_timeout"),
        choice("trx_is_read_only"),
        choice("trx_autocommit_non_locking"),
        nullable_column("trx_schedule_weight", SqlType::BIGINT_UNSIGNED),
    ]
}

/// # Errors
/// 1227 without PROCESS, as in MySQL.
pub(super) fn rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    system.access.check_any(&[crate::accounts::Privilege::Process])?;
    let mut open: Vec<_> = system
        .visible()
        .connections()
        .into_iter()
        .filter_map(|entry| {
            let begun = entry.transaction()?;
            let figures = begun.watch.figures()?;
            Some((entry, begun, figures))
        })
        .collect();
    open.sort_by_key(|(_, begun, _)| begun.number);
    Ok(open.iter().map(|(entry, begun, figures)| row(system, entry, begun, figures)).collect())
}

fn row(
    system: &SystemView<'_>,
    entry: &SessionEntry,
    begun: &BegunTransaction,
    figures: &TransactionFigures,
) -> Vec<Value> {
    let zone = system.settings.time_zone.zone();
    let moment = |time: SystemTime| {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let utc = DateTime::from_epoch_micros(since.as_secs() as i64 * 1_000_000);
        utc.map_or(Value::Null, |utc| local(utc, zone))
    };
    let waits = figures.waiting.map(|waiting| SystemTime::now().checked_sub(waiting).unwrap_or(begun.since));
    let none = || Value::UInt(0);
    let is = |yes: bool| Value::Int(yes.into());
    vec![
        Value::UInt(begun.number),
        text(if waits.is_some() { "LOCK WAIT" } else { "RUNNING" }),
        moment(begun.since),
        Value::Null,
        waits.map_or(Value::Null, moment),
        Value::UInt(figures.locks + figures.writes),
        Value::UInt(entry.id),
        text(entry.activity().statement.as_deref()),
        Value::Null,
        none(),
        none(),
        Value::UInt(figures.locks),
        none(),
        Value::UInt(figures.locks),
        Value::UInt(figures.writes),
        none(),
        text(match figures.isolation {
            Isolation::ReadCommitted => "READ COMMITTED",
            Isolation::RepeatableRead => "REPEATABLE READ",
            Isolation::Serializable => "SERIALIZABLE",
        }),
        is(true),
        is(true),
        Value::Null,
        is(false),
        none(),
        is(figures.mode == TxnMode::ReadOnly),
        is(false),
        Value::Null,
    ]
}
