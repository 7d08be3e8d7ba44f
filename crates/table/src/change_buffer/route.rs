//! Where a change goes: to its leaf, if that is in memory, else to the buffer.
//!
//! | leaf | change |
//! |---|---|
//! | in memory, lacks nothing | is made there |
//! | in memory, merged in memory alone | the leaf is merged by log first |
//! | not in memory | is buffered; of a leaf with much pending, or a change that is not to be buffered, the leaf is merged by log first |
//!
//! Much pending: half a page. More would not fit the leaf anyhow; and where inserts ascend, all go to one leaf, which had
//! better be in memory.

use super::ChangeBuffer;
use super::sweep::MergedLeaf;
use crate::error::Result;
use crate::txn::op::Op;
use leafline_btree::{
    BtreeError, BufferedEntry, Change, CommitTs, Direction, EntryView, HeldLeaf, Modified, RawLeaf, Tree,
};
use leafline_storage::{PageNo, Reservation};
use std::collections::HashMap;
use std::sync::atomic::Ordering;

/// Which changes are buffered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(u8)]
pub enum ChangeBuffering {
    /// None.
    #[default]
    None,
    /// New entries.
    Inserts,
    /// New entries, and that entries are deleted.
    All,
}

/// Bytes that are pending, by leaf, since the database was opened. Of a leaf that is merged they are forgotten.
#[derive(Default)]
pub(super) struct Heavy(HashMap<PageNo, u32>);

impl Heavy {
    fn add(&mut self, leaf: PageNo, bytes: usize) {
        let sum = self.0.entry(leaf).or_default();
        *sum = sum.saturating_add(bytes as u32);
    }

    fn bytes(&self, leaf: PageNo) -> usize {
        self.0.get(&leaf).map_or(0, |bytes| *bytes as usize)
    }

    fn forget(&mut self, leaf: PageNo) {
        self.0.remove(&leaf);
    }
}

/// How a change is made on a leaf in memory.
pub(crate) type Decide<'d, 'b> = &'d mut dyn FnMut(Option<EntryView<'_>>) -> Change<'b>;

impl ChangeBuffer {
    /// Which changes are buffered from now on.
    pub(crate) fn set_mode(&self, mode: ChangeBuffering) {
        self.mode.store(mode as u8, Ordering::Relaxed);
    }

    /// Which changes are buffered.
    pub(crate) fn mode(&self) -> ChangeBuffering {
        match self.mode.load(Ordering::Relaxed) {
            1 => ChangeBuffering::Inserts,
            2 => ChangeBuffering::All,
            _ => ChangeBuffering::None,
        }
    }

    /// Drives leaves out of memory so that all changes are buffered: for tests.
    pub(crate) fn set_forced(&self, forced: bool) {
        self.force.store(forced, Ordering::Relaxed);
    }

    /// Whether a change of a non-unique secondary index would be buffered if its leaf is not in memory.
    pub(crate) fn takes(&self, op: &Op) -> bool {
        let wanted = match (self.mode(), op) {
            (ChangeBuffering::All, _) => true,
            (ChangeBuffering::Inserts, Op::PutEntry { .. }) => true,
            (ChangeBuffering::Inserts | ChangeBuffering::None, _) => false,
        };
        wanted && self.fits(op) && !self.is_over_full()
    }

    fn fits(&self, op: &Op) -> bool {
        let (key, payload) = ChangeBuffer::entry_lens(op);
        key <= self.catalog.max_key_len() && key + payload <= self.catalog.max_entry_len()
    }

