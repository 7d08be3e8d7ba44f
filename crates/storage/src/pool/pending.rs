//! Pages that lack changes which are kept elsewhere: they are not shown before these have been made.
//!
//! The crate above may keep changes of a page that is not in memory somewhere else, and have them made when the page comes in
//! ([`PageMerger`]). Everything turns on one rule: **a page that is in memory lacks nothing.** The word's state *faulting*
//! keeps it, in four uses:
//!
//! - *held*: whoever is about to keep a change of an evicted page puts the word in state faulting first ([`HeldPage`]), so that
//!   nobody reads the page in meanwhile and misses it;
//! - *raw*: a page that was read and may lack something stays in state faulting until its changes have been made
//!   ([`RawPage`]), by who wanted the page, without any latch, so that he may read other pages for it;
//! - *taken*: a page that is in memory unchanged is taken from all ([`BufferPool::take_clean`]), so that a change of it can be kept
//!   elsewhere and made softly before anybody sees it again;
//! - *parked*: a page that came in by a batch, on a thread that must not wait, is left in state faulting with the mark *waiting*;
//!   the first who wants it takes it over and makes the changes. Parked pages have no use yet and go, oldest first, when there are
//!   too many of them or frames are lacking.
//!
//! Nobody waits for a word in state faulting with a latch held, so who holds one may take latches, and wait.
//!
//! Changes can be made *softly*: in memory alone, neither logged nor written. Such a page is marked in its header
//! ([`page::SOFT`]), stays clean, and a mini-transaction refuses to change it: it would log a change of what is on no
//! disk. Evicting it drops what was made. It gets an LSN of its own, so that what was remembered of its slots is not taken for right.

use super::cache::PageCache;
use super::frames::BufferPool;
use super::guard::{ExclusiveGuard, PageFault};
use super::latch::Latch;
use super::word::{EVICTED, FAULTING, MARKED, Word};
use super::write_back::Latching;
use crate::sync::Mutex;
use crate::{Lsn, PageKind, PageNo, Result, SegmentId, page};
use parking_lot::RwLock;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Parked pages: one part of the pool in this many. Twice what one prefetch can ask for.
const SHARE: usize = 4;

/// Keeps changes of pages that are not in memory.
pub trait PageMerger: Send + Sync {
    /// Whether there may be changes of this page. Must not wait: it is asked by the threads that complete reads.
    fn concerns(&self, kind: PageKind, owner: SegmentId) -> bool;

    /// Makes the changes of the page that are kept, and opens it to all or drops it. The caller holds no latch.
    ///
    /// # Errors
    /// The page is evicted then.
    fn merge(&self, page: RawPage) -> Result<()>;
}

/// An evicted page that nobody can read in before this is dropped.
pub struct HeldPage {
    pool: Arc<BufferPool>,
    page: PageNo,
}

impl HeldPage {
    /// The page's number.
    pub fn page_no(&self) -> PageNo {
        self.page
    }
}

impl Drop for HeldPage {
    fn drop(&mut self) {
        self.pool.end_fault(self.page, None);
    }
}

/// A page that nobody else can see, as the file has it unless it was taken while it was in memory. Dropping it evicts it.
pub struct RawPage(PageFault);

impl RawPage {
    pub(super) fn new(fault: PageFault) -> RawPage {
        RawPage(fault)
    }

    /// The page's number.
    pub fn page_no(&self) -> PageNo {
        self.0.page_no()
    }

    /// Number of the frame.
    #[cfg(loom)]
    pub(super) fn frame_number(&self) -> usize {
        self.0.frame_number()
    }

    /// The whole page.
    pub fn bytes(&mut self) -> &[u8] {
        self.0.frame_mut()
    }

    /// Opens the page to all as it is: it lacks nothing.
    pub fn publish(self) {
        self.0.publish();
    }

    /// Opens the page to all with `merged` in place of what the file has. `now` is the end of the log.
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

    /// Changes the page in memory alone and opens it to all; evicts it where `change` fails or says that it cannot be done. `now` is the
    /// end of the log.
    ///
    /// # Errors
    /// Those of `change`.
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

    /// The page latched exclusively. It must not be unlatched before it lacks nothing.
    pub(crate) fn into_exclusive(self, pool: &BufferPool) -> Option<ExclusiveGuard<'_>> {
        self.0.into_exclusive(pool)
    }
}

/// What is parked, and who makes changes.
#[derive(Default)]
pub(super) struct Pending {
    merger: RwLock<Option<Arc<dyn PageMerger>>>,
    parked: Mutex<Parked>,
}

