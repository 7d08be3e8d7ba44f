//! Sweeping out of place: leaves with their changes are written to fresh pages, neighbours together, which then take their places.
//!
//! 1. Each leaf is read, and a copy made with all that is pending of it; nothing of it is held after that. It is noted as *copied*.
//! 2. The copies of a batch are written and synced.
//! 3. Each leaf is held out of memory and, if nobody has merged it by log meanwhile, replaced.
//!
//! A leaf that has something pending is changed in no other way than by who merges it by log, who forgets that it was copied
//! ([`ChangeBuffer::forget_copy`]). What was buffered since it was copied has a later generation than the copy contains.
//!
//! Where this cannot be done the leaf is merged in place: there is no space, it is always in use, or it is changed in between.

use super::ChangeBuffer;
use super::entry::buffer_key;
use crate::error::Result;
use crate::trees::TreeHandle;
use leafline_btree::{BufferedEntry, CopiedLeaf, Direction, Tree};
use leafline_storage::{FreshPages, HeldPage, PageClass, PageNo, SegmentId};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Leaves of smaller trees are merged where they are: an extent is much for them.
const LEAST_PAGES: u64 = 64;
/// Attempts to get a leaf out of memory that others read.
const ATTEMPTS: usize = 16;

/// Leaves of a tree that are being moved. The handle keeps the tree from being freed; so it goes last.
pub(super) struct Relocation {
    fresh: FreshPages,
    /// Those that have not taken their place, with what was pending of them.
    copied: VecDeque<(CopiedLeaf, Vec<BufferedEntry>)>,
    /// Key of the run where it began.
    from: Vec<u8>,
    handle: Arc<TreeHandle>,
}

/// What came of a leaf.
pub(super) enum Copied {
    /// It is copied, or nothing is pending of it; where the next leaf begins.
    Done(Option<Vec<u8>>),
    /// There are not enough fresh pages for it.
    NoRoom,
}

impl Relocation {
    /// The tree.
    pub(super) fn tree(&self) -> SegmentId {
        self.handle.tree.id()
    }

    /// A page where the next one may go on.
    pub(super) fn place(&self) -> PageNo {
        self.fresh.first_page()
    }

    /// Key of the run from where on leaves have not taken their places, if there are any.
    pub(super) fn left_from(&self) -> Option<Vec<u8>> {
        let (leaf, _) = self.copied.front()?;
        Some(buffer_key(self.tree(), leaf.lower()).max(self.from.clone()))
    }
}

impl ChangeBuffer {
    /// Begins to move leaves of a tree, from key `from` of the run on, the first ones to the extent of page `beside` if that can be; `None`
    /// if that is of no use, or there is no space.
    pub(super) fn relocation(
        &self,
        handle: &Arc<TreeHandle>,
        from: &[u8],
        beside: Option<PageNo>,
    ) -> Result<Option<Relocation>> {
        let forced = self.force.load(Ordering::Relaxed);
        // Where all pages fit in memory leaves had better stay there.
        if !forced && !self.is_tight.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let least = if forced { 0 } else { LEAST_PAGES };
        let fresh = self.store.fresh_pages(handle.tree.id(), PageClass::Leaf, beside, least)?;
        let (handle, from) = (Arc::clone(handle), from.to_vec());
        Ok(fresh.map(|fresh| Relocation { handle, fresh, copied: VecDeque::new(), from }))
    }

    /// Copies the leaf that holds `key`.
    pub(super) fn copy_leaf(&self, relocation: &mut Relocation, key: &[u8]) -> Result<Copied> {
        let Relocation { handle, fresh, copied, .. } = relocation;
        let tree = &handle.tree;
        let Some(leaf) = tree.raw_leaf(key)? else { return Ok(Copied::Done(self.end_of_leaf(tree, key)?)) };
        let (next, page) = (leaf.upper.clone(), leaf.page_no());
        let entries = self.pending_of(tree.id(), &leaf)?;
        if entries.is_empty() {
            self.heavy.lock().forget(page);
            leaf.publish();
            return Ok(Copied::Done(next));
        }
        // Nothing of this leaf is buffered while it is held: all there is has an older generation.
        let through = self.store.log_end().0;
        // Before it is let go: who merges it from then on finds it.
        self.copied.lock().insert(page);
        let copy = tree.copy_merged(leaf, &entries, through, self.purge_before(), fresh);
        match copy {
            Ok(Some(copy)) => {
                copied.push_back((copy, entries));
                Ok(Copied::Done(next))
            }
            refused => {
                self.forget_copy(page);
                Ok(refused.map(|_| Copied::NoRoom)?)
            }
        }
    }

    /// The leaf is merged by log, by who holds it: a copy of it is of no use.
    pub(super) fn forget_copy(&self, page: PageNo) -> bool {
        self.copied.lock().remove(&page)
    }

    /// Writes the copies, and puts them in their leaves' places. Those that have not got there, because of an error, are the first that are left.
    fn finish(&self, relocation: &mut Relocation) -> Result<()> {
        let Relocation { handle, fresh, copied, .. } = relocation;
        let tree = &handle.tree;
        if copied.is_empty() {
            return Ok(());
        }
        fresh.write()?;
        let (pages, log) = tree.switch_needs(copied.iter().map(|(leaf, _)| leaf));
        let mut reservation = self.store.reserve_at_once(pages, log, false)?;
        while let Some((leaf, entries)) = copied.front() {
            match self.hold_out(leaf.page_no()) {
                Some(held) if self.forget_copy(leaf.page_no()) => {
                    tree.switch(&mut reservation, leaf, fresh, held)?;
                    self.heavy.lock().forget(leaf.page_no());
                    self.counts.moved();
                    self.note_merged(tree.id(), entries);
                }
                held => {
                    drop(held);
                    self.merge_leaf(tree, leaf.lower(), &|pages, log| {
                        self.store.reserve_at_once(pages, log, false)
                    })?;
                }
            }
            copied.pop_front();
        }
        Ok(())
    }

    /// Holds a page out of memory; `None` if it is changed, or always in use.
    fn hold_out(&self, page: PageNo) -> Option<HeldPage> {
        for _ in 0..ATTEMPTS {
            if let Some(held) = self.store.hold(page) {
                return Some(held);
            }
            drop(self.store.take_clean(page)?);
        }
        None
    }

    /// Where the leaf that holds `key` ends.
    pub(super) fn end_of_leaf(&self, tree: &Tree, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(tree.leaves(Direction::Forward, key, None, 1)?.resume)
    }

    /// Counts entries that were merged into their leaf durably, and lists those deleted that are left there.
    pub(super) fn note_merged(&self, tree: SegmentId, entries: &[BufferedEntry]) {
        self.counts.merged(entries);
        let purge_before = self.purge_before();
        let left = entries.iter().filter(|entry| entry.ghost && entry.ts >= purge_before);
        self.ghosts.lock().extend(left.map(|entry| (entry.ts, tree, entry.key.clone())));
    }
}

impl ChangeBuffer {
    /// Puts the copies in their leaves' places.
    pub(super) fn finish_relocation(&self, relocation: &mut Relocation) -> Result<()> {
        let finished = self.finish(relocation);
        relocation.copied.iter().for_each(|(leaf, _)| _ = self.forget_copy(leaf.page_no()));
        finished
    }
}
