//! Transactions: reading and writing rows, commit, recovery, purge. `mvcc` has snapshots and old versions, `write_set`
//! the uncommitted writes.
//!
//! Pages never contain uncommitted changes. A transaction reads at a snapshot, merged with its own writes, and keeps
//! its writes in a write set, which goes to disk if it is large. It locks the rows it writes, and checks whether they
//! are still what it has read. Its commit appends one record with every change, applies the changes to the trees,
//! releases the locks, and waits until the record is durable. There is no undo.

pub(crate) mod apply;
mod commit;
mod dml;
mod key_search;
pub(crate) mod large;
mod locking;
mod outside;
mod partition_writes;
mod plan;
pub(crate) mod purge;
pub(crate) mod recovery;
mod references;
pub(crate) mod relief;
mod room;
mod splits;
pub(crate) mod transactions;
mod unique;
mod watch;

pub use commit::CommitOutcome;
pub(crate) use commit::commit_plan;
pub use dml::InsertOutcome;
pub(crate) use dml::{asks_for_number, auto_increment_value, new_auto_increment};
pub use key_search::KeySearch;
pub use locking::{Locked, LockedRow, LookedUp, RowLocker};
pub(crate) use plan::CommitPlan;
pub use transactions::Transactions;
pub use watch::{TransactionFigures, TransactionWatch};

use crate::catalog::{IndexDef, TableDef};
use crate::core::Core;
use crate::counters::Numbering;
use crate::error::{Result, TableError};
use crate::lock::{LockLimits, LockOwner, LockWait};
use crate::mvcc::RegisteredSnapshot;
use crate::range_locks::{RangeLocker, RangeOwner};
use crate::read::ReadView;
use crate::serial::{SerialTransaction, Writes};
use crate::write_set::{Mark, WriteSet};
use parking_lot::RwLock;
use std::sync::Arc;

/// The isolation level, which decides when a transaction takes its snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Isolation {
    /// Each statement sees what was committed when it began.
    ReadCommitted,
    /// All statements see what was committed when the first one began.
    #[default]
    RepeatableRead,
    /// As with REPEATABLE READ; in addition the transactions at this level have the effects and results that they would
    /// have one after another (`table::serial`).
    Serializable,
}

/// The access mode of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum TxnMode {
    /// Read and write.
    #[default]
    ReadWrite,
    /// Read only: a write is error 1792.
    ReadOnly,
}

/// The beginning of a statement, for [`Transaction::rollback_statement`].
pub type StatementMark = Mark;

/// The versions of rows that a statement reads which may write or lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeReads {
    /// The statement reads at the transaction's snapshot: it only calls programs that may write or lock.
    Snapshot,
    /// The statement reads the newest versions, where statements that write or lock continue with these
    /// ([`RowLocker::follows`](super::RowLocker::follows)). At REPEATABLE READ, others are kept from writing rows into the
    /// ranges that it reads, unless it skips rows that are locked.
    Newest(LockWait),
}

impl ChangeReads {
    /// The versions for a query that locks rows with this wait, if it locks any.
    pub fn of_query(locks: Option<LockWait>) -> ChangeReads {
        locks.map_or(ChangeReads::Snapshot, ChangeReads::Newest)
    }
}

/// The snapshot of a transaction during a statement that reads at another one; `None` if the transaction has not read yet.
#[derive(Debug)]
struct SetAside(Option<RegisteredSnapshot>);

/// A transaction. Dropping it rolls it back.
#[derive(Debug)]
pub struct Transaction {
    core: Arc<Core>,
    isolation: Isolation,
    mode: TxnMode,
    writes: Arc<RwLock<WriteSet>>,
    snapshot: Option<RegisteredSnapshot>,
    /// While a statement reads at a newer snapshot than the transaction: the transaction's own.
    set_aside: Option<SetAside>,
    /// At SERIALIZABLE, its place among the others, from its snapshot on.
    serial: Option<Arc<SerialTransaction>>,
    locks: Arc<LockOwner>,
    /// Shows other transactions its writes and the ranges that it has locked.
    ranges: Arc<RangeOwner>,
    /// Locks the ranges that the running statement reads, if it does.
    range_locker: Option<Arc<RangeLocker>>,
    limits: LockLimits,
    /// Whether REPEATABLE READ is snapshot isolation: a row changed since the snapshot cannot be written.
    snapshot_isolation: bool,
    /// Whether 0 in an AUTO_INCREMENT column is a number like others.
    zero_is_number: bool,
    numbering: Numbering,
    /// The number for the next row that requests one.
    given_number: Option<u64>,
    /// The position in the write set up to which the running statement sees writes.
    statement: Mark,
    /// Whether results of the transaction have been shown.
    shown: bool,
    /// Whether it consists of the running statement alone, and ends with it.
    single: bool,
    /// Whether this is a handle for the statements inside a statement: it shares writes, locks and snapshot with the handle of
    /// that statement, which alone ends the transaction.
    is_inner: bool,
}

