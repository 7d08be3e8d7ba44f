//! How many splits many operations on one tree can cause at most: what a commit reserves pages for.
//!
//! Not all of them can split a page on every level, as a single one can. After a split two neighbours hold more than a page
//! together, so that the pages there are in the end, and with them the splits, are bounded by the bytes that come: those of
//! entries on a leaf, those of separators on a branch.

use super::op::Op;
use leafline_btree::Tree;
use leafline_storage::PageNo;

/// Splits by others, from the look at the leaves to the last operation, that a large commit reserves for; what they make
/// necessary beyond that comes out of the margin.
const OTHERS_SPLITS: usize = 16;

/// Bytes of a separator on a branch beyond the key, and of a page that are not for entries, at most.
pub(super) const BRANCH_OVERHEAD: usize = 128;
/// Bytes of an entry on a page beyond key and payload, at most.
const ENTRY_OVERHEAD: usize = 32;
/// Bytes of a page that are not for entries and fences, at most.
const PAGE_OVERHEAD: usize = 128;

/// Counts the splits that operations on one tree, in key order, can cause at most.
pub(super) struct SplitEstimate<'a> {
    tree: &'a Tree,
    page_size: usize,
    leaf: Option<PageNo>,
    on_leaf: LeafGroup,
    leaves: usize,
    longest_key: usize,
}

/// Splits, at most.
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
            // Each split that others make meanwhile can make one leaf with room into two without.
            leaves: 2 * OTHERS_SPLITS,
            longest_key: 0,
        }
    }

    /// The tree that the operations are on.
    pub(super) fn tree(&self) -> &'a Tree {
        self.tree
    }

    /// Adds the next operation, whose entry goes to `leaf` as the tree is now.
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

    /// What they come to.
    pub(super) fn splits(mut self) -> Splits {
        self.end_leaf();
        // A branch splits at every second split below it at most; many are bounded by the bytes of the separators.
        let separator = self.longest_key + BRANCH_OVERHEAD;
        let capacity = self.page_size - 2 * self.longest_key - BRANCH_OVERHEAD;
        let branches = (self.leaves / 2).min(4 * self.leaves * separator / capacity + 8);
        Splits { leaves: self.leaves, branches }
    }
}

impl Splits {
    /// Pages that they take.
    pub(super) fn pages(self) -> usize {
        self.leaves + self.branches
    }
}

/// Operations that go to one leaf, or to what it is split into.
///
/// An entry of up to an eighth of a page causes one split at most, a larger one three. After a split two neighbours hold more
/// than a page together, so that the pages there are in the end, and with them the splits, are bounded by the bytes.
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

    /// Splits they cause at most, with keys of up to this length in the tree.
    fn splits(self, page_size: usize, longest_key: usize) -> usize {
        // Both fences take room, too.
        let room = page_size - 2 * longest_key - PAGE_OVERHEAD;
        self.most.min(3 + (2 * self.bytes / room).min(3 * self.bytes / page_size))
    }
}
