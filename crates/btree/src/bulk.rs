//! Building a tree from sorted entries.
use crate::{Result, Tree};
use leafline_storage::{SegmentId, Store};

/// Builds a tree from entries pushed in ascending key order.
pub struct BulkBuilder {
    store: Store,
}

impl BulkBuilder {
    /// Begins a tree in `segment` (state `Building`, without a root); pages are filled to `fill_percent`.
    ///
    /// # Errors
    /// What the store returns.
    pub fn new(store: &Store, _segment: SegmentId, _fill_percent: u32) -> Result<BulkBuilder> {
        Ok(BulkBuilder { store: store.clone() })
    }
    /// Adds an entry without a timestamp.
    ///
    /// # Errors
    /// `NotAscending`, `KeyTooLong`, `EntryTooLarge`, what the store returns.
    pub fn push(&mut self, _key: &[u8], _payload: &[u8]) -> Result<()> {
        todo!()
    }
    /// Writes what is left and returns the tree.
    ///
    /// # Errors
    /// What the store returns.
    pub fn finish(self) -> Result<Tree> {
        let _ = self.store;
        todo!()
    }
}
