//! The state of an open database that transactions, DDL and maintenance share: definitions, trees, counters,
//! snapshots. The head of the crate lists the order of its locks.

use crate::catalog::{Catalog, IndexDef, TableDef, TableId};
use crate::change_buffer::{ChangeBuffer, Host};
use crate::change_log::ChangeLogs;
use crate::counters::Counters;
use crate::error::{Result, TableError};
use crate::gates::Gates;
use crate::limits::Limits;
use crate::lock::LockTable;
use crate::mvcc::clock::{Clock, RegisteredSnapshot};
use crate::mvcc::ghosts::GhostQueue;
use crate::mvcc::history_memory::HistoryMemory;
use crate::mvcc::versions::VersionStore;
use crate::options::EngineOptions;
use crate::quarantine::Quarantine;
use crate::range_locks::RangeLocks;
use crate::run::{KeySet, RunWriter, Sorter};
use crate::serial::Serial;
use crate::statistics::{EngineCounts, EngineStats};
use crate::trees::{Refusal, TreeHandle, Trees};
use crate::write_set::{WriteSet, WriteSetSpace};
use leafline_btree::{CommitTs, Tree};
use leafline_storage::{Env, FlushPolicy, Lsn, SegmentId, Store};
use parking_lot::{Mutex, RwLock, RwLockWriteGuard};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The state from which an engine starts.
pub(crate) struct Recovered {
    pub(crate) catalog_tree: Tree,
    pub(crate) catalog: Catalog,
    pub(crate) trees: Trees,
    pub(crate) quarantine: Quarantine,
    pub(crate) change_buffer: Arc<ChangeBuffer>,
}

/// The state of an open database below its transactions, DDL and maintenance.
pub struct Core {
    pub(crate) env: Arc<dyn Env>,
    pub(crate) store: Store,
    pub(crate) options: EngineOptions,
    pub(crate) limits: Limits,
    pub(crate) catalog_tree: Tree,
    catalog: RwLock<Arc<Catalog>>,
    /// The version of `catalog`, read without its lock.
    catalog_version: AtomicU64,
    pub(crate) trees: Trees,
    /// Trees that cannot be used before they are repaired. Their files are written and removed while this is held,
    /// and nothing else is.
    pub(crate) quarantine: Mutex<Quarantine>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) gates: Gates,
    /// Held for reading by a thread that changes trees and has ample room for that, or needs none; held for writing
    /// by a commit that has reserved exactly what it needs.
    pub(crate) room: RwLock<()>,
    pub(crate) changes: ChangeLogs,
    pub(crate) locks: Arc<LockTable>,
    pub(crate) serial: Arc<Serial>,
    pub(crate) range_locks: Arc<RangeLocks>,
    pub(crate) ddl: Mutex<()>,
    pub(crate) history: Arc<HistoryMemory>,
    pub(crate) versions: VersionStore,
    pub(crate) ghosts: GhostQueue,
    pub(crate) change_buffer: Arc<ChangeBuffer>,
    /// Held by a thread that makes room for old versions; the use below which it is useless to try again.
    pub(crate) relief: Mutex<u64>,
    pub(crate) counts: EngineCounts,
    /// The empty write set of readers outside transactions.
    pub(crate) no_writes: Arc<RwLock<WriteSet>>,
    /// Held for reading by a thread that removes the run of a durable commit.
    pub(crate) op_runs: RwLock<()>,
    /// The number of the last run of operations.
    pub(crate) last_op_run: AtomicU64,
    /// Called between the steps of a commit's application.
    #[cfg(test)]
    pub(crate) observer: Mutex<Option<Arc<dyn Fn() + Send + Sync>>>,
}

