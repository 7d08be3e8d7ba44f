//! Recovery above the pages: counters, commits in doubt, the catalog.
//!
//! The store has redone the pages. The log's logical records show which commits have no end record. Their own record
//! is durable, so that they may have been acknowledged, and any part of them may be on the pages. Recovery applies
//! them again, in any order, and ends them; a crash during recovery is no different from the first one. A commit
//! whose operations are in a file continues from its last progress record. Its changes to a damaged tree are kept for
//! a repair ([`crate::quarantine`]). Then the catalog is read, and segments that it does not name are freed (trees
//! being built, and dropped trees that were still read at the crash).

use super::apply::reapply;
use super::large::finish_commit_by_reference;
use crate::catalog::{CatalogRow, IndexDef, decode_catalog};
use crate::change_buffer::ChangeBuffer;
use crate::core::Recovered;
use crate::counters::CounterState;
use crate::error::{Result, TableError};
use crate::mvcc::clock::Clock;
use crate::op::{COMMIT_RECORD, CommitRecord, END_RECORD, END_RECORD_BYTES, Op, decode_end, encode_end};
use crate::op_run::{
    OpRun, PROGRESS_RECORD, ProgressRecord, REFERENCE_RECORD, ReferenceRecord, RunName, RunPosition,
    remove_leftovers,
};
use crate::quarantine::{Quarantine, Quarantined};
use crate::trees::{Refusal, Trees, create_tree};
use leafline_btree::{CommitTs, Direction, LeafFormat, LeafStep, Tree};
use leafline_storage::{
    Env, LogicalReplay, Lsn, LsnRange, PageNo, ReplayError, SegmentId, SegmentInfo, SegmentState, Store,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A commit without an end record.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) ts: CommitTs,
    /// The beginning of its record, or of its newest progress record.
    pub(crate) start: Lsn,
    work: Work,
}

impl Pending {
    /// Adds the commit's changes of `tree` to `known`.
    pub(crate) fn keep(&self, tree: SegmentId, known: &mut Quarantined) {
        match &self.work {
            Work::Ops(ops) => known.keep(tree, self.ts, ops),
            Work::Run(name, _) => drop(known.runs.insert(self.ts, *name)),
        }
    }
}

#[cfg(test)]
impl Pending {
    /// The operations that may still have to be applied.
    pub(crate) fn ops(&self, env: &Arc<dyn Env>) -> Result<Vec<Op>> {
        let (name, position) = match &self.work {
            Work::Ops(ops) => return Ok(ops.clone()),
            Work::Run(name, position) => (*name, *position),
        };
        let run = OpRun::open(env, name)?;
        let (mut reader, mut ops) = (run.read_from(position), Vec::new());
        while let Some(block) = reader.next_block()? {
            ops.extend(block.ops);
        }
        Ok(ops)
    }
}

/// The remaining work of a commit.
#[derive(Debug)]
enum Work {
    /// These operations, some of which may have been applied.
    Ops(Vec<Op>),
    /// The operations of a file, from a position on.
    Run(RunName, RunPosition),
}

/// Collects the logical records of the log.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    counters: CounterState,
    pending: BTreeMap<CommitTs, Pending>,
}

impl Replay {
    /// Returns the counters, and the commits in doubt.
    pub(crate) fn finish(self) -> (CounterState, Vec<Pending>) {
        (self.counters, self.pending.into_values().collect())
    }

    fn add(&mut self, ts: CommitTs, start: Lsn, work: Work) {
        self.pending.insert(ts, Pending { ts, start, work });
    }
}

impl LogicalReplay for Replay {
    fn checkpoint(&mut self, payload: &[u8]) -> Result<(), ReplayError> {
        if !payload.is_empty() {
            self.counters = CounterState::decode(payload)?;
        }
        Ok(())
    }

    fn record(&mut self, range: LsnRange, kind: u8, payload: &[u8]) -> Result<(), ReplayError> {
        match kind {
            COMMIT_RECORD => {
                let record = CommitRecord::decode(payload)?;
                self.counters.count(range.end, record.ts, record.next_object, &record.counters);
                self.add(record.ts, range.start, Work::Ops(record.ops));
            }
            REFERENCE_RECORD => {
                let record = ReferenceRecord::decode(payload)?;
                self.counters.count(range.end, record.ts, record.next_object, &record.counters);
                self.add(record.ts, range.start, Work::Run(record.run, RunPosition::default()));
            }
            PROGRESS_RECORD => {
                let record = ProgressRecord::decode(payload)?;
                self.add(record.ts, range.start, Work::Run(record.run, record.position));
            }
            END_RECORD => {
                self.pending.remove(&decode_end(payload)?);
            }
            other => return Err(format!("log record of unknown kind {other}").into()),
        }
        Ok(())
    }
}