impl Transaction {
    pub(crate) fn new(core: Arc<Core>, locks: LockOwner, isolation: Isolation, mode: TxnMode) -> Transaction {
        let writes = WriteSet::default();
        let statement = writes.mark();
        let (locks, writes) = (Arc::new(locks), Arc::new(RwLock::new(writes)));
        Transaction {
            ranges: RangeOwner::new(&core.range_locks, &locks, &writes),
            range_locker: None,
            locks,
            limits: LockLimits::default(),
            snapshot_isolation: true,
            zero_is_number: false,
            numbering: Numbering::default(),
            given_number: None,
            core,
            isolation,
            mode,
            writes,
            snapshot: None,
            set_aside: None,
            serial: None,
            statement,
            shown: false,
            single: false,
            is_inner: false,
        }
    }

    /// Makes a handle for the statements that run inside the running statement: those of stored functions and triggers. It
    /// keeps the transaction's snapshot, sees the writes up to each of its own statements, and cannot commit. The two
    /// handles are used in turn, by one thread.
    pub fn inner(&mut self) -> Transaction {
        let snapshot = match &mut self.set_aside {
            Some(SetAside(own)) => own.get_or_insert_with(|| self.core.snapshot()).clone(),
            None => self.snapshot(),
        };
        Transaction {
            core: self.core.clone(),
            isolation: self.isolation,
            mode: self.mode,
            writes: self.writes.clone(),
            snapshot: Some(snapshot),
            set_aside: None,
            serial: self.serial.clone(),
            locks: self.locks.clone(),
            ranges: self.ranges.clone(),
            range_locker: None,
            limits: self.limits.clone(),
            snapshot_isolation: self.snapshot_isolation,
            zero_is_number: self.zero_is_number,
            numbering: self.numbering,
            given_number: None,
            statement: self.writes.read().mark(),
            shown: self.shown,
            single: false,
            is_inner: true,
        }
    }

    /// The engine's shared state.
    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Its isolation level.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Its access mode.
    pub fn mode(&self) -> TxnMode {
        self.mode
    }

    /// Returns whether it has written anything that was not rolled back.
    pub fn has_writes(&self) -> bool {
        !self.writes.read().is_empty()
    }

    /// Returns whether it may have written to a table that others use, too.
    pub fn changes_shared_tables(&self) -> bool {
        self.writes.read().has_shared_tables()
    }

    /// The snapshot it reads at, which is taken now if there is none yet.
    pub fn snapshot(&mut self) -> RegisteredSnapshot {
        match &self.snapshot {
            Some(snapshot) => snapshot.clone(),
            None => self.take_snapshot(),
        }
    }

    /// Takes a snapshot in the place of the one that it has.
    fn take_snapshot(&mut self) -> RegisteredSnapshot {
        let snapshot = if self.isolation == Isolation::Serializable {
            self.serial = None;
            let read_only = self.mode == TxnMode::ReadOnly;
            let take = || self.core.snapshot();
            let (snapshot, serial) = SerialTransaction::begin(&self.core.serial, read_only, take);
            self.serial = Some(serial);
            snapshot
        } else {
            self.core.snapshot()
        };
        self.snapshot = Some(snapshot.clone());
        snapshot
    }

    /// At SERIALIZABLE, registers `[lower, upper)` of an index, whose current state is about to be read.
    ///
    /// # Errors
    /// `WriteConflict` if the transaction must be rolled back.
    pub(crate) fn note_read(
        &mut self,
        table: &TableDef,
        index: &IndexDef,
        lower: &[u8],
        upper: Option<&[u8]>,
    ) -> Result<()> {
        if self.isolation != Isolation::Serializable {
            return Ok(());
        }
        self.snapshot();
        self.serial.as_ref().map_or(Ok(()), |serial| serial.register(table, index, &[(lower, upper)]))
    }

