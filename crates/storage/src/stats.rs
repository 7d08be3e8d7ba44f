//! Counters of the store: written with relaxed atomics where things happen, read by whoever reports them.

use std::sync::atomic::AtomicU64;

/// Counters since the store was opened, and gauges of what the pool holds now.
#[derive(Debug, Default)]
pub struct StoreStats {
    /// Latches asked for on pages (the logical reads).
    pub page_requests: AtomicU64,
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
    /// Pages dropped from memory to make room.
    pub evictions: AtomicU64,
    /// Times a thread had to wait for a latch or a page in flight.
    pub latch_waits: AtomicU64,
    /// Checkpoints taken.
    pub checkpoints: AtomicU64,
    /// Gauge: frames of the pool.
    pub pool_frames: AtomicU64,
    /// Gauge: frames without a page.
    pub pool_free: AtomicU64,
    /// Gauge: frames with a page.
    pub pool_data: AtomicU64,
    /// Gauge: frames with changes that are not in `data` yet.
    pub pool_dirty: AtomicU64,
}
