//! The store: the public interface of this crate.

use crate::core::Inner;
use crate::device::ReadSamples;
use crate::log::LogSpace;
use crate::pool::StopOnPanic;
use crate::redo::CHECKPOINT_KIND;
use crate::{
    CheckpointSource, Env, HandlerId, HeldPage, LogicalReplay, Lsn, LsnRange, MemoryLoan, MiniTransaction,
    Optimistic, PageMerger, PageNo, RawPage, RecoveryReport, RedoHandler, Reservation, Result, SalvagedStore,
    SegmentId, SharedGuard, StorageError, StoreOptions, StoreStats,
};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Ends the store's own threads with the last clone of a [`Store`], even in the middle of a round, so that the
/// directory can be opened again at once.
struct LastClone(Arc<Inner>);

impl Drop for LastClone {
    fn drop(&mut self) {
        self.0.stop_threads();
    }
}

/// A directory of pages, a redo log and the means that keep them consistent. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pub(crate) inner: Arc<Inner>,
    _last: Arc<LastClone>,
}

impl Store {
    /// Opens the store in `env`, creates it if the directory holds none, and recovers it.
    ///
    /// # Errors
    /// `AlreadyOpen`, `Io`, `Format` (not a store, or of another version), `LogDamaged`, `PoolBelowMinimum`,
    /// `TooLarge`, or the error that `replay` returned.
    pub fn open(
        env: Arc<dyn Env>,
        options: StoreOptions,
        handlers: Vec<(HandlerId, Arc<dyn RedoHandler>)>,
        replay: &mut dyn LogicalReplay,
    ) -> Result<Store> {
        let inner = crate::open::open(env, options, handlers, replay, None)?;
        Ok(Store { _last: Arc::new(LastClone(Arc::clone(&inner))), inner })
    }

    /// Opens a store whose space maps or segment directory may be damaged, to read its remaining pages. The store has
    /// no segments and no space, so only redo can change anything. [`SalvagedStore`] tells which pages belong to which
    /// segments. The store has no threads of its own.
    ///
    /// # Errors
    /// As [`open`](Self::open), except that damage of those pages is no error.
    pub fn open_remains(
        env: Arc<dyn Env>,
        options: StoreOptions,
        handlers: Vec<(HandlerId, Arc<dyn RedoHandler>)>,
        replay: &mut dyn LogicalReplay,
    ) -> Result<(Store, SalvagedStore)> {
        let mut remains = SalvagedStore::default();
        let options = StoreOptions { background: false, warm_up: false, ..options };
        let inner = crate::open::open(env, options, handlers, replay, Some(&mut remains))?;
        Ok((Store { _last: Arc::new(LastClone(Arc::clone(&inner))), inner }, remains))
    }

    /// Sets the source of the checkpoints' payload. Until then checkpoints carry the payload that recovery found. If
    /// recovery has handed out logical records, or found pages that it could not use
    /// ([`RecoveryReport::unreadable`]), no log is given back until then, because the caller may not have acted on
    /// them yet. So the caller calls this once it has.
    pub fn set_checkpoint_source(&self, source: Arc<dyn CheckpointSource>) {
        self.inner.checkpointer.set_source(source);
    }

    /// Sets the merger, which keeps changes of pages that are not in memory (see [`PageMerger`]). Evicts the pages of
    /// the segments that `concerns` selects, writing changed ones: recovery may have rebuilt a damaged page without
    /// the changes that were kept after the page had been evicted. Called once, before others use the store.
    ///
    /// # Errors
    /// `Io` (the store is poisoned then), `Poisoned`.
    pub fn set_page_merger(
        &self,
        merger: Arc<dyn PageMerger>,
        concerns: &dyn Fn(SegmentId) -> bool,
    ) -> Result<()> {
        self.inner.cache.set_merger(merger);
        self.inner.cache.evict_all_of(concerns)
    }

    /// Keeps an evicted page from being read in. Returns `None` if it is in memory. Waits for a read that is under
    /// way. The caller holds no latch.
    pub fn hold(&self, page: PageNo) -> Option<HeldPage> {
        crate::pool::held::assert_none("holding a page");
        self.inner.cache.pool.hold(page)
    }

    /// Keeps a page from being read in, like [`hold`](Self::hold), for a caller that holds pages already: it must not
    /// wait for a thread that may wait for one of these. Returns `None`, too, if another thread reads the page or
    /// holds it.
    pub fn try_hold(&self, page: PageNo) -> Option<HeldPage> {
        self.inner.cache.pool.try_hold(page)
    }

