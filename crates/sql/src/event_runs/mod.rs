//! The event scheduler at work: a thread that waits for the next event that is due, and a thread with a session of
//! its own for each run of an event.
//!
//! The scheduler looks at the events when one is due, when an event or `event_scheduler` was changed, when a run
//! has ended, and once a minute, because the clock can be set. Runs of one event may overlap, as in MySQL. Under
//! `super_read_only` no event starts; times count anew when it ends.
//!
//! The last run of an event drops or disables the event before its body runs (`Ddl::begin_event_run`).

mod run;
#[cfg(test)]
mod tests;

use crate::events::Daemon;
use crate::instance::Instance;
use crate::session::clock_micros;
use crate::session_entry::{SessionEntry, SessionKind};
use crate::settings::{EventSchedulerState, ServerAccess};
use leafline_storage::worker::{Next, OnPanic, ThreadName, Worker};
use leafline_table::ProgramDef;
use leafline_types::MysqlError;
use leafline_types::statement::CancelReason;
use std::sync::Arc;
use std::time::Duration;

/// The longest sleep of the scheduler.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

impl Instance {
    /// Starts or stops the event scheduler as `event_scheduler` says. Events that run go on. Whoever opens an
    /// instance calls this once the instance is ready for its sessions.
    ///
    /// # Errors
    /// 1815 if the system cannot start a thread.
    pub fn follow_event_scheduler(self: &Arc<Self>) -> Result<(), MysqlError> {
        let _switch = self.events().switch();
        let is_wanted = self.globals().read().event_scheduler == EventSchedulerState::On;
        match (is_wanted, self.events().is_on()) {
            (true, false) if !self.events().is_closed() => self.start_event_scheduler()?,
            (false, true) => self.stop_event_scheduler(),
            _ => self.events().wake(),
        }
        Ok(())
    }

    fn start_event_scheduler(self: &Arc<Self>) -> Result<(), MysqlError> {
        // The thread holds a weak reference, so that it does not keep the instance open.
        let weak = Arc::downgrade(self);
        let log = self.error_log().clone();
        let on_panic =
            OnPanic::call(move |text| log.error(format_args!("Event Scheduler: a panic ends it: {text}")));
        let worker = Worker::start(ThreadName::EventScheduler, on_panic, Next::WhenWoken, move || {
            weak.upgrade().map_or(Next::Never, |instance| instance.event_round())
        });
        let worker =
            worker.map_err(|error| MysqlError::internal(format_args!("no thread for events: {error}")))?;
        let id = self.new_connection_id();
        let entry = SessionEntry::new(id, "event_scheduler", "localhost", (None, 0));
        let entry = self.add_own_session(entry.of_kind(SessionKind::EventScheduler));
        entry.set_waiting(EMPTY);
        self.events().set_daemon(Daemon { worker, entry });
        Ok(())
    }

    fn stop_event_scheduler(&self) {
        if let Some(Daemon { worker, entry }) = self.events().take_daemon() {
            self.end_session(entry.id);
            worker.stop();
        }
    }

    /// One round of the scheduler's thread.
    fn event_round(self: &Arc<Self>) -> Next {
        let Some(entry) = self.events().daemon_entry() else { return Next::WhenWoken };
        if entry.cancel.reason() == Some(CancelReason::ConnectionKilled) {
            self.globals().write().event_scheduler = EventSchedulerState::Off;
            self.error_log().warning("Event Scheduler: killed, event_scheduler is OFF");
            self.stop_event_scheduler();
            return Next::Never;
        }
        let now = clock_micros().unwrap_or_default();
        let next = self.start_due_events(now);
        entry.set_waiting(if self.events().queue().is_empty() { EMPTY } else { ACTIVATION });
        let until_next = next.map(|next| u64::try_from(next.saturating_sub(now)).unwrap_or_default());
        Next::After(until_next.map_or(LONGEST_SLEEP, Duration::from_micros).min(LONGEST_SLEEP))
    }

    /// Starts the events that are due at `now`. Returns the time at which the next one is.
    fn start_due_events(self: &Arc<Self>, now: i64) -> Option<i64> {
        if self.server_access() == ServerAccess::SuperReadOnly {
            self.events().queue().clear();
            return None;
        }
        let catalog = self.engine().catalog();
        let over = self.events().queue().sync(&catalog, now);
        for def in over {
            if let Err(error) = self.engine().ddl().begin_event_run(&def, None, true) {
                self.log_event_error(&def, &error.into());
            }
        }
        let room = self.events().room();
        let taken = self.events().queue().take_due(now, room);
        for def in taken.held_back {
            let text = "waits, because too many events run";
            self.error_log().warning(format_args!("Event Scheduler: {} {text}", run::Named(&def)));
        }
        for due in taken.due {
            let id = self.new_connection_id();
            let (instance, def) = (self.clone(), due.def.clone());
            let started = self.events().start(id, move || run::run_and_end(&instance, id, &due, now));
            if let Err(error) = started {
                let error = MysqlError::internal(format_args!("no thread for an event: {error}"));
                self.log_event_error(&def, &error);
            }
        }
        self.events().queue().next()
    }

    fn log_event_error(&self, def: &ProgramDef, error: &MysqlError) {
        self.error_log().error(format_args!("Event Scheduler: {} {}", run::Named(def), error.message));
    }
}

const EMPTY: &str = "Waiting on empty queue";
const ACTIVATION: &str = "Waiting for next activation";