impl Recovered {
    /// Finishes the commits in doubt and reads the catalog; makes a catalog in a new store.
    pub(crate) fn new(
        env: &Arc<dyn Env>,
        store: &Store,
        clock: &Clock,
        progress_bytes: usize,
        pending: Vec<Pending>,
        mut quarantine: Quarantine,
    ) -> Result<Recovered> {
        let catalog_tree = catalog_tree(store)?;
        let (change_buffer, lost) = ChangeBuffer::open(store, &catalog_tree, &quarantine)?;
        for commit in pending {
            match commit.work {
                Work::Ops(ops) => {
                    finish_commit(store, &change_buffer, commit.ts, &ops, &mut quarantine)?;
                }
                Work::Run(name, position) => {
                    let (run, trees) = (OpRun::open(env, name)?, OpenTrees::new(store));
                    let mut tree_of = |op: &Op| trees.tree_of(op);
                    let (ts, piece) = (commit.ts, progress_bytes);
                    let quarantine = &mut quarantine;
                    finish_commit_by_reference(
                        store,
                        clock,
                        &change_buffer,
                        &run,
                        ts,
                        position,
                        piece,
                        quarantine,
                        &mut tree_of,
                    )?;
                    // The file is needed until its commit's end record is durable.
                    store.wait_durable(store.log_end())?;
                }
            }
            clock.applied(commit.ts);
        }
        remove_leftovers(&**env, &|run| quarantine.needs_run(run))?;
        let catalog = decode_catalog(&catalog_rows(&catalog_tree)?)?;
        let buffered = |index: &&Arc<IndexDef>| !index.is_clustered() && !index.is_unique();
        let indexes = catalog.all_tables().flat_map(|table| table.indexes.iter().filter(buffered));
        change_buffer.give_up_at_open(&lost, &indexes.map(|index| index.tree).collect(), &mut quarantine)?;
        let trees = Trees::default();
        trees.add(store, catalog_tree.id(), catalog_tree.root(), CommitTs::NONE)?;
        let mut named = change_buffer.segments();
        named.insert(catalog_tree.id());
        let segments: BTreeSet<SegmentId> = store.segments().iter().map(|segment| segment.id).collect();
        for (table, index) in
            catalog.all_tables().flat_map(|table| table.indexes.iter().map(move |index| (table, index)))
        {
            if table.is_partitioned() {
                continue;
            }
            if !segments.contains(&index.tree) {
                let what = format!("the tree of index {} ({}) is not there", index.name, index.tree);
                return Err(TableError::Corrupt(what));
            }
            trees.add(store, index.tree, index.root, CommitTs::NONE)?;
            let refused = |tree| quarantine.get(tree).is_some();
            if refused(table.clustered().tree) {
                trees.refuse(index.tree, Refusal::of_table(table));
            } else if refused(index.tree) {
                trees.refuse(index.tree, Refusal::of_index(table, index));
            }
            named.insert(index.tree);
        }
        quarantine.retain(&named);
        change_buffer.retain(|tree| named.contains(&tree) && !trees.is_refused(tree));
        for segment in segments.difference(&named) {
            store.drop_segment(*segment)?;
        }
        Ok(Recovered { catalog_tree, catalog, trees, quarantine, change_buffer })
    }
}

/// Applies a commit in doubt, except for changes of quarantined trees, and ends it. Repeating this changes nothing.
pub(crate) fn finish_commit(
    store: &Store,
    change_buffer: &ChangeBuffer,
    ts: CommitTs,
    ops: &[Op],
    quarantine: &mut Quarantine,
) -> Result<()> {
    let trees = OpenTrees::new(store);
    for op in ops {
        let Some(tree) = trees.tree_of(op)? else { continue };
        let (pages, log) = change_buffer.worst_case(&tree, op);
        let mut reservation = store.reserve(pages, log)?;
        quarantine
            .apply_or_keep(op, ts, None, &mut || reapply(change_buffer, &tree, op, ts, &mut reservation))?;
    }
    quarantine.save()?;
    let mut reservation = store.reserve(0, END_RECORD_BYTES + 256)?;
    store.append_logical(&mut reservation, END_RECORD, &encode_end(ts))?;
    Ok(())
}

/// The existing trees, before the catalog can be read.
struct OpenTrees<'a> {
    store: &'a Store,
    roots: BTreeMap<SegmentId, PageNo>,
}

impl OpenTrees<'_> {
    fn new(store: &Store) -> OpenTrees<'_> {
        let segments = store.segments();
        let there = segments.iter().filter(|segment| segment.state != SegmentState::Dropping);
        OpenTrees { store, roots: there.map(|segment| (segment.id, segment.root)).collect() }
    }

    /// The tree of an operation; `None` if a later commit has dropped it, so that its contents do not matter any
    /// more.
    fn tree_of(&self, op: &Op) -> Result<Option<Tree>> {
        let root = self.roots.get(&op.tree());
        Ok(root.map(|&root| Tree::open(self.store, op.tree(), root)).transpose()?)
    }
}

/// The catalog's segment: the first segment that ever became `Live`, which is never dropped.
pub(crate) fn catalog_segment(store: &Store) -> Option<SegmentInfo> {
    let live = store.segments().into_iter().filter(|segment| segment.state == SegmentState::Live);
    live.min_by_key(|segment| segment.id)
}

fn catalog_tree(store: &Store) -> Result<Tree> {
    match catalog_segment(store) {
        Some(segment) => Ok(Tree::open(store, segment.id, segment.root)?),
        None => create_tree(store, LeafFormat::Plain),
    }
}

fn catalog_rows(tree: &Tree) -> Result<Vec<CatalogRow>> {
    let mut rows = Vec::new();
    let mut cursor = tree.cursor();
    cursor.seek(&[]);
    loop {
        let more = cursor.visit_leaf(Direction::Forward, |leaf, slots| {
            for slot in slots {
                let entry = leaf.entry(slot);
                if !entry.is_ghost() {
                    let mut key = Vec::new();
                    leaf.key_into(slot, &mut key);
                    rows.push(CatalogRow { key, payload: entry.payload.to_vec() });
                }
            }
            LeafStep::NextLeaf
        })?;
        if !more {
            return Ok(rows);
        }
    }
}
