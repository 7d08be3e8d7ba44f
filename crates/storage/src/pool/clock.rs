//! The clock chooses the pages that leave memory when frames are needed.
//!
//! Pages that were read ahead and not used since go first ([`super::probation`]). Then two hands go round the frames.
//! The first marks pages that are not latched ("cooling"). A page that is used again, latched or not, loses the mark.
//! The second hand follows some way behind and evicts the pages that still have it. It reports changed pages instead
//! of evicting them, because they have to be written first.
//!
//! Eviction compares and swaps the very word that it selected, then checks under the exclusive latch whether the page
//! was changed: the page may have been used, replaced or changed between selection and latch.

use super::word::{MARKED, UNLATCHED, Word};
use super::{BufferPool, CLEAN, NO_PAGE};
use crate::PageNo;
use crate::sync::AtomicU64;
use std::sync::atomic::Ordering;

/// The marking hand runs ahead by a quarter of the pool, but at most by this many frames.
const MAX_COOLING: usize = 16384;

/// The outcome of a sweep of the clock.
pub(crate) struct ClockSweep {
    /// Number of frames freed.
    pub(crate) evicted: usize,
    /// Changed pages among the victims, which have to be written before they can be evicted.
    pub(crate) dirty: Vec<PageNo>,
}

impl BufferPool {
    /// Moves the clock until it has evicted or reported `wanted` pages, at most once round the frames and its marking
    /// distance. The marking hand marks pages ahead of the evicting hand; a page that still has its mark when the
    /// evicting hand arrives is a victim. A clean victim is evicted and a changed one is reported. Both count towards
    /// `wanted`: if changed pages were skipped, the clean ones would be thrown out as soon as they come in. With
    /// `patience`, the sweep passes over up to that many changed pages in search of clean ones.
    pub(crate) fn sweep(&self, wanted: usize, patience: usize) -> ClockSweep {
        let cooling = (self.frames.len() / 4).clamp(1, MAX_COOLING);
        let mut swept = ClockSweep { evicted: 0, dirty: Vec::new() };
        self.sweep_probation(wanted, &mut swept);
        for _ in 0..self.frames.len() + cooling {
            let passed_over = swept.dirty.len().min(patience);
            if swept.evicted + swept.dirty.len() - passed_over >= wanted || passed_over == patience.max(1) {
                break;
            }
            let hand = self.hand.fetch_add(1, Ordering::Relaxed) % self.frames.len();
            self.mark((hand + cooling) % self.frames.len());
            self.try_evict(hand, &mut swept);
        }
        swept
    }

    /// Returns up to `count` changed pages that the clock comes to next, to be written along with its victims. Only
    /// marked pages count: a page that was used lately is likely to be changed, and written, again before it leaves
    /// memory.
    pub(crate) fn dirty_ahead(&self, count: usize) -> Vec<PageNo> {
        let hand = self.hand.load(Ordering::Relaxed);
        let dirty = |index: usize| {
            let (page, _, word) = self.evictable(index)?;
            let changed = self.frames[index].rec_lsn.load(Ordering::SeqCst) != CLEAN;
            (changed && word.state() == MARKED).then_some(page)
        };
        self.dirty.from(hand % self.frames.len()).filter_map(dirty).take(count).collect()
    }

    /// Returns the page in frame `index` and its word, if the frame holds a page that may be evicted.
    pub(super) fn evictable(&self, index: usize) -> Option<(PageNo, &AtomicU64, Word)> {
        let frame = &self.frames[index];
        let page = frame.page.load(Ordering::SeqCst);
        if page == NO_PAGE || frame.pinned.load(Ordering::Relaxed) {
            return None;
        }
        let word = self.words.get(PageNo(page))?;
        let current = Word(word.load(Ordering::SeqCst));
        (current.frame().0 as usize == index && !current.has_waiter()).then_some((
            PageNo(page),
            word,
            current,
        ))
    }

    pub(super) fn mark(&self, index: usize) {
        if let Some((_, word, current)) = self.evictable(index)
            && current.state() == UNLATCHED
        {
            let next = current.with_state(MARKED);
            // The swap fails if the page is used just now; such a page must not be marked.
            let _ = word.compare_exchange(current.0, next.0, Ordering::SeqCst, Ordering::Relaxed);
        }
    }

    pub(super) fn try_evict(&self, index: usize, swept: &mut ClockSweep) {
        let Some((page, word, selected)) = self.evictable(index) else { return };
        if selected.state() == UNLATCHED {
            return self.mark(index);
        }
        if selected.state() != MARKED {
            return;
        }
        let rec_lsn = &self.frames[index].rec_lsn;
        if rec_lsn.load(Ordering::SeqCst) != CLEAN {
            swept.dirty.push(page);
            return;
        }
        // Only the selected word is swapped, so no use of the page and no replacement of it goes unnoticed. The check
        // under the latch finds changes that were made before.
        let Some(guard) = self.try_exclusive_from(page, word, selected) else { return };
        if self.is_evictable(guard.frame()) {
            guard.evict();
            swept.evicted += 1;
            self.stats.evictions.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Evicts the page if it is clean and not latched, whether it is marked or not. The clock selected it before, and
    /// it has been written since.
    pub(crate) fn evict_clean(&self, page: PageNo) -> bool {
        let Some(word) = self.words.get(page) else { return false };
        let current = Word(word.load(Ordering::SeqCst));
        if !current.admits_exclusive() || current.has_waiter() {
            return false;
        }
        let Some(guard) = self.try_exclusive_from(page, word, current) else { return false };
        let evictable = self.is_evictable(guard.frame());
        if evictable {
            guard.evict();
            self.stats.evictions.fetch_add(1, Ordering::Relaxed);
        }
        evictable
    }
}
