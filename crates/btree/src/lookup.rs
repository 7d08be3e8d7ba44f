//! Looking up many keys one after the other.
//!
//! The leaves of the keys to come are found before they are visited: who knows them can have them read, and, where they are in memory, have
//! the processor fetch what a visit begins with. A visit would wait for memory three or four times otherwise.
//!
//! A leaf that was found holds the key as long as it is a leaf of the tree with the key between its fences, and no page was freed
//! since: that is asked under its latch, and if it is not so, the visit descends from the root.

use leafline_storage::{Optimistic, OptimisticPage, PageNo, SharedGuard};

use crate::descend::Target;
use crate::error::{OnPage, Result};
use crate::merge::freed_pages;
use crate::node::{Node, Search, Source};
use crate::optimistic::{LINE, SLOT_LINES, Walk};
use crate::tree::Tree;
use crate::view::LeafView;

/// Where a key was found to belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundLeaf {
    page: PageNo,
    /// How many pages had been freed before.
    freed: u64,
}

impl FoundLeaf {
    /// The page.
    pub fn page(&self) -> PageNo {
        self.page
    }
}

/// Finds the leaves of keys, best in their order: while they are behind one branch, nothing above it is looked at.
pub struct LeafFinder<'t> {
    tree: &'t Tree,
    branch: Option<OptimisticPage<'t>>,
}

impl<'t> LeafFinder<'t> {
    /// Of a tree. To be used for some hundreds of keys, not kept: a branch is remembered as it was.
    pub fn new(tree: &'t Tree) -> LeafFinder<'t> {
        LeafFinder { tree, branch: None }
    }

    /// The leaf that holds `key`, if there is such an entry.
    ///
    /// # Errors
    /// `Corrupt`, what the store returns.
    pub fn find(&mut self, key: &[u8]) -> Result<FoundLeaf> {
        let freed = freed_pages();
        if let Some(page) = self.branch.as_ref().and_then(|branch| child_for(branch, key)) {
            self.tree.store().count_reads(1, 0);
            return Ok(FoundLeaf { page, freed });
        }
        let page = match self.tree.find_reference(Target::Key(key), 0) {
            Walk::There(reference) => {
                self.branch = reference.parent;
                reference.page
            }
            _ => self.tree.leaf_of(key)?,
        };
        Ok(FoundLeaf { page, freed })
    }
}

/// The child of a branch that holds `key`; `None` if that is behind another branch, or if the branch has changed.
fn child_for(branch: &OptimisticPage<'_>, key: &[u8]) -> Option<PageNo> {
    let node = Search::open(branch).ok()?;
    let (lower_at, lower_len) = node.lower_fence();
    let beyond = |(at, len)| branch.compare(at, len, key).is_le();
    if branch.compare(lower_at, lower_len, key).is_gt() || node.upper_fence().is_some_and(beyond) {
        return None;
    }
    let child = node.child_for(key).and_then(|slot| node.child(slot)).ok()?;
    branch.is_unchanged().then_some(child)
}

impl Tree {
    /// Has the processor fetch the header, the slots and the fences of a leaf that will be visited soon, if it is in memory.
    pub fn fetch_slots(&self, leaf: FoundLeaf) {
        if let Optimistic::Page(page) = self.store().optimistic(leaf.page) {
            (0..=SLOT_LINES).for_each(|line| page.prefetch(line * LINE));
            // Mostly what was written first, from the end on.
            page.prefetch(page.size() - LINE);
        }
    }

    /// Visits the leaf that holds `key`, if there is such an entry, which may have been found before. `visit` runs under its shared latch
    /// and must not block.
    ///
    /// # Errors
    /// `Corrupt`, what the store returns.
    pub fn visit_leaf_of<R>(
        &self,
        key: &[u8],
        found: FoundLeaf,
        visit: impl FnOnce(&LeafView<'_>) -> R,
    ) -> Result<R> {
        let guard = match self.latch_found(key, found)? {
            Some(guard) => guard,
            None => self.descend_to_leaf(Target::Key(key))?,
        };
        let page = guard.page_no();
        let leaf = LeafView::new(Node::open(&guard).on(page)?, page, guard.lsn());
        let result = visit(&leaf);
        leaf.checked()?;
        Ok(result)
    }

    /// Latches a leaf that was found for a key, if it is the one still, and in memory.
    fn latch_found(&self, key: &[u8], found: FoundLeaf) -> Result<Option<SharedGuard<'_>>> {
        let Some(guard) = self.store().try_shared(found.page)? else { return Ok(None) };
        let is_the_one = freed_pages() == found.freed
            && self.node(&guard, found.page, Some(0)).is_ok_and(|node| node.covers(key));
        Ok(is_the_one.then_some(guard))
    }
}
