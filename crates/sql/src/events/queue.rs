//! The queue of events: which ones are due, and when the next one is. It knows no clock and runs nothing.
//!
//! # Invariants
//! - Times count from the moment at which the scheduler starts. Runs of EVERY that were missed before are not made
//!   up; AT that was missed runs once. Of an event that is created or gets another schedule later, times count from
//!   its change.
//! - An event that was taken as due for the last time has no time any more. Another change of the catalog does not
//!   bring it back.
//! - A clock that is set back makes all times be computed anew.

use super::schedule::{first_after, first_at_or_after};
use leafline_table::{Catalog, ProgramDef};
use leafline_types::words::EventStatus;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A step back of the clock that is taken for a setting of the clock, microseconds.
const SET_BACK: i64 = 1_000_000;

/// An event that is due.
#[derive(Debug)]
pub(crate) struct DueEvent {
    /// The event.
    pub(crate) def: Arc<ProgramDef>,
    /// Whether its schedule is over with this run.
    pub(crate) is_last: bool,
}

/// The events that are due at a moment.
#[derive(Debug, Default)]
pub(crate) struct DueEvents {
    /// The events to start, the earliest first.
    pub(crate) due: Vec<DueEvent>,
    /// The events that have to wait from now on because too many run.
    pub(crate) held_back: Vec<Arc<ProgramDef>>,
}

struct Entry {
    def: Arc<ProgramDef>,
    /// The time of the next execution; `None` after the last one.
    due: Option<i64>,
    /// Whether it waits because too many events run.
    is_held_back: bool,
}

/// The enabled events.
#[derive(Default)]
pub(crate) struct Queue {
    /// Events by number.
    entries: BTreeMap<u64, Entry>,
    /// The version of the catalog that the entries agree with; `None` before the first.
    version: Option<u64>,
    /// The last moment seen.
    seen: i64,
}

impl Queue {
    /// Forgets everything: times count from the next [`sync`](Self::sync).
    pub(crate) fn clear(&mut self) {
        *self = Queue::default();
    }

    /// Takes over the events of the catalog at the moment `now`. Returns events without a further time, which are
    /// over.
    pub(crate) fn sync(&mut self, catalog: &Catalog, now: i64) -> Vec<Arc<ProgramDef>> {
        if now < self.seen - SET_BACK {
            self.clear();
        }
        self.seen = now;
        if self.version == Some(catalog.version()) {
            return Vec::new();
        }
        let is_first = self.version.is_none();
        let mut before = std::mem::take(&mut self.entries);
        let mut over = Vec::new();
        for def in catalog.programs() {
            let Some(event) = def.event().filter(|event| event.status == EventStatus::Enabled) else {
                continue;
            };
            let known = before.remove(&def.id);
            let known = known
                .filter(|known| known.def.event().is_some_and(|known| known.has_schedule_of(event)))
                .map(|known| Entry { def: def.clone(), ..known });
            let entry = known.unwrap_or_else(|| {
                let since = if is_first { now } else { now.min(def.modified) };
                // Times are whole seconds: an event that starts with its creation runs at once.
                let since = since - since.rem_euclid(1_000_000);
                let not_again = event.last_executed.map_or(i64::MIN, |last| last.saturating_add(1));
                let due = first_at_or_after(event, since.max(not_again));
                over.extend(due.is_none().then(|| def.clone()));
                Entry { def: def.clone(), due, is_held_back: false }
            });
            self.entries.insert(def.id, entry);
        }
        self.version = Some(catalog.version());
        over
    }

    /// Takes the events that are due at `now`, at most `room`. The next time of each comes after `now`.
    pub(crate) fn take_due(&mut self, now: i64, room: usize) -> DueEvents {
        let mut due: Vec<(i64, &mut Entry)> = self
            .entries
            .values_mut()
            .filter_map(|entry| entry.due.filter(|due| *due <= now).map(|due| (due, entry)))
            .collect();
        due.sort_by_key(|(due, _)| *due);
        let mut taken = DueEvents::default();
        for (number, (_, entry)) in due.into_iter().enumerate() {
            if number >= room {
                if !std::mem::replace(&mut entry.is_held_back, true) {
                    taken.held_back.push(entry.def.clone());
                }
                continue;
            }
            entry.is_held_back = false;
            entry.due = entry.def.event().and_then(|event| first_after(event, now));
            taken.due.push(DueEvent { def: entry.def.clone(), is_last: entry.due.is_none() });
        }
        taken
    }

    /// The time at which the next event is due that does not wait for others to end.
    pub(crate) fn next(&self) -> Option<i64> {
        self.entries.values().filter(|entry| !entry.is_held_back).filter_map(|entry| entry.due).min()
    }

    /// Whether no event has a further time.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.values().all(|entry| entry.due.is_none())
    }
}
