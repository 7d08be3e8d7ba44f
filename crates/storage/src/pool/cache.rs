//! The pages of `data` in memory: reading them in, one by one or in batches, and making room for them.

use super::budget::Lent;
use super::clock::Swept;
use super::frames::BufferPool;
use super::guard::{OwnedFrame, PageFault, SharedGuard, held};
use super::latch::Latch;
use super::translation::MAX_PAGES;
use super::write_back::Latching;
use crate::background::Waker;
use crate::device::{File, IoQueue, PageRead, QueueStats};
use crate::doublewrite::{BATCH_PAGES, Doublewrite};
use crate::log::Log;
use crate::poison::Poison;
use crate::space::EXTENT_PAGES;
use crate::stats::count_reads_begun;
use crate::{PageNo, Result, StorageError, StoreStats};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Rounds of the clock without a frame before the pool is called too small; each waits a little for others.
const FRUITLESS_ROUNDS: usize = 2000;
const ROUND_PAUSE: Duration = Duration::from_millis(1);
/// Free frames to keep: one part in this many.
const RESERVE_SHARE: usize = 32;
/// Changed pages that who needs a frame passes over before it writes some itself.
const PATIENCE: usize = 64;
/// Pages of one prefetch at most: one part of the pool in this many.
const PREFETCH_SHARE: usize = 8;

/// The pool with the files behind it.
pub(crate) struct PageCache {
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) data: Arc<dyn File>,
    pub(crate) page_size: usize,
    pub(super) doublewrite: Mutex<Doublewrite>,
    pub(super) stats: Arc<StoreStats>,
    pub(super) poison: Arc<Poison>,
    /// Whether pages that were changed and not logged have been dropped: nothing is read in then.
    pub(super) has_lost_changes: AtomicBool,
    /// Set once the log is open for appending. Pages are only changed by what the log on disk holds before that.
    pub(super) log: OnceLock<Log>,
    pub(super) queue: IoQueue<PageFault>,
    /// Wakes the thread that keeps frames free, if there is one.
    cleaner: OnceLock<Waker>,
    /// It has been woken for want of frames.
    cleaner_asked: AtomicBool,
    /// Changed pages that stood in the way of who needed a frame: to be written and evicted.
    in_the_way: Mutex<Vec<PageNo>>,
    pub(super) lent: Mutex<Lent>,
    /// Pages in `data`; no page from here on is read.
    file_pages: AtomicU64,
}

impl PageCache {
    /// Puts `pool` in front of `data`. Batches are transferred by `queue`.
    pub(crate) fn new(
        pool: Arc<BufferPool>,
        data: Arc<dyn File>,
        doublewrite: Doublewrite,
        queue: IoQueue<PageFault>,
        stats: Arc<StoreStats>,
        poison: Arc<Poison>,
    ) -> PageCache {
        PageCache {
            page_size: pool.page_size(),
            pool,
            data,
            doublewrite: Mutex::new(doublewrite),
            stats,
            poison,
            has_lost_changes: AtomicBool::new(false),
            log: OnceLock::new(),
            queue,
            cleaner: OnceLock::new(),
            cleaner_asked: AtomicBool::new(false),
            in_the_way: Mutex::default(),
            lent: Mutex::default(),
            file_pages: AtomicU64::new(0),
        }
    }

    /// What became of reads in batches.
    pub(crate) fn queue_stats(&self) -> &QueueStats {
        self.queue.stats()
    }

    /// From now on pages are written only once the log is durable up to their LSN.
    pub(crate) fn set_log(&self, log: Log) {
        let _ = self.log.set(log);
    }

    /// From now on somebody keeps frames free, and is woken when there are few.
    pub(crate) fn set_cleaner(&self, waker: Waker) {
        let _ = self.cleaner.set(waker);
    }

    /// Frames that are to be free.
    pub(crate) fn reserve(&self) -> usize {
        self.pool.frame_count() / RESERVE_SHARE + 1
    }