#[derive(Default)]
struct Parked {
    pages: HashMap<PageNo, PageFault>,
    /// As they came; those taken over since are still in it.
    order: VecDeque<PageNo>,
}

impl Parked {
    /// Takes out the oldest ones until `most` are left.
    fn thin_out(&mut self, most: usize) -> Vec<PageFault> {
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
    /// Opens the page to all, unless it may lack something.
    pub(super) fn admit(mut self) -> Option<(PageFault, Arc<dyn PageMerger>)> {
        let pool = Arc::clone(self.pool());
        // Whoever sets a merger waits for those who have found none.
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

    /// Opens the page to all, or leaves it to the first who wants it.
    pub(super) fn admit_or_park(self) {
        let Some((fault, _)) = self.admit() else { return };
        let (pool, page) = (Arc::clone(fault.pool()), fault.page_no());
        let gone = {
            let mut parked = pool.pending.parked.lock();
            parked.pages.insert(page, fault);
            parked.order.push_back(page);
            pool.set_parked(page, true);
            parked.thin_out(pool.frame_count() / SHARE)
        };
        drop(gone);
        pool.wake(page);
    }
}

impl BufferPool {
    /// Changes the mark of a word in state faulting, whose owner is the caller.
    fn set_parked(&self, page: PageNo, parked: bool) {
        if let Some(word) = self.words.get(page) {
            let current = Word(word.load(Ordering::SeqCst)).with_state(FAULTING);
            word.swap(if parked { current.awaited().0 } else { current.0 }, Ordering::SeqCst);
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

    /// Drops up to `count` parked pages; how many.
    pub(super) fn drop_parked(&self, count: usize) -> usize {
        let gone = {
            let mut parked = self.pending.parked.lock();
            let most = parked.pages.len().saturating_sub(count);
            parked.thin_out(most)
        };
        gone.len()
    }

    /// Keeps an evicted page from being read in; `None` if it is in memory. Waits for a read that is under way.
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

    /// As [`hold`](Self::hold), but waits for nobody: `None`, too, if somebody else reads or holds the page.
    pub(crate) fn try_hold(self: &Arc<Self>, page: PageNo) -> Option<HeldPage> {
        let word = self.word_or_create(page)?;
        let current = Word(word.load(Ordering::SeqCst));
        let next = current.with_state(FAULTING);
        let held = current.state() == EVICTED
            && word.compare_exchange(current.0, next.0, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        held.then(|| HeldPage { pool: Arc::clone(self), page })
    }

    /// Takes a page away from all that is in memory as the file has it, or softly changed; `None` if it is changed, pinned or not in
    /// memory. Waits for its latch. It is no use of the page: one that nobody reads gets cold.
    pub(crate) fn take_clean(self: &Arc<Self>, page: PageNo) -> Option<RawPage> {
        let is_cooling = Word(self.words.get(page)?.load(Ordering::Relaxed)).state() == MARKED;
        match self.exclusive(page) {
            Latch::Held(guard) => guard.take_clean(self, is_cooling).map(RawPage::new),
            Latch::NotResident => None,
        }
    }
}

impl PageCache {
    /// From now on pages that may lack something are shown to `merger` first. Pages that are in memory are the caller's to look at.
    pub(crate) fn set_merger(&self, merger: Arc<dyn PageMerger>) {
        *self.pool.pending.merger.write() = Some(merger);
    }

    /// Evicts the pages of some segments, written if they are changed; those that are latched or pinned stay.
    pub(crate) fn evict_all_of(&self, concerns: &dyn Fn(SegmentId) -> bool) -> Result<()> {
        let of_them = self.pool.pages_with_segments().into_iter().filter(|(_, segment)| concerns(*segment));
        let pages: Vec<PageNo> = of_them.map(|(page, _)| page).collect();
        self.write_back(pages.clone(), Latching::Wait)?;
        for page in pages {
            self.pool.evict_clean(page);
        }
        Ok(())
    }

    /// The page as the file has it, read if need be; `None` if it is in memory and lacks nothing. What was made softly is dropped.
    /// The caller holds no latch.
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

    /// Shows a page that has come in to the merger, if it may lack something.
    pub(super) fn complete(&self, fault: PageFault) -> Result<()> {
        match fault.admit() {
            Some((fault, merger)) => merger.merge(RawPage::new(fault)),
            None => Ok(()),
        }
    }
}

impl Drop for PageCache {
    fn drop(&mut self) {
        // They keep the pool, and the pool keeps them.
        self.pool.drop_parked(usize::MAX);
        *self.pool.pending.merger.write() = None;
    }
}
