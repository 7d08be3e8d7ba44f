//! `information_schema.PROCESSLIST`, with the progress of statements as in MariaDB.

use super::{Columns, Rows, SystemView, name_column, number_column, text, text_column};
use crate::session_entry::{Activity, SessionEntry, SessionKind};
use leafline_types::{Decimal, MysqlError, SqlType, Stage, Value};

pub(super) fn columns() -> Columns {
    let text = |name| text_column(name, SqlType::Text { max_bytes: 65_535 });
    let number = |name, ty| number_column(name, ty);
    vec![
        number("ID", SqlType::BIGINT_UNSIGNED),
        name_column("USER"),
        text("HOST"),
        text("DB"),
        name_column("COMMAND"),
        number("TIME", SqlType::BIGINT),
        text("STATE"),
        text("INFO"),
        number("TIME_MS", SqlType::BIGINT),
        number("STAGE", SqlType::BIGINT),
        number("MAX_STAGE", SqlType::BIGINT),
        number("PROGRESS", PERCENT),
    ]
}

pub(super) fn rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let rows = system.visible().connections().into_iter().map(|entry| {
        let activity = entry.activity();
        let report = entry.progress.report();
        let (command, state) = doing(&entry, &activity, report.stage);
        let elapsed = activity.since.elapsed();
        vec![
            Value::UInt(entry.id),
            text(entry.user.as_str()),
            text(entry.host.as_str()),
            text(activity.database.as_deref()),
            text(command),
            Value::Int(elapsed.as_secs() as i64),
            text(state),
            text(activity.statement.as_deref()),
            Value::Int(elapsed.as_millis() as i64),
            Value::Int(report.number.into()),
            Value::Int(report.of.into()),
            percent(report.percent),
        ]
    });
    Ok(rows.collect())
}

/// Type of a share in percent.
pub(crate) const PERCENT: SqlType =
    SqlType::Decimal { precision: 7, scale: 3, unsigned: false, zerofill: false };

/// A share in percent, as a value.
pub(crate) fn percent(share: f64) -> Value {
    Value::Decimal(Decimal::from_i128((share * 1000.0).round() as i128, 3))
}

/// The command of a session, and its stage.
pub(crate) fn doing(entry: &SessionEntry, activity: &Activity, stage: Stage) -> (&'static str, &'static str) {
    match entry.kind {
        SessionKind::EventScheduler => ("Daemon", activity.waiting),
        SessionKind::Event => ("Connect", stage.name()),
        SessionKind::Client if activity.statement.is_some() => ("Query", stage.name()),
        SessionKind::Client => ("Sleep", ""),
    }
}
