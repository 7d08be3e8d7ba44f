//! Commit by reference: commits with too many operations for one log record.
//!
//! The operations are written to a file ([`crate::op_run`]) in the order of trees and keys. The file is durable
//! before the commit record, which only names it, is appended. The operations are then applied from the file. Log
//! space is reserved a piece at a time. Before each piece, a progress record says how far the commit is, so that
//! checkpoints can pass what it has logged, and the log is never too small for it. Recovery continues from the last
//! progress record.
//!
//! The commit cannot fail between the commit record and the end record, because:
//! - Pages are reserved beforehand, for as many splits as the operations can cause. If the splits of other commits
//!   make more necessary, they are added when log is renewed, or come from the margin that all commits share. If the
//!   disk has no room for as many, the operations are rehearsed while other commits wait ([`super::room`]).
//! - A piece of log that was granted once can be granted again, because nothing of the commit holds the log back
//!   while it waits. It waits with the rows locked, but without any latch and without reserved log.
//! - Before operations that are made together, their worst case and a progress record are reserved.
//!
//! Pages are not read in beforehand, because there may be more than memory holds. An unreadable page stops the store.

use super::apply::{MORE_LOG_BYTES, together};
use super::plan::CommitPlan;
use super::room;
use super::splits::{BRANCH_OVERHEAD, SplitEstimate};
use crate::change_buffer::ChangeBuffer;
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::mvcc::clock::Clock;
use crate::op::{CommitRecord, END_RECORD, Op, encode_end};
use crate::op_run::{
    OpRun, PROGRESS_LOG_BYTES, PROGRESS_RECORD, ProgressRecord, REFERENCE_RECORD, ReferenceRecord,
    RunPosition,
};
use crate::quarantine::Quarantine;
use crate::run::EntrySource;
use crate::txn::relief;
use leafline_btree::{CommitTs, Rehearsal, Tree};
use leafline_storage::{Lsn, Reservation, SegmentId, StorageError, Store};
use std::collections::BTreeMap;

/// The number of pieces of log reserved at first. The log has then grown to several times the size of later requests,
/// and can grant them whatever else happens.
const FIRST_PIECES: usize = 3;
/// The number of pages added at once when more are used than were foreseen.
const MORE_PAGES: usize = 64;

/// Commits the operations of `source`; `publish` is that of [`commit_plan`](super::commit_plan). Returns the
/// timestamp and the end of the commit's record.
pub(super) fn commit_by_reference(
    core: &Core,
    plan: &mut CommitPlan,
    source: &mut dyn EntrySource,
    publish: &mut dyn FnMut(CommitTs) -> Result<()>,
) -> Result<(CommitTs, Lsn)> {
    let written = write_run(core, plan, source)?;
    let mut run = written.run;
    let mut record = ReferenceRecord {
        run: run.name(),
        counters: std::mem::take(&mut plan.counters),
        ..ReferenceRecord::default()
    };
    let piece = core.limits.progress_bytes;
    let purge_before = core.bound();
    let ample = || {
        let mut reservation = core.store.reserve(0, 0)?;
        // With a margin, because the trees may change before their operations are applied.
        let pages: usize = written.pages.values().sum();
        reservation.ensure_pages(pages + MORE_PAGES)?;
        reservation.set_maximum()?;
        Ok(reservation)
    };
    let exact = || reserve_exactly(core, plan, &run, &written.pages, purge_before);
    let (mut reservation, others) = room::find(core, ample, exact)?;
    let log = record.encoded_len() + 2 * PROGRESS_LOG_BYTES;
    let renewed = reservation.renew_log(log + FIRST_PIECES * (piece + written.worst_log));
    match renewed {
        // The log is very small.
        Err(StorageError::TooLarge { .. }) => reservation.renew_log(log + written.worst_log)?,
        other => other?,
    }
    run.keep()?;
    others.keep_to_leaves(core, plan);
    let _stops = core.store.stop_on_panic("a commit was made");
    let committed = append_and_apply(core, plan, &mut record, &run, &mut reservation, purge_before, publish);
    drop((reservation, others));
    let (ts, ends, end) = committed.map_err(|error| core.poison(error))?;
    // Recovery needs the file until the end record is durable.
    core.store.wait_durable(end)?;
    let _removing = core.op_runs.read();
    run.remove(&*core.env);
    Ok((ts, ends))
}

