//! The doublewrite file: a copy of each page that is about to be overwritten in `data`, so that a write torn by a
//! power cut can be repaired.
//!
//! The file holds one batch at a time. Header and copies are written in one sequential write and synced; then the
//! pages are written in `data` and synced. Only then may the next batch overwrite the file. The thread that holds the
//! [`Doublewrite`] is the only writer of pool pages. Pages that need no copy (see [`crate::pool`]) are written with
//! the batch, and are not in the file.
//!
//! | block (4 KiB) | content                                                                                  |
//! |--------------:|------------------------------------------------------------------------------------------|
//! |             0 | crc32c u32 of the rest of the block, count u32, then count x (page u64, page checksum u32, 0 u32) |
//! |         1 ... | the pages, in the header's order, sealed                                                  |
//!
//! When the store is opened, each copy whose checksum is the header's replaces its page in `data` if that page is
//! damaged. A torn header, or a copy that does not match it, means that the batch was not synced and `data` not
//! touched by it, or that the copy is damaged, too. An intact page in `data` is never replaced: it is the old or the
//! new image, and the log brings either up to date. A page that is all zeros, or beyond the end of the file, is not
//! replaced either. It was never durable there, and the log makes it anew, or its space was given back, and writing
//! it would take space.

use crate::device::{AlignedBuf, BLOCK, Env, File, IoQueue, OpenMode, ReadTarget};
use crate::page::{READ_ATTEMPTS, bytes};
use crate::{Lsn, PageNo, Result, StorageError, StoreStats, page};
use leafline_invariant::invariant;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Most pages of a batch.
pub(crate) const BATCH_PAGES: usize = 128;
const ENTRY: usize = 16;
pub(crate) const FILE: &str = "doublewrite";

/// The file, and the batch that is being made.
pub(crate) struct Doublewrite {
    file: Arc<dyn File>,
    /// Shared with the queue while the batch is written, and with nobody else at any other time.
    buffer: Arc<AlignedBuf>,
    page_size: usize,
    pages: Vec<(PageNo, Lsn)>,
    /// How many of the pages, the first ones, get a copy in the file.
    copies: usize,
}

impl Doublewrite {
    /// Opens the file and allocates its full size. A caller that creates it syncs the directory.
    pub(crate) fn open(env: &dyn Env, mode: OpenMode, page_size: usize) -> Result<Doublewrite> {
        let file = env.open(FILE, mode).map_err(|source| StorageError::io("open", FILE, source))?;
        let buffer = Arc::new(AlignedBuf::zeroed(BLOCK + BATCH_PAGES * page_size));
        file.allocate(buffer.len() as u64).map_err(|source| StorageError::io("allocate", FILE, source))?;
        Ok(Doublewrite { file, buffer, page_size, pages: Vec::with_capacity(BATCH_PAGES), copies: 0 })
    }

    /// Returns the bytes that the file takes.
    pub(crate) fn file_bytes(page_size: usize) -> u64 {
        (BLOCK + BATCH_PAGES * page_size) as u64
    }

    /// Empties the batch.
    pub(crate) fn clear(&mut self) {
        self.pages.clear();
        self.copies = 0;
    }

    /// Returns the pages in the batch, with the LSNs of the copied images.
    pub(crate) fn pages(&self) -> &[(PageNo, Lsn)] {
        &self.pages
    }

    fn slot(&self, index: usize) -> std::ops::Range<usize> {
        let start = BLOCK + index * self.page_size;
        start..start + self.page_size
    }

    /// Adds a sealed copy of the page, for both files. Pages come in ascending order, before those of
    /// [`push_without_copy`](Self::push_without_copy). Returns false if the batch is full.
    pub(crate) fn push(&mut self, page_no: PageNo, image: &[u8]) -> bool {
        let pushed = self.copies == self.pages.len() && self.push_without_copy(page_no, image);
        self.copies += usize::from(pushed);
        pushed
    }

    /// Adds a sealed copy of the page, for `data` alone. Pages come in ascending order. Returns false if the batch is
    /// full.
    pub(crate) fn push_without_copy(&mut self, page_no: PageNo, image: &[u8]) -> bool {
        invariant!(
            image.len() == self.page_size,
            "page {page_no} has {} bytes in memory, {} in files",
            image.len(),
            self.page_size
        );
        if self.pages.len() == BATCH_PAGES {
            return false;
        }
        let slot = self.slot(self.pages.len());
        let buffer = Arc::get_mut(&mut self.buffer).expect("nobody writes a batch that is being filled");
        let copy = &mut buffer[slot];
        copy.copy_from_slice(image);
        page::seal(copy);
        self.pages.push((page_no, page::lsn(copy)));
        true
    }

