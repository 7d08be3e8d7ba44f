//! Commit: brings the changes of a write set to the trees, all or nothing.
//!
//! The written rows and unique keys are locked. Commits that run at the same time therefore share nothing except
//! pages, and nothing can conflict any more.
//!
//! 1. Pass the gates of the written tables, so that their definitions stay as they are.
//! 2. Derive every operation, for all indexes in the definitions in force.
//!    A SERIALIZABLE transaction lists what it writes, and fails if the others at this level forbid it
//!    ([`crate::serial`]).
//! 3. Do everything that can fail: check sizes, read in the leaves to be changed, reserve pages and log space
//!    ([`super::room`]). The commit holds no latch and no mutex while it waits for that.
//! 4. Take a timestamp, announce the commit, append its record. This is the point of no return: a failure after it
//!    stops the store, and the next open finishes the commit from its record.
//! 5. Apply the operations, each in mini-transactions of its tree. Save every replaced row version first.
//! 6. Append the end record, publish, leave the gates, release the locks.
//! 7. Wait until the record is durable, as the flush policy requires.
//!
//! A commit of few operations runs like this. Many operations, or more than memory is lent for, are sorted on disk
//! and committed by reference: see [`super::large`].
//!
//! Locks are released before the record is durable, so that a hot row is not locked for the time of a flush (early
//! lock release; Johnson et al., VLDB 2010). A transaction that then gets the locks appends its record after this
//! one, and becomes durable after it.

use super::Transaction;
use super::apply::together;
use super::large::commit_by_reference;
use super::plan::CommitPlan;
use super::room;
use crate::catalog::{IndexDef, TableId};
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::index::entry::RowEntries;
use crate::op::{COMMIT_RECORD, CommitRecord, CounterChange, END_RECORD, Op, encode_end};
use crate::options::ChangeBuffering;
use crate::overflow::CurrentValues;
use crate::serial::Writes;
use crate::txn::relief;
use crate::write_set::{NOW, WriteSet};
use leafline_btree::{CommitTs, Direction};
use leafline_storage::{Lsn, PageNo, Reservation};
use parking_lot::RwLockWriteGuard;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The outcome of a commit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CommitOutcome {
    /// Its timestamp; `None` if there was nothing to commit.
    pub ts: Option<CommitTs>,
}

/// The size of a commit record from which on flushing it during the commit is worth a wake-up, in bytes.
const FLUSHED_AHEAD: usize = 32 << 10;

/// Commits a transaction.
pub(crate) fn commit(transaction: &Transaction) -> Result<CommitOutcome> {
    let core = &transaction.core;
    let mut writes = transaction.writes.write();
    let seen = writes.take_seen();
    if writes.is_empty() {
        drop(writes);
        transaction.commit_reads()?;
        if let Some(seen) = seen {
            core.store.commit_durable(seen)?;
        }
        return Ok(CommitOutcome::default());
    }
    writes.finish(core.write_set_space())?;
    let writes = RwLockWriteGuard::downgrade(writes);
    let tables: Vec<TableId> = writes.tables().map(|table| table.id).collect();
    core.changes.pace(&tables);
    let inside = core.gates.enter(tables);
    let mut listed = transaction.serial.as_ref().map(|_| Writes::default());
    let mut plan = transaction_plan(core, &writes, listed.as_mut())?;
    if plan.is_empty() {
        transaction.commit_reads()?;
        // Its writes only restate existing values, which may not be durable yet.
        if let Some(seen) = seen {
            core.store.commit_durable(seen)?;
        }
        return Ok(CommitOutcome::default());
    }
    if let (Some(serial), Some(listed)) = (&transaction.serial, listed) {
        serial.prepare(listed)?;
        plan.serial = Some(serial.clone());
        core.observe();
    }
    drop(writes);
    if plan.large.is_some() {
        // The plan contains everything: free the memory and files of the write set for the rest of the commit.
        transaction.ranges.empty_write_set();
    }
    let committed = commit_plan(core, plan, &mut |_| Ok(()));
    drop(inside);
    let (ts, end) = committed.inspect_err(|_| core.change_buffer.tend_here(&**core))?;
    transaction.ranges.set_applied(ts);
    transaction.locks.release_all();
    core.change_buffer.tend_here(&**core);
    core.store.commit_durable(end)?;
    transaction.serial.iter().for_each(|serial| serial.set_committed());
    Ok(CommitOutcome { ts: Some(ts) })
}

