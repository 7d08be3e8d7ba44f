//! Commit: brings the changes of a write set to the trees, all or nothing.
//!
//! The written rows and unique keys are locked. Commits that run at the same time therefore share nothing except
//! pages, and nothing can conflict any more.
//!
//! 1. Pass the gates of the written tables, so that their definitions stay as they are.
//! 2. Derive every operation, for all indexes in the definitions in force.
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
use super::apply::{Applier, together};
use super::large::commit_by_reference;
use super::op::{COMMIT_RECORD, CommitRecord, CounterChange, END_RECORD, Op, encode_end};
use super::room::{self, TreeAccess};
use super::write_set::{NetChange, WriteSet};
use crate::catalog::{IndexDef, TableDef, TableId};
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::index::entry::RowEntries;
use crate::memory::{MemoryAccount, Terms};
use crate::options::ChangeBuffering;
use crate::run::Sorter;
use crate::trees::TreeHandle;
use crate::txn::relief;
use leafline_btree::{CommitTs, Direction, Tree};
use leafline_storage::{Lsn, PageNo, Reservation, SegmentId};
use parking_lot::RwLockWriteGuard;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The outcome of a commit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CommitOutcome {
    /// Its timestamp; `None` if there was nothing to commit.
    pub ts: Option<CommitTs>,
}

/// Everything that a commit is going to do.
pub(crate) struct CommitPlan {
    pub(crate) ops: Vec<Op>,
    /// The size of the operations in a record, in bytes.
    bytes: usize,
    /// The memory for the operations and their record, or for the sort.
    memory: MemoryAccount,
    /// The sorted operations, once they are too many for a record.
    large: Option<Sorter>,
    pub(crate) counters: Vec<CounterChange>,
    pub(crate) trees: BTreeMap<SegmentId, Arc<TreeHandle>>,
    /// The trees of non-unique secondary indexes.
    pub(super) bufferable: BTreeSet<SegmentId>,
    /// The size of the operations on these trees, in bytes.
    buffered_bytes: u64,
}

/// The memory of an operation in bytes, beyond twice its size in a record: its place in a vector that may have room
/// for as many again, and two allocations.
const OP_OVERHEAD: u64 = 2 * size_of::<Op>() as u64 + 32;
/// The size of a commit record from which on flushing it during the commit is worth a wake-up, in bytes.
const FLUSHED_AHEAD: usize = 32 << 10;
/// The number of operations handed to the sort together.
const SPILLED_OPS: usize = 1024;
/// The maximum memory for sorting the operations of a commit.
const SORT_BYTES: u64 = 16 << 20;

/// The terms of a commit's account: most commits need not borrow.
static TERMS: Terms = Terms { allowance: 512 << 10, step: (256 << 10, 4 << 20), yields: true };

