//! Reads pages without a latch, and tells afterwards whether the bytes read were one state of the page.
//!
//! A reader notes the page's word, reads the bytes it needs, and asks [`is_unchanged`](OptimisticPage::is_unchanged).
//! Until that returns true, the reader must not trust the bytes: a writer may have been at work, and the frame may
//! hold another page by now. So offsets wrap around the page, a number found on the page must not drive a loop
//! further than the page is long, and no code makes a reference to the bytes.
//!
//! The reader writes nothing, with one exception: it takes the mark off a page that is cooling (see
//! [`super::clock`]), because a page that is read is to stay in memory.
//!
//! # Why it is sound
//!
//! This is a seqlock whose sequence number is the version in the translation word (Boehm, "Can Seqlocks Get Along
//! With Programming Language Memory Models?", 2012). Only a thread that has put the frame's word in state exclusive
//! or faulting, and has issued a release fence since, changes the frame's bytes. The reader loads the word (acquire),
//! loads the bytes (relaxed, eight at a time), issues an acquire fence and loads the word again. If any byte came
//! from a change that began after the first load, the fences make the second load see the word as the author of that
//! change left it before, or later: in another state, or with another version. Writers change bytes by plain stores,
//! and the language does not define such a store when it races with the reader's atomic loads. The processors that
//! Rust compiles for do define it: a load of an aligned word returns bytes that were stored there at some time, and
//! the protocol needs no more.
//!
//! The version has 28 bits. A reader that is interrupted between the two loads for exactly a multiple of 2^28 changes of
//! one page would be deceived; at a million changes a second that takes more than four minutes within one read.
#![expect(unsafe_code, reason = "loads words of frames that others may be writing")]

use super::BufferPool;
use super::word::{EXCLUSIVE, MARKED, UNLATCHED, Word};
use crate::PageNo;
use crate::sync::{AtomicU64, fence};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64 as PlainU64, Ordering};

/// The outcome of an attempt to read without a latch.
pub enum Optimistic<'a> {
    /// The page can be read, and has to be validated afterwards.
    Page(OptimisticPage<'a>),
    /// A writer holds the page exclusively.
    Latched,
    /// The page is evicted, or is being read in.
    NotResident,
}

/// A page that may change while it is read.
pub struct OptimisticPage<'a> {
    word: &'a AtomicU64,
    seen: Word,
    page: PageNo,
    /// First byte of the frame. It is valid for the page size as long as the pool lives.
    start: *const u8,
    /// Offset of the last aligned word of the page. The page size is a power of two, so this is also the mask of
    /// aligned offsets.
    last: usize,
    _pool: PhantomData<&'a BufferPool>,
}

impl OptimisticPage<'_> {
    /// Returns the page's number.
    #[inline]
    pub fn page_no(&self) -> PageNo {
        self.page
    }

    /// Returns the number of the frame.
    #[cfg(loom)]
    pub(super) fn frame_number(&self) -> usize {
        self.seen.frame().0 as usize
    }

    /// Returns the bytes of the page.
    #[inline]
    pub fn size(&self) -> usize {
        self.last + 8
    }

    /// Returns the eight bytes at `at` as a little-endian number; `at` is rounded down to a multiple of eight and
    /// wraps to an offset within the page. The value must not be trusted until [`is_unchanged`](Self::is_unchanged)
    /// has returned true.
    #[inline]
    pub fn word_at(&self, at: usize) -> u64 {
        // SAFETY: masked by `last`, the offset is a multiple of eight and leaves eight bytes to the end of the frame.
        // The frame begins at a multiple of eight and stays mapped as long as the pool lives, which `self` borrows.
        // Another thread may write the frame meanwhile; see the module's comment.
        let word = unsafe { PlainU64::from_ptr(self.start.add(at & self.last).cast_mut().cast()) };
        u64::from_le(word.load(Ordering::Relaxed))
    }

    /// Asks the processor to fetch the cache line at `at`, rounded as for [`word_at`](Self::word_at).
    #[inline]
    pub fn prefetch(&self, at: usize) {
        fetch_line(self.start.wrapping_add(at & self.last));
    }

    /// Returns whether everything read so far is one state of the page, and the page still is in that state.
    #[inline]
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        fence(Ordering::Acquire);
        Word(self.word.load(Ordering::Relaxed)).is_readable_as(self.seen)
    }
}

impl BufferPool {
    /// Begins to read the page without a latch.
    #[inline]
    pub(crate) fn optimistic(&self, page: PageNo) -> Optimistic<'_> {
        let Some(word) = self.words.get(page) else { return Optimistic::NotResident };
        let mut current = Word(word.load(Ordering::Acquire));
        while current.state() == MARKED {
            current = self.unmark(word, current);
        }
        match current.state() {
            UNLATCHED.. => Optimistic::Page(OptimisticPage {
                word,
                seen: current,
                page,
                start: self.arena().frame(current.frame()),
                last: self.page_size() - 8,
                _pool: PhantomData,
            }),
            EXCLUSIVE => Optimistic::Latched,
            _ => Optimistic::NotResident,
        }
    }

    /// Takes the mark off a page that is in use. Returns the word as it is now.
    #[cold]
    fn unmark(&self, word: &AtomicU64, current: Word) -> Word {
        let next = current.with_state(UNLATCHED);
        match word.compare_exchange(current.0, next.0, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => next,
            Err(changed) => Word(changed),
        }
    }
}

/// Asks the processor to fetch the cache line of `bytes` at `at`. Does nothing if `at` is out of range.
#[inline]
pub fn prefetch_line(bytes: &[u8], at: usize) {
    if let Some(byte) = bytes.get(at) {
        fetch_line(byte);
    }
}

#[inline]
fn fetch_line(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect that a program could observe, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
