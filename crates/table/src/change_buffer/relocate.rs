//! Sweeping out of place: leaves are written with their changes to fresh pages, neighbours together, which then
//! replace the old pages.
//!
//! 1. Each leaf is read, and copied with all its pending changes. Nothing of it is held after that. It is noted as
//!    *copied*.
//! 2. The copies of a batch are written and synced.
//! 3. Each leaf is held out of memory and, if nobody has merged it by log meanwhile, replaced.
//!
//! A leaf with pending changes is changed only by merging it by log, which also removes the note that it was copied
//! ([`ChangeBuffer::forget_copy`]). A change that was buffered since the copy has a later generation than the copy
//! contains.
//!
//! If this is impossible, the leaf is merged in place: there is no space, the leaf is always in use, or it is changed
//! in between.

use super::ChangeBuffer;
use super::entry::buffer_key;
use crate::error::Result;
use crate::trees::TreeHandle;
use leafline_btree::{BufferedEntry, CopiedLeaf, Direction, Tree};
use leafline_storage::{FreshPages, HeldPage, PageClass, PageNo, SegmentId};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Leaves of smaller trees are merged in place, because an extent is large for them.
const LEAST_PAGES: u64 = 64;
/// The number of attempts to evict a leaf that others read.
const ATTEMPTS: usize = 16;

/// Leaves of a tree that are being moved. The handle keeps the tree from being freed; it is dropped last.
pub(super) struct Relocation {
    fresh: FreshPages,
    /// The leaves that have not been replaced yet, with their pending changes.
    copied: VecDeque<(CopiedLeaf, Vec<BufferedEntry>)>,
    /// The key of the run at which it began.
    from: Vec<u8>,
    handle: Arc<TreeHandle>,
}

/// The outcome of copying a leaf.
pub(super) enum Copied {
    /// The leaf is copied, or has no pending changes; contains the beginning of the next leaf.
    Done(Option<Vec<u8>>),
    /// There are not enough fresh pages for it.
    NoRoom,
}

impl Relocation {
    /// The tree.
    pub(super) fn tree(&self) -> SegmentId {
        self.handle.tree.id()
    }

    /// A page after which the next relocation may continue.
    pub(super) fn place(&self) -> PageNo {
        self.fresh.first_page()
    }

    /// The key of the run from which on leaves have not been replaced, if there are any.
    pub(super) fn left_from(&self) -> Option<Vec<u8>> {
        let (leaf, _) = self.copied.front()?;
        Some(buffer_key(self.tree(), leaf.lower()).max(self.from.clone()))
    }
}

impl ChangeBuffer {
    /// Begins to move leaves of a tree, from key `from` of the run on; the first ones to the extent of page `beside`,
    /// if possible. `None` if that is useless or there is no space.
    pub(super) fn relocation(
        &self,
        handle: &Arc<TreeHandle>,
        from: &[u8],
        beside: Option<PageNo>,
    ) -> Result<Option<Relocation>> {
        let forced = self.force.load(Ordering::Relaxed);
        // If all pages fit in memory, leaves had better stay there.
        if !forced && !self.is_tight.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let least = if forced { 0 } else { LEAST_PAGES };
        let fresh = self.store.fresh_pages(handle.tree.id(), PageClass::Leaf, beside, least)?;
        let (handle, from) = (Arc::clone(handle), from.to_vec());
        Ok(fresh.map(|fresh| Relocation { handle, fresh, copied: VecDeque::new(), from }))
    }

    /// Copies the leaf that contains `key`.
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
        // No change of this leaf is buffered while it is held: all existing changes have an older generation.
        let through = self.store.log_end().0;
        // This comes before the leaf is released, so that a thread that merges it from then on finds the note.
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

    /// Removes the note that a leaf was copied, because its holder merges it by log and the copy is useless.
    pub(super) fn forget_copy(&self, page: PageNo) -> bool {
        self.copied.lock().remove(&page)
    }

    /// Writes the copies, and replaces the leaves. If an error prevents that, the remaining copies are the first that
    /// are left.
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

    /// Holds a page out of memory; `None` if it is changed or always in use.
    fn hold_out(&self, page: PageNo) -> Option<HeldPage> {
        for _ in 0..ATTEMPTS {
            if let Some(held) = self.store.hold(page) {
                return Some(held);
            }
            drop(self.store.take_clean(page)?);
        }
        None
    }

    /// The end of the leaf that contains `key`.
    pub(super) fn end_of_leaf(&self, tree: &Tree, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(tree.leaves(Direction::Forward, key, None, 1)?.resume)
    }

    /// Counts entries that were merged durably into their leaf, and lists deleted entries left there.
    pub(super) fn note_merged(&self, tree: SegmentId, entries: &[BufferedEntry]) {
        self.counts.merged(entries);
        let purge_before = self.purge_before();
        let left = entries.iter().filter(|entry| entry.ghost && entry.ts >= purge_before);
        self.ghosts.lock().extend(left.map(|entry| (entry.ts, tree, entry.key.clone())));
    }
}

impl ChangeBuffer {
    /// Replaces the leaves with their copies.
    pub(super) fn finish_relocation(&self, relocation: &mut Relocation) -> Result<()> {
        let finished = self.finish(relocation);
        relocation.copied.iter().for_each(|(leaf, _)| _ = self.forget_copy(leaf.page_no()));
        finished
    }
}
