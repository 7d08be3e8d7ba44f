//! The open trees, and the trees that are waiting to be freed.
//!
//! A tree that DDL drops or replaces may still be read: by a cursor that is open, or by a transaction whose snapshot
//! is older. It is *retired* then: cursors hold on to its [`TreeHandle`], snapshots from before may still open it,
//! newer ones get error 1412, and its segment is freed once neither is left. Being retired is not recorded; after a
//! crash, segments that the catalog does not name are freed.

use crate::catalog::IndexDef;
use crate::error::{Result, TableError};
use crate::txn::snapshot::Snapshot;
use leafline_btree::{CommitTs, Tree};
use leafline_storage::{PageNo, SegmentId, Store};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;

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
}

/// All trees by segment.
#[derive(Default)]
pub(crate) struct Trees(RwLock<HashMap<SegmentId, Registered>>);

impl Trees {
    /// Makes a tree known. `valid_from` as in [`IndexDef`].
    pub(crate) fn add(&self, store: &Store, id: SegmentId, root: PageNo, valid_from: CommitTs) -> Result<()> {
        let handle = Arc::new(TreeHandle { tree: Tree::open(store, id, root)? });
        self.0.write().insert(id, Registered { handle, valid_from, retired: None });
        Ok(())
    }

    /// The tree of an index, for what needs the present state.
    pub(crate) fn current(&self, id: SegmentId) -> Result<Arc<TreeHandle>> {
        match self.0.read().get(&id) {
            Some(Registered { handle, retired: None, .. }) => Ok(handle.clone()),
            _ => Err(TableError::DefinitionChanged),
        }
    }

    /// The tree of an index, for reading at `snapshot`.
    pub(crate) fn for_snapshot(&self, index: &IndexDef, snapshot: &Snapshot) -> Result<Arc<TreeHandle>> {
        match self.0.read().get(&index.tree) {
            Some(found)
                if snapshot.sees(found.valid_from) && !found.retired.is_some_and(|ts| snapshot.sees(ts)) =>
            {
                Ok(found.handle.clone())
            }
            _ => Err(TableError::DefinitionChanged),
        }
    }

    /// The definition that comes into force at `ts` does not have this tree any more.
    pub(crate) fn retire(&self, id: SegmentId, ts: CommitTs) {
        if let Some(tree) = self.0.write().get_mut(&id) {
            tree.retired = Some(ts);
        }
    }

    /// Takes out a retired tree that nobody uses or can open any more: those retired before `bound`.
    pub(crate) fn take_unused(&self, bound: CommitTs) -> Option<SegmentId> {
        let mut trees = self.0.write();
        let unused = trees.iter().find_map(|(&id, tree)| {
            let gone = tree.retired.is_some_and(|ts| ts < bound) && Arc::strong_count(&tree.handle) == 1;
            gone.then_some(id)
        })?;
        trees.remove(&unused);
        Some(unused)
    }

    /// Number of retired trees.
    pub(crate) fn retired(&self) -> usize {
        self.0.read().values().filter(|tree| tree.retired.is_some()).count()
    }
}
