//! Leaves that are held together, for changes of neighbouring keys that are buffered together. The cost of finding
//! and latching a leaf of L0 is paid once for all changes that go there, and so is a group of the log.
//!
//! A thread that holds a leaf waits for no other leaf, because the holder of that one may be waiting for this one. Of
//! the leaves after the first, it therefore holds those that are available at once, up to one that is not, and only a
//! few that are in memory, whose frames nobody else can have meanwhile.

use super::ChangeBuffer;
use super::entry::entry_of;
use crate::error::Result;
use crate::op::Op;
use leafline_btree::{BufferedEntry, CommitTs, Finger, HeldLeaf, HoldOutcome, Tree};
use leafline_storage::PageNo;

/// The maximum number of changes buffered together. Their bytes in L0 are not many more than on their leaves
/// ([`together`](crate::txn::apply::together)).
const MOST_CHANGES: usize = 32;
/// The maximum number of leaves in memory.
const MOST_TAKEN: usize = 8;

/// A held leaf, and the number of its changes.
struct HeldLeafChanges {
    held: HeldLeaf,
    page: PageNo,
    changes: usize,
}

/// Held leaves, with ascending keys.
pub(super) struct HeldLeaves(Vec<HeldLeafChanges>);

impl HeldLeaves {
    /// One leaf, for one change.
    pub(super) fn new(held: HeldLeaf, page: PageNo) -> HeldLeaves {
        HeldLeaves(vec![HeldLeafChanges { held, page, changes: 1 }])
    }

    /// The number of all changes.
    pub(super) fn changes(&self) -> usize {
        self.0.iter().map(|leaf| leaf.changes).sum()
    }
}

impl ChangeBuffer {
    /// Holds the leaves of more of `ops`; the leaves held already have the first ones.
    pub(super) fn hold_more(
        &self,
        together: &mut HeldLeaves,
        tree: &Tree,
        ops: &[Op],
        take: bool,
        finger: &mut Finger,
    ) {
        let leaves = &mut together.0;
        let mut taken = leaves.iter().filter(|leaf| matches!(leaf.held, HeldLeaf::Taken(_))).count();
        for op in ops.iter().take(MOST_CHANGES).skip(1) {
            let last = leaves.last_mut().expect("the first leaf is held");
            if !self.is_to_be_buffered(op) {
                return;
            }
            match tree.hold_beside(last.page, op.key(), take && taken < MOST_TAKEN, finger) {
                HoldOutcome::Same => last.changes += 1,
                HoldOutcome::Another(held) => {
                    let Some(page) = held.page_no().filter(|page| !self.is_heavy(*page)) else {
                        held.let_go();
                        return;
                    };
                    taken += usize::from(matches!(held, HeldLeaf::Taken(_)));
                    leaves.push(HeldLeafChanges { held, page, changes: 1 });
                }
                HoldOutcome::No => return,
            }
        }
    }

    /// Notes the changes of `ops` that the leaves have received, which the commit at `ts` has buffered. Also makes
    /// them on leaves in memory, and releases all leaves.
    pub(super) fn let_go(
        &self,
        together: HeldLeaves,
        ops: &[Op],
        ts: CommitTs,
        purge_before: CommitTs,
    ) -> Result<()> {
        let mut left = ops;
        for HeldLeafChanges { held, page, changes } in together.0 {
            let (of_leaf, others) = left.split_at(changes);
            left = others;
            self.note_pending(page, of_leaf);
            if let HeldLeaf::Taken(leaf) = held {
                self.counts.softly_changed(changes as u64);
                let entries: Vec<BufferedEntry> = of_leaf.iter().map(|op| entry_of(op, ts)).collect();
                leaf.merge_softly(&entries, purge_before, self.store.log_end())?;
            }
        }
        Ok(())
    }
}
