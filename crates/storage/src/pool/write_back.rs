//! Changed pages to `data`: log first, then the doublewrite file, then home.
//!
//! A page is copied and sealed under its shared latch, which is released before any I/O. It stays dirty, with the
//! LSN from which `data` lacks changes, until the batch is synced in `data`; if it was changed meanwhile it stays
//! dirty from the LSN of the copy on. The log is made durable up to the newest copy *before* the doublewrite file
//! gets it: a repair after a crash must not bring back a change that the log does not know.
//!
//! A page that `data` has nothing of since it was made anew needs no copy in the doublewrite file: it is dirty since before the
//! group that made it, so redo begins there, and whatever a torn write leaves is not read.
//!
//! The home writes of a batch are in flight together; which of them reach the disk first does not matter.
//!
//! Any failure after the copies were taken stops the store: what is in the files is not known then.

use super::cache::PageCache;
use super::guard::{SharedGuard, held};
use super::latch::Latch;
use crate::doublewrite::{BATCH_PAGES, Doublewrite};
use crate::{Lsn, PageNo, Result, StorageError, page};
use std::sync::atomic::Ordering;

/// What to do about pages that are latched exclusively.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Latching {
    /// Leave them out.
    Try,
    /// Wait for the latch.
    Wait,
}

impl PageCache {
    /// Writes those of `pages` that are dirty, in page order. The caller holds no latch.
    pub(crate) fn write_back(&self, mut pages: Vec<PageNo>, latching: Latching) -> Result<()> {
        held::assert_none("writing pages");
        // The batch is left half filled or half written.
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

    /// Waits until no batch is being written: pages that are not dirty now are not written after this.
    pub(crate) fn wait_for_writes(&self) {
        held::assert_none("waiting for writes");
        drop(self.doublewrite.lock());
    }

    /// The page as it is in memory, sealed, if it is changed there; whether it is. The caller holds no latch.
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

    /// Reads the page while nothing of the pool is being written; where the file does not have it, as it is in memory, if it is
    /// changed there. Sealed; false if it is to be had in neither way. The caller holds no latch.
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
            // Nobody else writes pages; freed, it may be clean or another by now.
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

    /// Stops the store if this thread panics before the guard is dropped. `what` names what is half done then.
    pub(crate) fn stop_on_panic(&self, what: &'static str) -> StopOnPanic<'_> {
        StopOnPanic { cache: self, what, panicked_before: std::thread::panicking() }
    }

    /// Reads no page in from now on: some that were changed and not logged have been dropped from memory, and those in the
    /// file are older.
    pub(crate) fn end_reading(&self) {
        self.has_lost_changes.store(true, Ordering::Release);
    }
}

/// Stops the store when a panic unwinds over it. To be taken before locks and latches, so that they are free when it stops.
#[must_use]
pub struct StopOnPanic<'c> {
    cache: &'c PageCache,
    what: &'static str,
    /// Code that cleans up after an earlier panic is no cause to stop.
    panicked_before: bool,
}

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.panicked_before {
            self.cache.stop(&StorageError::Misuse { what: format!("a panic while {}", self.what) });
        }
    }
}
