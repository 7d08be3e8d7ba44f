//! `information_schema.EVENTS`.

use super::triggers::{context, modes, moment};
use super::{
    CATALOG, Columns, Rows, SystemView, long_text, name_column, nullable_column, nullable_name,
    number_column, text, text_column,
};
use crate::accounts::Privilege;
use crate::program_text::{self, local_time, shown_amount};
use leafline_table::EventSchedule;
use leafline_types::words::EventStatus;
use leafline_types::{MysqlError, SqlType, Value};

const SECOND: i64 = 1_000_000;

pub(super) fn columns() -> Columns {
    let time = |name| nullable_column(name, SqlType::DateTime { fsp: 0 });
    vec![
        name_column("EVENT_CATALOG"),
        name_column("EVENT_SCHEMA"),
        name_column("EVENT_NAME"),
        text_column("DEFINER", SqlType::Varchar { len: 288 }),
        name_column("TIME_ZONE"),
        name_column("EVENT_BODY"),
        long_text("EVENT_DEFINITION"),
        name_column("EVENT_TYPE"),
        time("EXECUTE_AT"),
        text_column("INTERVAL_VALUE", SqlType::Varchar { len: 256 }),
        nullable_name("INTERVAL_FIELD"),
        text_column("SQL_MODE", SqlType::Varchar { len: 1024 }),
        time("STARTS"),
        time("ENDS"),
        name_column("STATUS"),
        name_column("ON_COMPLETION"),
        time("CREATED"),
        time("LAST_ALTERED"),
        time("LAST_EXECUTED"),
        text_column("EVENT_COMMENT", SqlType::Varchar { len: 2048 }),
        number_column("ORIGINATOR", SqlType::Int { unsigned: true }),
        name_column("CHARACTER_SET_CLIENT"),
        name_column("COLLATION_CONNECTION"),
        name_column("DATABASE_COLLATION"),
    ]
}

/// The events of the databases on which the session has EVENT.
pub(super) fn rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let catalog = system.instance.engine().catalog();
    let mut rows = Rows::new();
    for program in catalog.programs() {
        let Some(event) = program.event() else { continue };
        if !system.access.on_database(&program.database).has(Privilege::Event) {
            continue;
        }
        let local = |micros: i64| local_time(micros, event).map_or(Value::Null, Value::DateTime);
        let (kind, at, amount, unit, starts, ends) = match &event.schedule {
            EventSchedule::At(at) => {
                ("ONE TIME", local(*at), Value::Null, Value::Null, Value::Null, Value::Null)
            }
            EventSchedule::Every { amount, unit, starts, ends } => (
                "RECURRING",
                Value::Null,
                text(shown_amount(amount, *unit).as_str()),
                text(unit.name()),
                local(*starts),
                ends.map_or(Value::Null, local),
            ),
        };
        let status = match event.status {
            EventStatus::Enabled => "ENABLED",
            EventStatus::Disabled => "DISABLED",
            EventStatus::DisabledOnReplica => "SLAVESIDE_DISABLED",
        };
        let is = [
            text(CATALOG),
            text(program.database.as_str()),
            text(program.name.as_str()),
            text(program_text::definer(program).plain().as_str()),
            text(event.time_zone.as_str()),
            text("SQL"),
            text(program_text::body(program).ok()),
            text(kind),
            at,
            amount,
            unit,
            text(modes(program.context.sql_mode).as_str()),
            starts,
            ends,
            text(status),
            text(if event.preserve { "PRESERVE" } else { "NOT PRESERVE" }),
            moment(system, program.created, SECOND),
            moment(system, program.modified, SECOND),
            event.last_executed.map_or(Value::Null, |at| moment(system, at, SECOND)),
            text(program.comment.as_str()),
            Value::UInt(event.originator.into()),
        ];
        rows.push([&is[..], &context(program)].concat());
    }
    Ok(rows)
}
