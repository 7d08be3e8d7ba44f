//! Purging: removes ghosts that no snapshot can need any more.

use leafline_storage::{PageNo, Reservation, page};

use crate::descend::{Faults, LatchAttempt};
use crate::entry::{CommitTs, EntryFlags};
use crate::error::{OnPage, Result};
use crate::node::{Node, NodeResult, Record};
use crate::policy;
use crate::tree::{Tree, apply};

/// From this many ghosts on, a purge clears the whole leaf at once: with one record instead of one for each ghost.
const SETTLE_FROM: usize = 4;

/// The outcome of one attempt.
enum Attempt {
    /// Whether the ghost was removed, and whether a merge is worth trying.
    Done { removed: bool, merge: bool },
    /// A page is not in memory.
    Missing(PageNo),
}

impl Tree {
    /// Removes the ghost under `key` if its timestamp is below `purge_before`; other such ghosts of the leaf may go
    /// with it. Merges the leaf when that leaves it nearly empty. Returns whether there was such a ghost. Needs no
    /// page, and [`worst_case_log`](Self::worst_case_log) bytes of log.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn purge(&self, reservation: &mut Reservation, key: &[u8], purge_before: CommitTs) -> Result<bool> {
        let mut faults = Faults::default();
        loop {
            match self.try_purge(reservation, key, purge_before)? {
                Attempt::Missing(page) => faults.fault_in(self, page)?,
                Attempt::Done { removed, merge } => {
                    if merge {
                        self.merge(reservation, key, 0)?;
                    }
                    return Ok(removed);
                }
            }
        }
    }

    fn try_purge(&self, reservation: &mut Reservation, key: &[u8], before: CommitTs) -> Result<Attempt> {
        let mut mini = self.store().begin(reservation, 0)?;
        let latched = match self.latch(&mut mini, key, 0)? {
            LatchAttempt::Page(latched) => latched,
            LatchAttempt::Missing(page) => return Ok(Attempt::Missing(page)),
            LatchAttempt::NoSuchLevel => return Err(self.no_leaf_level()),
        };
        let page = mini.page_no(latched);
        if page::is_soft(mini.page(latched)) {
            // The merge by log removes ghosts, too.
            return Ok(Attempt::Done { removed: false, merge: false });
        }
        let leaf = Node::open(mini.page(latched)).on(page)?;
        let (slot, found) = leaf.lower_bound(key).on(page)?;
        if !found || !purgeable(&leaf, slot, before).on(page)? {
            return Ok(Attempt::Done { removed: false, merge: false });
        }
        let record = if leaf.ghosts() >= SETTLE_FROM && all_purgeable(&leaf, before).on(page)? >= SETTLE_FROM
        {
            Record::leaf_settle(before)
        } else {
            Record::leaf_remove(slot)
        };
        apply(&mut mini, latched, &record)?;
        let merge = policy::try_merge(&Node::open(mini.page(latched)).on(page)?);
        mini.commit();
        Ok(Attempt::Done { removed: true, merge })
    }
}

fn purgeable(leaf: &Node<'_>, slot: usize, before: CommitTs) -> NodeResult<bool> {
    let (flags, commit_ts) = leaf.stamp_at(slot)?;
    Ok(flags.contains(EntryFlags::GHOST) && commit_ts < before)
}

/// Returns the number of ghosts on the leaf that can go.
fn all_purgeable(leaf: &Node<'_>, before: CommitTs) -> NodeResult<usize> {
    let mut number = 0;
    for slot in 0..leaf.slots() {
        let (flags, commit_ts) = leaf.stamp(slot)?;
        if flags.contains(EntryFlags::GHOST) && commit_ts < before {
            number += leaf.positions(slot).len();
        }
    }
    Ok(number)
}
