//! Pages that lack changes which are kept elsewhere. Such a page is not shown before the changes have been made on
//! it.
//!
//! The crate above may keep changes of a page that is not in memory elsewhere, and make them when the page comes in
//! ([`PageMerger`]). Everything turns on one rule: **a page that is in memory lacks nothing.** The word's state
//! *faulting* enforces it, in four uses:
//!
//! - *held*: a thread that is about to keep a change of an evicted page first puts the word in state faulting
//!   ([`HeldPage`]), so that no other thread reads the page in meanwhile and misses the change;
//! - *raw*: a page that was read and may lack changes stays in state faulting until they have been made
//!   ([`RawPage`]). The thread that wanted the page makes them, without any latch, so it may read other pages for
//!   them;
//! - *taken*: a thread takes an unchanged page that is in memory away from all others ([`BufferPool::take_clean`]),
//!   so that a change of it can be kept elsewhere and made softly before any thread sees the page again;
//! - *parked*: a page that came in with a batch, on a thread that must not wait, is left in state faulting with the
//!   mark *waiting*. The first thread that wants it takes it over and makes the changes. When there are too many
//!   parked pages, or frames are short, the oldest ones are dropped.
//!
//! No thread waits for a word in state faulting while it holds a latch, so the owner of such a word may take latches,
//! and wait.
//!
//! Changes can be made *softly*: in memory alone, neither logged nor written. Such a page has a mark in its header
//! ([`page::SOFT`]) and stays clean. A mini-transaction refuses to change it, because it would log a change of a
//! state that is on no disk. Evicting the page drops the soft changes. A softly changed page gets an LSN of its own,
//! so that cached knowledge of its slots becomes invalid.

use super::BufferPool;
use super::cache::PageCache;
use super::guard::{ExclusiveGuard, PageFault};
use super::latch::{Latch, Latching};
use super::word::{EVICTED, FAULTING, MARKED, Word};
use crate::sync::Mutex;
use crate::{Lsn, PageKind, PageNo, Result, SegmentId, page};
use parking_lot::RwLock;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// At most one in this many of the pool's frames holds a parked page: twice the pages that one prefetch can ask for.
const SHARE: usize = 4;

/// Keeps changes of pages that are not in memory, and makes them when the pages come in.
pub trait PageMerger: Send + Sync {
    /// Returns whether there may be changes of a page of this kind and segment. Must not wait: the threads that
    /// complete reads call it.
    fn concerns(&self, kind: PageKind, owner: SegmentId) -> bool;

    /// Makes the kept changes of the page, and opens it to all or drops it. The caller holds no latch.
    ///
    /// # Errors
    /// On any error the page is evicted.
    fn merge(&self, page: RawPage) -> Result<()>;
}

/// An evicted page that no thread can read in before this value is dropped.
pub struct HeldPage {
    pool: Arc<BufferPool>,
    page: PageNo,
}

impl HeldPage {
    /// Returns the page's number.
    pub fn page_no(&self) -> PageNo {
        self.page
    }
}

impl Drop for HeldPage {
    fn drop(&mut self) {
        self.pool.end_fault(self.page, None);
    }
}

/// A page that no other thread can see. It is as in the file, or, if it was taken while it was in memory, as it was
/// there. Dropping the value evicts the page.
pub struct RawPage(PageFault);

impl RawPage {
    pub(super) fn new(fault: PageFault) -> RawPage {
        RawPage(fault)
    }

    /// Returns the page's number.
    pub fn page_no(&self) -> PageNo {
        self.0.page_no()
    }

    /// Returns the number of the frame.
    #[cfg(loom)]
    pub(super) fn frame_number(&self) -> usize {
        self.0.frame_number()
    }

    /// Returns the bytes of the page.
    pub fn bytes(&mut self) -> &[u8] {
        self.0.frame_mut()
    }

    /// Opens the page to all as it is. It lacks nothing.
    pub fn publish(self) {
        self.0.publish();
    }

    /// Opens the page to all with `merged` in place of the bytes from the file. `now` is the end of the log.
    pub fn publish_softly(mut self, merged: &[u8], now: Lsn) {
        let bytes = self.0.frame_mut();
        debug_assert_eq!(
            (page::page_no(bytes), page::owner(bytes)),
            (page::page_no(merged), page::owner(merged))
        );
        if bytes.len() == merged.len() {
            bytes.copy_from_slice(merged);
            self.publish_as_soft(now);
        }
    }

