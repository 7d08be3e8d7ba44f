//! DDL of stored programs.

use crate::catalog::{EventDef, ProgramAttributes, ProgramDef, TableDef, check_name};
use crate::catalog_change::CatalogChange;
use crate::ddl;
use crate::ddl::Ddl;
use crate::error::{Result, TableError};
use leafline_types::MysqlError;
use leafline_types::words::{EventStatus, ProgramKind};
use std::sync::Arc;
use std::time::Duration;

/// The longest wait of an event's run for a DDL statement to end, only to note the time of the run.
const LONGEST_WAIT_TO_NOTE: Duration = Duration::from_secs(1);

/// The error for a program that is there already.
fn exists(kind: ProgramKind, name: &str) -> TableError {
    match kind {
        ProgramKind::Procedure | ProgramKind::Function => {
            MysqlError::program_exists(kind.name(), name).into()
        }
        ProgramKind::Trigger => MysqlError::trigger_exists().into(),
        ProgramKind::Event => MysqlError::event_exists(name).into(),
    }
}

impl Ddl {
    /// Creates a program, which gets its number here. Returns false if it exists already and `if_not_exists`. A
    /// trigger fires after the others of its table, time and event, or next to the one that `next_to` names: behind
    /// it if `next_to.0`, else before it.
    ///
    /// # Errors
    /// 1049 if the database does not exist, 1304, 1359 and 1537 if the program does, 1059 and 1458 for an invalid
    /// name, 1146 if the table of a trigger does not exist, 3011 if `next_to` names no trigger of its table, time and
    /// event; errors of the store.
    pub fn create_program(
        &self,
        mut program: ProgramDef,
        if_not_exists: bool,
        next_to: Option<(bool, &str)>,
    ) -> Result<bool> {
        let _ddl = self.core.ddl.lock();
        let catalog = self.core.catalog();
        check_name(&program.name, |name| MysqlError::wrong_program_name(name))?;
        if catalog.database(&program.database).is_none() {
            return Err(MysqlError::unknown_database(&program.database).into());
        }
        if catalog.program(program.kind, &program.database, &program.name).is_some() {
            return if if_not_exists { Ok(false) } else { Err(exists(program.kind, &program.name)) };
        }
        program.id = self.core.counters.new_object();
        let mut change = CatalogChange::default();
        if let Some(trigger) = program.trigger().cloned() {
            let Some(table) = catalog.table(&program.database, &trigger.table) else {
                return Err(MysqlError::no_such_table(&program.database, &trigger.table).into());
            };
            let mut beside: Vec<Arc<ProgramDef>> = catalog
                .triggers_of(&program.database, &trigger.table)
                .into_iter()
                .filter(|other| {
                    let other = other.trigger();
                    other.is_some_and(|other| (other.time, other.event) == (trigger.time, trigger.event))
                })
                .collect();
            let place = match next_to {
                None => beside.len(),
                Some((follows, name)) => match beside.iter().position(|other| other.name == name) {
                    Some(place) => place + usize::from(follows),
                    None => return Err(MysqlError::no_referenced_trigger(name).into()),
                },
            };
            beside.insert(place, Arc::new(program));
            change.put_programs = numbered(&beside);
            return self.change_triggers(change, Some(table)).map(|()| true);
        }
        change.put_programs.push(Arc::new(program));
        ddl::change_catalog(&self.core, change)?;
        Ok(true)
    }

    /// Replaces the program with the number of `program`, whose kind and, for a trigger, table stay. Its name and
    /// database may be new.
    ///
    /// # Errors
    /// `DefinitionChanged` if it does not exist any more; 1049, 1304 and 1537 for a new name; errors of the store.
    pub fn alter_program(&self, mut program: ProgramDef) -> Result<()> {
        let _ddl = self.core.ddl.lock();
        let catalog = self.core.catalog();
        let known = catalog.programs().find(|known| known.id == program.id && known.kind == program.kind);
        let old = known.ok_or(TableError::DefinitionChanged)?.clone();
        check_name(&program.name, |name| MysqlError::wrong_program_name(name))?;
        if catalog.database(&program.database).is_none() {
            return Err(MysqlError::unknown_database(&program.database).into());
        }
        let ran_at = old.event().and_then(|event| event.last_executed);
        if let ProgramAttributes::Event(event) = &mut program.attributes {
            // The event may have run since the caller has read its definition.
            event.last_executed = event.last_executed.max(ran_at);
        }
        let named = catalog.program(program.kind, &program.database, &program.name);
        if named.is_some_and(|named| named.id != program.id) {
            return Err(exists(program.kind, &program.name));
        }
        let change = CatalogChange {
            remove_programs: vec![old],
            put_programs: vec![Arc::new(program)],
            ..CatalogChange::default()
        };
        ddl::change_catalog(&self.core, change)
    }

