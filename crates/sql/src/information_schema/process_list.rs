//! `information_schema.PROCESSLIST`, with how far statements are, as MariaDB has it.

use super::{SchemaTable, name_column, number_column, text_column};
use crate::session::Session;
use crate::show::server::{PERCENT, doing, percent};
use leafline_types::{SqlType, Value};

pub(super) fn table(session: &Session) -> SchemaTable {
    let text = |name| text_column(name, SqlType::Text { max_bytes: 65_535 });
    let number = |name, ty| number_column(name, ty);
    let columns = vec![
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
    ];
    let rows = session.instance.sessions().into_iter().map(|entry| {
        let activity = entry.activity();
        let report = entry.progress.report();
        let (command, state) = doing(&activity, report.stage);
        let elapsed = activity.since.elapsed();
        let string = |value: Option<String>| value.map_or(Value::Null, Value::string);
        vec![
            Value::UInt(entry.id),
            Value::string(entry.user.as_str()),
            Value::string(entry.host.as_str()),
            string(activity.database),
            Value::string(command),
            Value::Int(elapsed.as_secs() as i64),
            Value::string(state),
            string(activity.statement),
            Value::Int(elapsed.as_millis() as i64),
            Value::Int(report.number.into()),
            Value::Int(report.of.into()),
            percent(report.percent),
        ]
    });
    SchemaTable { columns, rows: rows.collect() }
}
