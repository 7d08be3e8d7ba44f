//! `information_schema.TRIGGERS`.

use super::{
    CATALOG, Columns, Rows, SystemView, count_column, long_text, name_column, nullable_column, nullable_name,
    text, text_column,
};
use crate::accounts::Privilege;
use crate::program_text;
use crate::settings::Modes;
use leafline_planner::Authority;
use leafline_table::{ProgramContext, ProgramDef};
use leafline_types::{DateTime, MysqlError, SqlType, Value};

pub(super) fn columns() -> Columns {
    vec![
        name_column("TRIGGER_CATALOG"),
        name_column("TRIGGER_SCHEMA"),
        name_column("TRIGGER_NAME"),
        name_column("EVENT_MANIPULATION"),
        name_column("EVENT_OBJECT_CATALOG"),
        name_column("EVENT_OBJECT_SCHEMA"),
        name_column("EVENT_OBJECT_TABLE"),
        count_column("ACTION_ORDER"),
        nullable_name("ACTION_CONDITION"),
        long_text("ACTION_STATEMENT"),
        name_column("ACTION_ORIENTATION"),
        name_column("ACTION_TIMING"),
        nullable_name("ACTION_REFERENCE_OLD_TABLE"),
        nullable_name("ACTION_REFERENCE_NEW_TABLE"),
        name_column("ACTION_REFERENCE_OLD_ROW"),
        name_column("ACTION_REFERENCE_NEW_ROW"),
        nullable_column("CREATED", SqlType::DateTime { fsp: 2 }),
        text_column("SQL_MODE", SqlType::Varchar { len: 1024 }),
        text_column("DEFINER", SqlType::Varchar { len: 288 }),
        name_column("CHARACTER_SET_CLIENT"),
        name_column("COLLATION_CONNECTION"),
        name_column("DATABASE_COLLATION"),
    ]
}

/// The triggers of the tables on which the session has TRIGGER. Those of one table come by event and time, and then in the
/// order in which they fire: dumps create them in the order of these rows.
pub(super) fn rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let catalog = system.instance.engine().catalog();
    let mut rows = Rows::new();
    let mut triggers: Vec<_> =
        catalog.programs().filter_map(|program| Some((program, program.trigger()?))).collect();
    triggers.sort_by_key(|(program, own)| (&program.database, &own.table, own.event, own.time, own.order));
    for (program, own) in triggers {
        if !system.access.on_table(&program.database, &own.table).has(Privilege::Trigger) {
            continue;
        }
        let beside = catalog.triggers_of(&program.database, &own.table).into_iter().filter(|other| {
            other.trigger().is_some_and(|other| (other.time, other.event) == (own.time, own.event))
        });
        let order = beside.take_while(|other| other.id != program.id).count() as u64 + 1;
        let database = program.database.as_str();
        let named = [CATALOG, database, &program.name, own.event.name(), CATALOG, database, &own.table];
        let is = [
            Value::UInt(order),
            Value::Null,
            text(program_text::body(program).ok()),
            text("ROW"),
            text(own.time.name()),
            Value::Null,
            Value::Null,
            text("OLD"),
            text("NEW"),
            moment(system, program.created, 10_000),
            text(modes(program.context.sql_mode).as_str()),
            text(program_text::definer(program).plain().as_str()),
        ];
        rows.push([&named.map(text)[..], &is, &context(program)].concat());
    }
    Ok(rows)
}

/// A time in the session's time zone, cut to a multiple of `unit` microseconds.
pub(super) fn moment(system: &SystemView<'_>, micros: i64, unit: i64) -> Value {
    let utc = DateTime::from_epoch_micros(micros - micros.rem_euclid(unit));
    let local = utc.and_then(|utc| system.settings.time_zone.zone().to_local(utc));
    local.map_or(Value::Null, Value::DateTime)
}

/// The names of the modes with these bits.
pub(super) fn modes(bits: u64) -> String {
    Modes::from_bits(bits).map_or_else(|_| String::new(), |modes| modes.to_string())
}

/// The character set and the collations that a program keeps.
pub(super) fn context(program: &ProgramDef) -> [Value; 3] {
    let ProgramContext { client_charset, connection_collation, database_collation, .. } = &program.context;
    [client_charset.name(), connection_collation.name(), database_collation.name()].map(text)
}
