//! Looks up many known keys.
//!
//! The leaves of the keys are found before they are visited. The caller can then have the leaves read, and, where
//! they are in memory, have the processor fetch the cache lines with which a visit begins; otherwise a visit would
//! wait for memory three or four times. Keys in order find their leaves branch by branch. Branches that are not in
//! memory are read level by level, all that are needed of one level as one batch.
//!
//! A leaf that was found holds the key as long as it is a leaf of the tree with the key between its fences, and no
//! page was freed since. The visit checks this under the latch, and descends from the root if it does not hold.

use leafline_storage::{Optimistic, PageNo, SharedGuard};

use crate::cursor::Direction;
use crate::error::{OnPage, Result};
use crate::freed::freed_pages;
use crate::node::Node;
use crate::optimistic::{Finger, LINE, OptimisticOutcome, SLOT_LINES};
use crate::target::Target;
use crate::tree::Tree;
use crate::unpacked_cells::UnpackedCells;
use crate::view::LeafView;

/// The leaf that a key was found to belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundLeaf {
    page: PageNo,
    /// Number of pages that had been freed before the search.
    freed: u64,
}

impl FoundLeaf {
    /// Returns the page.
    pub fn page(&self) -> PageNo {
        self.page
    }
}

/// More levels than any tree has.
const MOST_LEVELS: usize = 8;

impl Tree {
    /// Finds the leaves that hold `keys`, which are best in order. For a walk in reverse, finds the leaves of the
    /// last entries before the keys (`None` is the end of the tree). Does not read the leaves.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
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
                    OptimisticOutcome::Reached(reference) => {
                        *found = FoundLeaf { page: reference.page, freed }
                    }
                    OptimisticOutcome::Missing(page) if missing.last() == Some(&page) => {}
                    OptimisticOutcome::Missing(page) => missing.push(page),
                    OptimisticOutcome::Contended | OptimisticOutcome::NoSuchLevel => {
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

    /// Reads branches in, as batches. Returns whether that was possible: a page that was freed meanwhile need not be
    /// readable.
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

    /// Makes the processor fetch the header, the slots and the fences of a leaf that will be visited soon, if it is
    /// in memory.
    pub fn fetch_slots(&self, leaf: PageNo) {
        if let Optimistic::Page(page) = self.store().optimistic(leaf) {
            (0..=SLOT_LINES).for_each(|line| page.prefetch(line * LINE));
            // The fences were mostly written first, at the end of the page.
            page.prefetch(page.size() - LINE);
        }
    }

    /// Visits the leaf that holds `key`, if there is such an entry. The leaf may have been found before. `visit` runs
    /// under its shared latch and must not block.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
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
        let mut cells = UnpackedCells::default();
        let leaf = LeafView::new(Node::open(&guard).on(page)?, page, guard.lsn(), &mut cells);
        let result = visit(&leaf);
        leaf.checked()?;
        Ok(result)
    }

    /// Latches a leaf that was found for a key, if it still holds the key and is in memory.
    fn latch_found(&self, key: &[u8], found: FoundLeaf) -> Result<Option<SharedGuard<'_>>> {
        let Some(guard) = self.store().try_shared(found.page)? else { return Ok(None) };
        let holds_key = freed_pages() == found.freed
            && self.node(&guard, found.page, Some(0)).is_ok_and(|node| node.covers(key));
        Ok(holds_key.then_some(guard))
    }
}
