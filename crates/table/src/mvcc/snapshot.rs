//! Snapshots: the commits that a reader sees.
//!
//! A commit is visible once it is fully applied and its record is durable. Commits finish in any order, so that a
//! snapshot is more than one number: everything below `low` is visible, nothing from `high` on, and in between
//! everything except the listed exceptions. The exceptions are the commits that were appended to the log, but not
//! fully applied, when the snapshot was taken. Conflicting commits are ordered, so that this is still snapshot
//! isolation.

use leafline_btree::CommitTs;
use std::sync::Arc;

/// The set of visible commits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// Every commit below this is visible.
    pub low: CommitTs,
    /// No commit from here on is visible.
    pub high: CommitTs,
    /// The commits in between that are not visible, ascending.
    pub exceptions: Arc<[CommitTs]>,
}

impl Snapshot {
    /// Returns whether a commit at `ts` is visible. Timestamp 0 (none: settled) always is.
    pub fn sees(&self, ts: CommitTs) -> bool {
        ts < self.low || (ts < self.high && self.exceptions.binary_search(&ts).is_err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_below_low_and_between_unless_excepted() {
        let exceptions = [CommitTs(10), CommitTs(13)].into();
        let snapshot = Snapshot { low: CommitTs(10), high: CommitTs(15), exceptions };
        let seen: Vec<u64> = (0..18).filter(|&ts| snapshot.sees(CommitTs(ts))).collect();
        assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 14]);
    }
}
