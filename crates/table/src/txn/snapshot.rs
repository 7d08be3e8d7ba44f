//! Snapshots: which commits a reader sees.
//!
//! A commit is shown once it is applied in full and its record is durable. As commits finish in any order, a
//! snapshot is not one number: below `low` everything is visible, from `high` on nothing, and between the two
//! everything but the listed exceptions, the commits that were appended to the log but not applied in full when
//! the snapshot was taken. Commits that conflict are ordered, so this is still snapshot isolation.

use leafline_btree::CommitTs;
use std::sync::Arc;

/// Which commits are visible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// Every commit below is visible.
    pub low: CommitTs,
    /// No commit from here on is visible.
    pub high: CommitTs,
    /// Commits in between that are not visible, ascending.
    pub exceptions: Arc<[CommitTs]>,
}

impl Snapshot {
    /// Whether what was committed at `ts` is visible. Timestamp 0 (none: settled) always is.
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
