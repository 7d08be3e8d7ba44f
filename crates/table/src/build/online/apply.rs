//! Changes of trees that only the builder knows: collected in any order, applied in the order of trees and
//! keys.
//!
//! Removing and adding a key in the same round is one change. A key added to a clustered tree must not find
//! a row there: otherwise two rows had the key at a moment that others could see.

use crate::catalog::{IndexDef, TableDef};
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::index::entry::unique_prefix;
use crate::run::{EntrySource, Sorter};
use leafline_btree::{Change, CommitTs, Direction, LeafStep, Tree};
use leafline_storage::Env;
use leafline_types::{CancelToken, MysqlError};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The memory for changes, in bytes.
const MEMORY: u64 = 8 << 20;
/// The length of the tree's number before a key, in bytes.
const NUMBER: usize = 4;
/// Follows the key of a removed entry.
const REMOVED: u8 = 0;
/// Follows the key of an added entry.
const PUT: u8 = 1;
/// The number of changes between two checks for cancellation.
const STEP: u64 = 256;
/// The maximum number of keys with several rows that are remembered to be checked again at the end.
pub(super) const MOST_SUSPECTS: usize = 1000;

/// A tree being built.
pub(crate) struct BuiltTree {
    pub(crate) tree: Tree,
    /// Its table, as it was when the build began.
    pub(crate) table: Arc<TableDef>,
    /// The index that the tree will belong to.
    pub(crate) index: Arc<IndexDef>,
    /// The change of its number of entries since the first snapshot.
    pub(crate) added: i64,
    /// The unique prefixes that several rows had after the last round.
    pub(super) suspects: BTreeSet<Vec<u8>>,
    /// The unique prefixes added in this round.
    changed: BTreeSet<Vec<u8>>,
}

/// Collected changes.
pub(crate) struct TreeChanges {
    sorter: Sorter,
    key: Vec<u8>,
}

/// The change of one key.
struct KeyChange {
    /// The tree's number, and the key.
    key: Vec<u8>,
    removed: bool,
    payload: Option<Vec<u8>>,
}

impl TreeChanges {
    pub(super) fn new(env: &Arc<dyn Env>) -> TreeChanges {
        TreeChanges { sorter: Sorter::new(env, MEMORY), key: Vec::new() }
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// Errors of writing a file.
    pub(crate) fn remove(&mut self, tree: usize, key: &[u8]) -> Result<()> {
        self.push(tree, key, REMOVED, &[])
    }

    /// Adds an entry, or replaces its payload.
    ///
    /// # Errors
    /// The errors of [`remove`](Self::remove).
    pub(crate) fn put(&mut self, tree: usize, key: &[u8], payload: &[u8]) -> Result<()> {
        self.push(tree, key, PUT, payload)
    }

    fn push(&mut self, tree: usize, key: &[u8], what: u8, payload: &[u8]) -> Result<()> {
        self.key.clear();
        self.key.extend_from_slice(&(tree as u32).to_be_bytes());
        self.key.extend_from_slice(key);
        self.key.push(what);
        self.sorter.push(&self.key, payload)
    }

    /// Applies all changes. Returns the tree's number and the key if two rows are added under one clustered
    /// key, or one is added where another exists.
    ///
    /// # Errors
    /// 1071 if a key is too long; errors of the store; 1317.
    pub(super) fn apply(
        self,
        core: &Core,
        trees: &mut [BuiltTree],
        cancel: &CancelToken,
    ) -> Result<Option<(usize, Vec<u8>)>> {
        let mut sorted = self.sorter.finish()?;
        let mut at: Option<KeyChange> = None;
        let mut count = 0u64;
        while let Some((key, payload)) = sorted.next()? {
            if count.is_multiple_of(STEP) {
                cancel.check()?;
            }
            count += 1;
            let (what, key) = key.split_last().expect("a key ends with its kind of change");
            if at.as_ref().is_none_or(|at| at.key != key) {
                if let Some(before) = at.take()
                    && let Some(taken) = before.apply(core, trees)?
                {
                    return Ok(Some(taken));
                }
                at = Some(KeyChange { key: key.to_vec(), removed: false, payload: None });
            }
            if let Some(at) = &mut at {
                match *what {
                    REMOVED => at.removed = true,
                    _ if at.payload.is_some() => return at.taken().map(Some),
                    _ => at.payload = Some(payload.to_vec()),
                }
            }
        }
        match at {
            Some(last) => last.apply(core, trees),
            None => Ok(None),
        }
    }
}

impl KeyChange {
    fn place(&self) -> Result<(usize, &[u8])> {
        let split = self.key.split_first_chunk::<NUMBER>();
        let (number, key) = split.ok_or_else(|| TableError::Internal("a change of no tree".into()))?;
        Ok((u32::from_be_bytes(*number) as usize, key))
    }

