//! Routing: decides whether a change goes to its leaf or to the buffer.
//!
//! | leaf | change |
//! |---|---|
//! | in memory, changed since it was written | made there |
//! | in memory, unchanged | made there if all pages fit in memory; else buffered, and also made in memory |
//! | in memory, changed only there | buffered, and also made in memory |
//! | not in memory | buffered |
//!
//! An unchanged leaf that is changed directly must be written for that change, which is expensive if leaves seldom
//! change between two writes. A buffered change costs only its bytes in the log and in a run, and readers find it
//! made all the same.
//!
//! A leaf with many pending changes is merged by log first, and so is a leaf whose change must not be buffered. Many
//! means a page: more would not fit the leaf, and if inserts ascend, all go to one leaf, which had better be changed
//! directly.

use super::ChangeBuffer;
use super::together::HeldLeaves;
use crate::error::Result;
use crate::op::Op;
use crate::options::ChangeBuffering;
use leafline_btree::{
    BtreeError, BufferedEntry, Change, CommitTs, EntryView, Finger, HeldLeaf, ModifyOutcome, Tree,
    UnpinnedLeaf,
};
use leafline_storage::{PageNo, Reservation};
use std::sync::atomic::Ordering;

/// The approximate number of pending bytes of each leaf since the database was opened. Leaves share counters. There
/// are enough of them for the maximum of buffered changes, so that a leaf is seldom charged for others.
#[derive(Default)]
pub(super) struct PendingByteCounters(Vec<u32>);

/// The usual size of an entry on a leaf beyond key and payload, in bytes.
const ENTRY_OVERHEAD: usize = 8;
/// The bytes of changes for each counter.
const BYTES_PER_COUNTER: u64 = 256;
const MOST_COUNTERS: u64 = 1 << 22;

impl PendingByteCounters {
    /// Makes counters for this many bytes.
    pub(super) fn set_most(&mut self, bytes: u64) {
        let counters = (bytes / BYTES_PER_COUNTER).clamp(1 << 10, MOST_COUNTERS).next_power_of_two() as usize;
        if self.0.len() != counters {
            self.0 = vec![0; counters];
        }
    }

    fn counter(&mut self, leaf: PageNo) -> Option<&mut u32> {
        // Fibonacci hashing: neighbours get distant counters.
        let hash = leaf.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let at = hash as usize & self.0.len().wrapping_sub(1);
        self.0.get_mut(at)
    }

    fn add(&mut self, leaf: PageNo, bytes: usize) {
        if let Some(sum) = self.counter(leaf) {
            *sum = sum.saturating_add(bytes as u32);
        }
    }

    fn bytes(&mut self, leaf: PageNo) -> usize {
        self.counter(leaf).map_or(0, |bytes| *bytes as usize)
    }

    pub(super) fn forget(&mut self, leaf: PageNo) {
        if let Some(sum) = self.counter(leaf) {
            *sum = 0;
        }
    }
}

/// Makes a change on a leaf in memory, by the number of its operation.
pub(crate) type Decide<'d, 'b> = &'d mut dyn FnMut(usize, Option<EntryView<'_>>) -> Change<'b>;

impl ChangeBuffer {
    /// Sets which changes are buffered from now on.
    pub(crate) fn set_mode(&self, mode: ChangeBuffering) {
        self.mode.store(mode as u8, Ordering::Relaxed);
    }

    /// The changes that are buffered.
    pub(crate) fn mode(&self) -> ChangeBuffering {
        match self.mode.load(Ordering::Relaxed) {
            1 => ChangeBuffering::Inserts,
            2 => ChangeBuffering::All,
            _ => ChangeBuffering::None,
        }
    }

    /// Sets whether leaves are written, or evicted, before each change, so that all changes are buffered; for tests.
    pub(crate) fn set_forced(&self, forced: bool) {
        self.force.store(forced, Ordering::Relaxed);
    }

    /// Returns whether a change of a non-unique secondary index is buffered if its leaf is not in memory.
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