    /// At SERIALIZABLE, registers a key of the clustered index, whose current state is about to be read.
    fn note_row_read(&mut self, table: &TableDef, key: &[u8]) -> Result<()> {
        if self.isolation != Isolation::Serializable {
            return Ok(());
        }
        self.snapshot();
        self.serial.as_ref().map_or(Ok(()), |serial| serial.register_keys(table, std::iter::once(key)))
    }

    /// Makes it read at the snapshot of another transaction, without having read or written anything, or at the one that it had
    /// before. It must not be SERIALIZABLE in the first case.
    pub fn set_snapshot(&mut self, snapshot: RegisteredSnapshot) {
        self.snapshot = Some(snapshot);
    }

    /// Begins a statement. At READ COMMITTED the statement gets a new snapshot. It sees the writes made until now,
    /// but not its own. The returned mark serves to undo it.
    pub fn begin_statement(&mut self) -> StatementMark {
        if self.isolation == Isolation::ReadCommitted && !self.is_inner {
            self.snapshot = Some(self.core.snapshot());
        }
        self.statement = self.writes.read().mark();
        self.statement
    }

    /// Begins a statement that may write or lock. Where such statements continue with the newest versions, it also finds the
    /// rows that were committed since the transaction's snapshot: as in InnoDB at REPEATABLE READ, and inside another
    /// statement because that one may have waited for the transaction that inserted them.
    /// [`end_change`](Self::end_change) ends the statement.
    pub fn begin_change(&mut self, reads: ChangeReads) -> StatementMark {
        self.end_change();
        let ChangeReads::Newest(wait) = reads else { return self.begin_statement() };
        if self.isolation == Isolation::RepeatableRead && self.follows() && wait != LockWait::SkipLocked {
            let limits = (wait == LockWait::Wait).then(|| self.limits.clone());
            self.range_locker = Some(RangeLocker::new(&self.ranges, limits));
        }
        let newest = match (self.is_inner, self.isolation) {
            (true, _) if self.follows() => {
                self.writes.write().note_seen(self.core.store.log_end());
                Some(self.core.applied_snapshot())
            }
            (false, Isolation::RepeatableRead) if self.follows() => Some(self.core.snapshot()),
            _ => None,
        };
        if newest.is_some() {
            self.set_aside = Some(SetAside(std::mem::replace(&mut self.snapshot, newest)));
        }
        self.begin_statement()
    }

    /// Gives the transaction its own snapshot back.
    pub fn end_change(&mut self) {
        self.range_locker = None;
        if let Some(SetAside(own)) = self.set_aside.take() {
            self.snapshot = own;
        }
    }

    /// Undoes the writes of a statement.
    pub fn rollback_statement(&mut self, mark: StatementMark) {
        self.rollback_to(mark);
    }

    /// Makes a savepoint at the current position.
    pub fn savepoint(&self) -> Mark {
        self.writes.read().mark()
    }

    /// Undoes the writes since a savepoint.
    pub fn rollback_to(&mut self, mark: Mark) {
        self.writes.write().roll_back_to(mark);
    }

    /// Sets the limits of its waits for locks.
    pub fn set_lock_limits(&mut self, limits: LockLimits) {
        self.limits = limits;
    }

    /// Sets whether REPEATABLE READ refuses to write a row that was changed since the snapshot
    /// (`innodb_snapshot_isolation`). Otherwise the row's newest version is written.
    pub fn set_snapshot_isolation(&mut self, on: bool) {
        self.snapshot_isolation = on;
    }

    /// Sets whether 0 in an AUTO_INCREMENT column is a number like others (`NO_AUTO_VALUE_ON_ZERO`). Otherwise it
    /// requests the next number, as NULL does.
    pub fn set_zero_is_number(&mut self, on: bool) {
        self.zero_is_number = on;
    }

    /// Sets the numbers that AUTO_INCREMENT columns get, and the first of them if it is given.
    pub fn set_numbering(&mut self, numbering: Numbering, first: Option<u64>) {
        (self.numbering, self.given_number) = (numbering, first);
    }

    /// Sets whether it consists of the running statement alone, and is committed when that has succeeded.
    pub fn set_single(&mut self, single: bool) {
        self.single = single;
    }

