//! Fresh pages for a segment in use: written past the pool and the log, and put in use by a mini-transaction once
//! they are durable.
//!
//! A page that replaces another thus costs one write. Changing it in place costs the log record of the change and two
//! writes, one of them to the doublewrite file. Neighbours are handed out in ascending order and written together.
//!
//! The pages are taken in memory alone. As long as no group has put them in use they are free in the space map, and
//! after a crash. Before one is written, the log is made durable beyond every record of its former lives, and so
//! beyond the groups that freed it. The page is stamped with the LSN up to which the log is durable then. Redo skips
//! the records of its former lives, and replays those after it has been put in use. The LSN is also above the start
//! of every backup that has copied the page before ([`crate::backup`]).
//!
//! Nobody refers to the pages before they are put in use. Pages that a late read-ahead for a former owner has fetched
//! are dropped from the pool once the new ones are written.

use crate::core::Inner;
use crate::device::AlignedBuf;
use crate::space::{EXTENT_PAGES, ExtentNo, ExtentUse, runs};
use crate::{Lsn, MiniTransaction, PageClass, PageNo, Result, SegmentId, StorageError, page};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Smallest number of unused pages for which an extent is used further.
const WORTHWHILE: u32 = EXTENT_PAGES as u32 / 8;

/// Unused pages of one extent. Dropping the value gives back the pages that were not put in use. The segment is not
/// freed before that.
pub struct FreshPages {
    inner: Arc<Inner>,
    usage: ExtentUse,
    segment: SegmentId,
    extent: ExtentNo,
    /// The bytes of the whole extent. The part of a page is valid once the page is filled.
    buffer: AlignedBuf,
    /// Pages that are taken and not in use, one bit each.
    taken: u64,
    /// Pages that have contents, one bit each.
    filled: u64,
    /// Pages that are durable, one bit each.
    written: u64,
}

impl FreshPages {
    /// Takes the unused pages of an extent: of the extent of page `beside` if it still is the segment's and has
    /// enough of them, else of a free one. Returns `None` if the segment has fewer than `least` pages, or no extent
    /// can be spared. The caller holds no latch.
    pub(crate) fn take(
        inner: &Arc<Inner>,
        segment: SegmentId,
        class: PageClass,
        beside: Option<PageNo>,
        least: u64,
    ) -> Result<Option<FreshPages>> {
        inner.poison.check()?;
        if inner.space.state().segment(segment)?.pages < least {
            return Ok(None);
        }
        let usage = ExtentUse::Owned(segment, class);
        let begun = beside.and_then(ExtentNo::of).and_then(|(extent, _)| {
            let mut state = inner.space.state();
            Some((extent, state.take_unused(extent, usage, WORTHWHILE)?))
        });
        let taken = match begun {
            Some(begun) => Some(begun),
            None => inner.take_fresh_extent(segment, class)?.map(|extent| (extent, u64::MAX)),
        };
        let Some((extent, taken)) = taken else { return Ok(None) };
        let fresh = FreshPages {
            inner: Arc::clone(inner),
            usage,
            segment,
            extent,
            buffer: AlignedBuf::zeroed(EXTENT_PAGES as usize * inner.cache.page_size),
            taken,
            filled: 0,
            written: 0,
        };
        // No page of the extent may be in memory or be written by the pool when the first one is written here.
        fresh.purge(taken);
        inner.cache.wait_for_writes();
        let end = inner.log.end();
        inner.log.wait_durable(end)?;
        Ok(Some(fresh))
    }

    /// Returns the first page of the extent, which a later call of `take` can go on beside.
    pub fn first_page(&self) -> PageNo {
        self.extent.first_page()
    }

    /// Returns how many pages have no contents yet.
    pub fn left(&self) -> usize {
        (self.taken & !self.filled).count_ones() as usize
    }

