//! `performance_schema.events_statements_summary_by_digest` with estimated beside actual rows, and
//! `sys.statements_with_wrong_estimates` with the same rows, ordered by how far estimates are off.

use super::{Columns, Rows, SystemView, count_column, nullable_column, number_column, text, text_column};
use crate::digest::{Counts, Digest, quantile};
use leafline_types::{DateTime, MysqlError, SqlType, Value};
use std::sync::Arc;
use std::time::Duration;

/// The least q-error of a wrong estimate.
const WRONG: f64 = 2.0;

/// A time in MySQL's unit, picoseconds.
fn picoseconds(time: Duration) -> Value {
    Value::UInt(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000))
}

fn counted(system: &SystemView<'_>) -> impl Iterator<Item = (Arc<Digest>, Counts)> {
    let all = system.instance.digests().all().into_iter();
    all.map(|digest| (digest.clone(), digest.counts())).filter(|(_, counts)| counts.executions > 0)
}

pub(super) fn columns() -> Columns {
    let moment = |name| number_column(name, SqlType::DateTime { fsp: 6 });
    vec![
        text_column("SCHEMA_NAME", SqlType::Varchar { len: 64 }),
        text_column("DIGEST", SqlType::Varchar { len: 64 }),
        text_column("DIGEST_TEXT", SqlType::Varchar { len: 4096 }),
        count_column("COUNT_STAR"),
        count_column("SUM_TIMER_WAIT"),
        count_column("MIN_TIMER_WAIT"),
        count_column("AVG_TIMER_WAIT"),
        count_column("MAX_TIMER_WAIT"),
        count_column("SUM_LOCK_TIME"),
        count_column("SUM_ERRORS"),
        count_column("SUM_WARNINGS"),
        count_column("SUM_ROWS_AFFECTED"),
        count_column("SUM_ROWS_SENT"),
        count_column("SUM_ROWS_EXAMINED"),
        count_column("SUM_CREATED_TMP_DISK_TABLES"),
        count_column("SUM_NO_INDEX_USED"),
        moment("FIRST_SEEN"),
        moment("LAST_SEEN"),
        count_column("QUANTILE_95"),
        count_column("QUANTILE_99"),
        count_column("QUANTILE_999"),
        text_column("QUERY_SAMPLE_TEXT", SqlType::Text { max_bytes: u32::MAX }),
        count_column("SUM_PAGES_READ"),
        number_column("SUM_ROWS_ESTIMATED", SqlType::Double),
        number_column("MAX_Q_ERROR", SqlType::Double),
        count_column("COUNT_PLANS"),
        nullable_column("LAST_PLAN_CHANGE", SqlType::DateTime { fsp: 6 }),
        text_column("PLAN_DIGEST", SqlType::Varchar { len: 16 }),
    ]
}

pub(super) fn rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let zone = system.settings.time_zone.zone();
    let time = |micros| {
        let utc = DateTime::from_epoch_micros(micros).unwrap_or(DateTime::ZERO);
        Value::DateTime(zone.to_local(utc).unwrap_or(utc))
    };
    let row = |(digest, counts): (Arc<Digest>, Counts)| {
        let (times, plans) = (digest.times(), digest.plans());
        let at = |share| quantile(&times, share).map_or(Value::UInt(0), picoseconds);
        let executions = u32::try_from(counts.executions).unwrap_or(u32::MAX);
        let plan = plans.last().map(|plan| format!("{plan:016x}"));
        vec![
            text(digest.schema.as_deref()),
            text(digest.hash().as_deref()),
            text(digest.text.as_deref()),
            Value::UInt(counts.executions),
            picoseconds(counts.time),
            picoseconds(counts.least_time),
            picoseconds(counts.time / executions),
            picoseconds(counts.most_time),
            picoseconds(counts.lock_time),
            Value::UInt(counts.errors),
            Value::UInt(counts.warnings),
            Value::UInt(counts.rows_affected),
            Value::UInt(counts.rows_sent),
            Value::UInt(counts.rows_examined),
            Value::UInt(counts.files),
            Value::UInt(counts.no_index_used),
            time(counts.first_seen),
            time(counts.last_seen),
            at(0.95),
            at(0.99),
            at(0.999),
            text(digest.sample()),
            Value::UInt(counts.pages_read),
            Value::Double(counts.rows_estimated),
            Value::Double(counts.q_error),
            Value::UInt(plans.count),
            plans.changed.map_or(Value::Null, time),
            text(plan.as_deref()),
        ]
    };
    Ok(counted(system).map(row).collect())
}

pub(super) fn wrong_columns() -> Columns {
    let double = |name| number_column(name, SqlType::Double);
    vec![
        text_column("query", SqlType::Varchar { len: 4096 }),
        text_column("db", SqlType::Varchar { len: 64 }),
        count_column("exec_count"),
        double("max_q_error"),
        double("rows_estimated_avg"),
        double("rows_sent_avg"),
        double("rows_examined_avg"),
        text_column("digest", SqlType::Varchar { len: 64 }),
    ]
}

pub(super) fn wrong_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let mut wrong: Vec<_> = counted(system).filter(|(_, counts)| counts.q_error >= WRONG).collect();
    wrong.sort_by(|a, b| b.1.q_error.total_cmp(&a.1.q_error));
    let row = |(digest, counts): (Arc<Digest>, Counts)| {
        let mean = |sum: f64| Value::Double(sum / counts.executions as f64);
        vec![
            text(digest.text.as_deref()),
            text(digest.schema.as_deref()),
            Value::UInt(counts.executions),
            Value::Double(counts.q_error),
            mean(counts.rows_estimated),
            mean(counts.rows_sent as f64),
            mean(counts.rows_examined as f64),
            text(digest.hash().as_deref()),
        ]
    };
    Ok(wrong.into_iter().map(row).collect())
}