impl Core {
    /// Makes the state that recovery has left.
    pub(crate) fn new(
        (env, store, options, limits): (Arc<dyn Env>, Store, EngineOptions, Limits),
        (counters, clock): (Arc<Counters>, Arc<Clock>),
        recovered: Recovered,
    ) -> Core {
        let history = Arc::new(HistoryMemory::new(Some(store.clone()), limits.version_memory));
        let locks = Arc::new(LockTable::new(Some(store.clone()), limits.max_locks));
        let serial = Arc::new(Serial::new(store.clone()));
        let core = Core {
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
            serial,
            range_locks: Arc::default(),
            ddl: Mutex::default(),
            counts: EngineCounts::default(),
            no_writes: Arc::default(),
            op_runs: RwLock::default(),
            last_op_run: AtomicU64::new(0),
            #[cfg(test)]
            observer: Mutex::default(),
        };
        core.change_buffer.set_limits(core.limits.change_buffer, core.limits.change_buffer_l0);
        core.change_buffer.set_mode(core.options.change_buffering);
        core.change_buffer.set_forced(core.options.force_change_buffering);
        core
    }

    /// The files, memory and limits of write sets.
    #[inline]
    pub(crate) fn write_set_space(&self) -> WriteSetSpace<'_> {
        WriteSetSpace { env: &self.env, store: &self.store, limits: &self.limits }
    }

    /// Creates a file for entries that only this process reads, which disappears with it.
    ///
    /// # Errors
    /// Errors of creating the file.
    pub fn temporary_run(&self) -> Result<RunWriter> {
        RunWriter::create(&self.env)
    }

    /// Makes a set of keys in temporary files.
    pub fn key_set(&self) -> KeySet {
        KeySet::new(&self.env)
    }

    /// Makes a sorter that uses up to `memory` bytes before it writes files.
    pub fn sorter(&self, memory: u64) -> Sorter {
        Sorter::new(&self.env, memory)
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

    /// The definition of a table in force.
    ///
    /// # Errors
    /// 1049 if the database does not exist, 1146 if the table does not exist.
    pub fn table(&self, database: &str, name: &str) -> Result<Arc<TableDef>> {
        let catalog = self.catalog.read();
        if catalog.database(database).is_none() {
            return Err(leafline_types::MysqlError::unknown_database(database).into());
        }
        let table = catalog.table(database, name).cloned();
        table.ok_or_else(|| leafline_types::MysqlError::no_such_table(database, name).into())
    }

    /// The tree of an index, for dives and statistics.
    ///
    /// # Errors
    /// `DefinitionChanged` if the index does not exist any more; `IndexQuarantined` (1712), `TableQuarantined`
    /// (1877).
    pub fn tree(&self, index: &IndexDef) -> Result<Tree> {
        Ok(self.trees.latest(index.tree)?.tree.clone())
    }

    /// Returns whether an index cannot be read, because it or its table's rows are quarantined.
    pub fn is_quarantined(&self, index: &IndexDef) -> bool {
        self.trees.is_refused(index.tree)
    }

    /// The number of committed rows of a table.
    pub fn row_count(&self, table: TableId) -> u64 {
        match self.counters.rows(table) {
            // The rows of a partitioned table are counted in its partitions.
            0 => self.catalog().table_by_id(table).map_or(0, |table| self.rows_of(table)),
            rows => rows,
        }
    }

    /// The number of committed rows of a table, or of the partitions that its definition contains.
    pub fn rows_of(&self, table: &TableDef) -> u64 {
        match &table.partitioning {
            Some(partitioning) => {
                partitioning.partitions.iter().map(|partition| self.counters.rows(partition.table.id)).sum()
            }
            None => self.counters.rows(table.id),
        }
    }

    /// The number of rows that commits have inserted, changed or deleted in a table since the engine was opened,
    /// which tells the age of statistics.
    pub fn rows_written(&self, table: TableId) -> u64 {
        self.counters.rows_written(table)
    }

    /// The next AUTO_INCREMENT value of a table, as `SHOW TABLE STATUS` shows it.
    pub fn next_auto_increment(&self, table: TableId) -> u64 {
        self.counters.next_auto_increment(table)
    }

    /// The store, for its counters, checkpoints and page residency.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The limits of keys, rows and transactions.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Counters.
    pub fn stats(&self) -> EngineStats {
        let (snapshots, oldest_snapshot) = self.clock.snapshots();
        let (versions, ghosts) = (self.versions.counts(), self.ghosts.counts());
        let (serial_open, serial_ended, serializable_bytes) = self.serial.figures();
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
            serializable_refused: self.serial.refused(),
            serializable: (serial_open as u64, serial_ended as u64),
            serializable_bytes: serializable_bytes as u64,
        }
    }

    /// Registers a snapshot of everything committed now.
    pub(crate) fn snapshot(&self) -> RegisteredSnapshot {
        self.clock.snapshot(self.shown_lsn())
    }

    /// Registers a snapshot of everything applied now, durable or not. Its user must wait until what it read is
    /// durable before anybody learns of it; the log's end after this call suffices.
    pub(crate) fn applied_snapshot(&self) -> RegisteredSnapshot {
        self.clock.applied_snapshot(self.shown_lsn())
    }

    /// Commits whose record ends at or before this are shown to readers: the durable ones, or all of them if commits
    /// do not wait for the disk.
    pub(crate) fn shown_lsn(&self) -> Lsn {
        match self.options.store.flush_log_at_commit {
            FlushPolicy::EachCommit => self.store.durable_lsn(),
            FlushPolicy::WriteEachCommit | FlushPolicy::EverySecond => self.store.log_end(),
        }
    }

    /// Returns whether background threads exist for work that can wait.
    pub(crate) fn has_background_threads(&self) -> bool {
        self.options.store.background
    }

    /// Returns the bound of the purge: no snapshot needs versions and entries that were deleted or replaced before it.
    pub(crate) fn bound(&self) -> CommitTs {
        self.clock.bound(self.shown_lsn())
    }

    /// Returns a number for a run of operations that was never used before, because the log does not get shorter.
    pub(crate) fn new_op_run(&self) -> u64 {
        let end = self.store.log_end().0;
        let next = |last: u64| Some((last + 1).max(end));
        let last = self.last_op_run.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        last.map_or(end, |last| (last + 1).max(end))
    }

    /// Counts a statement that met a change which its snapshot does not see, and returns its error.
    pub(crate) fn conflict(&self) -> TableError {
        self.counts.conflicts.fetch_add(1, Ordering::Relaxed);
        TableError::WriteConflict
    }

    /// Stops the engine after a failure that must not happen, and returns the error.
    pub(crate) fn poison(&self, error: TableError) -> TableError {
        self.store.poison(error.to_string());
        error
    }

    /// Waits until nobody else changes trees, and excludes them. In tests a thread may commit in the midst of another
    /// commit of its own. The wait then ends after the time that threads normally need.
    pub(crate) fn keep_others_out(&self) -> Option<RwLockWriteGuard<'_, ()>> {
        if cfg!(test) { self.room.try_write_for(Duration::from_secs(1)) } else { Some(self.room.write()) }
    }

    #[cfg(test)]
    pub(crate) fn observe(&self) {
        let observer = self.observer.lock().clone();
        // While a commit excludes others, an observer's commit would wait for it.
        if let Some(observer) = observer.filter(|_| !self.room.is_locked_exclusive()) {
            observer();
        }
    }

    #[cfg(not(test))]
    #[inline]
    pub(crate) fn observe(&self) {}
}

impl Host for Core {
    fn bound(&self) -> CommitTs {
        Core::bound(self)
    }

    fn tree(&self, id: SegmentId) -> Option<Arc<TreeHandle>> {
        self.trees.even_retired(id)
    }

    fn add_ghost(&self, ts: CommitTs, tree: SegmentId, key: &[u8]) {
        self.ghosts.add(ts, std::iter::once((tree, key)));
    }

    fn refuse(&self, trees: &BTreeSet<SegmentId>, why: String) -> Result<()> {
        let catalog = self.catalog();
        let indexes =
            catalog.all_tables().flat_map(|table| table.indexes.iter().map(move |index| (table, index)));
        let concerned: Vec<_> = indexes.filter(|(_, index)| trees.contains(&index.tree)).collect();
        {
            let mut quarantine = self.quarantine.lock();
            concerned.iter().for_each(|(_, index)| quarantine.set_aside(index.tree, why.clone()));
            quarantine.save()?;
        }
        for (table, index) in concerned {
            self.trees.refuse(index.tree, Refusal::of_index(table, index));
        }
        Ok(())
    }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
