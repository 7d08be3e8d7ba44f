//! DROP of stored programs: procedures, functions, triggers and events. None can be created, so DROP finds none. Dumps and
//! installers send DROP with IF EXISTS, which turns the error into a note.

use crate::session::Session;
use leafline_syntax::ast::{DropProgram, ProgramKind};
use leafline_types::MysqlError;

/// Runs DROP PROCEDURE, FUNCTION, TRIGGER or EVENT.
///
/// # Errors
/// 1046 without a database, except for a function, which may be a loadable one. Without IF EXISTS 1305, 1360 or 1539, as there
/// is no such program.
pub(super) fn drop(session: &mut Session, drop: &DropProgram) -> Result<(), MysqlError> {
    let name = drop.name.name.value.as_str();
    let database = drop.name.database.as_ref().map(|database| database.value.as_str()).or(session.database());
    let missing = match (drop.kind, database) {
        (ProgramKind::Function, None) => MysqlError::does_not_exist("FUNCTION (UDF)", name),
        (_, None) => return Err(MysqlError::no_database_selected()),
        (ProgramKind::Procedure, Some(database)) => {
            MysqlError::does_not_exist("PROCEDURE", format_args!("{database}.{name}"))
        }
        (ProgramKind::Function, Some(database)) => {
            MysqlError::does_not_exist("FUNCTION", format_args!("{database}.{name}"))
        }
        (ProgramKind::Trigger, Some(_)) => MysqlError::no_such_trigger(),
        (ProgramKind::Event, Some(_)) if drop.if_exists => MysqlError::does_not_exist("Event", name),
        (ProgramKind::Event, Some(_)) => MysqlError::unknown_event(name),
    };
    match drop.if_exists {
        true => session.warnings.note(missing),
        false => return Err(missing),
    }
    Ok(())
}
