//! The open trees, and the trees that wait to be freed.
//!
//! A tree that DDL drops or replaces may still be read, by an open cursor or by a transaction with an older
//! snapshot. It is then *retired*: cursors hold its [`TreeHandle`], older snapshots may still open it,
//! newer ones get error 1412, and its segment is freed once neither remains. The retirement is not
//! recorded. After a crash, segments that the catalog does not name are freed.
//!
//! A tree that *replaces* another contains what the old one had, and perhaps more: after a bulk load or a
//! repair. Older snapshots read the old tree in its place, as it was when it was replaced. A reader that
//! still has the old definition gets the new tree, if its snapshot sees it. Readers therefore need not know
//! of the replacement. Writers must know: without timestamps the new tree does not show what was written
//! since.
//!
//! A tree that is quarantined ([`crate::quarantine`]), and every tree of a table whose rows are
//! quarantined, is *refused* to its users; a check and a repair get it nevertheless. Trees are refused when
//! the database is opened, until another tree replaces them.

use crate::catalog::{IndexDef, TableDef};
use crate::error::{Result, TableError};
use crate::mvcc::snapshot::Snapshot;
use hashbrown::HashMap;
use leafline_btree::{CommitTs, LeafFormat, Tree};
use leafline_storage::{PageNo, Reservation, SegmentId, SegmentState, Store};
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A tree in use.
pub(crate) struct TreeHandle {
    pub(crate) tree: Tree,
}

struct Registered {
    handle: Arc<TreeHandle>,
    /// Snapshots that do not see this timestamp cannot use the tree.
    valid_from: CommitTs,
    /// Snapshots that see this timestamp cannot use the tree any more.
    retired: Option<CommitTs>,
    refused: Option<Refusal>,
    /// The tree that it has replaced.
    before: Option<SegmentId>,
}

impl Registered {
    fn is_visible(&self, snapshot: &Snapshot) -> bool {
        snapshot.sees(self.valid_from) && !self.retired.is_some_and(|ts| snapshot.sees(ts))
    }
}

/// The reason why a tree cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    /// The database and name of the table.
    table: String,
    /// The name of the quarantined index, unless it is the clustered one.
    index: Option<String>,
}

impl Refusal {
    /// The refusal of a table whose rows are quarantined.
    pub(crate) fn of_table(table: &TableDef) -> Refusal {
        Refusal { table: format!("{}.{}", table.database, table.name), index: None }
    }

    /// The refusal of a quarantined secondary index.
    pub(crate) fn of_index(table: &TableDef, index: &IndexDef) -> Refusal {
        Refusal { index: Some(index.name.clone()), ..Refusal::of_table(table) }
    }

    fn error(&self) -> TableError {
        let table = self.table.clone();
        match self.index.clone() {
            Some(index) => TableError::IndexQuarantined { index, table },
            None => TableError::TableQuarantined { table },
        }
    }
}

/// All trees by segment.
#[derive(Default)]
pub(crate) struct Trees {
    trees: RwLock<HashMap<SegmentId, Registered>>,
    /// Maps a tree, which may be freed, to the tree that replaced it. Numbers of trees are never reused.
    replaced: RwLock<HashMap<SegmentId, SegmentId>>,
    /// Whether any tree is refused. A writer of a row need not look further otherwise.
    any_refused: AtomicBool,
}

impl Trees {
    /// Adds a tree. `valid_from` is that of [`IndexDef`].
    pub(crate) fn add(&self, store: &Store, id: SegmentId, root: PageNo, valid_from: CommitTs) -> Result<()> {
        let handle = Arc::new(TreeHandle { tree: Tree::open(store, id, root)? });
        let registered = Registered { handle, valid_from, retired: None, refused: None, before: None };
        self.trees.write().insert(id, registered);
        Ok(())
    }

    /// Notes that a known tree has replaced another one.
    pub(crate) fn replace(&self, old: SegmentId, new: SegmentId) {
        if let Some(tree) = self.trees.write().get_mut(&new) {
            tree.before = Some(old);
            self.replaced.write().insert(old, new);
        }
    }

    /// The tree that is now in the place of this one.
    fn successor(&self, mut id: SegmentId) -> SegmentId {
        let replaced = self.replaced.read();
        while let Some(&next) = replaced.get(&id) {
            id = next;
        }
        id
    }

    /// Makes the tree unusable for snapshots that do not see `ts`.
    pub(crate) fn set_valid_from(&self, id: SegmentId, ts: CommitTs) {
        if let Some(tree) = self.trees.write().get_mut(&id) {
            tree.valid_from = ts;
        }
    }

    /// Refuses a tree to its users from now on.
    pub(crate) fn refuse(&self, id: SegmentId, why: Refusal) {
        if let Some(tree) = self.trees.write().get_mut(&id) {
            tree.refused = Some(why);
            self.any_refused.store(true, Ordering::Release);
        }
    }

    /// Returns an error if the table cannot be written, because one of its trees is refused.
    pub(crate) fn check_writable(&self, table: &TableDef) -> Result<()> {
        if !self.any_refused.load(Ordering::Acquire) {
            return Ok(());
        }
        let trees = self.trees.read();
        let refused = |index: &Arc<IndexDef>| trees.get(&index.tree)?.refused.as_ref();
        table.indexes.iter().find_map(refused).map_or(Ok(()), |why| Err(why.error()))
    }

