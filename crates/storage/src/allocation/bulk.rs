//! Unlogged bulk writing: writes pages of a segment that is being built past the pool and the log.
//!
//! The writer uses only whole extents that are *durably* free. Otherwise a crash could bring the former owner back
//! with its pages overwritten. Taking an extent is logged. Pages are gathered in a buffer per extent and written in
//! one request when the extent is complete. They are stamped with an LSN up to which the log is durable when they are
//! written. That LSN is at or above every record of the pages' former lives, which redo therefore skips; below every
//! later record; and above the start of every backup that has copied the extent before ([`crate::backup`]).
//!
//! Nobody reads the pages before [`BulkWriter::finish`] has synced them and the caller has logged that the segment
//! lives. Pages that a late read-ahead for a former owner has fetched are dropped from the pool.

use super::segment::SEGMENT_LOG_BYTES;
use crate::core::Inner;
use crate::device::AlignedBuf;
use crate::redo::{GROUP_OVERHEAD, RECORD_OVERHEAD};
use crate::space::{EXTENT_PAGES, ExtentNo, ExtentUse, SpaceRecord, runs};
use crate::{
    MiniTransaction, PageClass, PageNo, Reservation, Result, SegmentId, SegmentState, StorageError, page,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Log bytes of taking an extent, or of giving back its unused pages.
const EXTENT_LOG_BYTES: usize = RECORD_OVERHEAD + 20 + GROUP_OVERHEAD;

/// An extent whose pages are not all written yet.
struct OpenExtent {
    buffer: AlignedBuf,
    allocated: u64,
    written: u64,
}

/// Writes pages of a segment in state `Building`. If it is dropped without [`finish`](Self::finish), the segment has
/// to be dropped, too.
pub struct BulkWriter {
    inner: Arc<Inner>,
    segment: SegmentId,
    open: BTreeMap<ExtentNo, OpenExtent>,
    /// The extent that pages of each class are taken from.
    current: BTreeMap<PageClass, ExtentNo>,
    extents: Vec<ExtentNo>,
}

impl BulkWriter {
    /// Makes a writer for `segment`.
    pub(crate) fn new(inner: &Arc<Inner>, segment: SegmentId) -> Result<BulkWriter> {
        inner.poison.check()?;
        if inner.space.state().segment(segment)?.state != SegmentState::Building {
            return Err(StorageError::Misuse { what: format!("segment {segment} is not being built") });
        }
        Ok(BulkWriter {
            inner: Arc::clone(inner),
            segment,
            open: BTreeMap::new(),
            current: BTreeMap::new(),
            extents: Vec::new(),
        })
    }

    /// Allocates a page and returns its number. Within an extent, pages are handed out in ascending order. The caller
    /// holds no latch.
    ///
    /// # Errors
    /// `DiskFull`, `Io`, `Poisoned`.
    pub fn allocate(&mut self, class: PageClass) -> Result<PageNo> {
        if let Some(extent) = self.current.get(&class)
            && let Some(open) = self.open.get_mut(extent)
            && open.allocated != u64::MAX
        {
            let index = open.allocated.trailing_ones();
            open.allocated |= 1 << index;
            return Ok(extent.page(index));
        }
        let extent = self.inner.take_bulk_extent(self.segment, class)?;
        self.extents.push(extent);
        self.current.insert(class, extent);
        let buffer = AlignedBuf::zeroed(EXTENT_PAGES as usize * self.inner.cache.page_size);
        self.open.insert(extent, OpenExtent { buffer, allocated: 1, written: 0 });
        Ok(extent.page(0))
    }

    /// Copies `page`: one whole page, with kind, flags and body as the caller made them. The writer fills in
    /// checksum, page number, LSN and owner. The caller writes each allocated page once.
    ///
    /// # Errors
    /// `Io`: the segment can still be dropped. `Misuse` if the page was not allocated, or is written twice.
    pub fn write(&mut self, page_no: PageNo, page: &[u8]) -> Result<()> {
        let misuse =
            |what: &str| StorageError::Misuse { what: format!("bulk write of page {page_no}: {what}") };
        let page_size = self.inner.cache.page_size;
        let (extent, bit) = ExtentNo::of(page_no).ok_or_else(|| misuse("no such page"))?;
        let open = self.open.get_mut(&extent).ok_or_else(|| misuse("not allocated, or written before"))?;
        if open.allocated & bit == 0 || open.written & bit != 0 || page.len() != page_size {
            return Err(misuse("not allocated, or written before, or of the wrong size"));
        }
        let at = bit.trailing_zeros() as usize * page_size;
        let copy = &mut open.buffer[at..at + page_size];
        copy.copy_from_slice(page);
        page::set_identity(copy, page_no, self.segment);
        open.written |= bit;
        if open.written == u64::MAX
            && let Some(mut complete) = self.open.remove(&extent)
        {
            self.write_out(extent, &mut complete)?;
        }
        Ok(())
    }

    /// Stamps and writes the extent's pages, each run of neighbours with one request.
    fn write_out(&self, extent: ExtentNo, open: &mut OpenExtent) -> Result<()> {
        let (cache, page_size) = (&self.inner.cache, self.inner.cache.page_size);
        let writing = self.inner.begin_unlogged_write(&mut open.buffer, open.written);
        for (first, count) in runs(open.written) {
            let bytes = &open.buffer[first as usize * page_size..(first + count) as usize * page_size];
            let offset = extent.page(first).0 * page_size as u64;
            cache.data.write_at(bytes, offset).map_err(|source| StorageError::io("write", "data", source))?;
            self.inner.stats.pages_written.fetch_add(u64::from(count), Ordering::Relaxed);
            self.inner.stats.bytes_written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        }
        writing.end(extent);
        Ok(())
    }

    /// Writes the remaining pages, syncs, gives unused pages back and records `root` as the segment's root. The pages
    /// are durable then. The segment lives once the caller has logged so.
    ///
    /// # Errors
    /// As [`write`](Self::write). A failed sync poisons the store. `Misuse` if an allocated page was not written.
    pub fn finish(mut self, root: PageNo) -> Result<()> {
        let mut open = std::mem::take(&mut self.open);
        for (extent, open) in &mut open {
            if open.allocated != open.written {
                let missing = extent.page((open.allocated & !open.written).trailing_zeros());
                return Err(StorageError::Misuse { what: format!("bulk page {missing} was never written") });
            }
            self.write_out(*extent, open)?;
        }
        let inner = &self.inner;
        inner.sync_data()?;
        let bytes = open.len() * EXTENT_LOG_BYTES + SEGMENT_LOG_BYTES;
        let mut reservation = Reservation::new(inner, 0, bytes)?;
        let at = inner.space.state().segment(self.segment)?.at;
        let mut change = MiniTransaction::begin(inner, &mut reservation, 0)?;
        for (extent, open) in open.iter().filter(|(_, open)| open.written != u64::MAX) {
            let (map, descriptor) = inner.space.geometry.descriptor(*extent);
            change.change_space(map, SpaceRecord::ClearPages { descriptor, pages: !open.written });
        }
        change.change_space(at.page, SpaceRecord::SetRoot { entry: at.entry, page: root });
        let end = change.commit();
        inner.poison.check()?;
        for extent in &self.extents {
            inner.purge_extent(*extent);
        }
        let mut state = inner.space.state();
        state.update(self.segment, |segment| segment.root = root);
        for (extent, open) in open.iter().filter(|(_, open)| open.written != u64::MAX) {
            state.give_back(*extent, !open.written, end);
        }
        Ok(())
    }
}

impl Inner {
    /// Takes an extent that is durably free for unlogged pages.
    fn take_bulk_extent(self: &Arc<Self>, segment: SegmentId, class: PageClass) -> Result<ExtentNo> {
        let extent = loop {
            let durable = self.log.durable();
            let newest = {
                let mut state = self.space.state();
                state.segment(segment)?;
                if let Some(extent) = state.take_extent(segment, class, durable) {
                    break extent;
                }
                state.newest_free_lsn()
            };
            if newest > durable {
                self.log.wait_durable(newest)?;
            } else {
                self.grow(1)?;
            }
        };
        let taken = self.log_bulk_extent(segment, class, extent);
        if taken.is_err() {
            self.space.state().give_back(extent, u64::MAX, self.log.durable());
        }
        taken?;
        // No page of the extent may be in memory or be written by the pool when the first one is written here.
        self.purge_extent(extent);
        self.cache.wait_for_writes();
        Ok(extent)
    }

    fn log_bulk_extent(
        self: &Arc<Self>,
        segment: SegmentId,
        class: PageClass,
        extent: ExtentNo,
    ) -> Result<()> {
        let mut reservation = Reservation::new(self, 0, EXTENT_LOG_BYTES)?;
        let mut change = MiniTransaction::begin(self, &mut reservation, 0)?;
        let (map, descriptor) = self.space.geometry.descriptor(extent);
        let usage = ExtentUse::Owned(segment, class);
        change.change_space(map, SpaceRecord::SetPages { descriptor, usage, pages: u64::MAX });
        change.commit();
        self.poison.check()
    }
}
