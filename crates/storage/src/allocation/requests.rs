//! The space manager's methods for the crates above: segments, free space, unlogged writers, checks.

use super::{BulkWriter, FreshPages, ReleaseOutcome, SpaceFault};
use crate::{
    PageClass, PageNo, Reservation, Result, SegmentId, SegmentInfo, SegmentState, SpaceUsage, StorageError,
    Store,
};
use std::sync::atomic::Ordering;

impl Store {
    /// Creates a segment in state `Building`.
    ///
    /// # Errors
    /// `DiskFull`, `Poisoned`.
    pub fn create_segment(&self, reservation: &mut Reservation) -> Result<SegmentId> {
        self.inner.create_segment(reservation)
    }

    /// Logs a new state of the segment.
    ///
    /// # Errors
    /// `NoSuchSegment`, `Poisoned`.
    pub fn set_segment_state(
        &self,
        reservation: &mut Reservation,
        segment: SegmentId,
        state: SegmentState,
    ) -> Result<()> {
        self.inner.set_segment_state(reservation, segment, state)
    }

    /// Frees the segment: logs the state `Dropping`, then frees its pages step by step. Recovery finishes a drop that
    /// a crash interrupts. The caller ensures that nobody uses the segment's pages any more, and holds no latch. A
    /// segment that does not exist is no error.
    ///
    /// # Errors
    /// `Io`, `Poisoned`.
    pub fn drop_segment(&self, segment: SegmentId) -> Result<()> {
        self.inner.drop_segment(segment)
    }

    /// Returns all segments.
    pub fn segments(&self) -> Vec<SegmentInfo> {
        self.inner.segments()
    }

    /// Returns the bytes that the file of pages takes on the device: fewer than its pages have, if it has holes.
    ///
    /// # Errors
    /// `Io`.
    pub fn allocated_bytes(&self) -> Result<u64> {
        self.inner.cache.data.allocated().map_err(|source| StorageError::io("stat", "data", source))
    }

    /// Returns whether more pages are in use than fit in memory.
    pub fn exceeds_memory(&self) -> bool {
        let usage = self.space_usage();
        let used = usage.file_pages.saturating_sub(usage.free_pages + usage.shared_free_pages);
        used > self.inner.stats.pool_frames.load(Ordering::Relaxed)
    }

    /// Returns how the pages of the file are used.
    pub fn space_usage(&self) -> SpaceUsage {
        self.inner.space.state().usage()
    }

    /// Takes a checkpoint, then gives all free space that is not promised back to the file system, as
    /// [`StoreOptions::punch_holes`](crate::StoreOptions::punch_holes) says. The store's own thread does this from
    /// time to time, and keeps some space at hand. The caller holds no latch.
    ///
    /// # Errors
    /// `Io`, `Poisoned`.
    pub fn release_free_space(&self) -> Result<()> {
        self.inner.checkpoint()?;
        while self.inner.release_some_space(true)? == ReleaseOutcome::Released {}
        Ok(())
    }

    /// Sets whether free extents become holes in the file from now on.
    pub fn set_punch_holes(&self, punch: bool) {
        self.inner.space.releasing.punch.store(punch, Ordering::Relaxed);
    }

    /// Makes a writer of pages of `segment` past the pool and the log, into whole extents. The segment must be in
    /// state `Building`; set it to `Live` after [`BulkWriter::finish`].
    ///
    /// # Errors
    /// `NoSuchSegment`, `Poisoned`.
    pub fn bulk_writer(&self, segment: SegmentId) -> Result<BulkWriter> {
        BulkWriter::new(&self.inner, segment)
    }

    /// Takes unused pages of a class for `segment`, to be written past the pool and the log and put in use by
    /// [`MiniTransaction::use_fresh`](crate::MiniTransaction::use_fresh). Takes them from the extent of page `beside`
    /// if it still is the segment's and has enough of them, else from a free one. Returns `None` if the segment has
    /// fewer than `least` pages, or no extent can be spared. The caller holds no latch, and keeps the segment from
    /// being dropped.
    ///
    /// # Errors
    /// `NoSuchSegment`, `Io`, `Poisoned`.
    pub fn fresh_pages(
        &self,
        segment: SegmentId,
        class: PageClass,
        beside: Option<PageNo>,
        least: u64,
    ) -> Result<Option<FreshPages>> {
        FreshPages::take(&self.inner, segment, class, beside, least)
    }

    /// Checks that space maps, segment directory and pages in use agree. Returns the disagreements. Nobody may change
    /// anything meanwhile.
    ///
    /// # Errors
    /// As [`check_space`](Self::check_space).
    pub fn verify_space(&self) -> Result<Vec<String>> {
        Ok(self.check_space(1, &|_, _| ())?.iter().map(ToString::to_string).collect())
    }

    /// Checks that space maps, segment directory and pages in use agree, and that each page in use can be read from
    /// the file, with `threads` threads. Returns the faults. Nobody may change anything meanwhile. `progress` gets
    /// the number of pages read and of pages in all.
    ///
    /// # Errors
    /// `Io`, `Corrupt` for space maps and directory, `Poisoned`.
    pub fn check_space(
        &self,
        threads: usize,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Vec<SpaceFault>> {
        self.inner.check_space(threads, progress)
    }

    /// Returns the pages of a segment, in no particular order.
    ///
    /// # Errors
    /// `NoSuchSegment`.
    pub fn segment_pages(&self, segment: SegmentId) -> Result<Vec<PageNo>> {
        self.inner.segment_pages(segment)
    }
}