    /// Returns whether a tree is refused.
    pub(crate) fn is_refused(&self, id: SegmentId) -> bool {
        self.any_refused.load(Ordering::Acquire)
            && self.trees.read().get(&id).is_some_and(|tree| tree.refused.is_some())
    }

    /// The tree of an index, for a caller that needs the current state.
    pub(crate) fn current(&self, id: SegmentId) -> Result<Arc<TreeHandle>> {
        match self.trees.read().get(&id) {
            Some(Registered { retired: None, refused: Some(why), .. }) => Err(why.error()),
            Some(Registered { handle, retired: None, .. }) => Ok(handle.clone()),
            _ => Err(TableError::DefinitionChanged),
        }
    }

    /// Like [`current`](Self::current), or the tree that has replaced it, for a caller that only reads.
    pub(crate) fn latest(&self, id: SegmentId) -> Result<Arc<TreeHandle>> {
        match self.current(id) {
            Err(TableError::DefinitionChanged) => self.current(self.successor(id)),
            current => current,
        }
    }

    /// Like [`current`](Self::current), but also a refused tree, for a repair.
    pub(crate) fn current_even_refused(&self, id: SegmentId) -> Result<Arc<TreeHandle>> {
        match self.trees.read().get(&id) {
            Some(Registered { handle, retired: None, .. }) => Ok(handle.clone()),
            _ => Err(TableError::DefinitionChanged),
        }
    }

    /// A tree that has not been freed yet and is not refused.
    pub(crate) fn even_retired(&self, id: SegmentId) -> Option<Arc<TreeHandle>> {
        let trees = self.trees.read();
        trees.get(&id).filter(|tree| tree.refused.is_none()).map(|tree| tree.handle.clone())
    }

    /// The tree of an index for reading at `snapshot`: that tree, one that it has replaced, or one that has
    /// replaced it.
    pub(crate) fn for_reading(&self, index: &IndexDef, snapshot: &Snapshot) -> Result<Arc<TreeHandle>> {
        let mut id = index.tree;
        {
            let trees = self.trees.read();
            if trees.get(&id).is_none_or(|tree| tree.retired.is_some_and(|ts| snapshot.sees(ts))) {
                id = self.successor(id);
            }
            while let Some(found) = trees.get(&id) {
                if found.is_visible(snapshot) {
                    return match &found.refused {
                        Some(why) => Err(why.error()),
                        None => Ok(found.handle.clone()),
                    };
                }
                let Some(before) = found.before.filter(|_| !snapshot.sees(found.valid_from)) else { break };
                id = before;
            }
        }
        Err(TableError::DefinitionChanged)
    }

    /// The tree of an index, if it is the one for `snapshot`.
    pub(crate) fn for_snapshot(&self, index: &IndexDef, snapshot: &Snapshot) -> Result<Arc<TreeHandle>> {
        match self.trees.read().get(&index.tree) {
            Some(found) if found.is_visible(snapshot) => match &found.refused {
                Some(why) => Err(why.error()),
                None => Ok(found.handle.clone()),
            },
            _ => Err(TableError::DefinitionChanged),
        }
    }

    /// Like [`for_snapshot`](Self::for_snapshot), but also a refused tree, for a check.
    pub(crate) fn for_snapshot_even_refused(
        &self,
        index: &IndexDef,
        snapshot: &Snapshot,
    ) -> Result<Arc<TreeHandle>> {
        match self.trees.read().get(&index.tree) {
            Some(found) if found.is_visible(snapshot) => Ok(found.handle.clone()),
            _ => Err(TableError::DefinitionChanged),
        }
    }

    /// Retires a tree, because the definition that comes into force at `ts` does not contain it any more.
    pub(crate) fn retire(&self, id: SegmentId, ts: CommitTs) {
        if let Some(tree) = self.trees.write().get_mut(&id) {
            tree.retired = Some(ts);
        }
    }

    /// Removes a retired tree that nobody uses or can still open, among those retired before `bound`.
    pub(crate) fn take_unused(&self, bound: CommitTs) -> Option<SegmentId> {
        let mut trees = self.trees.write();
        let unused = trees.iter().find_map(|(&id, tree)| {
            let gone = tree.retired.is_some_and(|ts| ts < bound) && Arc::strong_count(&tree.handle) == 1;
            gone.then_some(id)
        })?;
        trees.remove(&unused);
        Some(unused)
    }

    /// The number of retired trees.
    pub(crate) fn retired(&self) -> usize {
        self.trees.read().values().filter(|tree| tree.retired.is_some()).count()
    }
}

/// Makes a new, empty, live tree with leaves in `format`.
pub(crate) fn create_tree(store: &Store, format: LeafFormat) -> Result<Tree> {
    let mut reservation = tree_reservation(store)?;
    let segment = store.create_segment(&mut reservation)?;
    let created = Tree::create(store, &mut reservation, segment, format).and_then(|tree| {
        store.set_segment_state(&mut reservation, segment, SegmentState::Live)?;
        Ok(tree)
    });
    drop(reservation);
    match created {
        Ok(tree) => Ok(tree),
        Err(error) => {
            store.drop_segment(segment)?;
            Err(error.into())
        }
    }
}

/// Reserves enough for creating a segment and its root, and for changing the segment's state.
pub(crate) fn tree_reservation(store: &Store) -> Result<Reservation> {
    Ok(store.reserve(4, 4 * store.page_size())?)
}