/// A written run, and the space to reserve for it.
struct Written {
    run: OpRun,
    /// The pages for all splits of each tree.
    pages: BTreeMap<SegmentId, usize>,
    /// The log bytes of the worst case of one change.
    worst_log: usize,
}

fn pages_of(estimate: SplitEstimate<'_>) -> (SegmentId, usize) {
    let (tree, worst_case) = (estimate.tree().id(), estimate.tree().worst_case_pages());
    (tree, estimate.splits().pages() + worst_case)
}

/// Reserves the pages that the operations need, while nobody else may change that number. For trees whose operations
/// cannot be rehearsed, it reserves the estimate.
fn reserve_exactly(
    core: &Core,
    plan: &CommitPlan,
    run: &OpRun,
    estimated: &BTreeMap<SegmentId, usize>,
    purge_before: CommitTs,
) -> Result<Reservation> {
    let (mut pages, mut is_exact) = (0, true);
    let mut reader = run.read_from(RunPosition::default());
    let mut rehearsal: Option<(SegmentId, Rehearsal<'_>)> = None;
    let mut skipped = None;
    while let Some(block) = reader.next_block()? {
        for group in block.ops.chunk_by(|a, b| a.tree() == b.tree()) {
            let Some(first) = group.first() else { continue };
            if skipped == Some(first.tree()) {
                continue;
            }
            if rehearsal.as_ref().is_none_or(|(tree, _)| *tree != first.tree()) {
                pages += rehearsal.take().map_or(0, |(_, done)| done.pages());
                if !room::can_be_rehearsed(core, first) {
                    pages += estimated.get(&first.tree()).copied().unwrap_or(0);
                    (skipped, is_exact) = (Some(first.tree()), false);
                    continue;
                }
                rehearsal = Some((first.tree(), Rehearsal::new(plan.tree(first)?, purge_before)?));
            }
            if let Some((_, rehearsal)) = &mut rehearsal {
                room::rehearse(rehearsal, group)?;
            }
        }
    }
    pages += rehearsal.map_or(0, |(_, done)| done.pages());
    let mut reservation = core.store.reserve(0, 0)?;
    reservation.ensure_pages(pages)?;
    match reservation.set_maximum() {
        Err(StorageError::DiskFull) if is_exact => {}
        allowed => allowed?,
    }
    Ok(reservation)
}

fn write_run(core: &Core, plan: &CommitPlan, source: &mut dyn EntrySource) -> Result<Written> {
    let number = core.new_op_run();
    let mut writer = OpRun::create(&core.env, number)?;
    let (mut pages, mut worst_log) = (BTreeMap::new(), 0);
    let mut estimate: Option<SplitEstimate<'_>> = None;
    while let Some((key, payload)) = source.next()? {
        writer.push(key, payload)?;
        let op = Op::from_entry(key, payload)?;
        if estimate.as_ref().is_none_or(|estimate| estimate.tree().id() != op.tree()) {
            pages.extend(estimate.take().map(pages_of));
            let tree = plan.tree(&op)?;
            worst_log = worst_log.max(worst_case(tree).log);
            estimate = Some(SplitEstimate::new(tree, core.store.page_size()));
        }
        if let Some(estimate) = &mut estimate {
            estimate.add(&op, estimate.tree().leaf_of(op.key())?);
        }
    }
    pages.extend(estimate.map(pages_of));
    Ok(Written { run: OpRun::new(writer.finish()?, number), pages, worst_log })
}

/// The worst case of operations on a tree that are made together.
#[derive(Clone, Copy, Default)]
struct WorstCase {
    pages: usize,
    log: usize,
}

fn worst_case(tree: &Tree) -> WorstCase {
    let key = tree.max_key_len();
    let (pages, entry) = (tree.worst_case_pages(), tree.max_entry_len());
    // Handing out a page is logged, too.
    let log = tree.worst_case_log(key, entry - key) + (pages + 2) * BRANCH_OVERHEAD;
    WorstCase { pages, log: log + MORE_LOG_BYTES }
}

/// Does everything from the commit record to the end record. Returns the ends of both. The caller poisons the store
/// if this fails.
fn append_and_apply(
    core: &Core,
    plan: &CommitPlan,
    record: &mut ReferenceRecord,
    run: &OpRun,
    reservation: &mut Reservation,
    purge_before: CommitTs,
    publish: &mut dyn FnMut(CommitTs) -> Result<()>,
) -> Result<(CommitTs, Lsn, Lsn)> {
    record.next_object = core.counters.next_object();
    let mut payload = record.encode();
    let (ts, appended) = core.counters.append(record.next_object, &record.counters, || {
        let ts = core.clock.begin_commit(core.store.log_end());
        let ts = ts.ok_or_else(|| TableError::Internal("no commit timestamps are left".into()))?;
        plan.serial.iter().for_each(|serial| serial.set_ts(ts));
        CommitRecord::set_ts(&mut payload, ts);
        let range = core.store.append_logical(reservation, REFERENCE_RECORD, &payload)?;
        core.clock.appended(ts, range.end);
        Ok::<_, TableError>((ts, range.end))
    })?;
    core.observe();
    let applier = plan.applier(core, purge_before);
    let applying = Applying {
        store: &core.store,
        clock: &core.clock,
        run,
        ts,
        piece: core.limits.progress_bytes,
        recovery: false,
    };
    let mut tree_of = |op: &Op| plan.tree(op).map(|tree| Some(tree.clone()));
    applying.run(RunPosition::default(), reservation, &mut tree_of, &mut |tree, ops, reservation| {
        relief::make_room_for(core, ops);
        let (made, buffered) = applier.apply(tree, ops, ts, reservation)?;
        let mut ghosts = Vec::new();
        for op in ops.iter().take(made) {
            core.changes.note(op, ts);
            if !buffered && matches!(op, Op::DeleteRow { .. } | Op::DropEntry { .. }) {
                ghosts.push((op.tree(), op.key()));
            }
        }
        if !ghosts.is_empty() {
            core.ghosts.add(ts, ghosts.into_iter());
        }
        core.observe();
        Ok(made)
    })?;
    let end = core.store.append_logical(reservation, END_RECORD, &encode_end(ts))?.end;
    publish(ts)?;
    core.clock.applied(ts);
    Ok((ts, appended, end))
}

/// Finishes a commit by reference that is in doubt, from the position in its last record, except for changes of
/// quarantined trees.
#[expect(clippy::too_many_arguments, reason = "what recovery has, before there is an core")]
pub(crate) fn finish_commit_by_reference(
    store: &Store,
    clock: &Clock,
    change_buffer: &ChangeBuffer,
    run: &OpRun,
    ts: CommitTs,
    from: RunPosition,
    piece: usize,
    quarantine: &mut Quarantine,
    tree_of: &mut dyn FnMut(&Op) -> Result<Option<Tree>>,
) -> Result<()> {
    let mut reservation = store.reserve(0, 2 * PROGRESS_LOG_BYTES)?;
    let applying = Applying { store, clock, run, ts, piece, recovery: true };
    applying.run(from, &mut reservation, tree_of, &mut |tree, ops, reservation| {
        let Some(op) = ops.first() else { return Ok(0) };
        quarantine.apply_or_keep(op, ts, Some(run.name()), &mut || {
            super::apply::reapply(change_buffer, tree, op, ts, reservation)
        })?;
        // The quarantine must be durable before a progress record passes the change.
        quarantine.save()?;
        Ok(1)
    })?;
    store.append_logical(&mut reservation, END_RECORD, &encode_end(ts))?;
    Ok(())
}

/// The application of a run.
struct Applying<'a> {
    store: &'a Store,
    clock: &'a Clock,
    run: &'a OpRun,
    ts: CommitTs,
    /// The log bytes between two progress records.
    piece: usize,
    /// Whether this is recovery: pages were not reserved beforehand, and a full disk ends it.
    recovery: bool,
}

