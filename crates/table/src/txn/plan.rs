//! The plan of a commit: its operations, in memory or sorted on disk, and the trees that they change.

use super::apply::Applier;
use crate::catalog::TableDef;
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::index::derived::{DerivedFrom, EntryChange, differences, entries_of_row};
use crate::index::entry::{Entry, RowEntries};
use crate::index::words_entry::TextsOutside;
use crate::memory::{MemoryAccount, Terms};
use crate::op::{CounterChange, Op};
use crate::run::Sorter;
use crate::serial::{SerialTransaction, Writes};
use crate::trees::TreeHandle;
use crate::write_set::NetChange;
use leafline_btree::{CommitTs, Tree};
use leafline_storage::SegmentId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Everything that a commit is going to do.
pub(crate) struct CommitPlan {
    pub(crate) ops: Vec<Op>,
    /// The size of the operations in a record, in bytes.
    bytes: usize,
    /// The memory for the operations and their record, or for the sort.
    memory: MemoryAccount,
    /// The sorted operations, once they are too many for a record.
    pub(super) large: Option<Sorter>,
    pub(crate) counters: Vec<CounterChange>,
    pub(crate) trees: BTreeMap<SegmentId, Arc<TreeHandle>>,
    /// The trees of non-unique secondary indexes.
    pub(super) bufferable: BTreeSet<SegmentId>,
    /// The size of the operations on these trees, in bytes.
    pub(super) buffered_bytes: u64,
    /// The transaction, if it is SERIALIZABLE.
    pub(super) serial: Option<Arc<SerialTransaction>>,
}

/// The number of operations on a tree up to which the worst case of each is reserved.
pub(super) const SMALL_COMMIT: usize = 16;

/// The memory of an operation in bytes, beyond twice its size in a record: its place in a vector that may have room
/// for as many again, and two allocations.
const OP_OVERHEAD: u64 = 2 * size_of::<Op>() as u64 + 32;
/// The number of operations handed to the sort together.
const SPILLED_OPS: usize = 1024;
/// The maximum memory for sorting the operations of a commit.
const SORT_BYTES: u64 = 16 << 20;

/// The terms of a commit's account: most commits need not borrow.
static TERMS: Terms = Terms { allowance: 512 << 10, step: (256 << 10, 4 << 20), yields: true };

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
            serial: None,
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

    /// Returns whether a change is buffered if its leaf is not in memory.
    pub(super) fn may_buffer(&self, core: &Core, op: &Op) -> bool {
        self.bufferable.contains(&op.tree()) && core.change_buffer.takes(op)
    }

    /// Sorts the operations by tree and key, so that neighbours on a page follow each other.
    pub(super) fn sort(&mut self) {
        if self.ops.len() <= SMALL_COMMIT {
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
    pub(super) fn is_empty(&self) -> bool {
        self.ops.is_empty() && self.large.is_none()
    }

    /// Adds an operation: to the others in memory, or to a sort on disk if there are too many for one record or for
    /// memory.
    pub(super) fn push(&mut self, core: &Core, op: Op, is_bufferable: bool) -> Result<()> {
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
    pub(super) fn spill(&mut self, core: &Core) -> Result<()> {
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

    pub(super) fn add_tree(&mut self, core: &Core, id: SegmentId) -> Result<()> {
        if let std::collections::btree_map::Entry::Vacant(slot) = self.trees.entry(id) {
            slot.insert(core.trees.current(id)?);
        }
        Ok(())
    }

    /// Adds the trees of a table's secondary indexes.
    pub(super) fn add_secondary_trees(&mut self, core: &Core, table: &TableDef) -> Result<()> {
        for index in table.secondary() {
            self.add_tree(core, index.tree)?;
            if !index.is_unique() {
                self.bufferable.insert(index.tree);
            }
        }
        Ok(())
    }

    /// Adds the operations of one changed row. `listed` gets its entries in every index, before and after.
    pub(super) fn add_row(
        &mut self,
        core: &Core,
        table: &TableDef,
        change: &NetChange<'_>,
        (before, after): (&mut RowEntries, &mut RowEntries),
        (outside_before, outside_after): (TextsOutside, TextsOutside),
        mut listed: Option<&mut Writes>,
    ) -> Result<()> {
        let clustered = table.clustered();
        let (tree, key) = (clustered.tree, change.key.to_vec());
        let op = match change.after {
            Some(payload) => Op::PutRow { table: table.id, tree, key, payload: payload.to_vec() },
            None => Op::DeleteRow { table: table.id, tree, key },
        };
        self.push(core, op, false)?;
        if let Some(listed) = &mut listed {
            listed.insert(table.id, clustered.tree, change.key);
        }
        before.begin_row(table);
        after.begin_row(table);
        for index in table.secondary() {
            let is_bufferable = !index.is_unique();
            if index.is_words() {
                let row = |payload, outside| DerivedFrom { key: change.key, payload, outside };
                let old =
                    change.before.map(|payload| entries_of_row(table, index, row(payload, &outside_before)));
                let new =
                    change.after.map(|payload| entries_of_row(table, index, row(payload, &outside_after)));
                let (old, new) = (old.transpose()?.unwrap_or_default(), new.transpose()?.unwrap_or_default());
                if let Some(listed) = &mut listed {
                    old.iter().chain(&new).for_each(|entry| listed.insert(table.id, index.tree, &entry.key));
                }
                differences(old, new, &mut |changed| {
                    let op = match changed {
                        EntryChange::Remove(key) => Op::DropEntry { tree: index.tree, key },
                        EntryChange::Put(Entry { key, payload }) => {
                            Op::PutEntry { tree: index.tree, key, payload }
                        }
                    };
                    self.push(core, op, is_bufferable)
                })?;
                continue;
            }
            let old = change.before.map(|payload| before.entry(table, index, change.key, payload));
            let new = change.after.map(|payload| after.entry(table, index, change.key, payload));
            let (old, new) = (old.transpose()?, new.transpose()?);
            if let Some(listed) = &mut listed {
                old.iter().chain(&new).for_each(|entry| listed.insert(table.id, index.tree, &entry.key));
            }
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
