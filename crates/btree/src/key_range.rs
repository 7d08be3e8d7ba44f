//! A range of keys.

/// The keys in `[lower, upper)`; without an upper bound, up to the end of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    /// The first key.
    pub lower: Vec<u8>,
    /// The first key beyond the range.
    pub upper: Option<Vec<u8>>,
}