    /// Changes the page in memory alone and opens it to all. Evicts it if `change` fails or returns false. `now` is
    /// the end of the log.
    ///
    /// # Errors
    /// Returns the errors of `change`.
    pub fn change_softly<E>(
        mut self,
        now: Lsn,
        change: impl FnOnce(&mut [u8]) -> std::result::Result<bool, E>,
    ) -> std::result::Result<(), E> {
        if change(self.0.frame_mut())? {
            self.publish_as_soft(now);
        }
        Ok(())
    }

    fn publish_as_soft(mut self, now: Lsn) {
        let bytes = self.0.frame_mut();
        let flags = page::flags(bytes) | page::SOFT;
        page::set_flags(bytes, flags);
        page::set_lsn(bytes, now);
        self.0.publish();
    }

    /// Latches the page exclusively. The caller must not release the latch before the page lacks nothing.
    pub(crate) fn into_exclusive(self, pool: &BufferPool) -> Option<ExclusiveGuard<'_>> {
        self.0.into_exclusive(pool)
    }
}

/// The parked pages, and the merger that makes changes.
#[derive(Default)]
pub(super) struct Pending {
    merger: RwLock<Option<Arc<dyn PageMerger>>>,
    parked: Mutex<Parked>,
}

#[derive(Default)]
struct Parked {
    pages: HashMap<PageNo, PageFault>,
    /// Parked pages in the order in which they came. Pages that were taken over since may still be in it.
    order: VecDeque<PageNo>,
}

impl Parked {
    /// Takes out the oldest pages until `most` are left.
    fn drop_oldest(&mut self, most: usize) -> Vec<PageFault> {
        let mut gone = Vec::new();
        while self.pages.len() > most {
            let oldest = self.order.pop_front().expect("each parked page has its place in the order");
            gone.extend(self.pages.remove(&oldest));
        }
        if self.pages.is_empty() {
            self.order.clear();
        }
        gone
    }
}

impl PageFault {
    /// Publishes the page, unless it may lack changes: then returns it with the merger.
    pub(super) fn admit(mut self) -> Option<(PageFault, Arc<dyn PageMerger>)> {
        let pool = Arc::clone(self.pool());
        // A thread that sets a merger waits here for the threads that have found none.
        let merger = pool.pending.merger.read();
        let bytes = self.frame_mut();
        let (kind, owner) = (page::kind(bytes), page::owner(bytes));
        match merger.as_ref().filter(|merger| merger.concerns(kind, owner)) {
            Some(merger) => Some((self, Arc::clone(merger))),
            None => {
                self.publish();
                None
            }
        }
    }

    /// Publishes the page, or parks it for the first thread that wants it if it may lack changes.
    pub(super) fn admit_or_park(self) {
        let Some((fault, _)) = self.admit() else { return };
        let (pool, page) = (Arc::clone(fault.pool()), fault.page_no());
        let gone = {
            let mut parked = pool.pending.parked.lock();
            parked.pages.insert(page, fault);
            parked.order.push_back(page);
            pool.set_parked(page, true);
            parked.drop_oldest(pool.frame_count() / SHARE)
        };
        drop(gone);
        pool.wake(page);
    }
}

impl BufferPool {
    /// Sets or clears the mark of a word in state faulting that the caller owns.
    fn set_parked(&self, page: PageNo, parked: bool) {
        if let Some(word) = self.words.get(page) {
            let current = Word(word.load(Ordering::SeqCst)).with_state(FAULTING);
            word.swap(if parked { current.with_waiter().0 } else { current.0 }, Ordering::SeqCst);
        }
    }

    /// Takes over a parked page.
    pub(super) fn take_parked(&self, page: PageNo) -> Option<PageFault> {
        if !Word(self.words.get(page)?.load(Ordering::SeqCst)).is_parked() {
            return None;
        }
        let mut parked = self.pending.parked.lock();
        let fault = parked.pages.remove(&page)?;
        self.set_parked(page, false);
        Some(fault)
    }

    /// Drops up to `count` parked pages, the oldest first. Returns how many it dropped.
    pub(super) fn drop_parked(&self, count: usize) -> usize {
        let gone = {
            let mut parked = self.pending.parked.lock();
            let most = parked.pages.len().saturating_sub(count);
            parked.drop_oldest(most)
        };
        gone.len()
    }