    /// Returns whether the rows that the running statement inserts can be bulk-loaded instead, because nothing else
    /// is committed or rolled back with them. At SERIALIZABLE they cannot, because no write set lists them.
    pub fn can_load(&self) -> bool {
        self.single && self.mode == TxnMode::ReadWrite && self.isolation != Isolation::Serializable
    }

    /// Returns whether statements that write or lock continue with the newest version of a row that their snapshot
    /// does not see.
    pub(crate) fn follows(&self) -> bool {
        match self.isolation {
            Isolation::ReadCommitted => true,
            Isolation::RepeatableRead => !self.snapshot_isolation,
            Isolation::Serializable => false,
        }
    }

    /// Notes that a result of this transaction is shown, or that its snapshot was given out: it must keep the
    /// snapshot.
    pub fn set_shown(&mut self) {
        self.shown = true;
    }

    /// Returns whether the running statement, having met a conflict, can be run again under a newer snapshot. It can if it
    /// has a snapshot of its own; otherwise nothing of the transaction must have been shown.
    pub fn can_restart(&self) -> bool {
        self.has_own_snapshot() || !self.shown
    }

    /// Returns whether the running statement has a snapshot of its own.
    fn has_own_snapshot(&self) -> bool {
        self.isolation == Isolation::ReadCommitted || self.set_aside.is_some()
    }

    /// Returns whether it is SERIALIZABLE and must be rolled back, because it was forbidden to read what it asked for.
    pub fn has_failed(&self) -> bool {
        self.serial.as_ref().is_some_and(|serial| serial.has_failed())
    }

    /// Commits its reads: it has written nothing.
    fn commit_reads(&self) -> Result<()> {
        let Some(serial) = &self.serial else { return Ok(()) };
        serial.prepare(Writes::default())?;
        serial.set_committed();
        Ok(())
    }

    /// Returns whether it was chosen as a deadlock's victim and must be rolled back, so that its locks are released.
    pub fn is_deadlock_victim(&self) -> bool {
        self.locks.is_victim()
    }

    /// Gives the transaction a snapshot of everything applied, so that a statement can be run again after a conflict,
    /// with the locks it holds. The transaction (or the statement, where it has a snapshot of its own) must have shown
    /// nothing and written nothing.
    ///
    /// # Errors
    /// `Internal` if it has written something.
    pub fn refresh_snapshot(&mut self) -> Result<()> {
        if !self.has_own_snapshot() && self.has_writes() {
            return Err(TableError::Internal("a transaction with writes cannot change its snapshot".into()));
        }
        if self.isolation == Isolation::Serializable {
            // Its snapshots show what is durable.
            self.core.store.commit_durable(self.core.store.log_end())?;
            self.take_snapshot();
            return Ok(());
        }
        self.snapshot = Some(self.core.applied_snapshot());
        self.writes.write().note_seen(self.core.store.log_end());
        Ok(())
    }

    /// The view of the running statement: the snapshot, and the transaction's writes from before the statement.
    pub fn view(&mut self) -> ReadView {
        let snapshot = self.snapshot();
        let view = ReadView::new(self.core.clone(), snapshot, self.writes.clone(), self.statement.0);
        view.with_serial(self.serial.clone()).with_range_locker(self.range_locker.clone())
    }

    /// Makes the writes permanent and visible. Returns when they are as durable as the flush policy requires.
    ///
    /// # Errors
    /// `TransactionTooLarge`, `DefinitionChanged`, disk full, an unreadable file of the transaction: nothing is
    /// changed then. After any other error of the store, the store has stopped, and the next open shows whether the
    /// transaction is durable.
    pub fn commit(self) -> Result<CommitOutcome> {
        if self.is_inner {
            return Err(TableError::Internal("a statement inside another cannot commit".into()));
        }
        commit::commit(&self)
    }

    /// Discards the writes.
    pub fn rollback(self) {}

    fn check_writable(&self, table: &TableDef) -> Result<()> {
        match self.mode {
            TxnMode::ReadWrite => self.core.trees.check_writable(table),
            // Nobody else can see the difference.
            TxnMode::ReadOnly if table.is_private => self.core.trees.check_writable(table),
            TxnMode::ReadOnly => Err(TableError::ReadOnlyTransaction),
        }
    }
}
