//! The tree handle.
use crate::{CommitTs, Cursor, EntryView, Result};
use leafline_storage::{PageNo, Reservation, SegmentId, Store};

/// A B+tree in a segment. Cheap to clone.
#[derive(Clone)]
pub struct Tree {
    store: Store,
    id: SegmentId,
    root: PageNo,
}

impl Tree {
    /// Opens the tree whose root is page `root` of segment `id`.
    pub fn open(store: &Store, id: SegmentId, root: PageNo) -> Result<Tree> {
        Ok(Tree { store: store.clone(), id, root })
    }

    /// Creates an empty tree in `segment`; its root is an empty leaf.
    ///
    /// # Errors
    /// What the store returns; [`BtreeError::PageSize`](crate::BtreeError::PageSize).
    pub fn create(_store: &Store, _reservation: &mut Reservation, _segment: SegmentId) -> Result<Tree> {
        todo!()
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The segment, which is also the tree's number.
    pub fn id(&self) -> SegmentId {
        self.id
    }

    /// The root page; never changes.
    pub fn root(&self) -> PageNo {
        self.root
    }

    /// A cursor before the first entry.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(self)
    }

    /// Calls `f` with the entry under `key`, a ghost included, under the leaf's shared latch.
    ///
    /// # Errors
    /// What the store returns, `Corrupt`.
    pub fn get<R>(&self, _key: &[u8], _f: impl FnOnce(Option<EntryView<'_>>) -> R) -> Result<R> {
        todo!()
    }

    /// Pages to reserve for one [`modify`](Self::modify).
    pub fn worst_case_pages(&self) -> usize {
        todo!()
    }

    /// Log bytes to reserve for one [`modify`](Self::modify) or [`purge`](Self::purge).
    pub fn worst_case_log(&self, _key_len: usize, _payload_len: usize) -> usize {
        todo!()
    }

    /// Removes the ghost under `key` if its timestamp is below `purge_before`, and merges leaves that have become
    /// nearly empty. Whether there was one.
    ///
    /// # Errors
    /// What the store returns, `Corrupt`.
    pub fn purge(
        &self,
        _reservation: &mut Reservation,
        _key: &[u8],
        _purge_before: CommitTs,
    ) -> Result<bool> {
        todo!()
    }
}
