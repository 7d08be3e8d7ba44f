//! The frames of the pool, the free list, and the metadata of each frame. This module does no I/O.
//!
//! Invariants:
//! - A frame is in exactly one place: the free list, an [`OwnedFrame`], or one word (in a state other than evicted).
//! - `(frames - retired) * page_size + bytes of the translation array <= the memory given`. When the array grows,
//!   frames are retired from the free list and their memory goes back to the system. One growth is paid ahead, so
//!   that the cap holds during the next growth. [`MIN_FRAMES`] are never retired: a pool of less than a thousandth of
//!   its pages works slowly and above the cap, rather than not at all.
//! - A frame's `rec_lsn` is [`CLEAN`], or an LSN at or below the first change that `data` lacks. It is set under the
//!   exclusive latch before the change is appended to the log, and cleared under a latch.
//! - A frame is `unwritten` only as long as its `rec_lsn` is at or before the group that made the page anew.

use super::arena::{Arena, FrameId};
use super::dirty::DirtyFrames;
use super::guard::{ExclusiveGuard, OwnedFrame, SharedGuard};
use super::pending::Pending;
use super::probation::Probation;
use super::translation::{LARGEST_GROWTH, TranslationArray};
use super::wait::WaitTable;
use super::word::MAX_FRAMES;
use super::{BufferPool, CLEAN, Frame, FreeList, NO_PAGE};
use crate::sync::{AtomicU64, Mutex};
use crate::{Lsn, PageNo, Result, SegmentId, StorageError, StoreStats};
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64 as PlainU64, AtomicUsize, Ordering};

/// Smallest number of frames that a pool can work with.
pub(crate) const MIN_FRAMES: usize = if cfg!(loom) { 1 } else { 32 };

impl BufferPool {
    /// Returns the number of frames of a pool of `bytes` in all, or an error if the size is out of range.
    pub(crate) fn check_size(bytes: u64, page_size: usize) -> Result<usize> {
        let count = usize::try_from(bytes).unwrap_or(usize::MAX) / page_size;
        let overhead = (TranslationArray::new().bytes() + LARGEST_GROWTH).div_ceil(page_size);
        let (least, most) = (MIN_FRAMES + overhead, MAX_FRAMES - 1);
        if count < least {
            return Err(StorageError::PoolBelowMinimum { bytes, minimum: (least * page_size) as u64 });
        }
        if count > most {
            let limit = (most * page_size) as u64;
            return Err(StorageError::TooLarge { what: "buffer pool", size: bytes, limit });
        }
        Ok(count)
    }

    /// Makes a pool that uses `bytes` of memory in all, for pages of `page_size`.
    pub(crate) fn new(bytes: u64, page_size: usize, stats: Arc<StoreStats>) -> Result<Arc<BufferPool>> {
        let count = Self::check_size(bytes, page_size)?;
        let words = TranslationArray::new();
        let frame = || Frame {
            page: AtomicU64::new(NO_PAGE),
            rec_lsn: AtomicU64::new(CLEAN),
            unwritten: AtomicBool::new(false),
            segment: PlainU64::new(0),
            pinned: AtomicBool::new(false),
        };
        // Frames are popped from the back. Low frames are used first, so a pool that never fills touches little
        // memory.
        let free = (0..count as u32).rev().map(FrameId).collect();
        stats.pool_frames.store(count as u64, Ordering::Relaxed);
        let pool = BufferPool {
            arena: Arena::new(count, page_size)?,
            frames: (0..count).map(|_| frame()).collect(),
            dirty: DirtyFrames::new(count),
            words,
            waits: WaitTable::new(),
            free: Mutex::new(FreeList { frames: free, retired: 0 }),
            hand: AtomicUsize::new(0),
            probation: Probation::default(),
            pending: Pending::default(),
            residents: RwLock::default(),
            newest: PlainU64::new(0),
            stats,
        };
        pool.pay_for_translation(&mut pool.free.lock());
        Ok(Arc::new(pool))
    }

    pub(super) fn arena(&self) -> &Arena {
        &self.arena
    }

