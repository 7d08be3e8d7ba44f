//! The structural verifier.
use crate::{Result, Tree};

/// What the verifier found in a sound tree.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TreeReport {
    /// Levels, 1 = the root is a leaf.
    pub levels: u32,
    /// Leaf pages.
    pub leaves: u64,
    /// Branch pages.
    pub branches: u64,
    /// Entries, ghosts included.
    pub entries: u64,
    /// Ghosts.
    pub ghosts: u64,
    /// Used share of the leaves' bytes.
    pub fill: f64,
}

impl Tree {
    /// Checks every structural invariant of the tree.
    ///
    /// # Errors
    /// `Corrupt` names the first fault; what the store returns.
    pub fn verify(&self) -> Result<TreeReport> {
        todo!()
    }
}
