//! Counts how often executed plans have used each index since the database was opened, for
//! `sys.schema_unused_indexes` and monitoring.
//!
//! A plan reports its first execution and then every [`TOGETHER`] ones, so that repeated reads do not touch
//! shared memory. Executions that a plan has not reported when it is dropped are not counted.

use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Number of executions that a plan reports together.
const TOGETHER: u32 = 32;

/// Executions of a plan.
#[derive(Debug, Default)]
pub(crate) struct PlanExecutions(AtomicU32);

impl PlanExecutions {
    /// Counts an execution. Returns the number of executions to report now, and true for the first.
    pub fn run(&self) -> Option<(u32, bool)> {
        match self.0.fetch_add(1, Relaxed).wrapping_add(1) {
            1 => Some((1, true)),
            TOGETHER => Some((TOGETHER - 1, false)),
            runs if runs % TOGETHER == 0 => Some((TOGETHER, false)),
            _ => None,
        }
    }
}

/// Executions by index id.
#[derive(Debug, Default)]
pub(crate) struct IndexUses(RwLock<HashMap<u64, AtomicU64>>);

impl IndexUses {
    /// Adds executions of plans that may read these indexes.
    pub fn note(&self, indexes: impl IntoIterator<Item = u64>, runs: u32) {
        for index in indexes {
            if let Some(known) = self.0.read().get(&index) {
                known.fetch_add(runs.into(), Relaxed);
                continue;
            }
            self.0.write().entry(index).or_default().fetch_add(runs.into(), Relaxed);
        }
    }

    /// Number of uses of an index.
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
