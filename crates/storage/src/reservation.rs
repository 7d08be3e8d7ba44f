//! Reservations: pages and log bytes set aside, so that later steps cannot run out of space.
//!
//! Everything that can fail for lack of space fails here, before anything was changed.
//!
//! A change that cannot be undone once it has begun may still lack a page, because other threads have changed the
//! tree since: they used the room in its pages, and kept the pages that they had reserved. Then a page is added to
//! the reservation ([`Reservation::top_up`]): from free space, or on a full disk from a margin that was filled
//! beforehand ([`Reservation::set_maximum`]).

use crate::core::Inner;
use crate::log::{Log, LogReservation};
use crate::redo::GROUP_OVERHEAD;
use crate::space::ALLOCATE_LOG_BYTES;
use crate::{LsnRange, Result, StorageError};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Pages set aside for reservations that turn out to be too small.
const MARGIN_PAGES: u64 = 64;

/// Pages and log bytes set aside. Dropping the reservation gives back the rest.
pub struct Reservation {
    inner: Arc<Inner>,
    pages: usize,
    log: LogReservation,
    log_bytes: usize,
    /// Whether it may use the margin: see [`Reservation::set_maximum`].
    more: bool,
}

impl Reservation {
    /// Sets `pages` and `log_bytes` aside, and the log bytes of handing out the pages. The caller holds no latch and
    /// no other reservation.
    pub(crate) fn new(inner: &Arc<Inner>, pages: usize, log_bytes: usize) -> Result<Reservation> {
        inner.poison.check()?;
        let log_bytes = log_bytes.saturating_add(pages.saturating_mul(ALLOCATE_LOG_BYTES) + GROUP_OVERHEAD);
        // Check first, which needs nothing: the file must not grow for a reservation that can never be granted.
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

    /// Sets log bytes aside without waiting, beyond the log's limit if necessary. For small changes on behalf of a
    /// caller that may hold a reservation; a wait for log space could be a wait for that reservation.
    pub(crate) fn at_once(inner: &Arc<Inner>, log_bytes: usize) -> Result<Reservation> {
        inner.poison.check()?;
        let log = match inner.log.try_reserve(log_bytes as u64)? {
            Some(log) => log,
            None => inner.log.reserve_beyond_limit(log_bytes as u64)?,
        };
        Ok(Reservation { inner: Arc::clone(inner), pages: 0, log, log_bytes, more: false })
    }

    /// Returns the number of pages that can still be allocated.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// Returns the number of log bytes that can still be appended, overheads included.
    pub fn log_bytes(&self) -> usize {
        self.log_bytes
    }

    /// Allows somewhat more to be taken than was reserved from now on: pages that [`top_up`](Self::top_up) finds
    /// nowhere else come from a margin that all such reservations share, and log bytes from the log's margin, and at
    /// last from another log file. For a change that cannot be undone, and cannot foresee what others will do to the
    /// tree meanwhile.
    ///
    /// # Errors
    /// `DiskFull` if the margin cannot be filled. The pages in it may be used all the same.
    pub fn set_maximum(&mut self) -> Result<()> {
        self.more = true;
        let lacking = MARGIN_PAGES.saturating_sub(self.inner.space.margin.load(Ordering::Acquire));
        if lacking > 0 {
            self.inner.reserve_pages(lacking)?;
            self.inner.space.margin.fetch_add(lacking, Ordering::AcqRel);
        }
        Ok(())
    }

    /// Ensures that a page can be allocated. If none is left, adds one, and with it the log bytes that filling it
    /// takes, beyond the log's limit if necessary. The caller holds no latch.
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

    /// Adds pages without waiting, from the margin if `needed` and there are no others.
    pub(crate) fn add_pages_at_once(&mut self, pages: usize, needed: bool) -> Result<()> {
        self.more |= needed;
        match self.add_pages(pages) {
            Err(_) if needed => (0..pages).try_for_each(|_| self.add_one()),
            added => added,
        }
    }

    /// Returns whether a group of `size` bytes may be appended.
    pub(crate) fn covers(&self, size: usize) -> bool {
        self.more || size <= self.log_bytes
    }

    /// Records that one of the pages was taken. The space manager has counted it.
    pub(crate) fn use_page(&mut self) {
        self.pages = self.pages.saturating_sub(1);
    }

    /// Adds pages, without waiting for log space.
    pub(crate) fn add_pages(&mut self, pages: usize) -> Result<()> {
        self.inner.reserve_pages(pages as u64)?;
        self.pages += pages;
        Ok(())
    }

    /// Ensures that at least `pages` pages can be allocated. First gives back the remaining log bytes, because this
    /// may wait for log space: [`renew_log`](Self::renew_log) has to follow. The caller holds no latch.
    ///
    /// # Errors
    /// `DiskFull`, `Io`, `Poisoned`. The reservation keeps the pages that it has.
    pub fn ensure_pages(&mut self, pages: usize) -> Result<()> {
        self.release_log();
        self.add_pages(pages.saturating_sub(self.pages))
    }

    /// Gives back the remaining log bytes and sets `log_bytes` aside, waiting for log space if necessary. A caller
    /// that has to go on after this must let checkpoints pass the records that it has appended so far. The caller
    /// holds no latch.
    ///
    /// # Errors
    /// As [`Store::reserve`](crate::Store::reserve). A number of bytes that was granted once is granted again, sooner
    /// or later.
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

    /// Appends a group to the log and charges it to the reservation.
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