    pub(super) fn count_read(&self, bytes: u64) {
        self.stats.page_reads.fetch_add(1, Ordering::Relaxed);
        self.stats.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the bytes of a page.
    pub(crate) fn page_size(&self) -> usize {
        self.arena.page_size()
    }

    /// Returns the number of frames in the arena.
    pub(crate) fn frame_count(&self) -> usize {
        self.frames.len()
    }

    /// Returns the bytes of memory that pages and their translation can use now.
    pub(crate) fn memory(&self) -> usize {
        let retired = self.free.lock().retired + self.stats.pool_lent.load(Ordering::Relaxed) as usize;
        (self.frames.len() - retired) * self.arena.page_size() + self.words.bytes()
    }

    /// Returns the number of frames that pages and borrowers share: all except those retired for the translation
    /// array.
    pub(crate) fn usable_frames(&self) -> usize {
        self.frames.len() - self.free.lock().retired
    }

    /// Retires as many free frames as the translation array has grown over, as long as enough frames are left to work
    /// with.
    fn pay_for_translation(&self, free: &mut FreeList) {
        let target = (self.words.bytes() + LARGEST_GROWTH).div_ceil(self.arena.page_size());
        let kept = MIN_FRAMES + self.stats.pool_lent.load(Ordering::Relaxed) as usize;
        while free.retired < target.min(self.frames.len().saturating_sub(kept)) {
            let Some(frame) = free.frames.pop() else { break };
            self.arena.discard(frame);
            free.retired += 1;
            self.stats.pool_frames.fetch_sub(1, Ordering::Relaxed);
        }
        self.stats.pool_free.store(free.frames.len() as u64, Ordering::Relaxed);
    }

    /// Returns the page's word, and makes its chunk if there is none. Returns `None` only for numbers that no page
    /// has.
    pub(super) fn word_or_create(&self, page: PageNo) -> Option<&AtomicU64> {
        if let Some(word) = self.words.get(page) {
            return Some(word);
        }
        let word = self.words.get_or_create(page)?;
        self.pay_for_translation(&mut self.free.lock());
        Some(word)
    }

    /// Returns the number of free frames.
    pub(crate) fn free_count(&self) -> usize {
        self.free.lock().frames.len()
    }

    /// Takes `count` free frames, all or none.
    pub(crate) fn try_take(self: &Arc<Self>, count: usize) -> Option<Vec<OwnedFrame>> {
        let mut free = self.free.lock();
        self.pay_for_translation(&mut free);
        let rest = free.frames.len().checked_sub(count)?;
        let taken = free.frames.split_off(rest);
        self.stats.pool_free.store(free.frames.len() as u64, Ordering::Relaxed);
        drop(free);
        Some(taken.into_iter().map(|frame| OwnedFrame::new(Arc::clone(self), frame)).collect())
    }

    pub(super) fn push_free(&self, frame: FrameId) {
        let mut free = self.free.lock();
        free.frames.push(frame);
        self.stats.pool_free.store(free.frames.len() as u64, Ordering::Relaxed);
    }

    fn frame(&self, frame: FrameId) -> &Frame {
        &self.frames[frame.0 as usize]
    }

    /// Records the page that the frame holds. The caller owns the frame or has the page's word exclusively.
    pub(super) fn remember_page(&self, frame: FrameId, page: PageNo, segment: SegmentId) {
        let meta = self.frame(frame);
        meta.page.store(page.0, Ordering::SeqCst);
        meta.segment.store(segment.0, Ordering::Relaxed);
        self.stats.pool_data.fetch_add(1, Ordering::Relaxed);
        self.count_resident(segment.0, 1);
    }

    /// Records that the frame holds no page and no changes.
    pub(super) fn forget_page(&self, frame: FrameId) {
        let meta = self.frame(frame);
        self.set_clean(frame);
        meta.pinned.store(false, Ordering::Relaxed);
        meta.page.store(NO_PAGE, Ordering::SeqCst);
        self.stats.pool_data.fetch_sub(1, Ordering::Relaxed);
        self.count_resident(meta.segment.load(Ordering::Relaxed), u64::MAX);
    }

    /// Records that the latched page belongs to `segment` now.
    pub(crate) fn set_owner(&self, guard: &ExclusiveGuard<'_>, segment: SegmentId) {
        let before = self.frame(guard.frame()).segment.swap(segment.0, Ordering::Relaxed);
        if before != segment.0 {
            self.count_resident(before, u64::MAX);
            self.count_resident(segment.0, 1);
        }
    }

    /// Adds `change` to the segment's count. The addition wraps, so that `u64::MAX` subtracts one.
    fn count_resident(&self, segment: u64, change: u64) {
        if let Some(count) = self.residents.read().get(&segment) {
            count.fetch_add(change, Ordering::Relaxed);
            return;
        }
        self.residents.write().entry(segment).or_default().fetch_add(change, Ordering::Relaxed);
    }

    /// Returns how many pages of the segment are in memory.
    pub(crate) fn resident_pages(&self, segment: SegmentId) -> u64 {
        self.residents.read().get(&segment.0).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Drops the counter of a segment that is gone.
    pub(crate) fn forget_segment(&self, segment: SegmentId) {
        let mut residents = self.residents.write();
        if residents.get(&segment.0).is_some_and(|count| count.load(Ordering::Relaxed) == 0) {
            residents.remove(&segment.0);
        }
    }

    /// Keeps the page in memory from now on.
    pub(crate) fn pin(&self, guard: &ExclusiveGuard<'_>) {
        self.frame(guard.frame()).pinned.store(true, Ordering::Relaxed);
    }

    /// Marks the latched page changed, from `lsn` on.
    pub(crate) fn set_dirty(&self, guard: &ExclusiveGuard<'_>, lsn: Lsn) {
        let meta = self.frame(guard.frame());
        if meta.rec_lsn.load(Ordering::SeqCst) == CLEAN {
            meta.rec_lsn.store(lsn.0, Ordering::SeqCst);
            self.dirty.insert(guard.frame().0 as usize);
            self.stats.pool_dirty.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records that the group which is about to be appended makes the latched page anew.
    pub(crate) fn set_unwritten(&self, guard: &ExclusiveGuard<'_>) {
        self.frame(guard.frame()).unwritten.store(true, Ordering::Relaxed);
    }

    /// Returns whether the log makes all of the latched page from where redo begins. Such a page needs no copy in the
    /// doublewrite file: redo does not read what a torn write leaves.
    pub(crate) fn is_unwritten(&self, guard: &SharedGuard<'_>) -> bool {
        self.frame(guard.frame()).unwritten.load(Ordering::Relaxed)
    }

    fn set_clean(&self, frame: FrameId) {
        self.frame(frame).unwritten.store(false, Ordering::Relaxed);
        if self.frame(frame).rec_lsn.swap(CLEAN, Ordering::SeqCst) != CLEAN {
            self.dirty.remove(frame.0 as usize);
            self.stats.pool_dirty.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Returns whether the page in the frame may leave memory unwritten: it is clean and not pinned. The caller holds
    /// its latch exclusively.
    pub(super) fn is_evictable(&self, frame: FrameId) -> bool {
        let meta = self.frame(frame);
        meta.rec_lsn.load(Ordering::SeqCst) == CLEAN && !meta.pinned.load(Ordering::Relaxed)
    }

    /// Returns the first LSN of the latched page's changes that `data` lacks, if there are any.
    pub(crate) fn dirty_since(&self, guard: &SharedGuard<'_>) -> Option<Lsn> {
        let lsn = self.frame(guard.frame()).rec_lsn.load(Ordering::SeqCst);
        (lsn != CLEAN).then_some(Lsn(lsn))
    }

    /// Records that `data` holds the latched page as it was at `lsn`.
    pub(crate) fn set_written(&self, guard: &SharedGuard<'_>, lsn: Lsn) {
        self.frame(guard.frame()).unwritten.store(false, Ordering::Relaxed);
        let rec_lsn = &self.frame(guard.frame()).rec_lsn;
        let since = rec_lsn.load(Ordering::SeqCst);
        if guard.lsn() == lsn {
            self.set_clean(guard.frame());
        } else if since < lsn.0 {
            // The page was changed since. The changes that are lacking begin after the image was taken. The latch
            // excludes further changes.
            rec_lsn.store(lsn.0, Ordering::SeqCst);
        }
    }

    /// Raises the upper bound of the LSNs in `data` before pages with LSNs up to `lsn` are written. The log is
    /// durable that far.
    pub(crate) fn raise_newest(&self, lsn: Lsn) {
        self.newest.fetch_max(lsn.0, Ordering::SeqCst);
    }

    /// Returns the highest LSN that a page in `data` can have. A page with a higher one is from a part of the log
    /// that was lost.
    pub(super) fn newest(&self) -> Lsn {
        Lsn(self.newest.load(Ordering::SeqCst))
    }

    /// Returns all pages in memory. Pages that come or go while this runs may be missing or included.
    pub(crate) fn pages(&self) -> Vec<PageNo> {
        let pages = self.frames.iter().map(|frame| frame.page.load(Ordering::SeqCst));
        pages.filter(|page| *page != NO_PAGE).map(PageNo).collect()
    }

    /// Returns all pages in memory with the segments they belong to, as exactly as [`pages`](Self::pages).
    pub(super) fn pages_with_segments(&self) -> Vec<(PageNo, SegmentId)> {
        let of = |frame: &Frame| {
            let page = PageNo(frame.page.load(Ordering::SeqCst));
            (page.0 != NO_PAGE).then(|| (page, SegmentId(frame.segment.load(Ordering::Relaxed))))
        };
        self.frames.iter().filter_map(of).collect()
    }

    /// Returns all changed pages, each with the LSN of its first change that `data` lacks. Pages that are changed
    /// while this runs may be missing: the caller reads the log's end first.
    pub(crate) fn dirty_pages(&self) -> Vec<(PageNo, Lsn)> {
        let dirty = |frame: &Frame| {
            let lsn = frame.rec_lsn.load(Ordering::SeqCst);
            let page = frame.page.load(Ordering::SeqCst);
            (lsn != CLEAN && page != NO_PAGE).then_some((PageNo(page), Lsn(lsn)))
        };
        self.dirty.from(0).filter_map(|frame| dirty(self.frames.get(frame)?)).collect()
    }
}
