//! SHOW CREATE of stored programs, SHOW TRIGGERS and EVENTS, SHOW PROCEDURE and FUNCTION STATUS.

use super::{database_name, text};
use crate::accounts::Privilege;
use crate::information_schema::{self, routines};
use crate::program_text;
use crate::result::RowSet;
use crate::session::Session;
use crate::settings::Modes;
use leafline_planner::Authority;
use leafline_syntax::ast::{ProgramKind, TableName};
use leafline_table::ProgramDef;
use leafline_types::{Charset, DateTime, MysqlError, SqlType, Value};

/// Headings of SHOW, each with the place of its column in the system view.
type Picked = [(&'static str, usize)];

const TRIGGERS: &Picked = &[
    ("Trigger", 2),
    ("Event", 3),
    ("Table", 6),
    ("Statement", 9),
    ("Timing", 11),
    ("Created", 16),
    ("sql_mode", 17),
    ("Definer", 18),
    ("character_set_client", 19),
    ("collation_connection", 20),
    ("Database Collation", 21),
];

const EVENTS: &Picked = &[
    ("Db", 1),
    ("Name", 2),
    ("Definer", 3),
    ("Time zone", 4),
    ("Type", 7),
    ("Execute at", 8),
    ("Interval value", 9),
    ("Interval field", 10),
    ("Starts", 12),
    ("Ends", 13),
    ("Status", 14),
    ("Originator", 20),
    ("character_set_client", 21),
    ("collation_connection", 22),
    ("Database Collation", 23),
];

const ROUTINES: &Picked = &[
    ("Db", 2),
    ("Name", 3),
    ("Type", 4),
    ("Definer", 27),
    ("Modified", 24),
    ("Created", 23),
    ("Security_type", 22),
    ("Comment", 26),
    ("character_set_client", 28),
    ("collation_connection", 29),
    ("Database Collation", 30),
];

/// Picks columns of a system view, of the rows whose column at `place` is `wanted`.
fn picked(
    session: &Session,
    view: &str,
    picked: &Picked,
    (place, wanted): (usize, &str),
) -> Result<RowSet, MysqlError> {
    let (columns, rows) = information_schema::contents(&session.system_view(), view)?;
    let ty = |place: usize| columns.get(place).map_or(SqlType::Null, |(_, ty)| ty.sql.clone());
    let mut shown = RowSet::new(picked.iter().map(|(name, place)| (*name, ty(*place))));
    for row in rows {
        if row.get(place).and_then(Value::as_str) == Some(wanted) {
            let value = |place: &usize| row.get(*place).cloned().unwrap_or(Value::Null);
            shown.push(picked.iter().map(|(_, place)| value(place)).collect());
        }
    }
    Ok(shown)
}

/// SHOW TRIGGERS of a database.
pub(super) fn triggers(session: &Session, database: &str) -> Result<RowSet, MysqlError> {
    picked(session, "TRIGGERS", TRIGGERS, (1, database))
}

/// SHOW EVENTS of a database.
///
/// # Errors
/// 1044 without EVENT on it.
pub(super) fn events(session: &Session, database: &str) -> Result<RowSet, MysqlError> {
    session.login.access.check_database(Privilege::Event, database)?;
    picked(session, "EVENTS", EVENTS, (1, database))
}

/// SHOW PROCEDURE STATUS and SHOW FUNCTION STATUS.
pub(super) fn routines(session: &Session, kind: ProgramKind) -> Result<RowSet, MysqlError> {
    picked(session, "ROUTINES", ROUTINES, (4, kind.name()))
}

/// SHOW CREATE PROCEDURE, FUNCTION, TRIGGER and EVENT.
///
/// # Errors
/// 1305, 1360 and 1539 if the session knows of no such program, 1227 without TRIGGER on a trigger's table, 1044 without EVENT
/// on an event's database.
pub(super) fn create(session: &Session, kind: ProgramKind, name: &TableName) -> Result<RowSet, MysqlError> {
    let database = database_name(session, name.database.as_ref())?;
    let name = name.name.value.as_str();
    let access = &session.login.access;
    let catalog = session.instance.engine().catalog();
    match kind {
        ProgramKind::Procedure | ProgramKind::Function => {
            let known = routines::known(&session.system_view(), kind, &database, name);
            let program = known.ok_or_else(|| MysqlError::does_not_exist(kind.name(), name))?;
            let returns = routines::returns_text(&program)?;
            let statement = match routines::shows_text(access, &program) {
                true => {
                    written(session, &program, program_text::create_statement(&program, returns.as_deref())?)
                }
                false => Value::Null,
            };
            Ok(shown(&program, statement))
        }
        ProgramKind::Trigger => {
            let program = catalog.program(kind, &database, name).ok_or_else(MysqlError::no_such_trigger)?;
            let table = program.trigger().map_or("", |own| own.table.as_str());
            if !access.on_table(&database, table).has(Privilege::Trigger) {
                return Err(MysqlError::specific_access_denied(Privilege::Trigger.name()));
            }
            let statement = written(session, program, program_text::create_statement(program, None)?);
            let mut rows = shown(program, statement);
            let created = DateTime::from_epoch_micros(program.created - program.created.rem_euclid(10_000));
            let created = created.and_then(|utc| session.settings.time_zone.zone().to_local(utc));
            rows.columns.push(crate::result::column("Created", SqlType::DateTime { fsp: 2 }));
            for row in &mut rows.rows {
                row.push(created.map_or(Value::Null, Value::DateTime));
            }
            Ok(rows)
        }
        ProgramKind::Event => {
            access.check_database(Privilege::Event, &database)?;
            let program = catalog.program(kind, &database, name);
            let program = program.ok_or_else(|| MysqlError::unknown_event(name))?;
            let statement = written(session, program, program_text::create_statement(program, None)?);
            Ok(shown(program, statement))
        }
    }
}

/// The statement that creates a program. Where results are not converted (`character_set_results` is binary or NULL), it is in the
/// character set of its client: so mysqldump reads it, and writes it behind `SET character_set_client`.
fn written(session: &Session, program: &ProgramDef, statement: String) -> Value {
    let converts = session.settings.results_charset.is_some_and(|charset| charset != Charset::Binary);
    match converts || statement.is_ascii() {
        true => text(statement),
        false => Value::bytes(program.context.client_charset.encode(&statement)),
    }
}

/// The row of a program with the statement that creates it.
fn shown(program: &ProgramDef, statement: Value) -> RowSet {
    let heading = match program.kind {
        ProgramKind::Procedure => ["Procedure", "Create Procedure"],
        ProgramKind::Function => ["Function", "Create Function"],
        ProgramKind::Trigger => ["Trigger", "SQL Original Statement"],
        ProgramKind::Event => ["Event", "Create Event"],
    };
    let short = || SqlType::Varchar { len: 64 };
    let modes =
        Modes::from_bits(program.context.sql_mode).map_or_else(|_| String::new(), |modes| modes.to_string());
    let mut columns = vec![(heading[0], short()), ("sql_mode", SqlType::Varchar { len: 1024 })];
    let mut row = vec![text(program.name.as_str()), text(modes)];
    if let Some(event) = program.event() {
        columns.push(("time_zone", short()));
        row.push(text(event.time_zone.as_str()));
    }
    let statement_type = match &statement {
        Value::Bytes(_) => SqlType::Blob { max_bytes: u32::MAX },
        _ => SqlType::Text { max_bytes: u32::MAX },
    };
    columns.extend([
        (heading[1], statement_type),
        ("character_set_client", short()),
        ("collation_connection", short()),
        ("Database Collation", short()),
    ]);
    row.extend([
        statement,
        text(program.context.client_charset.name()),
        text(program.context.connection_collation.name()),
        text(program.context.database_collation.name()),
    ]);
    let mut rows = RowSet::new(columns);
    rows.push(row);
    rows
}
