//! Gates, by which DDL excludes commits to a table while it works.
//!
//! A commit passes the gates of all tables it writes, together, and leaves them after it is applied. DDL closes the
//! gate of its table: it waits for the commits inside to leave, and makes new ones wait. Only one DDL statement runs
//! at a time, so that at most one statement closes gates and nobody waits in a cycle.

use crate::catalog::TableId;
use parking_lot::{Condvar, Mutex};
use std::collections::{HashMap, HashSet};

#[derive(Debug, Default)]
struct State {
    inside: HashMap<TableId, usize>,
    closed: HashSet<TableId>,
}

/// The gates of all tables.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    state: Mutex<State>,
    changed: Condvar,
}

/// The presence of a commit inside the gates of some tables.
#[derive(Debug)]
pub(crate) struct Inside<'a> {
    gates: &'a Gates,
    tables: Vec<TableId>,
}

/// A closed gate; dropping it opens the gate.
#[derive(Debug)]
pub(crate) struct Closed<'a> {
    gates: &'a Gates,
    table: TableId,
}

impl Gates {
    /// Passes the gates of `tables` (each once); waits while one is closed.
    pub(crate) fn enter(&self, tables: Vec<TableId>) -> Inside<'_> {
        let mut state = self.state.lock();
        while tables.iter().any(|table| state.closed.contains(table)) {
            self.changed.wait(&mut state);
        }
        for table in &tables {
            *state.inside.entry(*table).or_default() += 1;
        }
        Inside { gates: self, tables }
    }

    /// Closes the gate of `table`, and waits until no commit is inside.
    pub(crate) fn close(&self, table: TableId) -> Closed<'_> {
        let mut state = self.state.lock();
        while state.closed.contains(&table) {
            self.changed.wait(&mut state);
        }
        state.closed.insert(table);
        while state.inside.contains_key(&table) {
            self.changed.wait(&mut state);
        }
        Closed { gates: self, table }
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let mut state = self.gates.state.lock();
        for table in &self.tables {
            if let Some(count) = state.inside.get_mut(table) {
                *count -= 1;
                if *count == 0 {
                    state.inside.remove(table);
                }
            }
        }
        self.gates.changed.notify_all();
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.gates.state.lock().closed.remove(&self.table);
        self.gates.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_closed_gate_keeps_commits_out_until_it_opens() {
        let gates = Gates::default();
        let passed = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let closed = gates.close(TableId(1));
            scope.spawn(|| {
                let _inside = gates.enter(vec![TableId(1), TableId(2)]);
                passed.fetch_add(1, Ordering::SeqCst);
            });
            drop(gates.enter(vec![TableId(2)]));
            assert_eq!(passed.load(Ordering::SeqCst), 0);
            drop(closed);
        });
        assert_eq!(passed.load(Ordering::SeqCst), 1);
        assert!(gates.state.lock().inside.is_empty());
    }
}