    /// Gives the next page `contents`: one whole page, with kind, flags and body as the caller made them. Checksum,
    /// page number, LSN and owner are filled in here and by [`write`](Self::write). Returns `None` if no page is
    /// left, or `contents` has another size.
    pub fn fill(&mut self, contents: &[u8]) -> Option<PageNo> {
        let page_size = self.inner.cache.page_size;
        let unfilled = self.taken & !self.filled;
        if unfilled == 0 || contents.len() != page_size {
            return None;
        }
        let index = unfilled.trailing_zeros();
        let page_no = self.extent.page(index);
        let copy = &mut self.buffer[index as usize * page_size..][..page_size];
        copy.copy_from_slice(contents);
        page::set_identity(copy, page_no, self.segment);
        self.filled |= 1 << index;
        Some(page_no)
    }

    /// Writes and syncs the pages that have got contents, neighbours with one request.
    ///
    /// # Errors
    /// `Io`. A failed sync poisons the store.
    pub fn write(&mut self) -> Result<()> {
        let (inner, page_size) = (&self.inner, self.inner.cache.page_size);
        inner.poison.check()?;
        let unwritten = self.filled & !self.written;
        let writing = inner.begin_unlogged_write(&mut self.buffer, unwritten);
        for (first, count) in runs(unwritten) {
            let bytes = &self.buffer[first as usize * page_size..][..count as usize * page_size];
            let offset = self.extent.page(first).0 * page_size as u64;
            let written = inner.cache.data.write_at(bytes, offset);
            written.map_err(|source| StorageError::io("write", "data", source))?;
            inner.stats.pages_written.fetch_add(u64::from(count), Ordering::Relaxed);
            inner.stats.bytes_written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        }
        writing.end(self.extent);
        if unwritten != 0 {
            inner.sync_data()?;
            self.purge(unwritten);
            self.written = self.filled;
        }
        Ok(())
    }

    /// Records that a group puts the page in use. Returns its extent, its use, and its bit.
    fn use_page(&mut self, page: PageNo) -> Result<(ExtentNo, ExtentUse, u64)> {
        match ExtentNo::of(page) {
            Some((extent, bit)) if extent == self.extent && self.taken & self.written & bit != 0 => {
                self.taken &= !bit;
                Ok((extent, self.usage, bit))
            }
            _ => {
                Err(StorageError::Misuse { what: format!("page {page} is put in use before it is durable") })
            }
        }
    }

    /// Drops pages of the extent from memory.
    fn purge(&self, pages: u64) {
        let bits = (0..EXTENT_PAGES as u32).filter(|bit| pages & (1 << bit) != 0);
        bits.for_each(|bit| self.inner.cache.pool.purge(self.extent.page(bit)));
    }
}

impl Drop for FreshPages {
    fn drop(&mut self) {
        if self.taken != 0 {
            let end = self.inner.log.end();
            self.inner.space.state().give_back(self.extent, self.taken, end);
        }
    }
}

impl MiniTransaction<'_> {
    /// Puts a page in use that was written past the pool and the log. Takes as many log bytes as
    /// [`allocate`](Self::allocate).
    ///
    /// # Errors
    /// `Misuse` if the page is not durable, or is in use already.
    pub fn use_fresh(&mut self, fresh: &mut FreshPages, page: PageNo) -> Result<()> {
        let (extent, usage, pages) = fresh.use_page(page)?;
        self.put_in_use(extent, usage, pages);
        Ok(())
    }
}

impl Inner {
    /// Takes an extent that no promise needs. Returns `None` if there is none and the file cannot grow.
    fn take_fresh_extent(self: &Arc<Self>, segment: SegmentId, class: PageClass) -> Result<Option<ExtentNo>> {
        loop {
            if let Some(extent) = self.space.state().take_extent(segment, class, Lsn(u64::MAX)) {
                return Ok(Some(extent));
            }
            match self.grow(1) {
                Ok(()) => {}
                Err(StorageError::DiskFull) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}