    /// Keeps an evicted page from being read in. Returns `None` if the page is in memory. Waits for a read that is
    /// under way.
    pub(crate) fn hold(self: &Arc<Self>, page: PageNo) -> Option<HeldPage> {
        let word = self.word_or_create(page)?;
        loop {
            let current = Word(word.load(Ordering::SeqCst));
            match current.state() {
                EVICTED => {
                    let next = current.with_state(FAULTING);
                    if word.compare_exchange(current.0, next.0, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                        return Some(HeldPage { pool: Arc::clone(self), page });
                    }
                }
                FAULTING if current.is_parked() => drop(self.take_parked(page)),
                FAULTING => self.wait_for_fault(page),
                _ => return None,
            }
        }
    }

    /// Keeps an evicted page from being read in, like [`hold`](Self::hold), but without waiting. Returns `None` also
    /// if another thread reads or holds the page.
    pub(crate) fn try_hold(self: &Arc<Self>, page: PageNo) -> Option<HeldPage> {
        let word = self.word_or_create(page)?;
        let current = Word(word.load(Ordering::SeqCst));
        let next = current.with_state(FAULTING);
        let held = current.state() == EVICTED
            && word.compare_exchange(current.0, next.0, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        held.then(|| HeldPage { pool: Arc::clone(self), page })
    }

    /// Takes an unchanged or softly changed page that is in memory away from all other threads. Returns `None` if the
    /// page is changed, pinned or not in memory. Waits for its latch. Taking a page is no use of it: a page that
    /// nobody reads gets cold.
    pub(crate) fn take_clean(self: &Arc<Self>, page: PageNo) -> Option<RawPage> {
        let is_cooling = Word(self.words.get(page)?.load(Ordering::Relaxed)).state() == MARKED;
        match self.exclusive(page) {
            Latch::Held(guard) => guard.take_clean(self, is_cooling).map(RawPage::new),
            Latch::NotResident => None,
        }
    }
}

impl PageCache {
    /// Sets the merger. From now on pages that may lack changes are shown to it first. The caller looks after the
    /// pages that are in memory already.
    pub(crate) fn set_merger(&self, merger: Arc<dyn PageMerger>) {
        *self.pool.pending.merger.write() = Some(merger);
    }

    /// Writes and evicts the pages of the segments that `concerns` selects. Pages that are latched or pinned stay.
    pub(crate) fn evict_all_of(&self, concerns: &dyn Fn(SegmentId) -> bool) -> Result<()> {
        let of_them = self.pool.pages_with_segments().into_iter().filter(|(_, segment)| concerns(*segment));
        let pages: Vec<PageNo> = of_them.map(|(page, _)| page).collect();
        self.write_back(pages.clone(), Latching::Wait)?;
        for page in pages {
            self.pool.evict_clean(page);
        }
        Ok(())
    }

    /// Returns the page as the file has it, reading it in. Returns `None` if the page is in memory and lacks nothing.
    /// Drops soft changes. The caller holds no latch.
    pub(crate) fn raw(&self, page: PageNo) -> Result<Option<RawPage>> {
        loop {
            if let Some(fault) = self.fetch(page)? {
                return Ok(Some(RawPage::new(fault)));
            }
            match self.pool.exclusive(page) {
                Latch::Held(guard) if page::is_soft(&guard) => guard.evict(),
                Latch::Held(_) => return Ok(None),
                Latch::NotResident => {}
            }
        }
    }

    /// Evicts those of `pages` that were changed softly.
    pub(crate) fn drop_soft(&self, pages: &[PageNo]) {
        for page in pages {
            if let Latch::Held(guard) = self.pool.exclusive(*page)
                && page::is_soft(&guard)
            {
                guard.evict();
            }
        }
    }

    /// Shows a page that has been read in to the merger if it may lack changes, and publishes it otherwise.
    pub(super) fn complete(&self, fault: PageFault) -> Result<()> {
        match fault.admit() {
            Some((fault, merger)) => merger.merge(RawPage::new(fault)),
            None => Ok(()),
        }
    }
}

impl Drop for PageCache {
    fn drop(&mut self) {
        // Parked pages and the pool refer to each other; dropping them breaks the circle.
        self.pool.drop_parked(usize::MAX);
        *self.pool.pending.merger.write() = None;
    }
}
