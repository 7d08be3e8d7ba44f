//! One run of an event, in a session of its own.
//!
//! The session has the global settings, the event's time zone, and the database, `sql_mode`, collations and
//! definer's rights that every stored program has. An open transaction is rolled back at the end. Results are read
//! and given up.

use crate::accounts::Privilege;
use crate::events::DueEvent;
use crate::instance::Instance;
use crate::program;
use crate::program_text;
use crate::session::Session;
use crate::settings::TimeZone;
use leafline_table::ProgramDef;
use leafline_types::memory::server;
use leafline_types::{MysqlError, WarningLevel};
use std::fmt;
use std::sync::Arc;

/// An event as messages of the error log name it: its definer, database and name.
pub(super) struct Named<'d>(pub(super) &'d ProgramDef);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let def = self.0;
        write!(f, "[{}@{}].[{}.{}]", def.definer.0, def.definer.1, def.database, def.name)
    }
}

/// Gives the place of a run back, also after a panic.
struct Ending<'i>(&'i Arc<Instance>, u64);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        server::give_back();
        self.0.events().ended(self.1);
    }
}

/// Runs an event that is due, in the session `id`, on a thread that ends with the run.
pub(super) fn run_and_end(instance: &Arc<Instance>, id: u64, due: &DueEvent, now: i64) {
    let _ending = Ending(instance, id);
    match instance.engine().ddl().begin_event_run(&due.def, Some(now), due.is_last) {
        Ok(Some(def)) => run(instance, id, &def),
        // It was dropped or changed meanwhile.
        Ok(None) => {}
        Err(error) => instance.log_event_error(&due.def, &error.into()),
    }
}

fn run(instance: &Arc<Instance>, id: u64, def: &Arc<ProgramDef>) {
    let mut session = instance.new_event_session(id, program_text::definer(def));
    // `Instance::close` cancels the sessions that it sees, and this one has come too late.
    if instance.events().is_closed() {
        return;
    }
    let log = instance.error_log();
    if let Err(why) = check_definer(&session, def) {
        return log.error(format_args!("Event Scheduler: {} execution failed, {why}.", Named(def)));
    }
    if let Some(event) = def.event() {
        session.settings.time_zone = TimeZone::parse(&event.time_zone).unwrap_or_else(|_| TimeZone::system());
    }
    session.entry.set_database(Some(&def.database));
    let result = program_text::body(def).and_then(|body| program::run_event(&mut session, def, body));
    for warning in session.warnings().iter().filter(|warning| warning.level == WarningLevel::Warning) {
        log.warning(format_args!("Event Scheduler: {} {}", Named(def), warning.message));
    }
    if let Err(error) = result {
        instance.log_event_error(def, &error);
        log.error(format_args!("Event Scheduler: {} event execution failed.", Named(def)));
    }
}

/// Checks that the definer exists and may still have events in the database. Returns the reason as MySQL's log
/// words it.
fn check_definer(session: &Session, def: &ProgramDef) -> Result<(), &'static str> {
    let unknown = |_: MysqlError| "failed to authenticate the user";
    let access = session.login.access.of_program_definer(&def.definer).map_err(unknown)?;
    let may = access.is_some_and(|access| access.on_database(&def.database).has(Privilege::Event));
    if may { Ok(()) } else { Err("user no longer has EVENT privilege") }
}
