//! Looking up many known keys.
//!
//! The leaves of the keys to come are found before they are visited: who knows them can have them read, and, where they are in memory, have
//! the processor fetch what a visit begins with. A visit would wait for memory three or four times otherwise. Keys in order find
//! their leaves branch by branch; branches that are not in memory are read level by level, all that are needed of one as one batch.
//!
//! A leaf that was found holds the key as long as it is a leaf of the tree with the key between its fences, and no page was freed
//! since: that is asked under its latch, and if it is not so, the visit descends from the root.

use leafline_storage::{Optimistic, PageNo, SharedGuard};

use crate::cursor::Direction;
use crate::descend::Target;
use crate::error::{OnPage, Result};
use crate::merge::freed_pages;
use crate::node::Node;
use crate::optimistic::{Finger, LINE, SLOT_LINES, Walk};
use crate::runs::Runs;
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

/// More levels than a tree has.
const MOST_LEVELS: usize = 8;

impl Tree {
    /// The leaves that hold `keys`, best in their order; for a walk in reverse, what is right before them (`None` is the end of the tree).
    /// Leaves are not looked at.
    ///
    /// # Errors
    /// `Corrupt`, what the store returns.
    pub fn find_leaves<'k>(
        &self,
        direction: Direction,
        keys: impl ExactSizeIterator<Item = Option<&'k [u8]>> + Clone,
    ) -> Result<Vec<FoundLeaf>> {
        let target = |key: Option<&'k [u8]>| match (direction, key) {
            (Direction::Forward, key) => Target::Key(key.unwrap_or_default()),
            (Direction::Reverse, key) => Target::Before(key),
        };
        let mut found = vec![FoundLeaf { page: PageNo::NONE, freed: 0 }; keys.len()];
        let mut finger = Finger::NONE;
        for _ in 0..MOST_LEVELS {
            let mut missing = Vec::new();
            let not_found =
                found.iter_mut().zip(keys.clone()).filter(|(found, _)| found.page == PageNo::NONE);
            for (found, key) in not_found {
                let freed = freed_pages();
                match self.find_leaf(target(key), &mut finger) {
                    Walk::There(reference) => *found = FoundLeaf { page: reference.page, freed },
                    Walk::Missing(page) if missing.last() == Some(&page) => {}
                    Walk::Missing(page) => missing.push(page),
                    Walk::Contended | Walk::NoSuchLevel => {
                        *found = FoundLeaf { page: self.leaf_at(target(key))?, freed };
                    }
                }
            }
            if missing.is_empty() {
                return Ok(found);
            }
            if !self.read_branches(&missing)? {
                break;
            }
        }
        // A branch could not be read, or has been evicted again and again.
        for (found, key) in found.iter_mut().zip(keys).filter(|(found, _)| found.page == PageNo::NONE) {
            let freed = freed_pages();
            *found = FoundLeaf { page: self.leaf_at(target(key))?, freed };
        }
        Ok(found)
    }

    /// Reads branches in, as batches. Whether that was possible: a page that was freed meanwhile need not be.
    fn read_branches(&self, pages: &[PageNo]) -> Result<bool> {
        for some in pages.chunks(self.store().prefetch_limit().max(1)) {
            if some.len() > 1 {
                self.store().load(some)?;
            }
            if some.iter().any(|page| self.store().fault_in(*page).is_err()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Has the processor fetch the header, the slots and the fences of a leaf that will be visited soon, if it is in memory.
    pub fn fetch_slots(&self, leaf: PageNo) {
        if let Optimistic::Page(page) = self.store().optimistic(leaf) {
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
        let mut runs = Runs::default();
        let leaf = LeafView::new(Node::open(&guard).on(page)?, page, guard.lsn(), &mut runs);
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
