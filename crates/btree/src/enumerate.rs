//! Leaves from branch pages.
use crate::{Result, Tree};
use leafline_storage::PageNo;

/// Leaves in key order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeafList {
    /// The leaf pages.
    pub pages: Vec<PageNo>,
    /// Where to ask for the rest; `None`: that was all.
    pub resume: Option<Vec<u8>>,
}

impl Tree {
    /// The leaf that holds `key`, from branch pages only. May be stale when used: a hint for prefetching.
    ///
    /// # Errors
    /// `Corrupt`, what the store returns.
    pub fn leaf_of(&self, _key: &[u8]) -> Result<PageNo> {
        todo!()
    }
    /// The leaves that hold keys in `[lower, upper)`, at most `max` of them, without leaf I/O.
    ///
    /// # Errors
    /// `Corrupt`, what the store returns.
    pub fn leaves(&self, _lower: &[u8], _upper: Option<&[u8]>, _max: usize) -> Result<LeafList> {
        todo!()
    }
}