    /// Writes the copies of the batch, if it has any, to the file and syncs it.
    pub(crate) fn write(&mut self, stats: &StoreStats) -> Result<()> {
        if self.copies == 0 {
            return Ok(());
        }
        let mut header = [0u8; BLOCK];
        bytes::put(&mut header, 4, &(self.copies as u32).to_le_bytes());
        for (index, (page_no, _)) in self.pages.iter().take(self.copies).enumerate() {
            let sum = page::stored_checksum(&self.buffer[self.slot(index)]);
            bytes::put(&mut header, 8 + index * ENTRY, &page_no.0.to_le_bytes());
            bytes::put(&mut header, 16 + index * ENTRY, &sum.to_le_bytes());
        }
        let sum = crc32c::crc32c(&header[4..]);
        bytes::put(&mut header, 0, &sum.to_le_bytes());
        self.own_buffer()?[..BLOCK].copy_from_slice(&header);
        let used = self.slot(self.copies).start;
        self.file
            .write_at(&self.buffer[..used], 0)
            .map_err(|source| StorageError::io("write", FILE, source))?;
        self.file.sync().map_err(|source| StorageError::io("sync", FILE, source))?;
        stats.doublewrite_batches.fetch_add(1, Ordering::Relaxed);
        stats.bytes_written.fetch_add(used as u64, Ordering::Relaxed);
        Ok(())
    }

    fn own_buffer(&mut self) -> Result<&mut AlignedBuf> {
        Arc::get_mut(&mut self.buffer).ok_or_else(|| StorageError::Misuse {
            what: "the doublewrite buffer is changed while it is written".into(),
        })
    }

    /// Writes the batch's pages to their places in `data`, neighbours together and all of them at once, and syncs.
    pub(crate) fn write_home<T: ReadTarget>(
        &self,
        queue: &IoQueue<T>,
        data: &dyn File,
        stats: &StoreStats,
    ) -> Result<()> {
        let mut runs = Vec::new();
        let mut first = 0;
        while first < self.pages.len() {
            let mut end = first + 1;
            while end < self.pages.len() && self.pages[end].0.0 == self.pages[end - 1].0.0 + 1 {
                end += 1;
            }
            let bytes = self.slot(first).start..self.slot(end).start;
            runs.push((bytes, self.pages[first].0.0 * self.page_size as u64));
            first = end;
        }
        queue.write(&self.buffer, &runs).map_err(|source| StorageError::io("write", "data", source))?;
        data.sync().map_err(|source| StorageError::io("sync", "data", source))?;
        stats.pages_written.fetch_add(self.pages.len() as u64, Ordering::Relaxed);
        stats.bytes_written.fetch_add((self.pages.len() * self.page_size) as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Repairs the pages of `data` that the last batch may have left torn. Returns their numbers.
    pub(crate) fn repair(&mut self, data: &dyn File) -> Result<Vec<PageNo>> {
        let file = Arc::clone(&self.file);
        file.read_at(self.own_buffer()?, 0).map_err(|source| StorageError::io("read", FILE, source))?;
        let data_size = data.size().map_err(|source| StorageError::io("stat", "data", source))?;
        let mut current = AlignedBuf::zeroed(self.page_size);
        let mut repaired = Vec::new();
        for (index, (page_no, sum)) in self.batch_on_disk().into_iter().enumerate() {
            let copy = &self.buffer[self.slot(index)];
            if page::stored_checksum(copy) != sum || page::verify(copy, page_no).is_err() {
                // Either the copy was not synced, and nothing of the batch was written to `data`, or it is damaged
                // itself. Other copies are intact, and no older than their pages.
                continue;
            }
            let offset = page_no.0 * self.page_size as u64;
            if offset + self.page_size as u64 > data_size {
                continue;
            }
            // A sector that the device cannot read may still be writable: a device replaces such a sector when it is
            // written.
            let intact = (0..READ_ATTEMPTS).any(|_| data.read_at(&mut current, offset).is_ok())
                && (page::verify(&current, page_no).is_ok() || current.iter().all(|byte| *byte == 0));
            if !intact {
                data.write_at(copy, offset).map_err(|source| StorageError::io("write", "data", source))?;
                repaired.push(page_no);
            }
        }
        if !repaired.is_empty() {
            data.sync().map_err(|source| StorageError::io("sync", "data", source))?;
        }
        Ok(repaired)
    }

    /// Returns the page numbers and checksums of the header in the buffer; none if the header is torn.
    fn batch_on_disk(&self) -> Vec<(PageNo, u32)> {
        let header = &self.buffer[..BLOCK];
        if bytes::u32_at(header, 0) != Some(crc32c::crc32c(&header[4..])) {
            return Vec::new();
        }
        let count = bytes::u32_at(header, 4).expect("a header is a block") as usize;
        let entry = |index: usize| {
            let page = bytes::u64_at(header, 8 + index * ENTRY)?;
            Some((PageNo(page), bytes::u32_at(header, 16 + index * ENTRY)?))
        };
        (0..count.min(BATCH_PAGES)).map_while(entry).collect()
    }
}