/// Commits a plan. Calls `publish` with the timestamp just before readers can see the commit. Returns the timestamp
/// and the end of the commit's record. The caller has excluded DDL, or is DDL.
pub(crate) fn commit_plan(
    core: &Core,
    mut plan: CommitPlan,
    publish: &mut dyn FnMut(CommitTs) -> Result<()>,
) -> Result<(CommitTs, Lsn)> {
    if plan.buffered_bytes > 0 && core.change_buffer.mode() != ChangeBuffering::None {
        core.change_buffer.prepare()?;
        core.change_buffer.look_at_memory();
        core.change_buffer.admit(plan.buffered_bytes);
    }
    let size = plan.ops.iter().map(Op::encoded_len).sum::<usize>();
    if plan.large.is_none() && size <= core.limits.inline_commit {
        plan.sort();
        let counters = plan.counters.clone();
        let mut record =
            CommitRecord { counters, ops: std::mem::take(&mut plan.ops), ..CommitRecord::default() };
        let leaves = read_in(core, &plan, &record.ops)?;
        let (purge_before, bytes) = (core.bound(), record.encoded_len());
        let ample = || room::ample(core, &plan, &record.ops, &leaves, bytes);
        let exact = || room::exact(core, &plan, &record.ops, &leaves, bytes, purge_before);
        let (reservation, others) = room::find(core, ample, exact)?;
        if let Some(mut reservation) = reservation {
            others.keep_to_leaves(core, &mut plan);
            let _stops = core.store.stop_on_panic("a commit was made");
            let committed =
                append_and_apply(core, &plan, &mut record, &mut reservation, purge_before, publish)
                    .map_err(|error| core.poison(error))?;
            core.counts.commits.fetch_add(1, Ordering::Relaxed);
            return Ok(committed);
        }
        plan.ops = record.ops;
    }
    plan.spill(core)?;
    let Some(sorter) = plan.large.take() else { return Err(TableError::Internal("no operations".into())) };
    let committed = commit_by_reference(core, &mut plan, &mut sorter.finish()?, publish)?;
    core.counts.commits.fetch_add(1, Ordering::Relaxed);
    Ok(committed)
}

/// Runs steps 4 to 6. The caller poisons the store if this fails.
fn append_and_apply(
    core: &Core,
    plan: &CommitPlan,
    record: &mut CommitRecord,
    reservation: &mut Reservation,
    purge_before: CommitTs,
    publish: &mut dyn FnMut(CommitTs) -> Result<()>,
) -> Result<(CommitTs, Lsn)> {
    record.next_object = core.counters.next_object();
    let mut payload = record.encode();
    let (ts, end) = core.counters.append(record.next_object, &record.counters, || {
        let ts = core.clock.begin_commit(core.store.log_end());
        let ts = ts.ok_or_else(|| TableError::Internal("no commit timestamps are left".into()))?;
        plan.serial.iter().for_each(|serial| serial.set_ts(ts));
        CommitRecord::set_ts(&mut payload, ts);
        let range = core.store.append_logical(reservation, COMMIT_RECORD, &payload)?;
        core.clock.appended(ts, range.end);
        Ok::<_, TableError>((ts, range.end))
    })?;
    if payload.len() >= FLUSHED_AHEAD {
        core.store.flush_ahead(end);
    }
    drop(payload);
    core.observe();
    let applier = plan.applier(core, purge_before);
    let mut ghosts = Vec::new();
    let mut left = &record.ops[..];
    while !left.is_empty() {
        let mut run;
        (run, left) = left.split_at(together(left).len());
        relief::make_room_for(core, run);
        while let Some(first) = run.first() {
            let (made, buffered) = applier.apply(plan.tree(first)?, run, ts, reservation)?;
            let (done, rest) = run.split_at(made);
            for op in done {
                core.changes.note(op, ts);
                // The merge of a buffered change takes care of its ghost.
                if !buffered && matches!(op, Op::DeleteRow { .. } | Op::DropEntry { .. }) {
                    ghosts.push((op.tree(), op.key()));
                }
            }
            run = rest;
            core.observe();
        }
    }
    core.store.append_logical(reservation, END_RECORD, &encode_end(ts))?;
    core.ghosts.add(ts, ghosts.into_iter());
    publish(ts)?;
    core.clock.applied(ts);
    Ok((ts, end))
}

