//! CREATE, ALTER and DROP of stored programs: procedures, functions and triggers; `events` has the rest of events.

use super::definitions::{database_of, refuse_system};
use super::events;
use super::program_context::{context_of, definer_of, note_missing_definer};
use crate::program::{check_body, check_trigger};
use crate::session::Session;
use leafline_syntax::ast::{
    AlterProgram, Characteristics, CreateProgram, DropProgram, ProgramForm, ProgramKind, Routine, TableName,
    Trigger,
};
use leafline_table::{ProgramAttributes, ProgramDef, RoutineDef, TriggerDef};
use leafline_types::{MysqlError, Value};
use std::sync::Arc;

/// Runs CREATE PROCEDURE, FUNCTION, TRIGGER or EVENT; `text` is the statement with its parameters.
///
/// # Errors
/// 1046 and 1049 for the database, 1304, 1359 and 1537 if the program exists; 1146, 1347, 1361, 1435, 1465 and 3011 for
/// the table of a trigger; the errors of an event's schedule; errors of the engine.
pub(super) fn create(
    session: &mut Session,
    create: &CreateProgram,
    text: (&str, &[Value]),
) -> Result<(), MysqlError> {
    let database = match &create.form {
        ProgramForm::Trigger(trigger) => database_of_trigger(session, &create.name, trigger)?,
        _ => database_of(session, &create.name)?,
    };
    let name = create.name.name.value.clone();
    let catalog = session.instance.engine().catalog();
    let known = catalog.database(&database).ok_or_else(|| MysqlError::unknown_database(&database))?;
    let database_collation = known.collation;
    let named = |attributes, comment: &Option<String>| (attributes, comment.clone().unwrap_or_default());
    let mut next_to = None;
    let (attributes, comment) = match &create.form {
        ProgramForm::Procedure(routine) | ProgramForm::Function { routine, .. } => {
            named(characteristics(routine), &routine.characteristics.comment)
        }
        ProgramForm::Trigger(trigger) => {
            next_to = trigger.order.as_ref().map(|order| (order.follows, order.other.value.as_str()));
            let attributes = TriggerDef {
                table: trigger.table.name.value.clone(),
                time: trigger.time,
                event: trigger.event,
                order: 0,
            };
            named(ProgramAttributes::Trigger(attributes), &None)
        }
        ProgramForm::Event(event) => {
            if create.if_not_exists && catalog.program(ProgramKind::Event, &database, &name).is_some() {
                session.warnings.note(MysqlError::event_exists(&name));
                return Ok(());
            }
            match events::attributes(session, event, text)? {
                Some(attributes) => named(ProgramAttributes::Event(attributes), &event.comment),
                None => return Ok(()),
            }
        }
    };
    let definer = definer_of(session, create.definer.as_ref())?;
    let now = session.now().utc.epoch_micros().unwrap_or(0);
    let program = ProgramDef {
        id: 0,
        kind: create.kind(),
        database,
        name,
        text: create.stored_text(text.0, session.settings.lex_mode()),
        definer: (definer.user.clone(), definer.host.clone()),
        context: context_of(session, database_collation),
        created: now,
        modified: now,
        comment,
        attributes,
    };
    match program.trigger() {
        Some(trigger) => {
            let table = session.instance.engine().table(&program.database, &trigger.table)?;
            check_trigger(session, &Arc::new(program.clone()), &table)?;
        }
        None => check_body(session, &program)?,
    }
    let (kind, database, name) = (program.kind, program.database.clone(), program.name.clone());
    let created = session.instance.engine().ddl().create_program(program, create.if_not_exists, next_to)?;
    if !created {
        session.warnings.note(match kind {
            ProgramKind::Trigger => MysqlError::trigger_exists(),
            ProgramKind::Event => MysqlError::event_exists(&name),
            ProgramKind::Procedure | ProgramKind::Function => MysqlError::program_exists(kind.name(), &name),
        });
        return Ok(());
    }
    note_missing_definer(session, create.definer.as_ref(), &definer);
    if kind == ProgramKind::Event {
        session.instance.events().wake();
    }
    if matches!(kind, ProgramKind::Procedure | ProgramKind::Function) {
        session.instance.clone().accounts().grant_new_routine(session, (kind, &database, &name))?;
    }
    Ok(())
}