    /// Takes a page that is in memory unchanged away from all other threads, so that the caller can keep a change of
    /// it elsewhere and make it softly. Returns `None` if the page is changed, pinned, or not in memory. The caller
    /// holds no latch.
    pub fn take_clean(&self, page: PageNo) -> Option<RawPage> {
        crate::pool::held::assert_none("taking a page");
        self.inner.cache.pool.take_clean(page)
    }

    /// Returns the page as the file has it, to be changed before any other thread sees it. Returns `None` if it is in
    /// memory and lacks nothing. Drops soft changes. The caller holds no latch.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Poisoned`.
    pub fn raw(&self, page: PageNo) -> Result<Option<RawPage>> {
        self.inner.cache.raw(page)
    }

    /// Reserves pages and log bytes without waiting, beyond the log's limit if necessary: for small changes on behalf
    /// of a caller that may hold a reservation. With `needed`, the change cannot be undone, so its pages may come
    /// from the margin for such changes.
    ///
    /// # Errors
    /// `DiskFull`, `Io`, `Poisoned`.
    pub fn reserve_at_once(&self, pages: usize, log_bytes: usize, needed: bool) -> Result<Reservation> {
        let mut reservation = Reservation::at_once(&self.inner, log_bytes)?;
        reservation.add_pages_at_once(pages, needed)?;
        Ok(reservation)
    }

    /// Writes the page if it is changed, and evicts it, unless it is latched or pinned. Returns whether it is out of
    /// memory. For tests.
    ///
    /// # Errors
    /// `Io` (the store is poisoned then), `Poisoned`.
    pub fn evict_all(&self, page: PageNo) -> Result<bool> {
        self.inner.cache.write_back(vec![page], crate::pool::Latching::Try)?;
        Ok(self.inner.cache.pool.evict_clean(page) || !self.is_resident(page))
    }

    /// Writes the page if it is changed, unless it is latched exclusively. For tests.
    ///
    /// # Errors
    /// As [`evict_all`](Self::evict_all).
    pub fn write_all_dirty(&self, page: PageNo) -> Result<()> {
        self.inner.cache.write_back(vec![page], crate::pool::Latching::Try)
    }

    /// Returns the root page of a segment, if there is such a segment; 0 before it has one.
    pub fn root_of(&self, segment: SegmentId) -> Option<PageNo> {
        self.inner.space.state().segment(segment).ok().map(|segment| segment.root)
    }

    /// Returns the number that was drawn for the database when it was made.
    pub fn database_id(&self) -> u64 {
        self.inner.database_id
    }

    /// Returns the bytes of a page.
    pub fn page_size(&self) -> usize {
        self.inner.cache.page_size
    }

