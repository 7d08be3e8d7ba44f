//! Room for a commit: pages and log bytes that are set aside before its record is appended.
//!
//! | reservation | how much | beside other commits |
//! |---|---|---|
//! | [ample](ample) | the worst case; of many operations on a tree an estimate that holds for all commits together | yes |
//! | [exact](exact) | what a rehearsal of the operations takes | no |
//!
//! Ample ones cost little to compute and may be tens of times what is taken in the end. Only where the disk has not so much left, the
//! commit finds out what it takes, for which nobody else may change the trees until it has done so (`Engine::room`): others would use
//! the space that leaves have.

use super::apply::change_of;
use super::commit::CommitPlan;
use super::op::{END_RECORD_BYTES, Op};
use super::splits::SplitEstimate;
use crate::change_buffer::ChangeBuffer;
use crate::core::Core;
use crate::error::Result;
use leafline_btree::{CommitTs, Rehearsal};
use leafline_storage::{PageNo, Reservation, StorageError};
use parking_lot::{RwLockReadGuard, RwLockWriteGuard};

/// Who else may change trees.
pub(super) enum Others<'e> {
    /// Whoever has room for it.
    Beside { _room: RwLockReadGuard<'e, ()> },
    /// Nobody.
    Out { _room: RwLockWriteGuard<'e, ()> },
}

/// Has an ample reservation set aside, or an exact one, with others kept out, if the disk has no room for that.
pub(super) fn find<T>(
    core: &Core,
    ample: impl FnOnce() -> Result<T>,
    exact: impl FnOnce() -> Result<T>,
) -> Result<(T, Others<'_>)> {
    let room = core.room.read();
    match ample() {
        Err(error) if error.is_disk_full() => {
            drop(room);
            let room = core.keep_others_out().ok_or(error)?;
            Ok((exact()?, Others::Out { _room: room }))
        }
        reserved => Ok((reserved?, Others::Beside { _room: room })),
    }
}

/// Operations on a tree up to which each one's worst case is reserved.
pub(super) const SMALL_COMMIT: usize = 16;

/// Pages and log bytes.
#[derive(Clone, Copy, Default)]
struct Need {
    pages: usize,
    log: usize,
}

impl Need {
    fn of_record(record: usize) -> Need {
        Need { pages: 0, log: record + END_RECORD_BYTES + LOG_OVERHEAD }
    }

    fn add(&mut self, other: Need) {
        self.pages += other.pages;
        self.log += other.log;
    }

    /// Sets it aside; `None` if the log can never have so much. What others do meanwhile, if they may, may take more than that.
    fn set_aside(self, core: &Core, others_may: bool) -> Result<Option<Reservation>> {
        match core.store.reserve(self.pages, self.log) {
            Ok(mut reservation) => {
                match reservation.allow_more() {
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

/// Reserves pages for the worst case, and log space for nearly the worst case. `leaves` are those of the operations, `record` the bytes
/// of the commit's record. `None` if the log can never have so much.
pub(super) fn ample(
    core: &Core,
    plan: &CommitPlan,
    ops: &[Op],
    leaves: &[PageNo],
    record: usize,
) -> Result<Option<Reservation>> {
    let mut need = Need::of_record(record);
    let mut leaves = leaves;
    for group in ops.chunk_by(|a, b| a.tree() == b.tree()) {
        let (on_leaves, others) = leaves.split_at_checked(group.len()).unwrap_or((leaves, &[]));
        leaves = others;
        need.add(ample_for(core, plan, group, on_leaves)?);
    }
    need.set_aside(core, true)
}

/// Reserves what the operations take, which nobody else may make more. As [`ample`] otherwise.
pub(super) fn exact(
    core: &Core,
    plan: &CommitPlan,
    ops: &[Op],
    leaves: &[PageNo],
    record: usize,
    purge_before: CommitTs,
) -> Result<Option<Reservation>> {
    let mut need = Need::of_record(record);
    let (mut leaves, mut is_exact) = (leaves, true);
    for group in ops.chunk_by(|a, b| a.tree() == b.tree()) {
        let Some(first) = group.first() else { continue };
        let (on_leaves, others) = leaves.split_at_checked(group.len()).unwrap_or((leaves, &[]));
        leaves = others;
        need.add(match can_be_rehearsed(core, first) {
            true => {
                let mut rehearsal = Rehearsal::new(plan.tree(first)?, purge_before)?;
                rehearse(&mut rehearsal, group)?;
                Need { pages: rehearsal.pages(), log: rehearsal.log() }
            }
            false => ample_for(core, plan, group, on_leaves)?,
        });
        is_exact &= can_be_rehearsed(core, first);
    }
    need.set_aside(core, !is_exact)
}

/// Whether an operation changes its leaf as the tree has it, if others are kept out: sweeps, which are not, change leaves of which
/// something is buffered.
pub(super) fn can_be_rehearsed(core: &Core, op: &Op) -> bool {
    !core.change_buffer.is_pending(op.tree())
}

/// Makes operations, which ascend by key, as a commit would.
pub(super) fn rehearse(rehearsal: &mut Rehearsal<'_>, ops: &[Op]) -> Result<()> {
    /// Of any commit: all take the same room.
    const TS: CommitTs = CommitTs((1 << 48) - 1);
    for op in ops {
        rehearsal.modify(op.key(), &mut |entry| change_of(op, TS, entry.is_some()))?;
    }
    Ok(())
}

/// What operations on one tree, which go to these leaves, take at most, whatever others do.
///
/// A single operation can split a page on every level. Many operations cannot all do that: see [`super::splits`].
fn ample_for(core: &Core, plan: &CommitPlan, group: &[Op], on_leaves: &[PageNo]) -> Result<Need> {
    let Some(first) = group.first() else { return Ok(Need::default()) };
    let page_size = core.store.page_size();
    let mut need = Need::default();
    let tree = plan.tree(first)?;
    let is_missing = |leaf: &PageNo| !core.store.is_resident(*leaf);
    // A leaf that was merged in memory alone may turn out to be one that cannot be merged by log.
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

/// Pages and log bytes that operations take if all of them are buffered.
fn in_buffer(core: &Core, ops: &[Op]) -> Need {
    let Some(l0) = core.change_buffer.l0() else { return Need::default() };
    let lens = || ops.iter().map(ChangeBuffer::entry_lens);
    let (key, payload) = lens().fold((0, 0), |most, len| (most.0.max(len.0), most.1.max(len.1)));
    if ops.len() <= SMALL_COMMIT {
        let pages = l0.worst_case_pages_for(ops.len(), key + payload);
        return Need { pages, log: l0.worst_case_log_for(ops.len(), key, payload) };
    }
    // They come in the order of its keys, so they fill pages; what is lacking is added.
    let page_size = core.store.page_size();
    let bytes: usize = lens().map(|(key, payload)| key + payload + LOG_OVERHEAD).sum();
    let splits = 2 * bytes / page_size + 1;
    let split = page_size / 2 + 2 * key + 2 * LOG_OVERHEAD;
    let worst = l0.worst_case_log_for(1, key, payload);
    Need { pages: splits + l0.worst_case_pages_for(1, key + payload), log: bytes + splits * split + worst }
}

/// Log bytes of a change beyond key and payload: frames of records and groups.
const LOG_OVERHEAD: usize = 128;
