//! Transactions: snapshots, write sets, commit, recovery, old versions, purge.
//!
//! Nothing uncommitted is on a page. A transaction reads at a snapshot, merged with its own writes, and keeps what
//! it writes in a write set, on disk if there is much of it. It locks the rows it writes, and looks whether they still are
//! what it has read. Committing it appends one record that holds every change, applies the changes to the trees, releases the
//! locks and waits until the record is durable. There is no undo.

pub(crate) mod apply;
pub(crate) mod clock;
mod commit;
mod dml;
pub(crate) mod gates;
pub(crate) mod ghosts;
pub(crate) mod history_memory;
mod key_search;
pub(crate) mod large;
mod locking;
pub(crate) mod op;
pub(crate) mod op_run;
mod outside;
pub(crate) mod purge;
pub(crate) mod recovery;
mod references;
pub(crate) mod relief;
mod room;
pub(crate) mod snapshot;
mod splits;
pub(crate) mod transactions;
mod unique;
pub(crate) mod versions;
mod watch;
pub(crate) mod write_set;

pub use clock::RegisteredSnapshot;
pub use commit::CommitOutcome;
pub(crate) use commit::{CommitPlan, commit_plan};
pub use dml::InsertOutcome;
pub(crate) use dml::{asks_for_number, auto_increment_value, new_auto_increment};
pub use key_search::KeySearch;
pub use locking::{Locked, LockedRow, LookedUp, RowLocker};
pub use snapshot::Snapshot;
pub use transactions::Transactions;
pub use watch::{TransactionFigures, TransactionWatch};
pub use write_set::Mark;

use crate::catalog::TableDef;
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::lock::{LockLimits, LockOwner};
use crate::read::ReadView;
use parking_lot::RwLock;
use std::sync::Arc;
use write_set::WriteSet;

/// When a transaction takes its snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Isolation {
    /// Each statement sees what was committed when it began.
    ReadCommitted,
    /// All statements see what was committed when the first one began.
    #[default]
    RepeatableRead,
}

/// What a transaction may do.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum TxnMode {
    /// Read and write.
    #[default]
    ReadWrite,
    /// Read only; a write is error 1792.
    ReadOnly,
}

/// Which numbers AUTO_INCREMENT columns get: `offset`, and every `increment`th from there on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbering {
    /// At least 1.
    pub increment: u64,
    /// Beyond the increment only what it leaves over counts.
    pub offset: u64,
}

impl Default for Numbering {
    /// All numbers.
    fn default() -> Numbering {
        Numbering { increment: 1, offset: 1 }
    }
}

impl Numbering {
    /// The first of the numbers that is no smaller than `next`.
    pub(crate) fn from(self, next: u64) -> u64 {
        let increment = self.increment.max(1);
        let (wanted, has) = (self.offset % increment, next % increment);
        let gap = if wanted >= has { wanted - has } else { increment - (has - wanted) };
        next.saturating_add(gap)
    }
}

/// Where a statement began: for [`Transaction::rollback_statement`].
pub type StatementMark = Mark;

/// A transaction. Dropping it rolls it back.
#[derive(Debug)]
pub struct Transaction {
    core: Arc<Core>,
    isolation: Isolation,
    mode: TxnMode,
    writes: Arc<RwLock<WriteSet>>,
    snapshot: Option<RegisteredSnapshot>,
    locks: Arc<LockOwner>,
    limits: LockLimits,
    /// REPEATABLE READ is snapshot isolation: a row changed since the snapshot is not written to.
    snapshot_isolation: bool,
    /// 0 in an AUTO_INCREMENT column is a number like others.
    zero_is_number: bool,
    numbering: Numbering,
    /// The number that the next row gets which asks for one.
    given_number: Option<u64>,
    /// The running statement sees writes before this.
    statement: Mark,
    /// Somebody has seen what it has read.
    shown: bool,
    /// It is the running statement alone, and ends with it.
    single: bool,
}

impl Transaction {
    pub(crate) fn new(core: Arc<Core>, locks: LockOwner, isolation: Isolation, mode: TxnMode) -> Transaction {
        let writes = WriteSet::default();
        let statement = writes.mark();
        Transaction {
            locks: Arc::new(locks),
            limits: LockLimits::default(),
            snapshot_isolation: true,
            zero_is_number: false,
            numbering: Numbering::default(),
            given_number: None,
            core,
            isolation,
            mode,
            writes: Arc::new(RwLock::new(writes)),
            snapshot: None,
            statement,
            shown: false,
            single: false,
        }
    }

    /// The engine it runs in.
    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Its isolation level.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Its mode.
    pub fn mode(&self) -> TxnMode {
        self.mode
    }

    /// Whether it has written anything that was not rolled back.
    pub fn has_writes(&self) -> bool {
        !self.writes.read().is_empty()
    }

    /// Whether it may have written to a table that others use, too.
    pub fn changes_shared_tables(&self) -> bool {
        self.writes.read().has_shared_tables()
    }

    /// The snapshot it reads at; taken now if there is none yet.
    pub fn snapshot(&mut self) -> RegisteredSnapshot {
        self.snapshot.get_or_insert_with(|| self.core.snapshot()).clone()
    }

