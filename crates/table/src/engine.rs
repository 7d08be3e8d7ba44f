//! The open database: what transactions, cursors and DDL share.
//!
//! # Locks, in the order in which they may be taken
//! row and table locks | write sets (each its transaction's and its cursors' own; pages and files are waited for while one is
//! held) | `ddl` (one DDL statement at a time) | gates (commits against DDL) | room for commits | making room for old versions and moving them
//! (files are read and written) | accounts of memory (pages are written to borrow more) | counters (also the append of a commit's
//! record) | page latches | version store shards, the back of the queue of ghosts, clock, catalog, registered trees. The last group
//! are leaves of the order: nothing but the log's buffer is waited for while one of them, or the counters, is held.

use crate::background;
use crate::build::ChangeLogs;
use crate::catalog::{Catalog, IndexDef, TableDef, TableId};
use crate::change_buffer::{ChangeBuffer, ChangeBufferStats, ChangeBuffering};
use crate::counters::Counters;
use crate::error::{Result, TableError};
use crate::limits::Limits;
use crate::lock::metadata::Metadata;
use crate::lock::{LockOwner, LockStats, LockTable, SessionLocks};
use crate::quarantine::Quarantine;
use crate::read::ReadView;
use crate::run::{KeySet, RunWriter, Sorter};
use crate::trees::Trees;
use crate::txn::clock::{Clock, RegisteredSnapshot};
use crate::txn::gates::Gates;
use crate::txn::ghosts::GhostQueue;
use crate::txn::history_memory::HistoryMemory;
use crate::txn::recovery::{Recovered, Replay, catalog_segment};
use crate::txn::versions::VersionStore;
use crate::txn::write_set::WriteSet;
use crate::txn::{Isolation, Transaction, TxnMode};
use leafline_btree::{CommitTs, Tree, TreeRedo};
use leafline_storage::worker::{ThreadName, Worker};
use leafline_storage::{
    CheckpointSource, Env, FlushPolicy, HandlerId, Lsn, SegmentId, StorageError, Store, StoreOptions,
};
use parking_lot::{Mutex, RwLock, RwLockWriteGuard};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How an engine is opened.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The store underneath.
    pub store: StoreOptions,
    /// Most bytes of memory the writes of one transaction may take before they go to files. `None`: a quarter of the buffer
    /// pool, which they are borrowed from, but not less than 1 MiB nor more than 256 MiB.
    pub transaction_memory_bytes: Option<u64>,
    /// Most bytes of memory the sorts of a bulk load or index build may take before they go to files.
    pub build_memory_bytes: u64,
    /// Most threads that sort and build trees, besides the one that reads the rows.
    pub build_threads: usize,
    /// Most bytes of memory that old versions of rows, and deleted ones that wait to be removed, may take before they go to
    /// files. `None`: a quarter of the buffer pool.
    pub version_memory_bytes: Option<u64>,
    /// Bytes of operations up to which a commit has them in its log record, and beyond which in a file of its own. `None`:
    /// one part in sixteen of the log.
    pub inline_commit_bytes: Option<u64>,
    /// Which changes of non-unique secondary indexes are buffered where their leaves are not in memory.
    pub change_buffering: ChangeBuffering,
    /// Most bytes of buffered changes. `None`: as many as the buffer pool has.
    pub change_buffer_bytes: Option<u64>,
    /// Leaves are driven out of memory, so that all changes are buffered that can be: for tests.
    pub force_change_buffering: bool,
    /// Bytes of log after which a commit with such a file records how far it is. `None`: one part in thirty-two of the log.
    pub progress_bytes: Option<u64>,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            store: StoreOptions::default(),
            transaction_memory_bytes: None,
            build_memory_bytes: 64 << 20,
            build_threads: std::thread::available_parallelism().map_or(1, |threads| threads.get().min(4)),
            version_memory_bytes: None,
            inline_commit_bytes: None,
            progress_bytes: None,
            change_buffering: ChangeBuffering::default(),
            change_buffer_bytes: None,
            force_change_buffering: false,
        }
    }
}

