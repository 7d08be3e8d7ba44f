//! How many entries lie between two keys.
use crate::{LeafView, Result, Tree};
use std::ops::Range;

/// What a range holds, estimated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Live entries.
    pub entries: f64,
    /// Leaf pages.
    pub leaves: f64,
    /// Share of the leaves that are in the buffer pool, of up to 64 that were looked up.
    pub resident_fraction: f64,
    /// Levels of the tree, 1 = the root is a leaf.
    pub depth: u32,
    /// Whether `entries` and `leaves` were counted.
    pub exact: bool,
}

impl Tree {
    /// Estimates the range `[lower, upper)`.
    ///
    /// # Errors
    /// `Corrupt`, what the store returns.
    pub fn estimate(&self, _lower: &[u8], _upper: Option<&[u8]>) -> Result<Estimate> {
        todo!()
    }
    /// Calls `f` with up to `max_leaves` leaves spread evenly over `[lower, upper)` and the slots in the range.
    ///
    /// # Errors
    /// `Corrupt`, what the store returns.
    pub fn sample(
        &self,
        _lower: &[u8],
        _upper: Option<&[u8]>,
        _max_leaves: usize,
        _f: &mut dyn FnMut(&LeafView<'_>, Range<usize>),
    ) -> Result<()> {
        todo!()
    }
}
