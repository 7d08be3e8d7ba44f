//! Reserves pages and log space for a commit before its record is appended.
//!
//! | reservation | amount | while other commits run |
//! |---|---|---|
//! | [ample](ample) | the worst case; for many operations on a tree, an estimate that holds for all commits together | yes |
//! | [exact](exact) | the amount that a rehearsal of the operations needs | no |
//!
//! Ample reservations cost little to compute, and may be tens of times the amount used in the end. Only if the disk
//! has less space left does the commit rehearse its operations. Nobody else may then change the trees until it is
//! done (`Core::room`), because others would use the free space of leaves.

use super::apply::change_of;
use super::plan::{CommitPlan, SMALL_COMMIT};
use super::splits::SplitEstimate;
use crate::change_buffer::ChangeBuffer;
use crate::core::Core;
use crate::error::Result;
use crate::op::{END_RECORD_BYTES, Op};
use leafline_btree::{CommitTs, Rehearsal};
use leafline_storage::{PageNo, Reservation, StorageError};
use parking_lot::{RwLockReadGuard, RwLockWriteGuard};

/// The other threads that may change trees.
pub(super) enum TreeAccess<'e> {
    /// All threads that have room for it.
    Shared { _room: RwLockReadGuard<'e, ()> },
    /// None.
    Exclusive { _room: RwLockWriteGuard<'e, ()> },
}

impl TreeAccess<'_> {
    /// Makes the commit buffer nothing if its operations were rehearsed on the leaves.
    pub(super) fn keep_to_leaves(&self, core: &Core, plan: &mut CommitPlan) {
        if let TreeAccess::Exclusive { .. } = self {
            plan.bufferable.retain(|tree| core.change_buffer.is_pending(*tree));
        }
    }
}

/// Makes an ample reservation. If the disk has no room for that, makes an exact one and excludes others.
pub(super) fn find<T>(
    core: &Core,
    ample: impl FnOnce() -> Result<T>,
    exact: impl FnOnce() -> Result<T>,
) -> Result<(T, TreeAccess<'_>)> {
    let room = core.room.read();
    match ample() {
        Err(error) if error.is_disk_full() => {
            drop(room);
            let room = core.keep_others_out().ok_or(error)?;
            Ok((exact()?, TreeAccess::Exclusive { _room: room }))
        }
        reserved => Ok((reserved?, TreeAccess::Shared { _room: room })),
    }
}

/// An amount of pages and log bytes.
#[derive(Clone, Copy, Default)]
struct SpaceNeed {
    pages: usize,
    log: usize,
}

impl SpaceNeed {
    fn of_record(record: usize) -> SpaceNeed {
        SpaceNeed { pages: 0, log: record + END_RECORD_BYTES + LOG_OVERHEAD }
    }

    fn add(&mut self, other: SpaceNeed) {
        self.pages += other.pages;
        self.log += other.log;
    }