/// What an engine has done and holds, for status variables.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EngineStats {
    /// Transactions committed that wrote something.
    pub commits: u64,
    /// Statements that met a row changed by a commit that their snapshot did not see.
    pub conflicts: u64,
    /// Locks.
    pub locks: LockStats,
    /// Old row versions in memory.
    pub versions: u64,
    /// Bytes of memory they take.
    pub version_bytes: u64,
    /// Old row versions in files. Some may be in memory too, for a moment.
    pub spilled_versions: u64,
    /// Bytes of those files.
    pub spilled_version_bytes: u64,
    /// Number of those files.
    pub version_runs: u64,
    /// Times that old versions were written to a file.
    pub version_spills: u64,
    /// Memory of old versions, the index of their files, and the purge queue.
    pub history_bytes: u64,
    /// What of the buffer pool is borrowed for it.
    pub history_borrowed: u64,
    /// What of it may be used before something is written to files.
    pub history_limit: u64,
    /// Deleted rows and entries waiting to be removed.
    pub purge_queue: u64,
    /// Bytes of files that hold a part of them.
    pub purge_queue_file_bytes: u64,
    /// Deleted rows and entries removed.
    pub purged: u64,
    /// Deleted rows and entries that could not wait to be removed, for lack of temporary space: later writes to their pages do.
    pub purge_forgotten: u64,
    /// Snapshots that were given up for lack of temporary space.
    pub snapshots_given_up: u64,
    /// Snapshots in use.
    pub snapshots: u64,
    /// Age of the oldest of them.
    pub oldest_snapshot: Option<Duration>,
    /// Trees that were dropped but are still read.
    pub retired_trees: u64,
}

#[derive(Debug, Default)]
pub(crate) struct EngineCounts {
    pub(crate) commits: AtomicU64,
    pub(crate) conflicts: AtomicU64,
    pub(crate) purged: AtomicU64,
    pub(crate) spills: AtomicU64,
}

/// An open database.
pub struct Engine {
    /// Stopped first.
    threads: Mutex<Vec<Worker>>,
    pub(crate) env: Arc<dyn Env>,
    pub(crate) store: Store,
    pub(crate) options: EngineOptions,
    pub(crate) limits: Limits,
    pub(crate) catalog_tree: Tree,
    catalog: RwLock<Arc<Catalog>>,
    /// That of the catalog.
    catalog_version: AtomicU64,
    pub(crate) trees: Trees,
    /// Trees that cannot be used before they are repaired. Its files are written and removed while it is held, with nothing
    /// else held.
    pub(crate) quarantine: Mutex<Quarantine>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) gates: Gates,
    /// Held for reading by who changes trees and has ample room for it, or needs none; for writing by a commit that has room for exactly
    /// what it takes.
    pub(crate) room: RwLock<()>,
    pub(crate) changes: ChangeLogs,
    pub(crate) locks: Arc<LockTable>,
    metadata: Arc<Metadata>,
    pub(crate) ddl: Mutex<()>,
    pub(crate) history: Arc<HistoryMemory>,
    pub(crate) versions: VersionStore,
    pub(crate) ghosts: GhostQueue,
    pub(crate) change_buffer: Arc<ChangeBuffer>,
    /// Held by who makes room for old versions; usage below which it is of no use to try again.
    pub(crate) relief: Mutex<u64>,
    pub(crate) counts: EngineCounts,
    /// The writes of those who only read.
    no_writes: Arc<RwLock<WriteSet>>,
    /// Held for reading by who removes the run of a commit that is durable.
    pub(crate) op_runs: RwLock<()>,
    /// Number of the last run of operations.
    pub(crate) last_op_run: AtomicU64,
    /// Called between the steps of a commit's application.
    #[cfg(test)]
    pub(crate) observer: Mutex<Option<Arc<dyn Fn() + Send + Sync>>>,
}

/// What checkpoints need from this crate.
struct Source {
    counters: Arc<Counters>,
    clock: Arc<Clock>,
}

impl CheckpointSource for Source {
    fn payload(&self) -> Vec<u8> {
        self.counters.payload()
    }

    fn oldest_needed(&self) -> Option<Lsn> {
        self.clock.oldest_in_flight()
    }
}

