//! Latches and page faults: every transition of a translation word except eviction.
//!
//! A thread waits for a latch in two steps: a short spin, then sleep in the wait table. A thread that waits for the
//! exclusive latch keeps new shared latches out. Only [`BufferPool::wait_for_fault`] and [`BufferPool::purge`] wait
//! for I/O; their callers hold no latch.

use super::BufferPool;
use super::arena::FrameId;
use super::guard::{ExclusiveGuard, OwnedFrame, PageFault, SharedGuard};
use super::word::{EVICTED, EXCLUSIVE, FAULTING, UNLATCHED, Word};
use crate::sync::{AtomicU64, fence};
use crate::{PageNo, SegmentId, page};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// How often a thread looks at a latched word before it sleeps.
const SPINS: usize = if cfg!(loom) { 0 } else { 100 };

/// Orders the change of a word to state exclusive or faulting before the first change of the frame. Every such change
/// calls this, so that a reader without a latch that sees the frame's change sees the state, too (see
/// [`super::optimistic`]).
fn before_writing() {
    fence(Ordering::Release);
}

/// Returns whether a thread is reading the page in or holds it. A parked page has no such owner.
fn is_faulting(word: Word) -> bool {
    word.state() == FAULTING && !word.is_parked()
}

/// The outcome of an attempt to latch a page without waiting for I/O.
pub(crate) enum Latch<G> {
    /// The latch is held.
    Held(G),
    /// The page is evicted, or is being read in.
    NotResident,
}

/// The treatment of pages that are latched exclusively.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Latching {
    /// Leave them out.
    Try,
    /// Wait for the latch.
    Wait,
}

impl BufferPool {
    pub(super) fn wake(&self, page: PageNo) {
        self.waits.wake(page);
    }

    /// Returns whether the page is in memory now.
    pub(crate) fn is_resident(&self, page: PageNo) -> bool {
        self.words.get(page).is_some_and(|word| Word(word.load(Ordering::Acquire)).is_resident())
    }