    /// Drops a program. Returns false if it does not exist; the caller knows the error for its kind.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn drop_program(&self, kind: ProgramKind, database: &str, name: &str) -> Result<bool> {
        let _ddl = self.core.ddl.lock();
        let catalog = self.core.catalog();
        let Some(program) = catalog.program(kind, database, name).cloned() else { return Ok(false) };
        let table = program.trigger().and_then(|trigger| catalog.table(database, &trigger.table));
        let change = CatalogChange { remove_programs: vec![program.clone()], ..CatalogChange::default() };
        self.change_triggers(change, table)?;
        Ok(true)
    }

    /// Notes that an event begins to run at `at` (microseconds since 1970, UTC), before its body runs; without
    /// `at`, that its schedule is over. Returns the definition in force, or `None` if the event must not run: it
    /// does not exist any more, or not with the schedule of `event`, or is disabled.
    ///
    /// The last run drops the event, or disables it if it is preserved. That is durable when this returns, so that
    /// a crash during the run does not make the event run again. Before another run only the time of the last
    /// execution changes. It is kept in seconds, raises no version, so that no plan is made anew, and becomes
    /// durable with a later commit. While a long DDL statement runs, that time may go unnoted.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn begin_event_run(
        &self,
        event: &ProgramDef,
        at: Option<i64>,
        is_last: bool,
    ) -> Result<Option<Arc<ProgramDef>>> {
        let ddl = match is_last {
            true => Some(self.core.ddl.lock()),
            false => self.core.ddl.try_lock_for(LONGEST_WAIT_TO_NOTE),
        };
        let catalog = self.core.catalog();
        let known = catalog.program(ProgramKind::Event, &event.database, &event.name);
        let Some(known) = known.filter(|known| known.id == event.id).cloned() else { return Ok(None) };
        let (Some(was), Some(is)) = (event.event(), known.event()) else { return Ok(None) };
        if is.status != EventStatus::Enabled || !is.has_schedule_of(was) {
            return Ok(None);
        }
        let at = at.map(|at| at - at.rem_euclid(1_000_000)).max(is.last_executed);
        if ddl.is_none() || !is_last && at == is.last_executed {
            return Ok(Some(known));
        }
        let mut change = CatalogChange { is_note: !is_last, ..CatalogChange::default() };
        match is_last && !is.preserve {
            true => change.remove_programs.push(known.clone()),
            false => {
                let status = if is_last { EventStatus::Disabled } else { is.status };
                let attributes = EventDef { last_executed: at, status, ..is.clone() };
                let attributes = ProgramAttributes::Event(attributes);
                change.put_programs.push(Arc::new(ProgramDef { attributes, ..(*known).clone() }));
            }
        }
        ddl::change_catalog(&self.core, change)?;
        Ok(Some(known))
    }

    /// Changes triggers of `table`, and replaces its definition with an equal one, so that kept plans are made anew.
    fn change_triggers(&self, mut change: CatalogChange, table: Option<&Arc<TableDef>>) -> Result<()> {
        let closed = table.map(|table| ddl::close_gates(&self.core, std::slice::from_ref(table)));
        change.put_tables.extend(table.map(|table| (**table).clone()));
        ddl::change_catalog(&self.core, change)?;
        drop(closed);
        Ok(())
    }
}

/// The triggers of one table, time and event with their places from 1, without those that have theirs already.
fn numbered(triggers: &[Arc<ProgramDef>]) -> Vec<Arc<ProgramDef>> {
    let numbered = (1u32..).zip(triggers).filter_map(|(order, trigger)| {
        let mut program = (**trigger).clone();
        let ProgramAttributes::Trigger(attributes) = &mut program.attributes else {
            return None;
        };
        let is_known = attributes.order == order;
        attributes.order = order;
        (!is_known).then(|| Arc::new(program))
    });
    numbered.collect()
}