/// Step 2: derives the operations of a write set under the definitions in force, and for a SERIALIZABLE transaction the
/// list of all entries of the written rows.
fn transaction_plan(core: &Core, writes: &WriteSet, mut listed: Option<&mut Writes>) -> Result<CommitPlan> {
    let catalog = core.catalog();
    let mut plan = CommitPlan::default();
    let (mut before, mut after) = (RowEntries::default(), RowEntries::default());
    for written in writes.tables() {
        let table = catalog.table_by_id(written.id).ok_or(TableError::DefinitionChanged)?;
        if table.schema_version != written.schema_version {
            return Err(TableError::DefinitionChanged);
        }
        // The keys of a unique index that is newer than the writes were neither searched for nor locked.
        let known = |index: &Arc<IndexDef>| written.index_by_id(index.id).is_some();
        if !table.secondary().iter().filter(|index| index.is_unique()).all(known) {
            return Err(TableError::DefinitionChanged);
        }
        let mut counters = CounterChange { table: table.id, ..CounterChange::default() };
        if table.is_partitioned() {
            // Partitions hold its rows.
            counters.next_auto_increment = writes.next_auto_increment(table.id);
            plan.counters.push(counters);
            continue;
        }
        plan.add_tree(core, table.clustered().tree)?;
        let mut changes = writes.net_changes(table.id)?;
        let values = CurrentValues::of(core, table, table.secondary())?;
        let mut written = 0;
        while let Some(change) = changes.next()? {
            if written == 0 {
                plan.add_secondary_trees(core, table)?;
            }
            written += 1;
            counters.rows += i64::from(change.after.is_some()) - i64::from(change.before.is_some());
            let listed = listed.as_deref_mut().filter(|_| !table.is_private && !table.is_overflow);
            // The parts of old values are still in their tree, because their deletion is a change of this commit.
            let before_texts =
                change.before.map_or(Ok(Vec::new()), |payload| values.texts_of(table, payload))?;
            let after_texts = change.after.map_or(Ok(Vec::new()), |payload| {
                values.texts_with(table, payload, |overflow, key| writes.row(overflow, key, NOW))
            })?;
            let outside = (before_texts, after_texts);
            plan.add_row(core, table, &change, (&mut before, &mut after), outside, listed)?;
        }
        if table.has_hidden_row_id() || table.is_overflow {
            counters.next_row_id = core.counters.next_row_id(table.id);
        }
        counters.next_auto_increment = writes.next_auto_increment(table.id);
        plan.counters.push(counters);
        core.counters.note_written(table.id, written);
    }
    Ok(plan)
}

/// Step 3: reads in the leaves that will be changed; missing ones as one batch. Returns the leaf of each operation.
fn read_in(core: &Core, plan: &CommitPlan, ops: &[Op]) -> Result<Vec<PageNo>> {
    // Pages beyond a part of the pool would evict each other again.
    let most = (core.store.stats().pool_frames.load(Ordering::Relaxed) / 4).max(8) as usize;
    let mut missing = Vec::new();
    let mut pages = Vec::new();
    let mut leaves = Vec::with_capacity(ops.len());
    for group in ops.chunk_by(|a, b| a.tree() == b.tree()) {
        let Some(first) = group.first() else { continue };
        let keys = group.iter().map(|op| Some(op.key()));
        let found = plan.tree(first)?.find_leaves(Direction::Forward, keys)?;
        let mut to_be_buffered = Vec::new();
        for (op, leaf) in group.iter().zip(&found) {
            let page = leaf.page();
            let is_known = leaves.last() == Some(&page) && !plan.bufferable.contains(&op.tree());
            leaves.push(page);
            if is_known || core.store.is_resident(page) {
                continue;
            }
            if plan.may_buffer(core, op) {
                to_be_buffered.push(op);
            } else if pages.last() != Some(&page) && pages.len() < most {
                pages.push(page);
                missing.push(op);
            }
        }
        core.change_buffer.read_in(&to_be_buffered)?;
    }
    if pages.len() > 1 {
        core.store.prefetch(&pages)?;
    }
    for op in missing {
        plan.tree(op)?.get(op.key(), |_| ())?;
    }
    Ok(leaves)
}