    /// Has it read at the snapshot of another transaction. Only right while it has read and written nothing.
    pub fn set_snapshot(&mut self, snapshot: RegisteredSnapshot) {
        self.snapshot = Some(snapshot);
    }

    /// Begins a statement: at READ COMMITTED it gets a new snapshot, and it sees the writes made until now, not its
    /// own. The mark undoes it.
    pub fn begin_statement(&mut self) -> StatementMark {
        if self.isolation == Isolation::ReadCommitted {
            self.snapshot = Some(self.core.snapshot());
        }
        self.statement = self.writes.read().mark();
        self.statement
    }

    /// Undoes the writes of a statement.
    pub fn rollback_statement(&mut self, mark: StatementMark) {
        self.rollback_to(mark);
    }

    /// A savepoint: the present position.
    pub fn savepoint(&self) -> Mark {
        self.writes.read().mark()
    }

    /// Undoes the writes since a savepoint.
    pub fn rollback_to(&mut self, mark: Mark) {
        self.writes.write().roll_back_to(mark);
    }

    /// How long it waits for locks.
    pub fn set_lock_limits(&mut self, limits: LockLimits) {
        self.limits = limits;
    }

    /// Whether REPEATABLE READ prevents that a row is written that was changed since the snapshot
    /// (`innodb_snapshot_isolation`); otherwise its newest version is.
    pub fn set_snapshot_isolation(&mut self, on: bool) {
        self.snapshot_isolation = on;
    }

    /// Whether 0 in an AUTO_INCREMENT column is a number like others (`NO_AUTO_VALUE_ON_ZERO`); otherwise it asks for the next one, as
    /// NULL does.
    pub fn set_zero_is_number(&mut self, on: bool) {
        self.zero_is_number = on;
    }

    /// Which numbers AUTO_INCREMENT columns get, and the first of them if it is a certain one.
    pub fn set_numbering(&mut self, numbering: Numbering, first: Option<u64>) {
        (self.numbering, self.given_number) = (numbering, first);
    }

    /// Whether it is the running statement alone, and is committed when that has succeeded.
    pub fn set_single(&mut self, single: bool) {
        self.single = single;
    }

    /// Whether the rows that the running statement inserts into `table` can be loaded in bulk in their place: nothing else is to be
    /// committed or rolled back with them.
    pub fn can_load(&self) -> bool {
        self.single && self.mode == TxnMode::ReadWrite
    }

    /// Whether statements that write or lock go on with the newest version of a row that their snapshot does not see.
    pub(crate) fn follows(&self) -> bool {
        self.isolation == Isolation::ReadCommitted || !self.snapshot_isolation
    }

    /// A result of this transaction is about to be shown, or its snapshot was asked for: it has to keep it.
    pub fn set_shown(&mut self) {
        self.shown = true;
    }

    /// Whether a statement that met a conflict can be run again, under a newer snapshot: at READ COMMITTED each has its
    /// own; at REPEATABLE READ only while nothing was shown.
    pub fn can_restart(&self) -> bool {
        self.isolation == Isolation::ReadCommitted || !self.shown
    }

    /// Whether it was chosen to give up in a deadlock: it has to be rolled back, so that its locks are released.
    pub fn is_deadlock_victim(&self) -> bool {
        self.locks.is_victim()
    }

    /// Gives the transaction a snapshot of everything that is applied, so that a statement can be tried again after a
    /// conflict, with the locks it has. Only right while the transaction has shown nothing and written nothing, or, at
    /// READ COMMITTED, the statement.
    ///
    /// # Errors
    /// `Internal` if it has written something.
    pub fn refresh_snapshot(&mut self) -> Result<()> {
        if self.isolation == Isolation::RepeatableRead && self.has_writes() {
            return Err(TableError::Internal("a transaction with writes cannot change its snapshot".into()));
        }
        self.snapshot = Some(self.core.applied_snapshot());
        self.writes.write().note_seen(self.core.store.log_end());
        Ok(())
    }

    /// What the running statement reads: the snapshot, and the transaction's writes from before the statement.
    pub fn view(&mut self) -> ReadView {
        let snapshot = self.snapshot();
        ReadView::new(self.core.clone(), snapshot, self.writes.clone(), self.statement.0)
    }

    /// Makes the writes permanent and visible. Returns when they are as durable as the flush policy asks for.
    ///
    /// # Errors
    /// `TransactionTooLarge`, `DefinitionChanged`, disk full, a file of the transaction that cannot be read: nothing is changed
    /// then. Any other error of the store: it has stopped, and whether the transaction is durable is known after the next open.
    pub fn commit(self) -> Result<CommitOutcome> {
        commit::commit(&self)
    }

    /// Forgets the writes.
    pub fn rollback(self) {}

    fn check_writable(&self, table: &TableDef) -> Result<()> {
        match self.mode {
            TxnMode::ReadWrite => self.core.trees.check_writable(table),
            // Nobody else can tell.
            TxnMode::ReadOnly if table.is_private => self.core.trees.check_writable(table),
            TxnMode::ReadOnly => Err(TableError::ReadOnlyTransaction),
        }
    }
}
