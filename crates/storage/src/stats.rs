//! Counters of the store: written with relaxed atomics where things happen, read by whoever reports them.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const SHARDS: usize = 16;

/// A counter that many threads add to without sharing a cache line.
#[derive(Debug, Default)]
pub struct Counter {
    shards: [Shard; SHARDS],
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct Shard(AtomicU64);

impl Counter {
    /// Adds `count`.
    #[inline]
    pub fn add(&self, count: u64) {
        self.shards[shard() % SHARDS].0.fetch_add(count, Ordering::Relaxed);
    }

    /// What this thread has added, and the few that share its part of the counter.
    pub fn own(&self) -> u64 {
        self.shards[shard() % SHARDS].0.load(Ordering::Relaxed)
    }

    /// The sum so far.
    pub fn get(&self) -> u64 {
        self.shards.iter().map(|shard| shard.0.load(Ordering::Relaxed)).sum()
    }
}

/// The number of this thread's shard: threads take turns.
#[inline]
fn shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    std::thread_local! {
        static SHARD: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    let shard = SHARD.get();
    if shard < SHARDS {
        return shard;
    }
    SHARD.set(NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS);
    SHARD.get()
}

std::thread_local! {
    static READS_BEGUN: Cell<u64> = const { Cell::new(0) };
}

/// Pages whose reading the calling thread has begun, because it needed them or ahead of that. Of two moments the difference counts.
#[inline]
pub fn reads_begun_here() -> u64 {
    READS_BEGUN.get()
}

/// The calling thread has begun to read so many pages.
pub(crate) fn count_reads_begun(pages: u64) {
    READS_BEGUN.set(READS_BEGUN.get().wrapping_add(pages));
}

/// Counters since the store was opened, and gauges of what the pool holds now.
#[derive(Debug, Default)]
pub struct StoreStats {
    /// Pages latched, or read without a latch (the logical reads).
    pub page_requests: Counter,
    /// Pages read from `data`.
    pub page_reads: AtomicU64,
    /// Bytes read from `data`.
    pub bytes_read: AtomicU64,
    /// Pages written to `data` (the doublewrite copies not counted).
    pub pages_written: AtomicU64,
    /// Bytes written to `data` and `doublewrite`.
    pub bytes_written: AtomicU64,
    /// Batches written through the doublewrite file.
    pub doublewrite_batches: AtomicU64,
    /// Writes to the log.
    pub log_writes: AtomicU64,
    /// Bytes written to the log.
    pub log_bytes: AtomicU64,
    /// Syncs of the log.
    pub log_syncs: AtomicU64,
    /// Pages handed out, ever.
    pub pages_allocated: AtomicU64,
    /// Pages of trees split.
    pub page_splits: AtomicU64,
    /// Pages of trees merged with a neighbour.
    pub page_merges: AtomicU64,
    /// Times a change of a tree needed more pages than it had reserved, because of what others did meanwhile.
    pub reservation_top_ups: AtomicU64,
    /// Pages dropped from memory to make room.
    pub evictions: AtomicU64,
    /// Pages that were read ahead and used often enough to stay.
    pub prefetched_kept: AtomicU64,
    /// Pages read in at the start because they were in memory when the store was last used.
    pub warmed_up: AtomicU64,
    /// Times a thread had to wait for a shared latch.
    pub shared_latch_waits: Counter,
    /// Times a thread had to wait for an exclusive latch.
    pub exclusive_latch_waits: Counter,
    /// Times a reader without a latch had to begin again, because a writer was at work.
    pub optimistic_restarts: Counter,
    /// Times a thread needed a page that was not in memory.
    pub page_faults: Counter,
    /// Times a thread had to wait for a page that was being read in for another, or ahead.
    pub page_waits: Counter,
    /// How long threads waited for pages that were being read in for another, or ahead, microseconds.
    pub page_wait_us: Counter,
    /// Pages read ahead of their use.
    pub prefetched: AtomicU64,
    /// Requests for reads in batches: read-ahead, sorted fetches, recovery. Neighbouring pages are one.
    pub batched_reads: AtomicU64,
    /// Their bytes.
    pub batched_bytes: AtomicU64,
    /// Gauge: how many of them are queued or being done.
    pub batched_in_flight: AtomicU64,
    /// The sum of what that was when each of them came.
    pub batched_depths: AtomicU64,
    /// The sum of their times from queued to done, microseconds.
    pub batched_time_us: AtomicU64,
    /// Checkpoints taken.
    pub checkpoints: AtomicU64,
    /// Gauge: frames of the pool.
    pub pool_frames: AtomicU64,
    /// Gauge: bytes of memory for frames and their translation; never more than `buffer_pool_bytes`, less what is lent.
    pub pool_bytes: AtomicU64,
    /// Gauge: frames whose memory is lent to others than pages.
    pub pool_lent: AtomicU64,
    /// Gauge: frames without a page.
    pub pool_free: AtomicU64,
    /// Gauge: frames with a page.
    pub pool_data: AtomicU64,
    /// Gauge: frames with changes that are not in `data` yet.
    pub pool_dirty: AtomicU64,
}
