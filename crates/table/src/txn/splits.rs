//! The maximum number of splits that many operations on one tree can cause, for which a commit reserves pages.
//!
//! A single operation can split a page on every level, but not all of many operations can. After a split, two
//! neighbouring pages together hold more than one page. The number of pages in the end, and thus the number of
//! splits, is therefore bounded by the bytes added: those of entries on leaves, those of separators on branches.

use crate::op::Op;
use leafline_btree::Tree;
use leafline_storage::PageNo;

/// The splits by others, between the look at the leaves and the last operation, that a large commit reserves for. The
/// margin covers what further splits make necessary.
const OTHERS_SPLITS: usize = 16;

/// The maximum bytes of a separator on a branch beyond its key, and of a page that are not for entries.
pub(super) const BRANCH_OVERHEAD: usize = 128;
/// The maximum bytes of an entry on a page beyond key and payload.
const ENTRY_OVERHEAD: usize = 32;
/// The maximum bytes of a page that are not for entries and fences.
const PAGE_OVERHEAD: usize = 128;

/// Estimates the maximum number of splits that operations on one tree, in key order, can cause.
pub(super) struct SplitEstimate<'a> {
    tree: &'a Tree,
    page_size: usize,
    leaf: Option<PageNo>,
    on_leaf: LeafGroup,
    leaves: usize,
    longest_key: usize,
}

/// The maximum number of splits.
#[derive(Clone, Copy)]
pub(super) struct Splits {
    leaves: usize,
    branches: usize,
}

impl<'a> SplitEstimate<'a> {
    pub(super) fn new(tree: &'a Tree, page_size: usize) -> SplitEstimate<'a> {
        SplitEstimate {
            tree,
            page_size,
            leaf: None,
            on_leaf: LeafGroup::default(),
            // A split by others meanwhile can turn one leaf with room into two without.
            leaves: 2 * OTHERS_SPLITS,
            longest_key: 0,
        }
    }

    /// The tree of the operations.
    pub(super) fn tree(&self) -> &'a Tree {
        self.tree
    }

    /// Adds the next operation, whose entry currently belongs to `leaf`.
    pub(super) fn add(&mut self, op: &Op, leaf: PageNo) {
        if self.leaf != Some(leaf) {
            self.end_leaf();
            self.leaf = Some(leaf);
        }
        self.longest_key = self.longest_key.max(op.key().len());
        self.on_leaf.add(op, self.page_size);
    }

    fn end_leaf(&mut self) {
        self.leaves += std::mem::take(&mut self.on_leaf).splits(self.page_size, self.longest_key);
    }

    /// The estimate.
    pub(super) fn splits(mut self) -> Splits {
        self.end_leaf();
        // A branch splits at most at every second split below it; many splits are bounded by the bytes of the
        // separators.
        let separator = self.longest_key + BRANCH_OVERHEAD;
        let capacity = self.page_size - 2 * self.longest_key - BRANCH_OVERHEAD;
        let branches = (self.leaves / 2).min(4 * self.leaves * separator / capacity + 8);
        Splits { leaves: self.leaves, branches }
    }
}

impl Splits {
    /// The number of pages that the splits need.
    pub(super) fn pages(self) -> usize {
        self.leaves + self.branches
    }
}

/// Operations on one leaf, or on the leaves that it is split into.
///
/// An entry of up to an eighth of a page causes at most one split, a larger one three. After a split, two neighbours
/// together hold more than a page, so that the number of splits is bounded by the bytes.
#[derive(Default)]
struct LeafGroup {
    most: usize,
    bytes: usize,
}

impl LeafGroup {
    fn add(&mut self, op: &Op, page_size: usize) {
        let bytes = op.key().len() + op.payload_len();
        self.most += if bytes <= page_size / 8 { 1 } else { 3 };
        self.bytes += bytes + ENTRY_OVERHEAD;
    }

    /// The maximum number of splits, with keys of up to this length in the tree.
    fn splits(self, page_size: usize, longest_key: usize) -> usize {
        // Both fences take room, too.
        let room = page_size - 2 * longest_key - PAGE_OVERHEAD;
        self.most.min(3 + (2 * self.bytes / room).min(3 * self.bytes / page_size))
    }
}