    /// Latches the page shared, reading it in if it is not in memory. The caller holds no latch.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Poisoned`.
    pub fn shared(&self, page: PageNo) -> Result<SharedGuard<'_>> {
        self.inner.cache.shared(page)
    }

    /// Latches the page shared if it is in memory. Waits for the latch, never for I/O. The caller may hold latches
    /// above and to the left.
    ///
    /// # Errors
    /// None at present.
    pub fn try_shared(&self, page: PageNo) -> Result<Option<SharedGuard<'_>>> {
        Ok(self.inner.cache.try_shared(page))
    }

    /// Begins to read the page without a latch. The bytes read are valid once
    /// [`is_unchanged`](crate::OptimisticPage::is_unchanged) returns true. Never waits; the caller may hold latches.
    /// The caller counts pages read this way by [`count_reads`](Self::count_reads).
    #[inline]
    pub fn optimistic(&self, page: PageNo) -> Optimistic<'_> {
        self.inner.cache.pool.optimistic(page)
    }

    /// Counts `pages` that were read without a latch, and how often such reads had to begin again.
    #[inline]
    pub fn count_reads(&self, pages: u64, restarts: u64) {
        self.inner.stats.page_requests.add(pages);
        if restarts > 0 {
            self.inner.stats.optimistic_restarts.add(restarts);
        }
    }

    /// Reads the page in if it is not in memory. The caller holds no latch.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Poisoned`.
    pub fn fault_in(&self, page: PageNo) -> Result<()> {
        self.inner.cache.fault_in(page)
    }

    /// Starts reading those of `pages` that are not in memory, as one batch, and returns. A thread that needs one of
    /// them waits for it. This is a hint: fewer pages are read when there is no room, and read errors show when a
    /// page is used. The caller holds no latch.
    ///
    /// # Errors
    /// `Poisoned`, or an I/O error met while making room.
    pub fn prefetch(&self, pages: &[PageNo]) -> Result<()> {
        self.inner.cache.prefetch(pages)
    }

    /// Starts reading pages like [`prefetch`](Self::prefetch), for a caller that needs them as the file has them:
    /// first drops soft changes.
    ///
    /// # Errors
    /// As `prefetch`.
    pub fn prefetch_from_file(&self, pages: &[PageNo]) -> Result<()> {
        self.inner.cache.drop_soft(pages);
        self.inner.cache.prefetch(pages)
    }

    /// Starts reading pages like [`prefetch`](Self::prefetch), but they come in as if they had been used. Returns how
    /// many reads were begun.
    ///
    /// # Errors
    /// As `prefetch`.
    pub fn load(&self, pages: &[PageNo]) -> Result<usize> {
        self.inner.cache.read_ahead(pages, false)
    }

    /// Returns the most pages that one [`prefetch`](Self::prefetch) reads.
    pub fn prefetch_limit(&self) -> usize {
        self.inner.cache.prefetch_limit()
    }

    /// Returns whether the page is in memory now.
    pub fn is_resident(&self, page: PageNo) -> bool {
        self.inner.cache.pool.is_resident(page)
    }

    /// Evicts all pages that are clean and unused, so that a measurement begins with an empty pool. Returns how many.
    pub fn evict_clean_pages(&self) -> usize {
        let pool = &self.inner.cache.pool;
        pool.pages().into_iter().filter(|page| pool.evict_clean(*page)).count()
    }

    /// Returns how many pages of `segment` are in memory now.
    pub fn resident_pages(&self, segment: SegmentId) -> u64 {
        self.inner.cache.pool.resident_pages(segment)
    }

    /// Borrows `bytes` of the buffer pool's memory, for allocations that count in its size. The caller holds no
    /// latch.
    ///
    /// # Errors
    /// As [`MemoryLoan::grow`].
    pub fn borrow_memory(&self, bytes: u64) -> Result<MemoryLoan> {
        let mut loan = MemoryLoan::new(&self.inner);
        loan.grow(bytes)?;
        Ok(loan)
    }

    /// Returns the bytes of memory that are lent now.
    pub fn memory_lent(&self) -> u64 {
        self.inner.cache.lent_bytes()
    }

    /// Returns the bytes of memory that can be lent in all.
    pub fn memory_limit(&self) -> u64 {
        self.inner.cache.lending_limit()
    }

    /// Reserves `pages` and `log_bytes`, enlarging the file and waiting for log space as needed. The caller holds no
    /// latch and no other reservation.
    ///
    /// # Errors
    /// `DiskFull`, `TooLarge` (more than the log can ever hold), `Io`, `Poisoned`.
    pub fn reserve(&self, pages: usize, log_bytes: usize) -> Result<Reservation> {
        Reservation::new(&self.inner, pages, log_bytes)
    }

    /// Begins a mini-transaction that may allocate up to `frames` pages. The caller holds no latch.
    ///
    /// # Errors
    /// `PoolTooSmall`, `Io` met while making room, `Poisoned`.
    pub fn begin<'a>(
        &'a self,
        reservation: &'a mut Reservation,
        frames: usize,
    ) -> Result<MiniTransaction<'a>> {
        MiniTransaction::begin(&self.inner, reservation, frames)
    }

    /// Appends a record of the crate above, with `kind` from 1 to 254. It is durable once
    /// [`wait_durable`](Self::wait_durable) has returned for the end of the range.
    ///
    /// # Errors
    /// `TooLarge`, `Poisoned`.
    pub fn append_logical(
        &self,
        reservation: &mut Reservation,
        kind: u8,
        payload: &[u8],
    ) -> Result<LsnRange> {
        self.inner.poison.check()?;
        if kind == 0 || kind == CHECKPOINT_KIND {
            return Err(StorageError::Misuse { what: format!("logical record of kind {kind}") });
        }
        self.inner.log.throttle()?;
        reservation.append(&self.inner.log, kind, payload)
    }

    /// Returns the largest payload of a logical record, in bytes.
    pub fn max_logical_payload(&self) -> usize {
        self.inner.log.max_payload()
    }

    /// Waits until the log is durable up to `lsn`. Flushes it if no other thread does.
    ///
    /// # Errors
    /// `Io` (the store is poisoned then), `Poisoned`.
    pub fn wait_durable(&self, lsn: Lsn) -> Result<()> {
        self.inner.log.wait_durable(lsn)
    }

    /// Returns the LSN up to which the log is durable.
    pub fn durable_lsn(&self) -> Lsn {
        self.inner.log.durable()
    }

    /// Returns the use of the space of the log.
    pub fn log_space(&self) -> LogSpace {
        self.inner.log.space()
    }

    /// Returns the end of the log.
    pub fn log_end(&self) -> Lsn {
        self.inner.log.end()
    }

    /// Writes every page that is dirty now and records a checkpoint, so that recovery would start here. The caller
    /// holds no latch.
    ///
    /// # Errors
    /// `Io` (the store is poisoned then), `Poisoned`.
    pub fn checkpoint(&self) -> Result<()> {
        self.inner.checkpoint()
    }

    /// Writes everything, records a clean checkpoint and stops the store. Other clones of it cannot be used
    /// afterwards.
    ///
    /// # Errors
    /// As [`checkpoint`](Self::checkpoint).
    pub fn close(self) -> Result<()> {
        if self.inner.page_writer.get().is_some() {
            self.inner.stop_threads();
            // The list is a hint: without it the next start is slow, but correct.
            let _ = self.inner.save_hot_pages();
        }
        self.inner.checkpoint()?;
        self.inner.cache.stop(&StorageError::Poisoned { why: "it was closed".into() });
        Ok(())
    }

    /// Stops the store: everything that could change it fails with `Poisoned` from now on. The next opening finds all
    /// that is durable.
    pub fn poison(&self, why: String) {
        self.inner.cache.stop(&StorageError::Poisoned { why });
    }

    /// Stops the store if this thread panics before the guard is dropped. `what` names the work that is half done
    /// then: "a panic while {what}".
    pub fn stop_on_panic(&self, what: &'static str) -> StopOnPanic<'_> {
        self.inner.cache.stop_on_panic(what)
    }

    /// Checks that nothing has stopped the store. For a caller that waits until other threads have changed something.
    ///
    /// # Errors
    /// `Poisoned`.
    pub fn check_running(&self) -> Result<()> {
        self.inner.poison.check()
    }

    /// Counts a split of a tree page.
    pub fn count_page_split(&self) {
        self.inner.stats.page_splits.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a merge of a tree page with a neighbour.
    pub fn count_page_merge(&self) {
        self.inner.stats.page_merges.fetch_add(1, Ordering::Relaxed);
    }

    /// Updates the gauges and returns the counters.
    pub fn stats(&self) -> &StoreStats {
        let (stats, counts) = (&self.inner.stats, self.inner.log.counts());
        stats.pool_bytes.store(self.inner.cache.pool.memory() as u64, Ordering::Relaxed);
        stats.log_writes.store(counts.writes, Ordering::Relaxed);
        stats.log_bytes.store(counts.bytes, Ordering::Relaxed);
        stats.log_syncs.store(counts.syncs, Ordering::Relaxed);
        let queue = self.inner.cache.queue_stats();
        for (to, from) in [
            (&stats.batched_reads, &queue.requests),
            (&stats.batched_bytes, &queue.bytes),
            (&stats.batched_in_flight, &queue.in_flight),
            (&stats.batched_depths, &queue.depths),
            (&stats.batched_time_us, &queue.time_us),
        ] {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        stats
    }

    /// Returns the samples of read times, which describe the device.
    pub fn read_samples(&self) -> ReadSamples {
        self.inner.cache.queue_stats().times.samples()
    }

    /// Starts the flush that [`commit_durable`](Self::commit_durable) will wait for, on another thread, where there
    /// is one.
    pub fn flush_ahead(&self, lsn: Lsn) {
        if let Some(log_writer) = self.inner.log_writer.get() {
            log_writer.ask(lsn);
        }
    }

    /// Waits until a commit that ends at `lsn` is as durable as the flush policy demands.
    ///
    /// # Errors
    /// As [`wait_durable`](Self::wait_durable).
    pub fn commit_durable(&self, lsn: Lsn) -> Result<()> {
        self.inner.log.commit(lsn, self.inner.flush_policy)
    }

    /// Returns the report of the recovery when the store was opened.
    pub fn recovery_report(&self) -> &RecoveryReport {
        &self.inner.report
    }
}