    /// Reserves the amount. Returns `None` if the log can never have that much. `others_may` says that others change
    /// trees meanwhile and may use more.
    fn set_aside(self, core: &Core, others_may: bool) -> Result<Option<Reservation>> {
        match core.store.reserve(self.pages, self.log) {
            Ok(mut reservation) => {
                match reservation.set_maximum() {
                    Err(StorageError::DiskFull) if !others_may => {}
                    allowed => allowed?,
                }
                Ok(Some(reservation))
            }
            Err(StorageError::TooLarge { .. }) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }
}

/// Reserves pages for the worst case, and log space for nearly the worst case. `leaves` are the leaves of the
/// operations, `record` is the size of the commit's record in bytes. Returns `None` if the log can never have that
/// much.
pub(super) fn ample(
    core: &Core,
    plan: &CommitPlan,
    ops: &[Op],
    leaves: &[PageNo],
    record: usize,
) -> Result<Option<Reservation>> {
    let mut need = SpaceNeed::of_record(record);
    let mut leaves = leaves;
    for group in ops.chunk_by(|a, b| a.tree() == b.tree()) {
        let (on_leaves, others) = leaves.split_at_checked(group.len()).unwrap_or((leaves, &[]));
        leaves = others;
        need.add(ample_for(core, plan, group, on_leaves)?);
    }
    need.set_aside(core, true)
}

/// Reserves what the operations need, while nobody else may change that amount. Otherwise like [`ample`].
pub(super) fn exact(
    core: &Core,
    plan: &CommitPlan,
    ops: &[Op],
    leaves: &[PageNo],
    record: usize,
    purge_before: CommitTs,
) -> Result<Option<Reservation>> {
    let mut need = SpaceNeed::of_record(record);
    let (mut leaves, mut is_exact) = (leaves, true);
    for group in ops.chunk_by(|a, b| a.tree() == b.tree()) {
        let Some(first) = group.first() else { continue };
        let (on_leaves, others) = leaves.split_at_checked(group.len()).unwrap_or((leaves, &[]));
        leaves = others;
        need.add(match can_be_rehearsed(core, first) {
            true => {
                let mut rehearsal = Rehearsal::new(plan.tree(first)?, purge_before)?;
                rehearse(&mut rehearsal, group)?;
                SpaceNeed { pages: rehearsal.pages(), log: rehearsal.log() }
            }
            false => ample_for(core, plan, group, on_leaves)?,
        });
        is_exact &= can_be_rehearsed(core, first);
    }
    need.set_aside(core, !is_exact)
}

/// Returns whether an operation changes its leaf as it is in the tree, if others are excluded. Sweeps are not
/// excluded, and they change leaves with buffered changes.
pub(super) fn can_be_rehearsed(core: &Core, op: &Op) -> bool {
    !core.change_buffer.is_pending(op.tree())
}

/// Makes operations, which ascend by key, as a commit would.
pub(super) fn rehearse(rehearsal: &mut Rehearsal<'_>, ops: &[Op]) -> Result<()> {
    /// The timestamp of any commit: all need the same room.
    const TS: CommitTs = CommitTs((1 << 48) - 1);
    for op in ops {
        rehearsal.modify(op.key(), &mut |entry| change_of(op, TS, entry.is_some()))?;
    }
    Ok(())
}

/// The most that operations on one tree need on these leaves, whatever others do.
///
/// A single operation can split a page on every level. Many operations cannot all do that: see [`super::splits`].
fn ample_for(core: &Core, plan: &CommitPlan, group: &[Op], on_leaves: &[PageNo]) -> Result<SpaceNeed> {
    let Some(first) = group.first() else { return Ok(SpaceNeed::default()) };
    let page_size = core.store.page_size();
    let mut need = SpaceNeed::default();
    let tree = plan.tree(first)?;
    let is_missing = |leaf: &PageNo| !core.store.is_resident(*leaf);
    // A leaf that was merged in memory only may turn out to be too full for a merge through the log.
    if core.change_buffer.is_pending(first.tree())
        || (on_leaves.iter().any(is_missing) && group.iter().any(|op| plan.may_buffer(core, op)))
    {
        need.add(in_buffer(core, group));
    }
    let key = group.iter().map(|op| op.key().len()).max().unwrap_or(0);
    let payload = group.iter().map(Op::payload_len).max().unwrap_or(0);
    if group.len() <= SMALL_COMMIT {
        need.pages += tree.worst_case_pages_for(group.len(), key + payload);
        need.log += tree.worst_case_log_for(group.len(), key, payload);
        return Ok(need);
    }
    let mut estimate = SplitEstimate::new(tree, page_size);
    for (op, leaf) in group.iter().zip(on_leaves) {
        estimate.add(op, *leaf);
        need.log += op.key().len() + op.payload_len() + LOG_OVERHEAD;
    }
    let splits = estimate.splits();
    need.pages += splits.pages() + tree.worst_case_pages_for(1, key + payload);
    // A split logs the smaller half and two separators.
    let split = page_size / 2 + 2 * key + 2 * LOG_OVERHEAD;
    need.log += splits.pages() * split + tree.worst_case_log_for(1, key, payload);
    Ok(need)
}

/// The pages and log bytes that operations need if all of them are buffered.
fn in_buffer(core: &Core, ops: &[Op]) -> SpaceNeed {
    let Some(l0) = core.change_buffer.l0() else { return SpaceNeed::default() };
    let lens = || ops.iter().map(ChangeBuffer::entry_lens);
    let (key, payload) = lens().fold((0, 0), |most, len| (most.0.max(len.0), most.1.max(len.1)));
    if ops.len() <= SMALL_COMMIT {
        let pages = l0.worst_case_pages_for(ops.len(), key + payload);
        return SpaceNeed { pages, log: l0.worst_case_log_for(ops.len(), key, payload) };
    }
    // The entries come in key order, so that they fill pages; the missing pages are added.
    let page_size = core.store.page_size();
    let bytes: usize = lens().map(|(key, payload)| key + payload + LOG_OVERHEAD).sum();
    let splits = 2 * bytes / page_size + 1;
    let split = page_size / 2 + 2 * key + 2 * LOG_OVERHEAD;
    let worst = l0.worst_case_log_for(1, key, payload);
    SpaceNeed {
        pages: splits + l0.worst_case_pages_for(1, key + payload),
        log: bytes + splits * split + worst,
    }
}

/// The log bytes of a change beyond key and payload: frames of records and groups.
const LOG_OVERHEAD: usize = 128;