    /// Called by the cleaner when it begins: whoever finds too few frames from now on wakes it again.
    pub(crate) fn frames_are_looked_after(&self) {
        self.cleaner_asked.store(false, Ordering::SeqCst);
    }

    fn ask_cleaner(&self) {
        if let Some(cleaner) = self.cleaner.get()
            && !self.cleaner_asked.swap(true, Ordering::SeqCst)
        {
            cleaner.wake();
        }
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

    /// Makes `data` reach the page, by whole extents: what the log says is in use may lie beyond the end of the file, whose growth was not
    /// synced.
    pub(crate) fn reach(&self, page: PageNo) -> Result<()> {
        if page.0 < self.file_pages() {
            return Ok(());
        }
        if page.0 >= MAX_PAGES {
            return Err(StorageError::Corrupt { page, reason: "no page has this number".into() });
        }
        let pages = (page.0 / EXTENT_PAGES + 1) * EXTENT_PAGES;
        let bytes = pages * self.page_size as u64;
        self.data.allocate(bytes).map_err(|source| StorageError::io("allocate", "data", source))?;
        self.set_file_pages(pages);
        Ok(())
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
        if self.pool.is_resident(page) {
            return Ok(());
        }
        self.stats.page_faults.add(1);
        while let Some(fault) = self.fetch(page)? {
            self.complete(fault)?;
        }
        Ok(())
    }

    /// Has the page read, unless it is in memory, and takes it over before anybody sees it. The caller holds no latch.
    pub(super) fn fetch(&self, page: PageNo) -> Result<Option<PageFault>> {
        held::assert_none("reading a page in");
        while !self.pool.is_resident(page) {
            if self.has_lost_changes.load(Ordering::Acquire) {
                self.poison.check()?;
            }
            if let Some(fault) = self.pool.take_parked(page) {
                return Ok(Some(fault));
            }
            if page.0 >= self.file_pages() {
                return Err(StorageError::Corrupt {
                    page,
                    reason: "referred to, but outside the file".into(),
                });
            }
            let mut frames = self.take_frames(1)?;
            match self.pool.begin_fault(page, &mut frames) {
                Some(mut fault) => {
                    count_reads_begun(1);
                    let (offset, bytes) = (page.0 * self.page_size as u64, self.page_size as u64);
                    let times = &self.queue.stats().times;
                    times.begin(offset, bytes, Instant::now());
                    let read = self.data.read_at(fault.frame_mut(), offset);
                    times.end(bytes, Instant::now());
                    if read.is_ok() {
                        self.pool.count_read(bytes);
                    }
                    return fault.verified(read).map(Some);
                }
                None => self.pool.wait_for_fault(page),
            }
        }
        Ok(None)
    }

    /// Most pages that one prefetch begins to read.
    pub(crate) fn prefetch_limit(&self) -> usize {
        self.pool.frame_count() / PREFETCH_SHARE
    }

    /// Starts to read those of `pages` that are not in memory, as far as frames can be had without waiting for
    /// others. They come in on probation.
    pub(crate) fn prefetch(&self, pages: &[PageNo]) -> Result<()> {
        held::assert_none("prefetching");
        self.poison.check()?;
        let missing = self.missing(pages, self.prefetch_limit());
        let frames = self.take_some_frames(missing.len())?;
        let begun = self.read_in(&missing, frames, PageFault::set_on_probation);
        self.stats.prefetched.fetch_add(begun as u64, Ordering::Relaxed);
        Ok(())
    }

    /// As [`PageCache::prefetch`], but the pages come in as if they had been used; `blank` ones, if they cannot be read, as
    /// zeros. Returns how many reads were begun.
    pub(crate) fn read_ahead(&self, pages: &[PageNo], blank: bool) -> Result<usize> {
        let missing = self.missing(pages, self.prefetch_limit());
        let frames = self.take_some_frames(missing.len())?;
        Ok(self.read_in(&missing, frames, if blank { PageFault::set_blank } else { |_| {} }))
    }

    /// As [`PageCache::read_ahead`], but evicts nothing. Returns how many reads were begun.
    pub(crate) fn warm_up(&self, pages: &[PageNo]) -> usize {
        let spare = self.pool.free_count().saturating_sub(self.reserve());
        let missing = self.missing(pages, spare);
        let frames = self.pool.try_take(missing.len()).unwrap_or_default();
        self.read_in(&missing, frames, |_| {})
    }

    /// Those of `pages` that are not in memory, at most so many.
    fn missing(&self, pages: &[PageNo], most: usize) -> Vec<PageNo> {
        let file_pages = self.file_pages();
        let most = if self.has_lost_changes.load(Ordering::Acquire) { 0 } else { most };
        let mut seen = HashSet::new();
        let missing =
            |page: &PageNo| page.0 < file_pages && !self.pool.is_resident(*page) && seen.insert(*page);
        pages.iter().copied().filter(missing).take(most).collect()
    }

    /// Queues reads of the pages into the frames; returns how many.
    fn read_in(&self, pages: &[PageNo], mut frames: Vec<OwnedFrame>, prepare: fn(&mut PageFault)) -> usize {
        let mut reads = Vec::with_capacity(frames.len());
        for page in pages {
            if frames.is_empty() {
                break;
            }
            if let Some(mut target) = self.pool.begin_fault(*page, &mut frames) {
                prepare(&mut target);
                reads.push(PageRead { offset: page.0 * self.page_size as u64, target });
            }
        }
        let begun = reads.len();
        count_reads_begun(begun as u64);
        self.queue.submit(reads);
        begun
    }

    /// Up to `wanted` frames, after one attempt to make room for them.
    fn take_some_frames(&self, wanted: usize) -> Result<Vec<OwnedFrame>> {
        let free = self.pool.free_count();
        if free < wanted {
            self.make_room_in_passing(wanted - free)?;
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
                if self.stats.pool_free.load(Ordering::Relaxed) < self.reserve() as u64 / 2 {
                    self.ask_cleaner();
                }
                return Ok(frames);
            }
            if count > self.pool.frame_count() / 2 || fruitless > FRUITLESS_ROUNDS {
                let available = self.pool.free_count();
                return Err(StorageError::PoolTooSmall { wanted: count, available });
            }
            if self.make_room_in_passing(count)? == 0 && self.pool.drop_parked(count) == 0 {
                // All frames are latched, or taken by others who are about to give them back.
                fruitless += 1;
                std::thread::sleep(ROUND_PAUSE);
            }
        }
    }

