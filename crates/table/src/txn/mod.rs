//! Transactions: snapshots, write sets, commit, recovery, old versions, purge.
//!
//! Nothing uncommitted is on a page. A transaction reads at a snapshot, merged with its own writes, and keeps what
//! it writes in a write set. Committing it checks that nobody committed a change to the same rows since, appends
//! one record that holds every change, applies the changes to the trees and waits until the record is durable.
//! There is no undo.

pub(crate) mod apply;
pub(crate) mod clock;
mod commit;
mod dml;
pub(crate) mod gates;
pub(crate) mod op;
pub(crate) mod purge;
pub(crate) mod recovery;
pub(crate) mod snapshot;
mod unique;
pub(crate) mod versions;
pub(crate) mod write_set;

pub use clock::RegisteredSnapshot;
pub use commit::CommitOutcome;
pub(crate) use commit::{CommitPlan, commit_plan};
pub use dml::InsertOutcome;
pub(crate) use dml::new_auto_increment;
pub use snapshot::Snapshot;
pub use write_set::Mark;

use crate::engine::Engine;
use crate::error::{Result, TableError};
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

/// Where a statement began: for [`Transaction::rollback_statement`].
pub type StatementMark = Mark;

/// A transaction. Dropping it rolls it back.
#[derive(Debug)]
pub struct Transaction {
    engine: Arc<Engine>,
    isolation: Isolation,
    mode: TxnMode,
    writes: Arc<RwLock<WriteSet>>,
    snapshot: Option<RegisteredSnapshot>,
    /// Keeps the snapshot of the first write registered, so that no timestamp that the commit has to look at is
    /// cleared away before.
    first_write: Option<RegisteredSnapshot>,
    /// The running statement sees writes before this.
    statement: Mark,
}

impl Transaction {
    pub(crate) fn new(engine: Arc<Engine>, isolation: Isolation, mode: TxnMode) -> Transaction {
        let writes = WriteSet::default();
        let statement = writes.mark();
        Transaction {
            engine,
            isolation,
            mode,
            writes: Arc::new(RwLock::new(writes)),
            snapshot: None,
            first_write: None,
            statement,
        }
    }

    /// The engine it runs in.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
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

    /// The snapshot it reads at; taken now if there is none yet.
    pub fn snapshot(&mut self) -> RegisteredSnapshot {
        self.snapshot.get_or_insert_with(|| self.engine.snapshot()).clone()
    }

    /// Begins a statement: at READ COMMITTED it gets a new snapshot, and it sees the writes made until now, not its
    /// own. The mark undoes it.
    pub fn begin_statement(&mut self) -> StatementMark {
        if self.isolation == Isolation::ReadCommitted {
            self.snapshot = Some(self.engine.snapshot());
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

    /// Gives the transaction a new snapshot, so that a statement can be tried again after a conflict. Only right
    /// while the transaction has shown nothing and written nothing.
    ///
    /// # Errors
    /// `Internal` if it has written something.
    pub fn refresh_snapshot(&mut self) -> Result<()> {
        if self.has_writes() {
            return Err(TableError::Internal("a transaction with writes cannot change its snapshot".into()));
        }
        self.first_write = None;
        self.snapshot = Some(self.engine.snapshot());
        Ok(())
    }

    /// What the running statement reads: the snapshot, and the transaction's writes from before the statement.
    pub fn view(&mut self) -> ReadView {
        let snapshot = self.snapshot();
        ReadView::new(self.engine.clone(), snapshot, self.writes.clone(), self.statement.0)
    }

    /// Makes the writes permanent and visible. Returns when they are as durable as the flush policy asks for.
    ///
    /// # Errors
    /// `WriteConflict` (1213) if another transaction committed a change to the same rows or unique keys first,
    /// `TransactionTooLarge`, `DefinitionChanged`, disk full: nothing is changed then. Any other error of the store:
    /// it has stopped, and whether the transaction is durable is known after the next open.
    pub fn commit(self) -> Result<CommitOutcome> {
        commit::commit(&self)
    }

    /// Forgets the writes.
    pub fn rollback(self) {}

    /// The snapshot for a write, kept until the transaction ends.
    fn write_snapshot(&mut self) -> Result<RegisteredSnapshot> {
        if self.mode == TxnMode::ReadOnly {
            return Err(TableError::ReadOnlyTransaction);
        }
        let snapshot = self.snapshot();
        self.first_write.get_or_insert_with(|| snapshot.clone());
        Ok(snapshot)
    }
}
