//! Writes changed pages to `data`: first the log, then the doublewrite file, then the page's own place.
//!
//! Each page is copied and sealed under its shared latch, which is released before any I/O. The page stays dirty,
//! from the LSN of the first change that `data` lacks, until the batch is synced in `data`. If it was changed
//! meanwhile it stays dirty from the LSN of the copy on. The log is made durable up to the newest copy *before* the
//! doublewrite file gets it: a repair after a crash must not bring back a change that the log does not know.
//!
//! A page of which `data` holds nothing since it was made anew needs no copy in the doublewrite file. It has been
//! dirty since before the group that made it, so redo begins there and does not read what a torn write leaves.
//!
//! The writes of a batch to their own places are in flight together; they may reach the disk in any order.
//!
//! Any failure after the copies were taken stops the store, because the state of the files is unknown then.

use super::cache::PageCache;
use super::guard::{SharedGuard, held};
use super::latch::{Latch, Latching};
use crate::doublewrite::{BATCH_PAGES, Doublewrite};
use crate::{Lsn, PageNo, Result, StorageError, page};
use std::sync::atomic::Ordering;

impl PageCache {
    /// Writes those of `pages` that are dirty, in page order. The caller holds no latch.
    pub(crate) fn write_back(&self, mut pages: Vec<PageNo>, latching: Latching) -> Result<()> {
        held::assert_none("writing pages");
        // A panic leaves the batch half filled or half written.
        let _stops = self.stop_on_panic("writing pages");
        pages.sort_unstable();
        pages.dedup();
        for batch in pages.chunks(BATCH_PAGES) {
            self.poison.check()?;
            let mut doublewrite = self.doublewrite.lock();
            self.write_batch(&mut doublewrite, batch, latching)?;
        }
        Ok(())
    }

    /// Waits until no batch is being written. A page that is not dirty now is not written after this returns.
    pub(crate) fn wait_for_writes(&self) {
        held::assert_none("waiting for writes");
        drop(self.doublewrite.lock());
    }

    /// Copies the page from memory into `image` and seals it, if the page is changed in memory. Returns whether it
    /// did. The caller holds no latch.
    pub(crate) fn copy_changed(&self, page_no: PageNo, image: &mut [u8]) -> bool {
        match self.pool.shared(page_no) {
            Latch::Held(guard) if self.pool.dirty_since(&guard).is_some() && image.len() == guard.len() => {
                image.copy_from_slice(&guard);
                page::seal(image);
                true
            }
            _ => false,
        }
    }

    /// Reads the page from the file while the pool writes nothing. Where the file has no valid copy, takes the
    /// changed page from memory. The image is sealed. Returns false if neither has the page. The caller holds no
    /// latch.
    pub(crate) fn read_at_rest(&self, page_no: PageNo, image: &mut [u8]) -> bool {
        held::assert_none("waiting for writes");
        let _quiet = self.doublewrite.lock();
        let offset = page_no.0 * self.page_size as u64;
        let read = self.data.read_at(image, offset).is_ok() && page::verify(image, page_no).is_ok();
        read || self.copy_changed(page_no, image)
    }

    fn write_batch(&self, doublewrite: &mut Doublewrite, pages: &[PageNo], latching: Latching) -> Result<()> {
        doublewrite.clear();
        let latch = |page: PageNo| match latching {
            Latching::Try => self.pool.try_shared(page),
            Latching::Wait => match self.pool.shared(page) {
                Latch::Held(guard) => Some(guard),
                Latch::NotResident => None,
            },
        };
        let mut unwritten = Vec::new();
        for &page in pages {
            let Some(guard) = latch(page).filter(|guard| self.pool.dirty_since(guard).is_some()) else {
                continue;
            };
            match self.pool.is_unwritten(&guard) {
                true => unwritten.push(page),
                false => _ = doublewrite.push(page, &guard),
            }
        }
        for page in unwritten {
            // Nobody else writes pages. A page that was freed meanwhile may be clean, or may be another one by now.
            let still = |guard: &SharedGuard<'_>| {
                self.pool.dirty_since(guard).is_some() && self.pool.is_unwritten(guard)
            };
            if let Some(guard) = latch(page).filter(still) {
                doublewrite.push_without_copy(page, &guard);
            }
        }
        if doublewrite.pages().is_empty() {
            return Ok(());
        }
        self.write_copies(doublewrite).inspect_err(|error| self.stop(error))?;
        for &(page, lsn) in doublewrite.pages() {
            if let Latch::Held(guard) = self.pool.shared(page) {
                self.pool.set_written(&guard, lsn);
            }
        }
        Ok(())
    }

    fn write_copies(&self, doublewrite: &mut Doublewrite) -> Result<()> {
        let newest = doublewrite.pages().iter().map(|(_, lsn)| *lsn).max().unwrap_or(Lsn::ZERO);
        if let Some(log) = self.log.get() {
            log.wait_durable(newest)?;
        }
        self.pool.raise_newest(newest);
        doublewrite.write(&self.stats)?;
        doublewrite.write_home(&self.queue, &*self.data, &self.stats)
    }

    /// Stops the store because of `error`.
    pub(crate) fn stop(&self, error: &StorageError) {
        let why = error.to_string();
        if let Some(log) = self.log.get() {
            log.poison(why.clone());
        }
        self.poison.set(why);
    }

    /// Returns a guard that stops the store if this thread panics before the guard is dropped. `what` names the work
    /// that is half done then.
    pub(crate) fn stop_on_panic(&self, what: &'static str) -> StopOnPanic<'_> {
        StopOnPanic { cache: self, what, panicked_before: std::thread::panicking() }
    }

    /// Ends the reading in of pages. Some pages with changes that were not logged have been dropped from memory, and
    /// the file has older versions of them.
    pub(crate) fn end_reading(&self) {
        self.has_lost_changes.store(true, Ordering::Release);
    }
}

/// Stops the store when a panic unwinds over it. It must be taken before locks and latches, so that these are free
/// when it stops the store.
#[must_use]
pub struct StopOnPanic<'c> {
    cache: &'c PageCache,
    what: &'static str,
    /// Whether the thread was panicking already. Code that cleans up after an earlier panic is no reason to stop the
    /// store.
    panicked_before: bool,
}

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.panicked_before {
            self.cache.stop(&StorageError::Misuse { what: format!("a panic while {}", self.what) });
        }
    }
}