/// Makes the first of the given changes of a tree, and as many of the others as it chooses. Returns the number made.
type Change<'a> = dyn FnMut(&Tree, &[Op], &mut Reservation) -> Result<usize> + 'a;

impl Applying<'_> {
    /// Makes every change from `from` on. At the end, space for an end record is still reserved.
    fn run(
        &self,
        from: RunPosition,
        reservation: &mut Reservation,
        tree_of: &mut dyn FnMut(&Op) -> Result<Option<Tree>>,
        change: &mut Change<'_>,
    ) -> Result<()> {
        let mut reader = self.run.read_from(from);
        let mut current: Option<(SegmentId, Option<Tree>)> = None;
        let mut worst = WorstCase::default();
        let mut said = self.store.log_end();
        while let Some(block) = reader.next_block()? {
            self.read_ahead(&block.ops, tree_of)?;
            let mut position = block.first;
            let mut left = &block.ops[..];
            while let Some(op) = left.first() {
                let mut made = 1;
                if current.as_ref().is_none_or(|(id, _)| *id != op.tree()) {
                    let tree = tree_of(op)?;
                    worst = tree.as_ref().map_or(worst, worst_case);
                    current = Some((op.tree(), tree));
                }
                // A later commit has dropped a tree that does not exist; its contents do not matter any more.
                if let Some((_, Some(tree))) = &current {
                    let is_far = self.is_far(said, worst);
                    if is_far || reservation.log_bytes() < worst.log + PROGRESS_LOG_BYTES {
                        self.progress(position, reservation)?;
                        worst = worst_case(tree);
                        self.renew(worst, reservation)?;
                        said = self.store.log_end();
                    }
                    made = change(tree, together(left), reservation)?.clamp(1, left.len());
                }
                position.entries += made as u32;
                left = &left[made..];
            }
        }
        Ok(())
    }

    /// Returns whether much was logged since the last progress record. Splits and merges that were not foreseen
    /// exceed the reservation, and small flushes requested by others take more of the files than the log contains.
    fn is_far(&self, said: Lsn, worst: WorstCase) -> bool {
        let (since, piece) = (self.store.log_end().0 - said.0, self.piece as u64);
        let is_short = || {
            let space = self.store.log_space();
            space.used > space.capacity / 2
        };
        since > piece + worst.log as u64 || (since > piece / 8 && is_short())
    }

    /// Logs how far the commit is. Checkpoints may then pass what came before.
    fn progress(&self, position: RunPosition, reservation: &mut Reservation) -> Result<()> {
        let record = ProgressRecord { ts: self.ts, run: self.run.name(), position };
        let range = self.store.append_logical(reservation, PROGRESS_RECORD, &record.encode())?;
        self.clock.progressed(self.ts, range.start);
        Ok(())
    }

    fn renew(&self, worst: WorstCase, reservation: &mut Reservation) -> Result<()> {
        // Enough for the splits that a piece of the log can describe.
        let few = worst.pages + self.piece.min(MORE_PAGES * self.store.page_size()) / self.store.page_size();
        if reservation.pages() < few {
            match reservation.ensure_pages(few + MORE_PAGES) {
                // The shared margin and the foreseen pages are available.
                Err(StorageError::DiskFull) if !self.recovery => {}
                other => other?,
            }
        }
        let log = worst.log + 2 * PROGRESS_LOG_BYTES;
        match reservation.renew_log(log + self.piece) {
            Err(StorageError::TooLarge { .. }) => Ok(reservation.renew_log(log)?),
            other => Ok(other?),
        }
    }

    /// Reads the leaves that a block's operations change as a batch.
    fn read_ahead(&self, ops: &[Op], tree_of: &mut dyn FnMut(&Op) -> Result<Option<Tree>>) -> Result<()> {
        let mut pages = Vec::new();
        for group in ops.chunk_by(|a, b| a.tree() == b.tree()) {
            let Some(tree) = group.first().map(&mut *tree_of).transpose()?.flatten() else { continue };
            for op in group {
                let page = match tree.leaf_of(op.key()).map_err(TableError::from) {
                    // Reading ahead is only a hint, so that damage does not end it.
                    Err(error) if error.is_damage() => continue,
                    page => page?,
                };
                if pages.last() != Some(&page) && !self.store.is_resident(page) {
                    pages.push(page);
                }
            }
        }
        if pages.len() > 1 {
            self.store.prefetch(&pages)?;
        }
        Ok(())
    }
}
