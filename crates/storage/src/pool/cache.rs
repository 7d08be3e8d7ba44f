//! The pages of `data` in memory: reads them in, one by one or in batches, and makes room for them.

use super::BufferPool;
use super::clock::ClockSweep;
use super::guard::{OwnedFrame, PageFault, SharedGuard, held};
use super::latch::{Latch, Latching};
use crate::device::{File, IoQueue, PageRead, QueueStats};
use crate::doublewrite::{BATCH_PAGES, Doublewrite};
use crate::log::Log;
use crate::poison::Poison;
use crate::stats::count_reads_begun;
use crate::worker::Waker;
use crate::{PageNo, Result, StorageError, StoreStats};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Rounds of the clock that free no frame before the pool is reported too small. A pause of [`ROUND_PAUSE`] follows
/// each, in which other threads may release frames.
const FRUITLESS_ROUNDS: usize = 2000;
const ROUND_PAUSE: Duration = Duration::from_millis(1);
/// The cleaner keeps one in this many frames free.
const RESERVE_SHARE: usize = 32;
/// Changed pages that a thread in need of a frame passes over before it writes some itself.
const PATIENCE: usize = 64;
/// One prefetch reads at most one in this many of the pool's frames.
const PREFETCH_SHARE: usize = 8;

/// The frames and bytes lent to all borrowers of one pool.
#[derive(Default)]
pub(super) struct Lent {
    pub(super) bytes: u64,
    pub(super) frames: Vec<OwnedFrame>,
}

/// The buffer pool with the files behind it.
pub(crate) struct PageCache {
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) data: Arc<dyn File>,
    pub(crate) page_size: usize,
    pub(super) doublewrite: Mutex<Doublewrite>,
    pub(super) stats: Arc<StoreStats>,
    pub(super) poison: Arc<Poison>,
    /// Whether pages with changes that were not logged have been dropped. No page is read in from then on.
    pub(super) has_lost_changes: AtomicBool,
    /// The log, set once it is open for appending. Until then, pages change only by replaying log records that are on
    /// disk.
    pub(super) log: OnceLock<Log>,
    pub(super) queue: IoQueue<PageFault>,
    /// Wakes the thread that keeps frames free, if there is one.
    cleaner: OnceLock<Waker>,
    /// Whether the cleaner has been woken because frames are short, and has not begun since.
    is_cleaner_woken: AtomicBool,
    /// Changed pages that threads in need of a frame passed over. The cleaner writes and evicts them.
    passed_over: Mutex<Vec<PageNo>>,
    pub(super) lent: Mutex<Lent>,
    /// Number of pages in `data`. No page from this number on is read.
    file_pages: AtomicU64,
}

