//! Which indexes plans have used that were run, and how often, since the database was opened: what `sys.schema_unused_indexes` knows, and who watches a
//! server.
//!
//! A plan tells at its first run, and then every [`TOGETHER`] runs, so that reads that are repeated touch nothing that is shared. What it has
//! not told when it is given up is not counted.

use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Runs of a plan that are told together.
const TOGETHER: u32 = 32;

/// How often a plan was run.
#[derive(Debug, Default)]
pub(crate) struct PlanExecutions(AtomicU32);

impl PlanExecutions {
    /// It is run. Returns how many runs are to be told of now, and whether this is the first.
    pub fn run(&self) -> Option<(u32, bool)> {
        match self.0.fetch_add(1, Relaxed).wrapping_add(1) {
            1 => Some((1, true)),
            TOGETHER => Some((TOGETHER - 1, false)),
            runs if runs % TOGETHER == 0 => Some((TOGETHER, false)),
            _ => None,
        }
    }
}

/// Runs by the numbers of the indexes.
#[derive(Debug, Default)]
pub(crate) struct IndexUses(RwLock<HashMap<u64, AtomicU64>>);

impl IndexUses {
    /// These have been used by so many runs.
    pub fn note(&self, indexes: impl IntoIterator<Item = u64>, runs: u32) {
        for index in indexes {
            if let Some(known) = self.0.read().get(&index) {
                known.fetch_add(runs.into(), Relaxed);
                continue;
            }
            self.0.write().entry(index).or_default().fetch_add(runs.into(), Relaxed);
        }
    }

    /// How often an index was used.
    pub fn of(&self, index: u64) -> u64 {
        self.0.read().get(&index).map_or(0, |uses| uses.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_told_at_once_and_then_together() {
        let (runs, uses) = (PlanExecutions::default(), IndexUses::default());
        let mut first = 0;
        for run in 1..=100 {
            if let Some((told, is_first)) = runs.run() {
                uses.note([7, 8], told);
                first += usize::from(is_first);
            }
            let told = uses.of(7);
            assert!(told >= 1 && told <= run && run - told < u64::from(TOGETHER), "{told} of {run}");
        }
        assert_eq!((uses.of(7), uses.of(8), uses.of(9), first), (96, 96, 0, 1));
    }
}
