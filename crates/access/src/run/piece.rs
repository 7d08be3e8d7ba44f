//! A part of a scan that one thread reads, and how scans are shared out.

use crate::run::locators::Locators;
use crate::run::targets::{Targets, WalkKind};

/// How a scan is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Among so many threads.
    pub threads: usize,
    /// Leaves of the largest pieces; of a scan that fetches rows in its order, some times as many.
    pub most_leaves: usize,
}

/// A part of a scan.
#[derive(Clone, Debug)]
pub struct ScanPiece(pub(crate) Part);

/// The entries or rows that a part of a scan reads.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Ranges that follow each other in the index.
    Walk { targets: Targets, kind: WalkKind },
    /// The rows of some locators, in their order; whether implied conditions hold for them.
    Rows { locators: Locators, exact: bool },
}
