//! The store: the public face of this crate.
use crate::{
    BulkWriter, CheckpointSource, Env, FlushPolicy, HandlerId, LogicalReplay, Lsn, LsnRange, MiniTransaction,
    PageNo, RedoHandler, Reservation, Result, SegmentId, SegmentInfo, SegmentState, SharedGuard, StoreStats,
};
use std::sync::Arc;

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Bytes of a page: a power of two from 4096 to 65536. Only used when the store is created.
    pub page_size: usize,
    /// Memory for pages and their translation array, in bytes.
    pub buffer_pool_bytes: u64,
    /// Size of the redo log, in bytes.
    pub log_capacity_bytes: u64,
    /// When the log is flushed.
    pub flush_log_at_commit: FlushPolicy,
    /// Threads for batched reads.
    pub io_threads: usize,
    /// Whether the store has threads of its own. Without, pages are written when their frames are needed and
    /// checkpoints are made when called for or when log space runs out.
    pub background: bool,
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        StoreOptions {
            page_size: 16384,
            buffer_pool_bytes: 128 << 20,
            log_capacity_bytes: 256 << 20,
            flush_log_at_commit: FlushPolicy::default(),
            io_threads: 4,
            background: true,
        }
    }
}

/// A directory of pages, a redo log and what keeps them consistent. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    inner: Arc<()>,
}

impl Store {
    /// Opens the store in `env`, creating it if the directory holds none, and recovers it.
    ///
    /// # Errors
    /// `AlreadyOpen`, `Io`, `Format` (not a store, or of another version), `LogDamaged`, `PoolTooSmall`, or what
    /// `replay` returned.
    pub fn open(
        _env: Arc<dyn Env>,
        _options: StoreOptions,
        _handlers: Vec<(HandlerId, Arc<dyn RedoHandler>)>,
        _replay: &mut dyn LogicalReplay,
    ) -> Result<Store> {
        todo!()
    }

    /// Sets who contributes to checkpoints. Until then checkpoints carry an empty payload and hold nothing back.
    pub fn set_checkpoint_source(&self, _source: Arc<dyn CheckpointSource>) {
        todo!()
    }

    /// Bytes of a page.
    pub fn page_size(&self) -> usize {
        todo!()
    }

