//! Guards: types that give a thread the right to touch a frame.
//!
//! | guard            | right                                             | given by                                  |
//! |------------------|---------------------------------------------------|-------------------------------------------|
//! | [`SharedGuard`]  | read the page                                     | word in state shared                      |
//! | [`ExclusiveGuard`] | read and write the page, or drop it from memory | word in state exclusive                   |
//! | [`OwnedFrame`]   | use a frame that holds no page                    | taken from the free list                  |
//! | [`PageFault`]    | fill a frame with a page that is read in          | word in state faulting, frame in the word |
//!
//! Only this module makes slices of frame memory. The word protocol makes each slice sound: a frame belongs to one
//! word at a time or to one `OwnedFrame`, and the word's state says who may touch it.
#![expect(unsafe_code, reason = "makes slices of frames from addresses in the arena")]

use super::BufferPool;
use super::arena::FrameId;
use super::word::{EXCLUSIVE, FAULTING, UNLATCHED, Word};
use crate::device::ReadTarget;
use crate::sync::AtomicU64;
use crate::{Lsn, PageKind, PageNo, Result, SegmentId, StorageError, page};
use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Counts the latches of this thread in debug builds, so that any test finds code that waits for I/O, frames or log
/// space while it holds a latch.
pub(crate) mod held {
    #[cfg(debug_assertions)]
    std::thread_local! {
        static LATCHES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    pub(super) fn add() {
        #[cfg(debug_assertions)]
        LATCHES.with(|count| count.set(count.get() + 1));
    }

    pub(super) fn remove() {
        #[cfg(debug_assertions)]
        LATCHES.with(|count| count.set(count.get() - 1));
    }

    /// Asserts that this thread holds no latch. Called before anything that may wait for more than a latch.
    pub(crate) fn assert_none(_what: &str) {
        #[cfg(debug_assertions)]
        LATCHES.with(|count| assert_eq!(count.get(), 0, "{_what} while holding a latch"));
    }
}

/// A page under a shared latch. Nobody changes the page until the guard is dropped.
pub struct SharedGuard<'a> {
    pool: &'a BufferPool,
    word: &'a AtomicU64,
    page: PageNo,
    frame: FrameId,
    /// Makes the guard `!Send`: a latch belongs to its thread.
    _thread: PhantomData<*const ()>,
}

impl<'a> SharedGuard<'a> {
    /// Wraps a shared latch that was just taken on `word`.
    pub(super) fn new(
        pool: &'a BufferPool,
        word: &'a AtomicU64,
        page: PageNo,
        frame: FrameId,
    ) -> SharedGuard<'a> {
        held::add();
        SharedGuard { pool, word, page, frame, _thread: PhantomData }
    }

    /// Returns the page's number.
    pub fn page_no(&self) -> PageNo {
        self.page
    }

    /// Returns the LSN of the page: the end of the last mini-transaction that changed it.
    pub fn lsn(&self) -> Lsn {
        page::lsn(self)
    }

    /// Returns the page's kind.
    pub fn kind(&self) -> PageKind {
        page::kind(self)
    }

    /// Returns the segment that the page belongs to.
    pub fn owner(&self) -> SegmentId {
        page::owner(self)
    }

    pub(super) fn frame(&self) -> FrameId {
        self.frame
    }
}

impl Deref for SharedGuard<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let arena = self.pool.arena();
        // SAFETY: the frame is the page's as long as the word counts this latch, and nobody writes to it: writers
        // need the word in state exclusive, which excludes shared latches.
        unsafe { std::slice::from_raw_parts(arena.frame(self.frame), arena.page_size()) }
    }
}

impl Drop for SharedGuard<'_> {
    fn drop(&mut self) {
        held::remove();
        self.pool.end_shared(self.page, self.word);
    }
}

/// A page under the exclusive latch.
pub(crate) struct ExclusiveGuard<'a> {
    pool: &'a BufferPool,
    word: &'a AtomicU64,
    page: PageNo,
    frame: FrameId,
    _thread: PhantomData<*const ()>,
}

