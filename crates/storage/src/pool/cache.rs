//! The pages of `data` in memory: reading them in, one by one or in batches, and making room for them.

use super::frames::BufferPool;
use super::guard::{OwnedFrame, PageFault, SharedGuard, held};
use super::latch::Latch;
use super::write_back::Latching;
use crate::device::{File, IoQueue, PageRead};
use crate::doublewrite::{BATCH_PAGES, Doublewrite};
use crate::log::Log;
use crate::poison::Poison;
use crate::{PageNo, Result, StorageError, StoreStats};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Rounds of the clock without a frame before the pool is called too small; each waits a little for others.
const FRUITLESS_ROUNDS: usize = 2000;
const ROUND_PAUSE: Duration = Duration::from_millis(1);

/// The pool with the files behind it.
pub(crate) struct PageCache {
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) data: Arc<dyn File>,
    pub(crate) page_size: usize,
    pub(super) doublewrite: Mutex<Doublewrite>,
    pub(super) stats: Arc<StoreStats>,
    pub(super) poison: Arc<Poison>,
    /// Set once the log is open for appending. Pages are only changed by what the log on disk holds before that.
    pub(super) log: OnceLock<Log>,
    queue: IoQueue<PageFault>,
    /// Pages in `data`; no page from here on is read.
    file_pages: AtomicU64,
}

impl PageCache {
    /// Puts `pool` in front of `data`. `io_threads` read ahead; without any, read-ahead is done by its caller.
    pub(crate) fn new(
        pool: Arc<BufferPool>,
        data: Arc<dyn File>,
        doublewrite: Doublewrite,
        io_threads: usize,
        stats: Arc<StoreStats>,
        poison: Arc<Poison>,
    ) -> Result<PageCache> {
        let queue = IoQueue::new(Arc::clone(&data), io_threads)
            .map_err(|source| StorageError::io("start read threads for", "data", source))?;
        Ok(PageCache {
            page_size: pool.page_size(),
            pool,
            data,
            doublewrite: Mutex::new(doublewrite),
            stats,
            poison,
            log: OnceLock::new(),
            queue,
            file_pages: AtomicU64::new(0),
        })
    }

    /// From now on pages are written only once the log is durable up to their LSN.
    pub(crate) fn set_log(&self, log: Log) {
        let _ = self.log.set(log);
    }

    /// Counters and failure state, which others report to as well.
    pub(crate) fn shared_parts(&self) -> (Arc<StoreStats>, Arc<Poison>) {
        (Arc::clone(&self.stats), Arc::clone(&self.poison))
    }

    /// Sets how many pages `data` has.
    pub(crate) fn set_file_pages(&self, pages: u64) {
        self.file_pages.store(pages, Ordering::Release);
    }

    /// Pages in `data`.
    pub(crate) fn file_pages(&self) -> u64 {
        self.file_pages.load(Ordering::Acquire)
    }

    /// The page under a shared latch, read in if need be. The caller holds no latch.
    pub(crate) fn shared(&self, page: PageNo) -> Result<SharedGuard<'_>> {
        self.stats.page_requests.add(1);
        loop {
            if let Latch::Held(guard) = self.pool.shared(page) {
                return Ok(guard);
            }
            self.fault_in(page)?;
        }
    }

    /// The page under a shared latch if it is in memory; waits for the latch only.
    pub(crate) fn try_shared(&self, page: PageNo) -> Option<SharedGuard<'_>> {
        self.stats.page_requests.add(1);
        match self.pool.shared(page) {
            Latch::Held(guard) => Some(guard),
            Latch::NotResident => None,
        }
    }

    /// Reads the page in if it is not in memory. The caller holds no latch.
    pub(crate) fn fault_in(&self, page: PageNo) -> Result<()> {
        held::assert_none("reading a page in");
        while !self.pool.is_resident(page) {
            if page.0 >= self.file_pages() {
                return Err(StorageError::Corrupt {
                    page,
                    reason: "referred to, but outside the file".into(),
                });
            }
            let mut frames = self.take_frames(1)?;
            match self.pool.begin_fault(page, &mut frames) {
                Some(mut fault) => {
                    let read = self.data.read_at(fault.frame_mut(), page.0 * self.page_size as u64);
                    if read.is_ok() {
                        self.pool.count_read(self.page_size as u64);
                    }
                    fault.finish(read)?;
                }
                None => self.pool.wait_for_fault(page),
            }
        }
        Ok(())
    }

    /// Starts to read those of `pages` that are not in memory, as far as frames can be had without waiting for
    /// others.
    pub(crate) fn prefetch(&self, pages: &[PageNo]) -> Result<()> {
        held::assert_none("prefetching");
        self.poison.check()?;
        let file_pages = self.file_pages();
        let mut seen = HashSet::new();
        let missing: Vec<PageNo> = pages
            .iter()
            .copied()
            .filter(|page| page.0 < file_pages && !self.pool.is_resident(*page) && seen.insert(*page))
            .take(self.pool.frame_count() / 8)
            .collect();
        let mut frames = self.take_some_frames(missing.len())?;
        let mut reads = Vec::with_capacity(frames.len());
        for page in missing {
            if frames.is_empty() {
                break;
            }
            if let Some(target) = self.pool.begin_fault(page, &mut frames) {
                reads.push(PageRead { offset: page.0 * self.page_size as u64, target });
            }
        }
        self.queue.submit(reads);
        Ok(())
    }

    /// Up to `wanted` frames, after one attempt to make room for them.
    fn take_some_frames(&self, wanted: usize) -> Result<Vec<OwnedFrame>> {
        let free = self.pool.free_count();
        if free < wanted {
            self.make_room(wanted - free)?;
        }
        let mut count = wanted;
        while count > 0 {
            if let Some(frames) = self.pool.try_take(count) {
                return Ok(frames);
            }
            count = self.pool.free_count().min(count - 1);
        }
        Ok(Vec::new())
    }

    /// `count` frames, all or none, evicting and writing pages as need be. The caller holds no latch and no frame.
    pub(crate) fn take_frames(&self, count: usize) -> Result<Vec<OwnedFrame>> {
        held::assert_none("waiting for frames");
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut fruitless = 0;
        loop {
            if let Some(frames) = self.pool.try_take(count) {
                return Ok(frames);
            }
            if count > self.pool.frame_count() / 2 || fruitless > FRUITLESS_ROUNDS {
                let available = self.pool.free_count();
                return Err(StorageError::PoolTooSmall { wanted: count, available });
            }
            if self.make_room(count)? == 0 {
                // All frames are latched, or taken by others who are about to give them back.
                fruitless += 1;
                std::thread::sleep(ROUND_PAUSE);
            }
        }
    }

    /// One round of the clock that tries to free `wanted` frames, writing the changed pages among its victims with
    /// as many of those it comes to next as make a batch. Returns how many it freed.
    pub(crate) fn make_room(&self, wanted: usize) -> Result<usize> {
        let swept = self.pool.sweep(wanted);
        if swept.dirty.is_empty() {
            return Ok(swept.evicted);
        }
        let mut batch = self.pool.dirty_ahead(BATCH_PAGES.saturating_sub(swept.dirty.len()));
        batch.extend(&swept.dirty);
        self.write_back(batch, Latching::Try)?;
        let evicted = swept.dirty.into_iter().filter(|page| self.pool.evict_clean(*page)).count();
        Ok(swept.evicted + evicted)
    }
}