    /// The page under a shared latch, read in if it is not in memory. The caller holds no latch.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Poisoned`.
    pub fn shared(&self, _page: PageNo) -> Result<SharedGuard<'_>> {
        todo!()
    }

    /// The page under a shared latch if it is in memory. Waits for the latch, never for I/O; the caller may hold
    /// latches above and to the left.
    ///
    /// # Errors
    /// `Poisoned`.
    pub fn try_shared(&self, _page: PageNo) -> Result<Option<SharedGuard<'_>>> {
        todo!()
    }

    /// Reads the page in if it is not in memory. The caller holds no latch.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Poisoned`.
    pub fn fault_in(&self, _page: PageNo) -> Result<()> {
        todo!()
    }

    /// Starts reading those of `pages` that are not in memory, as one batch, and returns; who needs one of them
    /// waits for it. A hint: fewer are read when there is no room, and read errors show when the page is used.
    /// The caller holds no latch.
    ///
    /// # Errors
    /// `Poisoned`, or an I/O error met while making room.
    pub fn prefetch(&self, _pages: &[PageNo]) -> Result<()> {
        todo!()
    }

    /// Whether the page is in memory now.
    pub fn is_resident(&self, _page: PageNo) -> bool {
        todo!()
    }

    /// Pages of `segment` in memory now.
    pub fn resident_pages(&self, _segment: SegmentId) -> u64 {
        todo!()
    }

    /// Sets `pages` and `log_bytes` aside, growing the file and waiting for log space as needed. The caller holds
    /// no latch and no other reservation.
    ///
    /// # Errors
    /// `DiskFull`, `TooLarge` (more than the log can ever hold), `Io`, `Poisoned`.
    pub fn reserve(&self, _pages: usize, _log_bytes: usize) -> Result<Reservation> {
        todo!()
    }

    /// Begins a mini-transaction that may allocate up to `frames` pages. The caller holds no latch.
    ///
    /// # Errors
    /// `PoolTooSmall`, `Io` met while making room, `Poisoned`.
    pub fn begin<'a>(
        &'a self,
        _reservation: &'a mut Reservation,
        _frames: usize,
    ) -> Result<MiniTransaction<'a>> {
        todo!()
    }

    /// Appends a record of the crate above, `kind` >= 1. Durable once [`wait_durable`](Self::wait_durable) has
    /// returned for the end of the range.
    ///
    /// # Errors
    /// `TooLarge`, `Poisoned`.
    pub fn append_logical(
        &self,
        _reservation: &mut Reservation,
        _kind: u8,
        _payload: &[u8],
    ) -> Result<LsnRange> {
        todo!()
    }

    /// Largest payload of a logical record, in bytes.
    pub fn max_logical_payload(&self) -> usize {
        todo!()
    }

    /// Waits until the log is durable up to `lsn`; flushes it if nobody does.
    ///
    /// # Errors
    /// `Io` (the store is poisoned then), `Poisoned`.
    pub fn wait_durable(&self, _lsn: Lsn) -> Result<()> {
        todo!()
    }

    /// Up to where the log is durable.
    pub fn durable_lsn(&self) -> Lsn {
        todo!()
    }

    /// The end of the log.
    pub fn log_end(&self) -> Lsn {
        todo!()
    }

    /// Writes every page that is dirty now and records a checkpoint, so that recovery starts here. The caller
    /// holds no latch.
    ///
    /// # Errors
    /// `Io` (the store is poisoned then), `Poisoned`.
    pub fn checkpoint(&self) -> Result<()> {
        todo!()
    }

    /// Writes everything, records a clean checkpoint and stops. Other clones of the store are of no use after.
    ///
    /// # Errors
    /// As [`checkpoint`](Self::checkpoint).
    pub fn close(self) -> Result<()> {
        todo!()
    }

    /// Stops the store: everything that could change it fails with `Poisoned` from now on. What is durable is
    /// found again by the next open.
    pub fn poison(&self, _why: String) {
        todo!()
    }

    /// Creates a segment in state `Building`.
    ///
    /// # Errors
    /// `DiskFull`, `Poisoned`.
    pub fn create_segment(&self, _reservation: &mut Reservation) -> Result<SegmentId> {
        todo!()
    }

    /// Logs a new state for the segment.
    ///
    /// # Errors
    /// `NoSuchSegment`, `Poisoned`.
    pub fn set_segment_state(
        &self,
        _reservation: &mut Reservation,
        _segment: SegmentId,
        _state: SegmentState,
    ) -> Result<()> {
        todo!()
    }

    /// Frees the segment: logs the state `Dropping`, then frees its pages step by step; recovery finishes what a
    /// crash interrupts. Nobody may use the segment's pages any more. A segment that does not exist is no error.
    /// The caller holds no latch.
    ///
    /// # Errors
    /// `Io`, `Poisoned`.
    pub fn drop_segment(&self, _segment: SegmentId) -> Result<()> {
        todo!()
    }

    /// All segments.
    pub fn segments(&self) -> Vec<SegmentInfo> {
        todo!()
    }

    /// Writes pages of `segment` past the pool and the log, into fresh extents. The segment must be in state
    /// `Building`; set it to `Live` after [`BulkWriter::finish`].
    ///
    /// # Errors
    /// `NoSuchSegment`, `Poisoned`.
    pub fn bulk_writer(&self, _segment: SegmentId) -> Result<BulkWriter> {
        todo!()
    }

    /// Counters.
    pub fn stats(&self) -> &StoreStats {
        todo!()
    }
}
