//! Triggers: the programs that run before and after a row of their table changes.
//!
//! A trigger is compiled with the columns of the old and the new row that its text mentions as variables. Firing copies the
//! columns in, runs the body in the session inside the statement's, and copies the assigned columns of the new row back.

use super::call;
use super::loaded;
use super::run::Run;
use crate::program_code::{
    RowColumn, Slot, StatementCode, StepKind, TableTriggers, Trigger, TriggerRights, When, check_columns,
};
use crate::session::Session;
use crate::settings::Modes;
use leafline_syntax::ast::{ExprKind, StatementKind};
use leafline_table::{ProgramDef, TableDef};
use leafline_types::words::{TriggerEvent, TriggerTime};
use leafline_types::{MysqlError, Value};
use std::sync::Arc;

/// The qualifiers of a trigger's columns.
const OLD: &str = "OLD";
const NEW: &str = "NEW";

/// Compiles the triggers of a table, or finds the ones compiled before; `None` if it has none.
///
/// # Errors
/// Errors of compiling a trigger.
pub(crate) fn triggers_of(
    session: &mut Session,
    table: &Arc<TableDef>,
) -> Result<Option<Arc<TableTriggers>>, MysqlError> {
    let catalog = session.instance.engine().catalog();
    let defs = || catalog.triggers_of(&table.database, &table.name);
    if let Some(known) = session.kept.programs.triggers_of(table, catalog.version(), defs) {
        return Ok(Some(known));
    }
    let defs = defs();
    if defs.is_empty() {
        return Ok(None);
    }
    let triggers = defs.iter().map(|def| Trigger::of(session, def, table)).collect::<Result<_, _>>()?;
    let triggers = Arc::new(TableTriggers::new(table.clone(), triggers));
    session.kept.programs.keep_triggers(table.id, catalog.version(), &triggers);
    Ok(Some(triggers))
}

/// Fires the triggers of one change of a row, in their order; returns the columns of the new row that they assigned. The statement
/// sees their conditions only if one fails, as in MySQL.
///
/// # Errors
/// The first error of a trigger; 1424 for a trigger that its own statements fire.
pub(crate) fn fire(
    triggers: &TableTriggers,
    session: &mut Session,
    when: When,
    old: &[Value],
    new: &mut [Value],
) -> Result<Vec<usize>, MysqlError> {
    let mut assigned = Vec::new();
    for trigger in triggers.that_fire(when) {
        trigger.fire(session, old, (new, &mut assigned))?;
        session.warnings.clear();
    }
    Ok(assigned)
}

/// Compiles a trigger that is about to be created.
///
/// # Errors
/// 1054 for columns that the table does not have, 3105 for an assignment to a generated column; other errors of compiling it.
pub(crate) fn check_trigger(
    session: &mut Session,
    def: &Arc<ProgramDef>,
    table: &TableDef,
) -> Result<(), MysqlError> {
    Trigger::of(session, def, table)?;
    let mode = Modes::from_bits(def.context.sql_mode)?.lex_mode();
    check_columns((&def.text, mode), table)
}

impl Trigger {
    fn of(session: &Session, def: &Arc<ProgramDef>, table: &TableDef) -> Result<Trigger, MysqlError> {
        let Some(attributes) = def.trigger() else {
            return Err(MysqlError::internal("a program of another kind as a trigger"));
        };
        let (has_old, has_new) = match attributes.event {
            TriggerEvent::Insert => (false, true),
            TriggerEvent::Update => (true, true),
            TriggerEvent::Delete => (true, false),
        };
        let text = def.text.to_lowercase();
        let (mut columns, mut rows) = (Vec::new(), Vec::new());
        for (row, _) in [(OLD, has_old), (NEW, has_new)].into_iter().filter(|(_, is_there)| *is_there) {
            for (at, column) in table.columns.iter().enumerate().filter(|(_, column)| !column.is_hidden()) {
                // A quote in a name is written twice, so that the text does not contain the name.
                if column.name.contains(['`', '"']) || text.contains(&column.name.to_lowercase()) {
                    columns.push(RowColumn { is_new: row == NEW, column: at, is_assigned: false });
                    let (ty, collation) = (column.ty.clone(), column.collation);
                    rows.push((row, Slot { name: column.name.clone(), ty, collation }));
                }
            }
        }
        let code = Arc::new(loaded::compiled(session, def, rows)?);
        let assigned = code.steps.iter().filter_map(|step| match &step.kind {
            StepKind::Set { slot, .. } => Some(*slot),
            _ => None,
        });
        let mut assignments = Vec::new();
        for slot in assigned {
            let Some(column) = columns.get_mut(slot) else { continue };
            assignments.push(column.column);
            column.is_assigned = true;
            let definition =
                table.columns.get(column.column).filter(|definition| definition.generated.is_some());
            if let Some(definition) = definition {
                return Err(MysqlError::value_for_generated_column(&definition.name, &table.name));
            }
        }
        for slot in code.statements.iter().flat_map(called_with) {
            if let Some(column) = columns.get_mut(slot) {
                column.is_assigned = column.is_new && attributes.time == TriggerTime::Before;
            }
        }
        let mode = Modes::from_bits(def.context.sql_mode)?.lex_mode();
        let names = table.columns.iter().map(|column| column.name.as_str());
        let rights = TriggerRights::of((&def.text, mode), names, &assignments);
        Ok(Trigger { when: (attributes.time, attributes.event), def: def.clone(), code, columns, rights })
    }

    fn fire(
        &self,
        session: &mut Session,
        old: &[Value],
        (new, assigned): (&mut [Value], &mut Vec<usize>),
    ) -> Result<(), MysqlError> {
        let mut slots = Vec::with_capacity(self.code.slots.len());
        for column in &self.columns {
            let row = if column.is_new { &*new } else { old };
            slots.push(row.get(column.column).cloned().unwrap_or(Value::Null));
        }
        slots.resize(self.code.slots.len(), Value::Null);
        let (slots, were_assigned) = session.inside_program(&self.def, |session| {
            let program = (Some(self.def.clone()), self.code.clone());
            let mut frame = call::begin(session, program, slots, Vec::new())?;
            frame.assigned = vec![false; self.columns.len()];
            let mut run = Run::new(session, "", frame)?;
            let may = self.rights.check(&session.login.access, &self.def);
            let result = may.and_then(|()| run.go(session));
            let slots = (std::mem::take(&mut run.last_slots), std::mem::take(&mut run.last_assigned));
            run.end(session);
            match result? {
                Some(_) => Err(MysqlError::no_result_set("trigger")),
                None => Ok(slots),
            }
        })?;
        for ((column, value), was_assigned) in self.columns.iter().zip(slots).zip(were_assigned) {
            if column.is_assigned
                && was_assigned
                && let Some(slot) = new.get_mut(column.column)
            {
                *slot = value;
                assigned.push(column.column);
            }
        }
        Ok(())
    }
}

/// Returns the slots that are arguments of a CALL: OUT and INOUT parameters assign them.
fn called_with(written: &StatementCode) -> Vec<usize> {
    let StatementKind::Call(call) = &written.statement.kind else { return Vec::new() };
    let columns = call.arguments.iter().filter_map(|argument| match &argument.kind {
        ExprKind::Column(name) if name.database.is_none() => Some(name),
        _ => None,
    });
    let places = columns.filter_map(|name| {
        let row = name.table.as_ref().map(|table| table.value.as_str());
        written.names.find(row, &name.column.value)
    });
    places.filter_map(|at| written.slots.get(at).copied()).collect()
}