impl<'a> ExclusiveGuard<'a> {
    /// Wraps an exclusive latch that was just taken on `word`.
    pub(super) fn new(
        pool: &'a BufferPool,
        word: &'a AtomicU64,
        page: PageNo,
        frame: FrameId,
    ) -> ExclusiveGuard<'a> {
        held::add();
        ExclusiveGuard { pool, word, page, frame, _thread: PhantomData }
    }

    pub(crate) fn page_no(&self) -> PageNo {
        self.page
    }

    pub(crate) fn frame(&self) -> FrameId {
        self.frame
    }

    /// Drops the page from memory together with its changes. The frame becomes free.
    pub(crate) fn evict(self) {
        let (pool, frame) = (self.pool, self.frame);
        pool.forget_page(frame);
        // The word must change before the frame can be reused.
        self.finish(Word::evicted);
        pool.push_free(frame);
    }

    /// Turns the latch into state faulting, which hides the page until it is published. With `is_cooling`, the page
    /// is published as cooling. Returns `None` if the page is changed or pinned.
    pub(super) fn take_clean(self, pool: &Arc<BufferPool>, is_cooling: bool) -> Option<PageFault> {
        if !std::ptr::eq(self.pool, Arc::as_ptr(pool)) || !pool.is_evictable(self.frame) {
            return None;
        }
        let (page, frame) = (self.page, self.frame);
        pool.forget_page(frame);
        self.finish(|word| word.with_state(FAULTING).next_version());
        let mut taken = PageFault::new(Arc::clone(pool), page, frame);
        taken.is_cooling = is_cooling;
        Some(taken)
    }

    /// Ends the latch by storing the next word. Only waiters change a word in state exclusive: they set the waiting
    /// bit. The store may lose that bit, so all waiters are woken.
    fn finish(self, next: impl FnOnce(Word) -> Word) {
        let guard = std::mem::ManuallyDrop::new(self);
        let current = Word(guard.word.load(Ordering::SeqCst));
        debug_assert_eq!(current.state(), EXCLUSIVE);
        guard.word.swap(next(current).0, Ordering::SeqCst);
        held::remove();
        guard.pool.wake(guard.page);
    }
}

impl Deref for ExclusiveGuard<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let arena = self.pool.arena();
        // SAFETY: the word is in state exclusive for this guard, so nobody else touches the frame.
        unsafe { std::slice::from_raw_parts(arena.frame(self.frame), arena.page_size()) }
    }
}

impl DerefMut for ExclusiveGuard<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        let arena = self.pool.arena();
        // SAFETY: as in deref; &mut self makes the slice the only one.
        unsafe { std::slice::from_raw_parts_mut(arena.frame(self.frame), arena.page_size()) }
    }
}

impl Drop for ExclusiveGuard<'_> {
    fn drop(&mut self) {
        let current = Word(self.word.load(Ordering::SeqCst));
        debug_assert_eq!(current.state(), EXCLUSIVE);
        self.word.swap(current.with_state(UNLATCHED).next_version().0, Ordering::SeqCst);
        held::remove();
        self.pool.wake(self.page);
    }
}

/// A frame without a page. Dropping it puts it back into the free list.
pub(crate) struct OwnedFrame {
    pool: Arc<BufferPool>,
    frame: Option<FrameId>,
}

impl OwnedFrame {
    /// Wraps a frame that was just taken from the free list.
    pub(super) fn new(pool: Arc<BufferPool>, frame: FrameId) -> OwnedFrame {
        OwnedFrame { pool, frame: Some(frame) }
    }

    /// Gives the frame's memory back to the system until the frame is used again.
    pub(super) fn discard(&self) {
        if let Some(frame) = self.frame {
            self.pool.arena().discard(frame);
        }
    }

    /// Hands the frame over to a word. Returns `None` never in practice: nothing else empties the value.
    pub(super) fn into_id(mut self) -> Option<FrameId> {
        self.frame.take()
    }
}

impl Drop for OwnedFrame {
    fn drop(&mut self) {
        if let Some(frame) = self.frame.take() {
            self.pool.push_free(frame);
        }
    }
}

/// A page on its way into memory: its word is in state faulting and holds the frame.
pub(crate) struct PageFault {
    pool: Arc<BufferPool>,
    page: PageNo,
    frame: FrameId,
    done: bool,
    /// The page was read ahead and goes on probation when it is published.
    on_probation: bool,
    /// The page is about to be made anew, so zeros will do if the file holds no valid page.
    blank: bool,
    /// The page was cooling when it was taken, and is published as cooling, because taking it is no use of it.
    is_cooling: bool,
}

