//! Counters of the store. They are written with relaxed atomics where things happen, and read for reports.

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

    /// Returns the part of the sum that this thread, and the few that share its shard, have added.
    pub fn own(&self) -> u64 {
        self.shards[shard() % SHARDS].0.load(Ordering::Relaxed)
    }

    /// Returns the sum.
    pub fn get(&self) -> u64 {
        self.shards.iter().map(|shard| shard.0.load(Ordering::Relaxed)).sum()
    }
}

/// Returns the number of this thread's shard. Threads get the shards in turn.
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

/// Returns the number of pages that the calling thread has begun to read, on demand or ahead of it. Only the
/// difference of two calls means anything.
#[inline]
pub fn reads_begun_here() -> u64 {
    READS_BEGUN.get()
}

/// Counts `pages` that the calling thread has begun to read.
pub(crate) fn count_reads_begun(pages: u64) {
    READS_BEGUN.set(READS_BEGUN.get().wrapping_add(pages));
}

/// Counters since the store was opened, and gauges of the present state of the pool.
#[derive(Debug, Default)]
pub struct StoreStats {
    /// Pages latched, or read without a latch (the logical reads).
    pub page_requests: Counter,
    /// Pages read from `data`.
    pub page_reads: AtomicU64,
    /// Bytes read from `data`.
    pub bytes_read: AtomicU64,
    /// Pages written to `data`, without the copies in the doublewrite file.
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
    /// Pages allocated.
    pub pages_allocated: AtomicU64,
    /// Splits of tree pages.
    pub page_splits: AtomicU64,
    /// Merges of tree pages with a neighbour.
    pub page_merges: AtomicU64,
    /// Times that a change of a tree needed more pages than it had reserved, because other threads had changed the
    /// tree.
    pub reservation_top_ups: AtomicU64,
    /// Pages dropped from memory to make room.
    pub evictions: AtomicU64,
    /// Pages that were read ahead and used often enough to stay.
    pub prefetched_kept: AtomicU64,
    /// Pages read in at the start because they were in memory when the store was last used.
    pub warmed_up: AtomicU64,
    /// Times that a thread had to wait for a shared latch.
    pub shared_latch_waits: Counter,
    /// Times that a thread had to wait for an exclusive latch.
    pub exclusive_latch_waits: Counter,
    /// Times that a reader without a latch had to begin again, because a writer was at work.
    pub optimistic_restarts: Counter,
    /// Times that a thread needed a page that was not in memory.
    pub page_faults: Counter,
    /// Times that a thread had to wait for a page that was being read in for another thread, or ahead.
    pub page_waits: Counter,
    /// Time that threads waited for such pages, in microseconds.
    pub page_wait_us: Counter,
    /// Pages read ahead of their use.
    pub prefetched: AtomicU64,
    /// Requests for reads in batches: read-ahead, sorted fetches, recovery. A run of neighbouring pages is one
    /// request.
    pub batched_reads: AtomicU64,
    /// Bytes of these requests.
    pub batched_bytes: AtomicU64,
    /// Gauge: number of these requests that are queued or being done.
    pub batched_in_flight: AtomicU64,
    /// Sum, over all these requests, of the gauge when the request came.
    pub batched_depths: AtomicU64,
    /// Sum of the times of these requests from queued to done, in microseconds.
    pub batched_time_us: AtomicU64,
    /// Checkpoints recorded.
    pub checkpoints: AtomicU64,
    /// Gauge: frames of the pool.
    pub pool_frames: AtomicU64,
    /// Gauge: bytes of memory for frames and their translation; never more than `buffer_pool_bytes` minus the lent
    /// bytes.
    pub pool_bytes: AtomicU64,
    /// Gauge: frames whose memory is lent to other parts of the engine.
    pub pool_lent: AtomicU64,
    /// Gauge: frames without a page.
    pub pool_free: AtomicU64,
    /// Gauge: frames with a page.
    pub pool_data: AtomicU64,
    /// Gauge: frames with changes that are not in `data` yet.
    pub pool_dirty: AtomicU64,
}
