//! Reading a page without a latch, and finding out afterwards whether what was read is one state of it.
//!
//! A reader notes the page's word, reads what it needs, and asks [`is_unchanged`](OptimisticPage::is_unchanged). Until
//! that has said yes, nothing that was read may be believed: a writer may have been at work, and the frame may hold
//! another page by now. So every byte that is read is a guess: offsets wrap around the page, numbers found must not
//! drive a loop further than the page is long, and no reference to the bytes is ever made.
//!
//! The reader writes nothing, with one exception: it takes back the mark of a page that is cooling (see
//! [`super::clock`]), for a page that is read is to stay in memory.
//!
//! # Why it is sound
//!
//! This is a seqlock whose sequence number is the version in the translation word (Boehm, "Can Seqlocks Get Along With
//! Programming Language Memory Models?", 2012). A frame's bytes are only changed by who has put its word in state exclusive
//! or faulting, and has issued a release fence since. The reader loads the word (acquire), the bytes (relaxed,
//! eight at a time), issues an acquire fence and loads the word again. If any byte came from a change that began after
//! the first load, the fences make the second load see the word as that change's author left it before, or later: in
//! another state, or of another version. Writers change bytes by plain stores, which the language does not define
//! when they race with the reader's atomic loads; the processors that Rust compiles for do: a load of an aligned word
//! gives bytes that were stored there at some time, and that is all that is asked of it.
//!
//! The version has 28 bits. A reader that is interrupted between the two loads for exactly a multiple of 2^28 changes of
//! one page would be deceived; at a million changes a second that takes more than four minutes within one read.
#![expect(unsafe_code, reason = "loads words of frames that others may be writing")]

use super::frames::BufferPool;
use super::word::{EXCLUSIVE, MARKED, UNLATCHED, Word};
use crate::PageNo;
use crate::sync::{AtomicU64, fence};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64 as PlainU64, Ordering};

/// What came of an attempt to read without a latch.
pub enum Optimistic<'a> {
    /// Read, then validate.
    Page(OptimisticPage<'a>),
    /// A writer is at work.
    Latched,
    /// The page is evicted, or being read in.
    NotResident,
}

/// A page that may change while it is read.
pub struct OptimisticPage<'a> {
    word: &'a AtomicU64,
    seen: Word,
    page: PageNo,
    /// First byte of the frame; valid for the page size as long as the pool is.
    start: *const u8,
    /// Offset of the last aligned word of the page; as the size is a power of two, also the mask of aligned offsets.
    last: usize,
    _pool: PhantomData<&'a BufferPool>,
}

impl OptimisticPage<'_> {
    /// The page's number.
    #[inline]
    pub fn page_no(&self) -> PageNo {
        self.page
    }

    /// Number of the frame.
    #[cfg(loom)]
    pub(super) fn frame_number(&self) -> usize {
        self.seen.frame().0 as usize
    }

    /// Bytes of the page.
    #[inline]
    pub fn size(&self) -> usize {
        self.last + 8
    }

    /// The eight bytes at `at`, rounded down to a multiple of eight and to an offset within the page, as a
    /// little-endian number. A guess until [`is_unchanged`](Self::is_unchanged) has said otherwise.
    #[inline]
    pub fn word_at(&self, at: usize) -> u64 {
        // SAFETY: masked by `last`, the offset is a multiple of eight and leaves eight bytes to the end of the frame, which
        // begins at a multiple of eight and is mapped as long as the pool is there, which is borrowed. The frame may be
        // written meanwhile; see the module's comment.
        let word = unsafe { PlainU64::from_ptr(self.start.add(at & self.last).cast_mut().cast()) };
        u64::from_le(word.load(Ordering::Relaxed))
    }

    /// Asks the processor to fetch the cache line at `at`, rounded as for [`word_at`](Self::word_at).
    #[inline]
    pub fn prefetch(&self, at: usize) {
        fetch_line(self.start.wrapping_add(at & self.last));
    }

    /// Whether everything read so far is one state of the page, and it still is in that state.
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

    /// Takes the mark of a page in use back. Returns what the word is now.
    #[cold]
    fn unmark(&self, word: &AtomicU64, current: Word) -> Word {
        let next = current.with_state(UNLATCHED);
        match word.compare_exchange(current.0, next.0, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => next,
            Err(changed) => Word(changed),
        }
    }
}

/// Asks the processor to fetch the cache line of `bytes` at `at`; nothing if it is not there.
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