    /// Makes changes of a non-unique secondary index for the commit at `ts`; `ops` ascend by key. If the first leaf
    /// is in memory, makes the first change by `decide`, and then the following ones that are on this leaf and fit
    /// it. Otherwise buffers the first change, and the following ones that are to be buffered too
    /// ([`super::together`]). Returns the number of changes, and whether they were buffered. The commit cannot go
    /// back: if its leaf cannot be merged, because it is damaged or the disk is full, the change is buffered whatever
    /// the mode.
    pub(crate) fn apply(
        &self,
        tree: &Tree,
        mut ops: &[Op],
        ts: CommitTs,
        reservation: &mut Reservation,
        decide: Decide<'_, '_>,
    ) -> Result<(usize, bool)> {
        let Some(op) = ops.first() else { return Ok((0, false)) };
        let purge_before = self.purge_before();
        let mut cannot_merge = false;
        // Whether the change is buffered although its leaf is in memory, if that is unchanged.
        let mut take = self.is_tight.load(Ordering::Relaxed) && self.is_to_be_buffered(op);
        if self.force.load(Ordering::Relaxed) && self.takes(op) {
            take = ts.0.is_multiple_of(2) && self.is_to_be_buffered(op);
            let some = (1 + (ts.0 / 2 % 4) as usize).min(ops.len());
            ops = &ops[..some];
            for op in ops {
                let leaf = tree.leaf_of(op.key())?;
                if take { self.store.write_all_dirty(leaf) } else { self.store.evict_all(leaf).map(drop) }?;
            }
        }
        let keys = |number: usize| ops.get(number).map(Op::key);
        loop {
            if !take {
                match tree.modify_in_memory(reservation, &keys, purge_before, decide)? {
                    (ModifyOutcome::Done, made) => return Ok((made, false)),
                    (ModifyOutcome::Softly, _) if cannot_merge || self.is_to_be_buffered(op) => take = true,
                    (ModifyOutcome::Softly, _) => {
                        cannot_merge = !self.merge_for_commit(tree, op)?;
                        continue;
                    }
                    (ModifyOutcome::NotInMemory, _) => {}
                }
            }
            if !cannot_merge && !self.is_to_be_buffered(op) {
                if self.is_pending(tree.id()) {
                    cannot_merge = !self.merge_for_commit(tree, op)?;
                } else {
                    // Changes that are buffered from here on do not belong to this leaf, because the commits of its
                    // rows are this one.
                    tree.get(op.key(), |_| ())?;
                }
                take = false;
                continue;
            }
            let mut finger = Finger::NONE;
            let held = tree.hold_leaf(op.key(), take, &mut finger)?;
            let Some(leaf) = held.page_no() else {
                if let HeldLeaf::IsRoot = held {
                    tree.get(op.key(), |_| ())?;
                }
                take = false;
                continue;
            };
            if !cannot_merge && self.is_heavy(leaf) {
                drop(held);
                cannot_merge = !self.merge_for_commit(tree, op)?;
                take = false;
                continue;
            }
            let mut together = HeldLeaves::new(held, leaf);
            if !cannot_merge {
                self.hold_more(&mut together, tree, ops, take, &mut finger);
            }
            let made = together.changes();
            self.buffer(&ops[..made], ts, reservation)?;
            self.let_go(together, ops, ts, purge_before)?;
            return Ok((made, true));
        }
    }

    /// Notes the changes buffered of a leaf: their approximate size there.
    pub(super) fn note_pending(&self, leaf: PageNo, ops: &[Op]) {
        let bytes = ops.iter().map(|op| op.key().len() + op.payload_len() + ENTRY_OVERHEAD).sum();
        self.heavy.lock().add(leaf, bytes);
    }

    /// Returns whether a leaf has so many pending changes that it should be merged.
    pub(super) fn is_heavy(&self, leaf: PageNo) -> bool {
        self.heavy.lock().bytes(leaf) > self.store.page_size()
    }

    /// Returns whether a change would be buffered now.
    pub(super) fn is_to_be_buffered(&self, op: &Op) -> bool {
        self.takes(op) && self.has_l0()
    }

    /// Checks whether all pages fit in memory.
    pub(crate) fn look_at_memory(&self) {
        self.is_tight.store(self.store.exceeds_memory(), Ordering::Relaxed);
    }

    /// Merges the leaf of a change by log, at the cost of the margin if necessary. Returns false if that is
    /// impossible and the leaf is not in memory; the change can then be buffered.
    fn merge_for_commit(&self, tree: &Tree, op: &Op) -> Result<bool> {
        let reserve = |pages, log| self.store.reserve_at_once(pages, log, true);
        match self.merge_leaf(tree, op.key(), &reserve) {
            Ok(_) => Ok(true),
            Err(error) if (error.is_damage() || error.is_disk_full()) && self.can_buffer(op) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn can_buffer(&self, op: &Op) -> bool {
        self.fits(op) && self.has_l0()
    }

    /// Merges the leaf that contains `key` by log; then it is in memory and lacks nothing. Returns the beginning of
    /// the next leaf; `None` at the end of the tree.
    pub(crate) fn merge_leaf(
        &self,
        tree: &Tree,
        key: &[u8],
        reserve: &Reserve<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let Some(leaf) = tree.raw_leaf(key)? else {
            return self.end_of_leaf(tree, key);
        };
        let next = leaf.upper.clone();
        let pending = self.pending_of(tree.id(), &leaf)?;
        if pending.is_empty() {
            self.heavy.lock().forget(leaf.page_no());
            leaf.publish();
        } else {
            self.merge_by_log(tree, leaf, &pending, reserve)?;
        }
        Ok(next)
    }

    /// Merges a leaf by log.
    pub(super) fn merge_by_log(
        &self,
        tree: &Tree,
        leaf: UnpinnedLeaf,
        pending: &[BufferedEntry],
        reserve: &Reserve<'_>,
    ) -> Result<()> {
        let page = leaf.page_no();
        self.forget_copy(page);
        // No change of this leaf is buffered while it is held: all existing changes have an older generation.
        let through = self.store.log_end().0;
        let mut reserve = |pages, log| reserve(pages, log).map_err(BtreeError::from);
        tree.merge_raw(leaf, pending, through, self.purge_before(), &mut reserve)?;
        self.heavy.lock().forget(page);
        self.note_merged(tree.id(), pending);
        Ok(())
    }
}

/// Reserves pages and log bytes.
pub(crate) type Reserve<'r> = dyn Fn(usize, usize) -> leafline_storage::Result<Reservation> + 'r;
