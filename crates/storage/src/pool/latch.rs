//! Latches and page faults: every way in which a translation word changes hands, save eviction.
//!
//! A latch is waited for in two steps: a short spin, then sleep in the wait table. Waiting for the exclusive latch
//! keeps new shared ones out. Nothing here waits for I/O except [`BufferPool::wait_for_fault`] and
//! [`BufferPool::purge`], whose callers hold no latch.

use super::arena::FrameId;
use super::frames::BufferPool;
use super::guard::{ExclusiveGuard, OwnedFrame, PageFault, SharedGuard};
use super::word::{EVICTED, EXCLUSIVE, FAULTING, UNLATCHED, Word};
use crate::sync::{AtomicU64, fence};
use crate::{PageNo, SegmentId, page};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Looks at a latched word before sleeping.
const SPINS: usize = if cfg!(loom) { 0 } else { 100 };

/// To be called between putting a word in state exclusive or faulting and the first change of the frame: who reads the
/// change without a latch sees the state, too (see [`super::optimistic`]).
fn before_writing() {
    fence(Ordering::Release);
}

/// Whether somebody is at work on the page: a parked one is anybody's.
fn is_faulting(word: Word) -> bool {
    word.state() == FAULTING && !word.is_parked()
}

/// What became of an attempt to latch without waiting for I/O.
pub(crate) enum Latch<G> {
    /// The latch.
    Held(G),
    /// The page is evicted, or being read in.
    NotResident,
}

impl BufferPool {
    pub(super) fn wake(&self, page: PageNo) {
        self.waits.wake(page);
    }

    /// Whether the page is in memory now.
    pub(crate) fn is_resident(&self, page: PageNo) -> bool {
        self.words.get(page).is_some_and(|word| Word(word.load(Ordering::Acquire)).is_resident())
    }

    /// Latches the page shared if it is in memory, waiting for the latch.
    #[inline]
    pub(crate) fn shared(&self, page: PageNo) -> Latch<SharedGuard<'_>> {
        let Some(word) = self.words.get(page) else { return Latch::NotResident };
        let current = Word(word.load(Ordering::Relaxed));
        match self.try_shared_from(page, word, current) {
            Some(guard) => Latch::Held(guard),
            None => self.shared_slowly(page, word),
        }
    }

    /// Latches shared if the word still is `current` and admits it.
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

    /// Gives a shared latch back. Who waits for the exclusive latch has left a bit in the word; who waits for a shared
    /// one because there were too many finds their number there.
    #[inline]
    pub(super) fn end_shared(&self, page: PageNo, word: &AtomicU64) {
        let before = Word(word.fetch_sub(1, Ordering::SeqCst));
        if before.is_awaited() || before.is_crowded() {
            self.wake(page);
        }
    }

    /// Latches the page exclusively if it is in memory, waiting for the latch.
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
            } else if current.is_awaited() || self.await_exclusive(word, current) {
                self.stats.exclusive_latch_waits.add(1);
                let blocked =
                    |word: Word| word.is_resident() && !word.admits_exclusive() && word.is_awaited();
                self.waits.wait_while(page, word, blocked);
            }
        }
    }

    /// Sets the waiting bit, so that no new shared latch is given.
    fn await_exclusive(&self, word: &AtomicU64, current: Word) -> bool {
        word.compare_exchange(current.0, current.awaited().0, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Latches exclusively if the word still is `current`, which admits it.
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

    /// Latches a page that is allocated for `segment`: puts it in one of `frames`, or takes over the frame that
    /// still holds what the page was before it was freed. `None` if that would mean waiting: a straggler is
    /// looking at it.
    pub(crate) fn claim(
        &self,
        page: PageNo,
        segment: SegmentId,
        frames: &mut Vec<OwnedFrame>,
    ) -> Option<ExclusiveGuard<'_>> {
        // A straggler's prefetch, of what it was before it was freed.
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
        // What the frame held before may have been merged softly; this is about to be made anew.
        page::set_flags(&mut guard, 0);
        self.remember_page(guard.frame(), page, segment);
        Some(guard)
    }

    /// Drops the page from memory if it is there, waiting for latches and for a read that is under way.
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

    /// Begins to read the page in. Takes a frame from `frames` only if the page is evicted; `None` if it is in
    /// memory or on its way.
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

    /// Ends a fault: the word becomes unlatched, or evicted again.
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

    /// Waits until the page is not being read in, or held, any more; or is parked.
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