impl Engine {
    /// A file for entries that only this process reads, and that is gone with it.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn temporary_run(&self) -> Result<RunWriter> {
        RunWriter::create(&self.env)
    }

    /// A set of keys in temporary files.
    pub fn key_set(&self) -> KeySet {
        KeySet::new(&self.env)
    }

    /// A sort that takes up to `memory` bytes before it goes to files.
    pub fn sorter(&self, memory: u64) -> Sorter {
        Sorter::new(&self.env, memory)
    }

    /// Opens the database in `env`, creating it if there is none, and finishes what a crash interrupted.
    ///
    /// # Errors
    /// What the store returns; `NotOpened` if a page is damaged that it cannot do without.
    pub fn open(env: Arc<dyn Env>, options: EngineOptions) -> Result<Arc<Engine>> {
        Engine::try_open(env, options).map_err(|error| match error {
            TableError::Storage(StorageError::Format { ref file, .. }) if file == "data" => {
                TableError::NotOpened(Box::new(error))
            }
            error if error.is_damage() => TableError::NotOpened(Box::new(error)),
            error => error,
        })
    }

    fn try_open(env: Arc<dyn Env>, options: EngineOptions) -> Result<Arc<Engine>> {
        let mut replay = Replay::default();
        let handlers: Vec<(HandlerId, Arc<dyn leafline_storage::RedoHandler>)> =
            vec![(HandlerId::BTREE, Arc::new(TreeRedo))];
        let store = Store::open(env.clone(), options.store.clone(), handlers, &mut replay)?;
        let (counters, pending) = replay.finish();
        let clock = Arc::new(Clock::new(counters.newest));
        for commit in &pending {
            clock.resume_commit(commit.ts, commit.start);
        }
        // Before a checkpoint gives up the log that could not be replayed on them.
        let essential = catalog_segment(&store).map(|segment| segment.id);
        let mut quarantine = Quarantine::load(&env, essential)?;
        quarantine.note_pages(&store.recovery_report().unreadable)?;
        quarantine.save()?;
        let counters = Arc::new(Counters::new(counters));
        store.set_checkpoint_source(Arc::new(Source { counters: counters.clone(), clock: clock.clone() }));
        let limits = Limits::new(&store, &options);
        let recovered = Recovered::new(&env, &store, &clock, limits.progress_bytes, pending, quarantine)?;
        let has_threads = options.store.background;
        let history = Arc::new(HistoryMemory::new(Some(store.clone()), limits.version_memory));
        crate::run::remove_leftovers(&env)?;
        let locks = Arc::new(LockTable::new(Some(store.clone()), limits.max_locks));
        let engine = Arc::new(Engine {
            versions: VersionStore::new(&env, &history),
            ghosts: GhostQueue::new(&env, &history),
            relief: Mutex::default(),
            history,
            env,
            store,
            options,
            limits,
            catalog_tree: recovered.catalog_tree,
            catalog_version: AtomicU64::new(recovered.catalog.version()),
            catalog: RwLock::new(Arc::new(recovered.catalog)),
            trees: recovered.trees,
            quarantine: Mutex::new(recovered.quarantine),
            change_buffer: recovered.change_buffer,
            counters,
            clock,
            gates: Gates::default(),
            room: RwLock::default(),
            changes: ChangeLogs::default(),
            locks,
            metadata: Arc::default(),
            ddl: Mutex::default(),
            counts: EngineCounts::default(),
            no_writes: Arc::default(),
            op_runs: RwLock::default(),
            last_op_run: AtomicU64::new(0),
            threads: Mutex::default(),
            #[cfg(test)]
            observer: Mutex::default(),
        });
        engine.change_buffer.set_limits(engine.limits.change_buffer, engine.limits.change_buffer_l0);
        engine.change_buffer.set_mode(engine.options.change_buffering);
        engine.change_buffer.set_forced(engine.options.force_change_buffering);
        if has_threads {
            let threads: [(_, fn(&Engine) -> bool); 2] = [
                // What fails here fails for the sessions too, which report it; ghosts cost space only.
                (ThreadName::Purge, |engine| {
                    let _ = engine.purge();
                    false
                }),
                // What fails here is tried again, and fails for the sessions, too, if it stops the store.
                (ThreadName::ChangeBuffer, |engine| engine.tend_change_buffer().unwrap_or(false)),
            ];
            for (name, round) in threads {
                engine.threads.lock().push(background::start(&engine, name, round)?);
            }
        }
        Ok(engine)
    }

    /// Writes everything and closes the store. Transactions and cursors that are still there fail from now on.
    ///
    /// # Errors
    /// What the store returns.
    pub fn close(&self) -> Result<()> {
        drop(std::mem::take(&mut *self.threads.lock()));
        self.purge()?;
        Ok(self.store.clone().close()?)
    }

    /// Begins a transaction.
    pub fn begin(self: &Arc<Self>, isolation: Isolation, mode: TxnMode) -> Transaction {
        Transaction::new(self.clone(), LockOwner::new(&self.locks), isolation, mode)
    }

    /// What a statement sees that is a transaction of its own and only reads.
    pub fn read_view(self: &Arc<Self>) -> ReadView {
        ReadView::new(self.clone(), self.snapshot(), self.no_writes.clone(), 0)
    }

    /// Begins a transaction of a session.
    pub fn begin_in(
        self: &Arc<Self>,
        session: &SessionLocks,
        isolation: Isolation,
        mode: TxnMode,
    ) -> Transaction {
        Transaction::new(self.clone(), LockOwner::of_session(session, &self.locks), isolation, mode)
    }

    /// The locks of a new session.
    pub fn session_locks(&self) -> Arc<SessionLocks> {
        SessionLocks::new(&self.locks, &self.metadata)
    }

    /// The definitions in force.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalog.read().clone()
    }

    /// The version of the definitions in force.
    pub fn catalog_version(&self) -> u64 {
        self.catalog_version.load(Ordering::Acquire)
    }

    /// Puts other definitions in force.
    pub(crate) fn set_catalog(&self, catalog: Catalog) {
        let mut current = self.catalog.write();
        self.catalog_version.store(catalog.version(), Ordering::Release);
        *current = Arc::new(catalog);
    }

    /// The definition in force of a table.
    ///
    /// # Errors
    /// 1049 if there is no such database, 1146 if there is no such table.
    pub fn table(&self, database: &str, name: &str) -> Result<Arc<TableDef>> {
        let catalog = self.catalog.read();
        if catalog.database(database).is_none() {
            return Err(leafline_types::MysqlError::unknown_database(database).into());
        }
        let table = catalog.table(database, name).cloned();
        table.ok_or_else(|| leafline_types::MysqlError::no_such_table(database, name).into())
    }

    /// The tree of an index: for dives and statistics.
    ///
    /// # Errors
    /// `DefinitionChanged` if the index is not there any more; `IndexQuarantined` (1712), `TableQuarantined` (1877).
    pub fn tree(&self, index: &IndexDef) -> Result<Tree> {
        Ok(self.trees.latest(index.tree)?.tree.clone())
    }

    /// Whether an index cannot be read, because it is quarantined or its table's rows are.
    pub fn is_quarantined(&self, index: &IndexDef) -> bool {
        self.trees.is_refused(index.tree)
    }

    /// Committed rows of a table.
    pub fn row_count(&self, table: TableId) -> u64 {
        match self.counters.rows(table) {
            // It may have partitions, which are counted.
            0 => self.catalog().table_by_id(table).map_or(0, |table| self.rows_of(table)),
            rows => rows,
        }
    }

    /// Committed rows of a table, or of those partitions of it that its definition has.
    pub fn rows_of(&self, table: &TableDef) -> u64 {
        match &table.partitioning {
            Some(partitioning) => {
                partitioning.partitions.iter().map(|partition| self.counters.rows(partition.table.id)).sum()
            }
            None => self.counters.rows(table.id),
        }
    }

    /// Rows that commits have inserted, changed or deleted in a table since the engine was opened: how old statistics are.
    pub fn rows_written(&self, table: TableId) -> u64 {
        self.counters.rows_written(table)
    }

    /// The next AUTO_INCREMENT value of a table, as `SHOW TABLE STATUS` has it.
    pub fn next_auto_increment(&self, table: TableId) -> u64 {
        self.counters.next_auto_increment(table)
    }

    /// The store: for its counters, checkpoints and page residency.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Limits of keys, rows and transactions.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Which changes of non-unique secondary indexes are buffered from now on, and how many percent of the buffer pool's size they may
    /// take. What is buffered is merged nevertheless.
    pub fn set_change_buffering(&self, mode: ChangeBuffering, percent: u64) {
        let limits = Limits::of_change_buffer(self.options.store.buffer_pool_bytes, Some(percent));
        self.change_buffer.set_limits(limits.0, limits.1);
        self.change_buffer.set_mode(mode);
    }

    /// Whether leaves leave memory before their entries change, from now on, so that all changes are buffered that can be: for tests.
    pub fn force_change_buffering(&self, forced: bool) {
        self.change_buffer.set_forced(forced || self.options.force_change_buffering);
    }

    /// The segments that buffered changes are in.
    pub fn change_buffer_segments(&self) -> BTreeSet<SegmentId> {
        self.change_buffer.segments()
    }

    /// What the change buffer has done and holds.
    pub fn change_buffer_stats(&self) -> ChangeBufferStats {
        self.change_buffer.stats()
    }

    /// Counters.
    pub fn stats(&self) -> EngineStats {
        let (snapshots, oldest_snapshot) = self.clock.snapshots();
        let (versions, ghosts) = (self.versions.counts(), self.ghosts.counts());
        EngineStats {
            commits: self.counts.commits.load(Ordering::Relaxed),
            conflicts: self.counts.conflicts.load(Ordering::Relaxed),
            locks: self.locks.stats(),
            versions: versions.in_memory.0,
            version_bytes: versions.in_memory.1,
            spilled_versions: versions.in_runs.0,
            spilled_version_bytes: versions.in_runs.1,
            version_runs: versions.runs,
            version_spills: self.counts.spills.load(Ordering::Relaxed),
            history_bytes: self.history.used(),
            history_borrowed: self.history.borrowed(),
            history_limit: self.history.limit(),
            purge_queue: ghosts.waiting,
            purge_queue_file_bytes: ghosts.file_bytes,
            purged: self.counts.purged.load(Ordering::Relaxed),
            purge_forgotten: ghosts.forgotten,
            snapshots_given_up: self.clock.given_up(),
            snapshots: snapshots as u64,
            oldest_snapshot,
            retired_trees: self.trees.retired() as u64,
        }
    }

    /// Registers a snapshot of what is committed now.
    pub(crate) fn snapshot(&self) -> RegisteredSnapshot {
        self.clock.snapshot(self.shown_lsn())
    }

    /// Registers a snapshot of what is applied now, durable or not: for whoever waits, before anybody hears of what it
    /// found, until it is durable (the log's end after this call will do).
    pub(crate) fn applied_snapshot(&self) -> RegisteredSnapshot {
        self.clock.applied_snapshot(self.shown_lsn())
    }

    /// Commits whose record ends here or before are shown to readers: what is durable, or all of it where commits
    /// do not wait for the disk.
    pub(crate) fn shown_lsn(&self) -> Lsn {
        match self.options.store.flush_log_at_commit {
            FlushPolicy::EachCommit => self.store.durable_lsn(),
            FlushPolicy::WriteEachCommit | FlushPolicy::EverySecond => self.store.log_end(),
        }
    }

    /// A view of that, of one who writes nothing.
    pub(crate) fn applied_view(self: &Arc<Self>) -> ReadView {
        ReadView::new(self.clone(), self.applied_snapshot(), self.no_writes.clone(), 0)
    }

    /// Whether there are threads that do in the background what can wait.
    pub(crate) fn has_background_threads(&self) -> bool {
        self.options.store.background
    }

    /// What was deleted or replaced before this is needed by nobody.
    pub(crate) fn bound(&self) -> CommitTs {
        self.clock.bound(self.shown_lsn())
    }

    /// A number for a run of operations: never used before, as the log does not get shorter.
    pub(crate) fn new_op_run(&self) -> u64 {
        let end = self.store.log_end().0;
        let next = |last: u64| Some((last + 1).max(end));
        let last = self.last_op_run.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        last.map_or(end, |last| (last + 1).max(end))
    }

    /// Stops the engine after a failure that must not happen, and returns the error.
    pub(crate) fn poison(&self, error: TableError) -> TableError {
        self.store.poison(error.to_string());
        error
    }

    /// Waits until nobody else changes trees, and keeps them from it. One thread of a test commits in the midst of another commit of its own: that
    /// is not waited for longer than threads take.
    pub(crate) fn keep_others_out(&self) -> Option<RwLockWriteGuard<'_, ()>> {
        if cfg!(test) { self.room.try_write_for(Duration::from_secs(1)) } else { Some(self.room.write()) }
    }

    #[cfg(test)]
    pub(crate) fn observe(&self) {
        let observer = self.observer.lock().clone();
        // While a commit keeps others out, what an observer commits would wait for it.
        if let Some(observer) = observer.filter(|_| !self.room.is_locked_exclusive()) {
            observer();
        }
    }

    #[cfg(not(test))]
    #[inline]
    pub(crate) fn observe(&self) {}
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