/// Commits a transaction.
pub(crate) fn commit(transaction: &Transaction) -> Result<CommitOutcome> {
    let core = &transaction.core;
    let mut writes = transaction.writes.write();
    let seen = writes.take_seen();
    if writes.is_empty() {
        drop(writes);
        if let Some(seen) = seen {
            core.store.commit_durable(seen)?;
        }
        return Ok(CommitOutcome::default());
    }
    writes.finish(core)?;
    let writes = RwLockWriteGuard::downgrade(writes);
    let tables: Vec<TableId> = writes.tables().map(|table| table.id).collect();
    core.changes.pace(&tables);
    let inside = core.gates.enter(tables);
    let plan = transaction_plan(core, &writes)?;
    if plan.is_empty() {
        // Its writes only restate existing values, which may not be durable yet.
        if let Some(seen) = seen {
            core.store.commit_durable(seen)?;
        }
        return Ok(CommitOutcome::default());
    }
    drop(writes);
    if plan.large.is_some() && Arc::strong_count(&transaction.writes) == 1 {
        // The plan contains everything, and nobody else reads the write set: free its memory and files for the rest
        // of the commit.
        *transaction.writes.write() = WriteSet::default();
    }
    let committed = commit_plan(core, plan, &mut |_| Ok(()));
    drop(inside);
    let (ts, end) = committed.inspect_err(|_| core.change_buffer.tend_here(&**core))?;
    transaction.locks.release_all();
    core.change_buffer.tend_here(&**core);
    core.store.commit_durable(end)?;
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
            plan.keep_to_leaves(core, &others);
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

impl Default for CommitPlan {
    fn default() -> CommitPlan {
        CommitPlan {
            ops: Vec::new(),
            bytes: 0,
            memory: MemoryAccount::new(&TERMS),
            large: None,
            counters: Vec::new(),
            trees: BTreeMap::new(),
            bufferable: BTreeSet::new(),
            buffered_bytes: 0,
        }
    }
}

impl CommitPlan {
    /// The tree that an operation changes.
    pub(crate) fn tree(&self, op: &Op) -> Result<&Tree> {
        match self.trees.get(&op.tree()) {
            Some(handle) => Ok(&handle.tree),
            None => Err(TableError::Internal("an operation names a tree that is not open".into())),
        }
    }

    /// The applier of the operations.
    pub(super) fn applier<'a>(&'a self, core: &'a Core, purge_before: CommitTs) -> Applier<'a> {
        core.change_buffer.set_bound(purge_before);
        let (versions, change_buffer) = (&core.versions, &*core.change_buffer);
        Applier { versions, change_buffer, bufferable: &self.bufferable, purge_before }
    }

    /// Buffers nothing if the operations were rehearsed on the leaves.
    pub(super) fn keep_to_leaves(&mut self, core: &Core, others: &TreeAccess<'_>) {
        if let TreeAccess::Exclusive { .. } = others {
            self.bufferable.retain(|tree| core.change_buffer.is_pending(*tree));
        }
    }

    /// Returns whether a change is buffered if its leaf is not in memory.
    pub(super) fn may_buffer(&self, core: &Core, op: &Op) -> bool {
        self.bufferable.contains(&op.tree()) && core.change_buffer.takes(op)
    }

    /// Sorts the operations by tree and key, so that neighbours on a page follow each other.
    fn sort(&mut self) {
        if self.ops.len() <= room::SMALL_COMMIT {
            self.ops.sort_by(|a, b| (a.tree(), a.key()).cmp(&(b.tree(), b.key())));
            return;
        }
        // Operations come row by row; those of one tree are often in order already.
        let mut by_tree: BTreeMap<SegmentId, Vec<Op>> = BTreeMap::new();
        let all = self.ops.len();
        for op in self.ops.drain(..) {
            by_tree
                .entry(op.tree())
                .or_insert_with(|| Vec::with_capacity(all / self.trees.len().max(1)))
                .push(op);
        }
        for mut of_tree in by_tree.into_values() {
            of_tree.sort_by(|a, b| a.key().cmp(b.key()));
            self.ops.append(&mut of_tree);
        }
    }

    /// Returns whether there is nothing to do.
    fn is_empty(&self) -> bool {
        self.ops.is_empty() && self.large.is_none()
    }

    /// Adds an operation: to the others in memory, or to a sort on disk if there are too many for one record or for
    /// memory.
    fn push(&mut self, core: &Core, op: Op, is_bufferable: bool) -> Result<()> {
        self.bytes += op.encoded_len();
        if is_bufferable {
            self.buffered_bytes += op.encoded_len() as u64;
        }
        self.ops.push(op);
        let used = 2 * self.bytes as u64 + self.ops.len() as u64 * OP_OVERHEAD;
        let full = if self.large.is_some() {
            self.ops.len() >= SPILLED_OPS || used > TERMS.allowance / 2
        } else {
            self.bytes > core.limits.inline_commit
                || (used > self.memory.granted() && !self.find_room(core, used)?)
        };
        if full { self.spill(core) } else { Ok(()) }
    }

    /// Borrows memory for operations that take `used` bytes. Returns false if they must be sorted on disk.
    #[cold]
    fn find_room(&self, core: &Core, used: u64) -> Result<bool> {
        let most = core.limits.commit_memory;
        Ok(used <= most && self.memory.reach(&core.store, used, most)?)
    }

    /// Moves the operations in memory to the sort.
    fn spill(&mut self, core: &Core) -> Result<()> {
        let sorter = match &mut self.large {
            Some(sorter) => sorter,
            none => {
                // The sorter's memory may be allocated twice while it grows, and some operations are in memory
                // besides.
                self.memory.approach(&core.store, core.limits.commit_memory.min(2 * SORT_BYTES))?;
                let memory = self.memory.borrowed().max(TERMS.allowance / 2) / 2;
                let memory = memory.min(core.options.build_memory_bytes).min(SORT_BYTES);
                none.insert(Sorter::new(&core.env, memory))
            }
        };
        let (mut key, mut entry) = (Vec::new(), Vec::new());
        for op in std::mem::take(&mut self.ops) {
            op.to_entry(&mut key, &mut entry);
            sorter.push(&key, &entry)?;
        }
        self.bytes = 0;
        Ok(())
    }

    fn add_tree(&mut self, core: &Core, id: SegmentId) -> Result<()> {
        if let std::collections::btree_map::Entry::Vacant(slot) = self.trees.entry(id) {
            slot.insert(core.trees.current(id)?);
        }
        Ok(())
    }

    /// Adds the trees of a table's secondary indexes.
    fn add_secondary_trees(&mut self, core: &Core, table: &TableDef) -> Result<()> {
        for index in table.secondary() {
            self.add_tree(core, index.tree)?;
            if !index.is_unique() {
                self.bufferable.insert(index.tree);
            }
        }
        Ok(())
    }

    /// Adds the operations of one changed row.
    fn add_row(
        &mut self,
        core: &Core,
        table: &TableDef,
        change: &NetChange<'_>,
        (before, after): (&mut RowEntries, &mut RowEntries),
    ) -> Result<()> {
        let clustered = table.clustered();
        let (tree, key) = (clustered.tree, change.key.to_vec());
        let op = match change.after {
            Some(payload) => Op::PutRow { table: table.id, tree, key, payload: payload.to_vec() },
            None => Op::DeleteRow { table: table.id, tree, key },
        };
        self.push(core, op, false)?;
        before.begin_row(table);
        after.begin_row(table);
        for index in table.secondary() {
            let is_bufferable = !index.is_unique();
            let old = change.before.map(|payload| before.entry(table, index, change.key, payload));
            let new = change.after.map(|payload| after.entry(table, index, change.key, payload));
            let (old, new) = (old.transpose()?, new.transpose()?);
            if old == new {
                continue;
            }
            let same_key = old.as_ref().map(|old| &old.key) == new.as_ref().map(|new| &new.key);
            if let (Some(old), false) = (old, same_key) {
                self.push(core, Op::DropEntry { tree: index.tree, key: old.key }, is_bufferable)?;
            }
            if let Some(new) = new {
                let op = Op::PutEntry { tree: index.tree, key: new.key, payload: new.payload };
                self.push(core, op, is_bufferable)?;
            }
        }
        Ok(())
    }
}

/// Step 2: derives the operations of a write set under the definitions in force.
fn transaction_plan(core: &Core, writes: &WriteSet) -> Result<CommitPlan> {
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
        let mut written = 0;
        while let Some(change) = changes.next()? {
            if written == 0 {
                plan.add_secondary_trees(core, table)?;
            }
            written += 1;
            counters.rows += i64::from(change.after.is_some()) - i64::from(change.before.is_some());
            plan.add_row(core, table, &change, (&mut before, &mut after))?;
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