impl PageFault {
    /// Wraps a word that was just put in state faulting with `frame`.
    pub(super) fn new(pool: Arc<BufferPool>, page: PageNo, frame: FrameId) -> PageFault {
        PageFault { pool, page, frame, done: false, on_probation: false, blank: false, is_cooling: false }
    }

    /// Marks the page to go on probation when it is published.
    pub(crate) fn set_on_probation(&mut self) {
        self.on_probation = true;
    }

    /// Accepts zeros for the page if it turns out to be damaged, because it is about to be made anew.
    pub(crate) fn set_blank(&mut self) {
        self.blank = true;
    }

    /// Returns the frame to fill.
    pub(crate) fn frame_mut(&mut self) -> &mut [u8] {
        let arena = self.pool.arena();
        // SAFETY: the word is in state faulting for this value, so nobody else touches the frame.
        unsafe { std::slice::from_raw_parts_mut(arena.frame(self.frame), arena.page_size()) }
    }

    /// Returns the number of the frame.
    #[cfg(loom)]
    pub(super) fn frame_number(&self) -> usize {
        self.frame.0 as usize
    }

    /// Returns the page's number.
    pub(super) fn page_no(&self) -> PageNo {
        self.page
    }

    pub(super) fn pool(&self) -> &Arc<BufferPool> {
        &self.pool
    }

    /// Turns the fault into an exclusive latch before any other thread has seen the page. Returns `None`, and evicts
    /// the page, if `pool` is another pool.
    pub(super) fn into_exclusive(mut self, pool: &BufferPool) -> Option<ExclusiveGuard<'_>> {
        if !std::ptr::eq(pool, Arc::as_ptr(&self.pool)) {
            return None;
        }
        let word = pool.words.get(self.page)?;
        let owner = page::owner(self.frame_mut());
        pool.remember_page(self.frame, self.page, owner);
        self.done = true;
        let current = Word(word.load(Ordering::SeqCst));
        word.swap(current.with_state(EXCLUSIVE).0, Ordering::SeqCst);
        pool.wake(self.page);
        Some(ExclusiveGuard::new(pool, word, self.page, self.frame))
    }

    /// Ends the fault with the outcome of the read. Verifies the page, and publishes it unless it may lack changes;
    /// if the read failed or the page is damaged, evicts it.
    pub(crate) fn finish(self, read: io::Result<()>) -> Result<()> {
        self.verified(read)?.admit_or_park();
        Ok(())
    }

    /// Checks the outcome of the read and the page that was read. On an error the page is evicted.
    pub(super) fn verified(mut self, read: io::Result<()>) -> Result<PageFault> {
        let page = self.page;
        read.map_err(|source| StorageError::io("read", "data", source))?;
        if let Err(reason) = page::verify(self.frame_mut(), page) {
            if !self.blank {
                return Err(StorageError::Corrupt { page, reason });
            }
            self.frame_mut().fill(0);
        }
        let (lsn, newest) = (page::lsn(self.frame_mut()), self.pool.newest());
        if lsn > newest {
            let reason = format!("its LSN {lsn} is after the end of the log, or {newest} at least");
            return Err(StorageError::Corrupt { page, reason });
        }
        Ok(self)
    }

    /// Opens the page to all without verifying it. The frame holds a valid page: it was verified, or recovery has
    /// repaired it.
    pub(crate) fn publish(mut self) {
        let owner = page::owner(self.frame_mut());
        self.pool.remember_page(self.frame, self.page, owner);
        self.done = true;
        self.pool.end_fault(self.page, Some(self.frame));
        if self.on_probation {
            self.pool.put_on_probation(self.page, self.frame);
        }
        if self.is_cooling {
            self.pool.mark(self.frame.0 as usize);
        }
    }
}

impl Drop for PageFault {
    fn drop(&mut self) {
        if !self.done {
            self.pool.end_fault(self.page, None);
            self.pool.push_free(self.frame);
        }
    }
}

impl ReadTarget for PageFault {
    fn buffer(&mut self) -> &mut [u8] {
        self.frame_mut()
    }

    fn complete(self, result: io::Result<()>) {
        let bytes = self.pool.arena().page_size() as u64;
        if result.is_ok() {
            self.pool.count_read(bytes);
        }
        // A failed read leaves the page evicted. The next thread that needs the page reads it again and gets the
        // error.
        let _ = self.finish(result);
    }
}