    /// Frees up to `wanted` frames for the caller. If there is a cleaner, changed pages are left to it as long as
    /// clean ones are found soon: writing a batch takes long, and the caller is to go on.
    fn make_room_in_passing(&self, wanted: usize) -> Result<usize> {
        if self.cleaner.get().is_none() {
            return self.make_room(wanted);
        }
        self.ask_cleaner();
        let swept = self.pool.sweep(wanted, PATIENCE);
        if swept.evicted > 0 || swept.dirty.is_empty() {
            let mut in_the_way = self.in_the_way.lock();
            if in_the_way.len() < BATCH_PAGES {
                in_the_way.extend(swept.dirty);
            }
            return Ok(swept.evicted);
        }
        self.write_and_evict(swept)
    }

    /// One round of the clock that tries to free `wanted` frames, writing the changed pages among its victims with
    /// as many of those it comes to next as make a batch. Returns how many it freed.
    pub(crate) fn make_room(&self, wanted: usize) -> Result<usize> {
        let left_by_others = std::mem::take(&mut *self.in_the_way.lock());
        let mut swept = self.pool.sweep(wanted, 0);
        swept.dirty.extend(left_by_others);
        self.write_and_evict(swept)
    }

    fn write_and_evict(&self, swept: Swept) -> Result<usize> {
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