    fn taken(&self) -> Result<(usize, Vec<u8>)> {
        self.place().map(|(tree, key)| (tree, key.to_vec()))
    }

    fn apply(&self, core: &Core, trees: &mut [BuiltTree]) -> Result<Option<(usize, Vec<u8>)>> {
        let (number, key) = self.place()?;
        let built =
            trees.get_mut(number).ok_or_else(|| TableError::Internal("a change of no tree".into()))?;
        let (limits, len) = (&core.limits, self.payload.as_ref().map_or(0, Vec::len));
        if self.payload.is_some() && (key.len() > limits.max_key || key.len() + len > limits.max_entry) {
            return Err(MysqlError::key_too_long(limits.max_key).into());
        }
        let tree = &built.tree;
        let mut reservation =
            core.store.reserve(tree.worst_case_pages(), tree.worst_case_log(key.len(), len))?;
        let may_be_there = self.removed || !built.is_clustered();
        let mut was_there = false;
        tree.modify(&mut reservation, key, CommitTs::NONE, &mut |there| {
            was_there = there.is_some();
            match &self.payload {
                Some(_) if was_there && !may_be_there => Change::Keep,
                Some(payload) => {
                    let payload = Cow::Borrowed(payload.as_slice());
                    Change::Put { payload, ts: CommitTs::NONE, has_previous: false }
                }
                None => Change::Remove,
            }
        })?;
        if self.payload.is_some() && was_there && !may_be_there {
            return self.taken().map(Some);
        }
        built.added += i64::from(self.payload.is_some()) - i64::from(was_there);
        if self.payload.is_some() && !built.is_clustered() {
            built.changed.extend(unique_prefix(&built.index, key)?.map(<[u8]>::to_vec));
        }
        Ok(None)
    }
}

impl BuiltTree {
    /// The tree built for an index.
    pub(crate) fn new(core: &Core, table: &Arc<TableDef>, index: &Arc<IndexDef>) -> Result<BuiltTree> {
        Ok(BuiltTree {
            index: index.clone(),
            ..BuiltTree::of_rows(Tree::open(&core.store, index.tree, index.root)?, table)
        })
    }

    /// A tree with the clustered keys of a table's rows.
    pub(crate) fn of_rows(tree: Tree, table: &Arc<TableDef>) -> BuiltTree {
        BuiltTree {
            tree,
            table: table.clone(),
            index: table.clustered().clone(),
            added: 0,
            suspects: BTreeSet::new(),
            changed: BTreeSet::new(),
        }
    }

    /// Returns whether the tree holds rows.
    fn is_clustered(&self) -> bool {
        self.table.indexes.first().is_some_and(|clustered| clustered.id == self.index.id)
    }

    /// Checks the prefixes that were added, and those that several rows had; remembers those that several
    /// rows have now.
    pub(super) fn recheck_duplicates(&mut self) -> Result<()> {
        for prefix in std::mem::take(&mut self.changed).into_iter().chain(std::mem::take(&mut self.suspects))
        {
            if self.suspects.len() > MOST_SUSPECTS {
                break;
            }
            if self.keys_of(&prefix)?.len() > 1 {
                self.suspects.insert(prefix);
            }
        }
        Ok(())
    }

    /// The first two keys that begin with `prefix`.
    pub(super) fn keys_of(&self, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut keys = Vec::new();
        let mut cursor = self.tree.cursor();
        cursor.seek(prefix);
        let (mut key, mut inside) = (Vec::new(), true);
        while inside
            && cursor.visit_leaf(Direction::Forward, |leaf, slots| {
                for slot in slots {
                    leaf.key_into(slot, &mut key);
                    inside = key.starts_with(prefix) && keys.len() < 2;
                    if !inside {
                        return LeafStep::Stop;
                    }
                    if !leaf.entry(slot).is_ghost() {
                        keys.push(key.clone());
                    }
                }
                LeafStep::NextLeaf
            })?
        {}
        Ok(keys)
    }
}