    /// Latches the page shared if it is in memory. Waits for the latch.
    #[inline]
    pub(crate) fn shared(&self, page: PageNo) -> Latch<SharedGuard<'_>> {
        let Some(word) = self.words.get(page) else { return Latch::NotResident };
        let current = Word(word.load(Ordering::Relaxed));
        match self.try_shared_from(page, word, current) {
            Some(guard) => Latch::Held(guard),
            None => self.shared_slowly(page, word),
        }
    }

    /// Latches the page shared if its word still is `current` and admits a shared latch.
    #[inline]
    fn try_shared_from<'a>(
        &'a self,
        page: PageNo,
        word: &'a AtomicU64,
        current: Word,
    ) -> Option<SharedGuard<'a>> {
        if !current.admits_shared() {
            return None;
        }
        let next = current.plus_shared();
        word.compare_exchange_weak(current.0, next.0, Ordering::SeqCst, Ordering::Relaxed).ok()?;
        Some(SharedGuard::new(self, word, page, current.frame()))
    }

    #[cold]
    fn shared_slowly<'a>(&'a self, page: PageNo, word: &'a AtomicU64) -> Latch<SharedGuard<'a>> {
        let mut spins = 0;
        loop {
            let current = Word(word.load(Ordering::SeqCst));
            if current.admits_shared() {
                if let Some(guard) = self.try_shared_from(page, word, current) {
                    return Latch::Held(guard);
                }
            } else if !current.is_resident() {
                return Latch::NotResident;
            } else if spins < SPINS {
                spins += 1;
                std::hint::spin_loop();
            } else {
                self.stats.shared_latch_waits.add(1);
                self.waits.wait_while(page, word, |word| word.is_resident() && !word.admits_shared());
            }
        }
    }

    /// Latches the page shared if that needs no waiting.
    pub(crate) fn try_shared(&self, page: PageNo) -> Option<SharedGuard<'_>> {
        let word = self.words.get(page)?;
        loop {
            let current = Word(word.load(Ordering::SeqCst));
            if !current.admits_shared() {
                return None;
            }
            if let Some(guard) = self.try_shared_from(page, word, current) {
                return Some(guard);
            }
        }
    }

    /// Releases a shared latch and wakes waiters: a thread that waits for the exclusive latch has set the waiting
    /// bit, and a thread that waits for a shared latch has found their number at its maximum.
    #[inline]
    pub(super) fn end_shared(&self, page: PageNo, word: &AtomicU64) {
        let before = Word(word.fetch_sub(1, Ordering::SeqCst));
        if before.has_waiter() || before.is_shared_full() {
            self.wake(page);
        }
    }

    /// Latches the page exclusively if it is in memory. Waits for the latch.
    pub(crate) fn exclusive(&self, page: PageNo) -> Latch<ExclusiveGuard<'_>> {
        let Some(word) = self.words.get(page) else { return Latch::NotResident };
        let mut spins = 0;
        loop {
            let current = Word(word.load(Ordering::SeqCst));
            if current.admits_exclusive() {
                if let Some(guard) = self.try_exclusive_from(page, word, current) {
                    return Latch::Held(guard);
                }
            } else if !current.is_resident() {
                return Latch::NotResident;
            } else if spins < SPINS {
                spins += 1;
                std::hint::spin_loop();
            } else if current.has_waiter() || self.await_exclusive(word, current) {
                self.stats.exclusive_latch_waits.add(1);
                let blocked =
                    |word: Word| word.is_resident() && !word.admits_exclusive() && word.has_waiter();
                self.waits.wait_while(page, word, blocked);
            }
        }
    }

    /// Sets the waiting bit, which keeps new shared latches out.
    fn await_exclusive(&self, word: &AtomicU64, current: Word) -> bool {
        word.compare_exchange(current.0, current.with_waiter().0, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Latches the page exclusively if its word still is `current`. `current` admits the exclusive latch.
    pub(super) fn try_exclusive_from<'a>(
        &'a self,
        page: PageNo,
        word: &'a AtomicU64,
        current: Word,
    ) -> Option<ExclusiveGuard<'a>> {
        let next = current.with_state(EXCLUSIVE);
        word.compare_exchange(current.0, next.0, Ordering::SeqCst, Ordering::Relaxed).ok()?;
        before_writing();
        Some(ExclusiveGuard::new(self, word, page, current.frame()))
    }

    /// Latches a page that is allocated for `segment` exclusively. Puts it into one of `frames`, or takes over the
    /// frame that still holds the page's content from before it was freed. Returns `None` instead of waiting if
    /// another thread still latches the freed page.
    pub(crate) fn claim(
        &self,
        page: PageNo,
        segment: SegmentId,
        frames: &mut Vec<OwnedFrame>,
    ) -> Option<ExclusiveGuard<'_>> {
        // A late prefetch may have parked the page as it was before it was freed.
        drop(self.take_parked(page));
        let word = self.word_or_create(page)?;
        let current = Word(word.load(Ordering::SeqCst));
        let mut guard = if current.admits_exclusive() {
            let guard = self.try_exclusive_from(page, word, current)?;
            self.forget_page(guard.frame());
            guard
        } else if current.state() == EVICTED {
            let frame = frames.pop()?.into_id()?;
            let next = current.with_state(EXCLUSIVE).with_frame(frame);
            if word.compare_exchange(current.0, next.0, Ordering::SeqCst, Ordering::Relaxed).is_err() {
                self.push_free(frame);
                return None;
            }
            before_writing();
            ExclusiveGuard::new(self, word, page, frame)
        } else {
            return None;
        };
        // The frame may hold a softly merged page. The caller is about to make the page anew, so the flag goes.
        page::set_flags(&mut guard, 0);
        self.remember_page(guard.frame(), page, segment);
        Some(guard)
    }

    /// Drops the page from memory if it is there. Waits for latches and for a read that is under way.
    pub(crate) fn purge(&self, page: PageNo) {
        let Some(word) = self.words.get(page) else { return };
        loop {
            match self.exclusive(page) {
                Latch::Held(guard) => return guard.evict(),
                Latch::NotResident if Word(word.load(Ordering::SeqCst)).state() == EVICTED => return,
                Latch::NotResident => {
                    drop(self.take_parked(page));
                    self.wait_for_fault(page);
                }
            }
        }
    }

    /// Begins to read the page in. Takes a frame from `frames` only if the page is evicted. Returns `None` if the
    /// page is in memory or is being read in already.
    pub(crate) fn begin_fault(
        self: &Arc<Self>,
        page: PageNo,
        frames: &mut Vec<OwnedFrame>,
    ) -> Option<PageFault> {
        let word = self.word_or_create(page)?;
        let current = Word(word.load(Ordering::SeqCst));
        if current.state() != EVICTED {
            return None;
        }
        let frame = frames.pop()?.into_id()?;
        let next = current.with_state(FAULTING).with_frame(frame);
        match word.compare_exchange(current.0, next.0, Ordering::SeqCst, Ordering::Relaxed) {
            Ok(_) => {
                before_writing();
                Some(PageFault::new(Arc::clone(self), page, frame))
            }
            Err(_) => {
                frames.push(OwnedFrame::new(Arc::clone(self), frame));
                None
            }
        }
    }

    /// Ends a fault: the word becomes unlatched with `frame`, or evicted if there is none.
    pub(super) fn end_fault(&self, page: PageNo, frame: Option<FrameId>) {
        if let Some(word) = self.words.get(page) {
            let current = Word(word.load(Ordering::SeqCst));
            debug_assert_eq!(current.state(), FAULTING);
            let next = match frame {
                Some(frame) => current.with_state(UNLATCHED).with_frame(frame),
                None => current.evicted(),
            };
            word.swap(next.0, Ordering::SeqCst);
            self.wake(page);
        }
    }

    /// Waits until no thread reads the page in or holds it, or the page is parked.
    pub(crate) fn wait_for_fault(&self, page: PageNo) {
        if let Some(word) = self.words.get(page)
            && is_faulting(Word(word.load(Ordering::SeqCst)))
        {
            self.stats.page_waits.add(1);
            let begun = Instant::now();
            self.waits.wait_while(page, word, is_faulting);
            self.stats.page_wait_us.add(begun.elapsed().as_micros() as u64);
        }
    }
}
