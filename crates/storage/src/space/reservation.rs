//! Reservations: pages and log bytes set aside so that what follows cannot run out.
//!
//! Everything that can fail for want of space fails here, before anything was changed.
//!
//! Who cannot go back once he has begun may still find that he lacks a page, because others have changed the tree since:
//! they used the room that it had, and kept the pages that they had reserved. Then a page is added to the reservation
//! ([`Reservation::top_up`]): from free space, and on a full disk from a margin that was filled beforehand
//! ([`Reservation::allow_more`]).

use super::record::ALLOCATE_LOG_BYTES;
use crate::log::{Log, LogReservation};
use crate::redo::GROUP_OVERHEAD;
use crate::store::Inner;
use crate::{LsnRange, Result, StorageError};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Pages set aside for reservations that turn out to be too small.
const MARGIN_PAGES: u64 = 64;

/// Pages and log bytes set aside; what is left is given back when it is dropped.
pub struct Reservation {
    inner: Arc<Inner>,
    pages: usize,
    log: LogReservation,
    log_bytes: usize,
    /// It may use the margin: see [`Reservation::allow_more`].
    more: bool,
}

impl Reservation {
    /// Sets `pages` and `log_bytes` aside, and what the log needs for handing out the pages. The caller holds no
    /// latch and no other reservation.
    pub(crate) fn new(inner: &Arc<Inner>, pages: usize, log_bytes: usize) -> Result<Reservation> {
        inner.poison.check()?;
        let log_bytes = log_bytes.saturating_add(pages.saturating_mul(ALLOCATE_LOG_BYTES) + GROUP_OVERHEAD);
        // First what needs nothing: the file is not to grow for what can never be granted.
        inner.log.check_reservation(log_bytes as u64)?;
        inner.reserve_pages(pages as u64)?;
        match inner.reserve_log(log_bytes as u64) {
            Ok(log) => Ok(Reservation { inner: Arc::clone(inner), pages, log, log_bytes, more: false }),
            Err(error) => {
                inner.space.state().take_back(pages as u64);
                Err(error)
            }
        }
    }

    /// Sets log bytes aside at once, beyond the log's limit if need be: for small changes on behalf of somebody who may
    /// hold a reservation, and with it what a wait would be for.
    pub(crate) fn at_once(inner: &Arc<Inner>, log_bytes: usize) -> Result<Reservation> {
        inner.poison.check()?;
        let log = match inner.log.try_reserve(log_bytes as u64)? {
            Some(log) => log,
            None => inner.log.reserve_beyond_limit(log_bytes as u64)?,
        };
        Ok(Reservation { inner: Arc::clone(inner), pages: 0, log, log_bytes, more: false })
    }

    /// Pages that can still be allocated.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// Log bytes that can still be appended, overheads included.
    pub fn log_bytes(&self) -> usize {
        self.log_bytes
    }

    /// From here on somewhat more may be taken than was reserved: pages that [`top_up`](Self::top_up) finds nowhere else from a
    /// margin that all such reservations share, log bytes at the cost of the log's margin and at last of another log file. For
    /// whoever will not be able to go back, and cannot know what others will have done to the tree by then.
    ///
    /// # Errors
    /// Disk full if the margin cannot be filled; what there is of it may be used all the same.
    pub fn allow_more(&mut self) -> Result<()> {
        self.more = true;
        let lacking = MARGIN_PAGES.saturating_sub(self.inner.space.margin.load(Ordering::Acquire));
        if lacking > 0 {
            self.inner.reserve_pages(lacking)?;
            self.inner.space.margin.fetch_add(lacking, Ordering::AcqRel);
        }
        Ok(())
    }

    /// Sees to it that a page can be allocated: if none is left one is added, and with it the log bytes that filling it takes,
    /// beyond the log's limit if need be. The caller holds no latch.
    ///
    /// # Errors
    /// `DiskFull`, `Io`, `Poisoned`.
    pub fn top_up(&mut self) -> Result<()> {
        if self.pages > 0 { Ok(()) } else { self.add_one() }
    }

    /// Adds a page, as [`top_up`](Self::top_up) does.
    ///
    /// # Errors
    /// As `top_up`.
    pub fn add_one(&mut self) -> Result<()> {
        self.inner.stats.reservation_top_ups.fetch_add(1, Ordering::Relaxed);
        match self.add_pages(1) {
            Err(_) if self.more && self.inner.space.take_from_margin() => self.pages += 1,
            added => added?,
        }
        self.log_bytes += 2 * self.inner.cache.page_size;
        Ok(())
    }

    /// Adds pages, from the margin if `needed` and there are no others.
    pub(crate) fn add_pages_at_once(&mut self, pages: usize, needed: bool) -> Result<()> {
        self.more |= needed;
        match self.add_pages(pages) {
            Err(_) if needed => (0..pages).try_for_each(|_| self.add_one()),
            added => added,
        }
    }

    /// Whether a group of `size` bytes may be appended.
    pub(crate) fn covers(&self, size: usize) -> bool {
        self.more || size <= self.log_bytes
    }

    /// One of the pages was taken; the space manager has counted it.
    pub(crate) fn use_page(&mut self) {
        self.pages = self.pages.saturating_sub(1);
    }

    /// Adds pages, without waiting for log space.
    pub(crate) fn add_pages(&mut self, pages: usize) -> Result<()> {
        self.inner.reserve_pages(pages as u64)?;
        self.pages += pages;
        Ok(())
    }

    /// Makes sure that at least `pages` pages can be allocated. What is left of the log bytes is given back first, because
    /// this may wait for log space: [`renew_log`](Self::renew_log) is to follow. The caller holds no latch.
    ///
    /// # Errors
    /// `DiskFull`, `Io`, `Poisoned`; the pages there are stay.
    pub fn ensure_pages(&mut self, pages: usize) -> Result<()> {
        self.release_log();
        self.add_pages(pages.saturating_sub(self.pages))
    }

    /// Gives back what is left of the log bytes and sets `log_bytes` aside, waiting for log space as needed. Whoever has to
    /// go on with this must let checkpoints pass what it has appended so far. The caller holds no latch.
    ///
    /// # Errors
    /// As [`Store::reserve`](crate::Store::reserve). What was granted once is granted again, sooner or later.
    pub fn renew_log(&mut self, log_bytes: usize) -> Result<()> {
        self.release_log();
        let log_bytes = log_bytes.saturating_add(GROUP_OVERHEAD);
        self.inner.log.check_reservation(log_bytes as u64)?;
        self.log = self.inner.reserve_log(log_bytes as u64)?;
        self.log_bytes = log_bytes;
        Ok(())
    }

    fn release_log(&mut self) {
        self.log.release();
        self.log_bytes = 0;
    }

    /// Gives pages back before the reservation is dropped.
    pub(crate) fn give_back_pages(&mut self, pages: usize) {
        let pages = pages.min(self.pages);
        self.inner.space.state().take_back(pages as u64);
        self.pages -= pages;
    }

    /// Appends a group to the log at the reservation's cost.
    pub(crate) fn append(&mut self, log: &Log, kind: u8, payload: &[u8]) -> Result<LsnRange> {
        let size = payload.len() + GROUP_OVERHEAD;
        if !self.covers(size) {
            return Err(StorageError::Misuse {
                what: format!("{size} log bytes needed, {} reserved", self.log_bytes),
            });
        }
        let range = log.append(&mut self.log, kind, &[payload])?;
        self.log_bytes = self.log_bytes.saturating_sub(size);
        Ok(range)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.pages > 0 {
            self.inner.space.state().take_back(self.pages as u64);
        }
    }
}