fn characteristics(routine: &Routine) -> ProgramAttributes {
    let Characteristics { deterministic, data, security, .. } = &routine.characteristics;
    ProgramAttributes::Routine(RoutineDef {
        deterministic: deterministic.unwrap_or_default(),
        data: data.unwrap_or_default(),
        security: security.unwrap_or_default(),
    })
}

/// Returns the database of a trigger, which is the one of its table, and checks that the table may have triggers.
fn database_of_trigger(session: &Session, name: &TableName, trigger: &Trigger) -> Result<String, MysqlError> {
    let table = &trigger.table.name.value;
    let database = match &trigger.table.database {
        Some(database) => database.value.clone(),
        None => session.database().ok_or_else(MysqlError::no_database_selected)?.to_owned(),
    };
    if refuse_system(session, &database).is_err() {
        return Err(MysqlError::no_triggers_on_system_tables());
    }
    if name.database.as_ref().is_some_and(|own| own.value != database) {
        return Err(MysqlError::trigger_in_wrong_schema());
    }
    if session.own_table_named(&trigger.table).is_some() {
        return Err(MysqlError::trigger_on_temporary_table(table));
    }
    let catalog = session.instance.engine().catalog();
    match catalog.table(&database, table) {
        Some(_) => Ok(database),
        None if catalog.view(&database, table).is_some() => {
            Err(MysqlError::wrong_object(&database, table, "BASE TABLE"))
        }
        None => Err(MysqlError::no_such_table(&database, table)),
    }
}

/// Runs ALTER PROCEDURE, FUNCTION or EVENT.
///
/// # Errors
/// 1046 without a database, 1305 and 1539 if there is no such program; the errors of an event's schedule and name; errors of
/// the engine.
pub(super) fn alter(
    session: &mut Session,
    alter: &AlterProgram,
    text: (&str, &[Value]),
) -> Result<(), MysqlError> {
    let (kind, name, characteristics) = match alter {
        AlterProgram::Routine { kind, name, characteristics } => (*kind, name, characteristics),
        AlterProgram::Event(event) => return events::alter(session, event, text),
    };
    let database = database_of(session, name)?;
    let name = &name.name.value;
    let catalog = session.instance.engine().catalog();
    let Some(known) = catalog.program(kind, &database, name) else {
        return Err(MysqlError::does_not_exist(kind.name(), format_args!("{database}.{name}")));
    };
    let mut changed = (**known).clone();
    if let ProgramAttributes::Routine(own) = &mut changed.attributes {
        own.data = characteristics.data.unwrap_or(own.data);
        own.security = characteristics.security.unwrap_or(own.security);
        own.deterministic = characteristics.deterministic.unwrap_or(own.deterministic);
    }
    if let Some(comment) = &characteristics.comment {
        changed.comment.clone_from(comment);
    }
    changed.modified = session.now().utc.epoch_micros().unwrap_or(changed.modified);
    Ok(session.instance.engine().ddl().alter_program(changed)?)
}

/// Runs DROP PROCEDURE, FUNCTION, TRIGGER or EVENT.
///
/// # Errors
/// 1046 without a database, except for a function, which may be a loadable one. Without IF EXISTS 1305, 1360 or 1539 if there
/// is no such program; errors of the engine.
pub(super) fn drop(session: &mut Session, drop: &DropProgram) -> Result<(), MysqlError> {
    let name = drop.name.name.value.as_str();
    let database = drop.name.database.as_ref().map(|database| database.value.as_str()).or(session.database());
    let database = database.map(str::to_owned);
    if let Some(database) = &database {
        let dropped = session.instance.engine().ddl().drop_program(drop.kind, database, name)?;
        if dropped && matches!(drop.kind, ProgramKind::Procedure | ProgramKind::Function) {
            session.instance.accounts().forget_routine((drop.kind, database, name))?;
        }
        if dropped {
            session.instance.events().wake();
            return Ok(());
        }
    }
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
