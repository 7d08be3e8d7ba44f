//! The clock: which pages leave memory when frames are needed.
//!
//! Pages that were read ahead and not used again since go first ([`super::probation`]). Then two hands go round the frames. The first
//! marks pages that are not latched ("cooling"); a page that is used again, latched or not, loses the mark. The second follows some way
//! behind and evicts what is still marked. Changed pages are
//! not evicted but reported: they are written first.
//!
//! Eviction compares and swaps the very word it selected, then looks again under the exclusive latch whether the
//! page was changed: between selection and latch anything may have happened to it.

use super::frames::{BufferPool, CLEAN, NO_PAGE};
use super::word::{MARKED, UNLATCHED, Word};
use crate::PageNo;
use crate::sync::AtomicU64;
use std::sync::atomic::Ordering;

/// The marking hand runs ahead by a quarter of the pool, at most by this many frames.
const MAX_COOLING: usize = 16384;

/// What a move of the clock achieved.
pub(crate) struct Swept {
    /// Frames freed.
    pub(crate) evicted: usize,
    /// Changed pages that stand in the way.
    pub(crate) dirty: Vec<PageNo>,
}

impl BufferPool {
    /// Moves the clock until `wanted` pages were evicted or found changed, at most once round the frames and its
    /// marking distance. Pages are marked some way ahead of the evicting hand; who is still marked when it arrives
    /// goes, and if it is changed it is reported: a changed page is as good a victim as a clean one, or the clean
    /// ones would be thrown out as soon as they come in. With `patience`, up to so many changed pages are passed over in the
    /// search for clean ones.
    pub(crate) fn sweep(&self, wanted: usize, patience: usize) -> Swept {
        let cooling = (self.frames.len() / 4).clamp(1, MAX_COOLING);
        let mut swept = Swept { evicted: 0, dirty: Vec::new() };
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

    /// Up to `count` changed pages that the clock comes to next: they can be written along with its victims. Only those that are marked: what was
    /// used since would be changed, and written, again before it leaves memory.
    pub(crate) fn dirty_ahead(&self, count: usize) -> Vec<PageNo> {
        let hand = self.hand.load(Ordering::Relaxed);
        let dirty = |index: usize| {
            let (page, _, word) = self.evictable(index)?;
            let changed = self.frames[index].rec_lsn.load(Ordering::SeqCst) != CLEAN;
            (changed && word.state() == MARKED).then_some(page)
        };
        self.dirty.from(hand % self.frames.len()).filter_map(dirty).take(count).collect()
    }

    /// The word of the page in frame `index`, if it holds one that may be evicted.
    pub(super) fn evictable(&self, index: usize) -> Option<(PageNo, &AtomicU64, Word)> {
        let frame = &self.frames[index];
        let page = frame.page.load(Ordering::SeqCst);
        if page == NO_PAGE || frame.pinned.load(Ordering::Relaxed) {
            return None;
        }
        let word = self.words.get(PageNo(page))?;
        let current = Word(word.load(Ordering::SeqCst));
        (current.frame().0 as usize == index && !current.is_awaited()).then_some((
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
            // A page in use just now is not marked: that is the point.
            let _ = word.compare_exchange(current.0, next.0, Ordering::SeqCst, Ordering::Relaxed);
        }
    }

    pub(super) fn try_evict(&self, index: usize, swept: &mut Swept) {
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
        // The word must be the one that was selected, so that no use, and no other page in the frame, is missed;
        // changes made before are seen by looking again under the latch.
        let Some(guard) = self.try_exclusive_from(page, word, selected) else { return };
        if self.is_evictable(guard.frame()) {
            guard.evict();
            swept.evicted += 1;
            self.stats.evictions.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Evicts the page if it is clean and not latched, marked or not: it was selected before, and written since.
    pub(crate) fn evict_clean(&self, page: PageNo) -> bool {
        let Some(word) = self.words.get(page) else { return false };
        let current = Word(word.load(Ordering::SeqCst));
        if !current.admits_exclusive() || current.is_awaited() {
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