impl PageCache {
    /// Makes a cache of `data` in `pool`. `queue` transfers batches of pages.
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
            is_cleaner_woken: AtomicBool::new(false),
            passed_over: Mutex::default(),
            lent: Mutex::default(),
            file_pages: AtomicU64::new(0),
        }
    }

    /// Returns the counters of batched reads.
    pub(crate) fn queue_stats(&self) -> &QueueStats {
        self.queue.stats()
    }

    /// Sets the log. From now on a page is written only once the log is durable up to its LSN.
    pub(crate) fn set_log(&self, log: Log) {
        let _ = self.log.set(log);
    }

    /// Sets the cleaner. From now on it keeps frames free, and is woken when few are.
    pub(crate) fn set_cleaner(&self, waker: Waker) {
        let _ = self.cleaner.set(waker);
    }

    /// Returns the number of frames that the cleaner keeps free.
    pub(crate) fn reserve(&self) -> usize {
        self.pool.frame_count() / RESERVE_SHARE + 1
    }

    /// Notes that the cleaner has begun a round. A thread that finds too few frames from now on wakes it again.
    pub(crate) fn note_cleaner_began(&self) {
        self.is_cleaner_woken.store(false, Ordering::SeqCst);
    }

    fn wake_cleaner(&self) {
        if let Some(cleaner) = self.cleaner.get()
            && !self.is_cleaner_woken.swap(true, Ordering::SeqCst)
        {
            cleaner.wake();
        }
    }

    /// Returns the counters and the failure state, which other parts of the store share.
    pub(crate) fn shared_parts(&self) -> (Arc<StoreStats>, Arc<Poison>) {
        (Arc::clone(&self.stats), Arc::clone(&self.poison))
    }

    /// Sets the number of pages in `data`.
    pub(crate) fn set_file_pages(&self, pages: u64) {
        self.file_pages.store(pages, Ordering::Release);
    }

    /// Returns the number of pages in `data`.
    pub(crate) fn file_pages(&self) -> u64 {
        self.file_pages.load(Ordering::Acquire)
    }

    /// Latches the page shared, reading it in if it is not in memory. The caller holds no latch.
    pub(crate) fn shared(&self, page: PageNo) -> Result<SharedGuard<'_>> {
        self.stats.page_requests.add(1);
        loop {
            if let Latch::Held(guard) = self.pool.shared(page) {
                return Ok(guard);
            }
            self.fault_in(page)?;
        }
    }

    /// Latches the page shared if it is in memory. Waits for the latch only.
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

    /// Reads the page in and returns it before any other thread can see it; returns `None` if it is in memory. The
    /// caller holds no latch.
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

    /// Returns the largest number of pages that one prefetch reads.
    pub(crate) fn prefetch_limit(&self) -> usize {
        self.pool.frame_count() / PREFETCH_SHARE
    }

    /// Starts to read those of `pages` that are not in memory, as far as frames can be had without waiting for
    /// others. The pages come in on probation.
    pub(crate) fn prefetch(&self, pages: &[PageNo]) -> Result<()> {
        held::assert_none("prefetching");
        self.poison.check()?;
        let missing = self.missing(pages, self.prefetch_limit());
        let frames = self.take_some_frames(missing.len())?;
        let begun = self.read_in(&missing, frames, PageFault::set_on_probation);
        self.stats.prefetched.fetch_add(begun as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Starts to read pages like [`PageCache::prefetch`], but the pages come in as if they had been used. With
    /// `blank`, a page that is damaged in the file comes in as zeros. Returns how many reads were begun.
    pub(crate) fn read_ahead(&self, pages: &[PageNo], blank: bool) -> Result<usize> {
        let missing = self.missing(pages, self.prefetch_limit());
        let frames = self.take_some_frames(missing.len())?;
        Ok(self.read_in(&missing, frames, if blank { PageFault::set_blank } else { |_| {} }))
    }

    /// Starts to read pages like [`PageCache::read_ahead`], but evicts nothing. Returns how many reads were begun.
    pub(crate) fn warm_up(&self, pages: &[PageNo]) -> usize {
        let spare = self.pool.free_count().saturating_sub(self.reserve());
        let missing = self.missing(pages, spare);
        let frames = self.pool.try_take(missing.len()).unwrap_or_default();
        self.read_in(&missing, frames, |_| {})
    }

    /// Returns those of `pages` that are not in memory, without duplicates, at most `most`.
    fn missing(&self, pages: &[PageNo], most: usize) -> Vec<PageNo> {
        let file_pages = self.file_pages();
        let most = if self.has_lost_changes.load(Ordering::Acquire) { 0 } else { most };
        let mut seen = HashSet::new();
        let missing =
            |page: &PageNo| page.0 < file_pages && !self.pool.is_resident(*page) && seen.insert(*page);
        pages.iter().copied().filter(missing).take(most).collect()
    }

    /// Queues reads of the pages into the frames, as many as there are frames. Returns how many it queued.
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

    /// Takes up to `wanted` free frames, after one attempt to make room for them.
    fn take_some_frames(&self, wanted: usize) -> Result<Vec<OwnedFrame>> {
        let free = self.pool.free_count();
        if free < wanted {
            self.make_room_for_caller(wanted - free)?;
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

    /// Takes `count` frames, all or none. Evicts and writes pages as needed. The caller holds no latch and no frame.
    pub(crate) fn take_frames(&self, count: usize) -> Result<Vec<OwnedFrame>> {
        held::assert_none("waiting for frames");
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut fruitless = 0;
        loop {
            if let Some(frames) = self.pool.try_take(count) {
                if self.stats.pool_free.load(Ordering::Relaxed) < self.reserve() as u64 / 2 {
                    self.wake_cleaner();
                }
                return Ok(frames);
            }
            if count > self.pool.frame_count() / 2 || fruitless > FRUITLESS_ROUNDS {
                let available = self.pool.free_count();
                return Err(StorageError::PoolTooSmall { wanted: count, available });
            }
            if self.make_room_for_caller(count)? == 0 && self.pool.drop_parked(count) == 0 {
                // All frames are latched, or held by threads that are about to give them back.
                fruitless += 1;
                std::thread::sleep(ROUND_PAUSE);
            }
        }
    }

    /// Frees up to `wanted` frames for the caller. Where there is a cleaner, leaves changed pages to it as long as
    /// clean pages are found soon: writing a batch takes long and would delay the caller.
    fn make_room_for_caller(&self, wanted: usize) -> Result<usize> {
        if self.cleaner.get().is_none() {
            return self.make_room(wanted);
        }
        self.wake_cleaner();
        let swept = self.pool.sweep(wanted, PATIENCE);
        if swept.evicted > 0 || swept.dirty.is_empty() {
            let mut passed_over = self.passed_over.lock();
            if passed_over.len() < BATCH_PAGES {
                passed_over.extend(swept.dirty);
            }
            return Ok(swept.evicted);
        }
        self.write_and_evict(swept)
    }

    /// Moves the clock one round to free `wanted` frames. Writes the changed pages among its victims, together with
    /// as many of the changed pages that the clock comes to next as fill a batch. Returns how many frames it freed.
    pub(crate) fn make_room(&self, wanted: usize) -> Result<usize> {
        let left_by_others = std::mem::take(&mut *self.passed_over.lock());
        let mut swept = self.pool.sweep(wanted, 0);
        swept.dirty.extend(left_by_others);
        self.write_and_evict(swept)
    }

    fn write_and_evict(&self, swept: ClockSweep) -> Result<usize> {
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