    /// Makes the change of `op` for the commit at `ts` on a non-unique secondary index, by `decide` where its leaf is in memory. True: it
    /// was buffered.
    pub(crate) fn apply(
        &self,
        tree: &Tree,
        op: &Op,
        ts: CommitTs,
        reservation: &mut Reservation,
        decide: Decide<'_, '_>,
    ) -> Result<bool> {
        let purge_before = self.purge_before();
        let at_once = |pages, log| self.store.reserve_at_once(pages, log);
        if self.force.load(Ordering::Relaxed) && self.takes(op) {
            self.store.force_out(tree.leaf_of(op.key())?)?;
        }
        loop {
            match tree.modify_in_memory(reservation, op.key(), purge_before, decide)? {
                Modified::Done => return Ok(false),
                Modified::Softly => {
                    self.merge_leaf(tree, op.key(), &at_once)?;
                    continue;
                }
                Modified::NotInMemory => {}
            }
            if !self.takes(op) || self.l0().is_none() {
                if !self.is_pending(tree.id()) {
                    // What is buffered from here on is none of this leaf: its rows' commits are this one's.
                    tree.get(op.key(), |_| ())?;
                    continue;
                }
                match self.merge_leaf(tree, op.key(), &at_once) {
                    Ok(_) => continue,
                    // The leaf need not be read for this.
                    Err(error) if error.is_damage() && self.fits(op) && self.l0().is_some() => {}
                    Err(error) => return Err(error),
                }
            }
            match tree.hold_leaf(op.key())? {
                HeldLeaf::InMemory => {}
                HeldLeaf::IsRoot => tree.get(op.key(), |_| ())?,
                HeldLeaf::Held(held) => {
                    let leaf = held.page_no();
                    let (key, payload) = ChangeBuffer::entry_lens(op);
                    if self.heavy.lock().bytes(leaf) > self.store.page_size() / 2 {
                        drop(held);
                        match self.merge_leaf(tree, op.key(), &at_once) {
                            Ok(_) => continue,
                            Err(error) if error.is_damage() => self.heavy.lock().forget(leaf),
                            Err(error) => return Err(error),
                        }
                        continue;
                    }
                    self.buffer(op, ts, reservation)?;
                    self.heavy.lock().add(leaf, key + payload);
                    return Ok(true);
                }
            }
        }
    }

    /// Merges the leaf that holds `key` by log; then it is in memory, and lacks nothing.
    pub(crate) fn merge_leaf(&self, tree: &Tree, key: &[u8], reserve: &Reserve<'_>) -> Result<MergedLeaf> {
        let Some(leaf) = tree.raw_leaf(key)? else {
            let next = tree.leaves(Direction::Forward, key, None, 1)?.resume;
            return Ok(MergedLeaf { next, ..MergedLeaf::default() });
        };
        let mut merged = MergedLeaf { next: leaf.upper.clone(), ..MergedLeaf::default() };
        let pending = self.pending_of(tree.id(), &leaf)?;
        if pending.is_empty() {
            self.heavy.lock().forget(leaf.page_no());
            leaf.publish();
        } else {
            let purge_before = self.merge_by_log(tree, leaf, &pending, reserve)?;
            let left = pending.into_iter().filter(|entry| entry.ghost && entry.ts >= purge_before);
            merged.ghosts = left.map(|entry| (entry.ts, entry.key)).collect();
        }
        Ok(merged)
    }

    /// Merges a leaf by log; what was deleted before the timestamp returned is removed from it.
    pub(super) fn merge_by_log(
        &self,
        tree: &Tree,
        leaf: RawLeaf,
        pending: &[BufferedEntry],
        reserve: &Reserve<'_>,
    ) -> Result<CommitTs> {
        let (page, purge_before) = (leaf.page_no(), self.purge_before());
        // Nothing of this leaf is buffered while it is held: all there is has an older generation.
        let through = self.store.log_end().0;
        let mut reserve = |pages, log| reserve(pages, log).map_err(BtreeError::from);
        tree.merge_raw(leaf, pending, through, purge_before, &mut reserve)?;
        self.heavy.lock().forget(page);
        self.counts.merged(pending);
        Ok(purge_before)
    }
}

/// Sets pages and log bytes aside.
pub(crate) type Reserve<'r> = dyn Fn(usize, usize) -> leafline_storage::Result<Reservation> + 'r;
