//! Beginning transactions, and reading outside of them.

use super::{Isolation, Transaction, TxnMode};
use crate::core::Core;
use crate::lock::metadata::Metadata;
use crate::lock::{LockOwner, SessionLocks};
use crate::read::ReadView;
use crate::serial::SerialTransaction;
use std::sync::Arc;

/// The part of an engine that begins transactions.
pub struct Transactions {
    core: Arc<Core>,
    metadata: Arc<Metadata>,
}

impl Transactions {
    pub(crate) fn new(core: &Arc<Core>) -> Transactions {
        Transactions { core: core.clone(), metadata: Arc::default() }
    }

    /// Begins a transaction.
    pub fn begin(&self, isolation: Isolation, mode: TxnMode) -> Transaction {
        Transaction::new(self.core.clone(), LockOwner::new(&self.core.locks), isolation, mode)
    }

    /// Begins a transaction of a session.
    pub fn begin_in(&self, session: &SessionLocks, isolation: Isolation, mode: TxnMode) -> Transaction {
        Transaction::new(self.core.clone(), LockOwner::of_session(session, &self.core.locks), isolation, mode)
    }

    /// Returns the view of a statement that is a transaction of its own and only reads.
    pub fn read_view(&self) -> ReadView {
        ReadView::latest(&self.core)
    }

    /// Returns the view of such a statement at SERIALIZABLE. It takes part among the transactions at this level until
    /// the last clone of the view is dropped.
    pub fn serializable_view(&self) -> ReadView {
        let (snapshot, serial) = SerialTransaction::begin(&self.core.serial, true, || self.core.snapshot());
        serial.set_committed();
        ReadView::new(self.core.clone(), snapshot, self.core.no_writes.clone(), 0).with_serial(Some(serial))
    }

    /// The locks of a new session.
    pub fn session_locks(&self) -> Arc<SessionLocks> {
        SessionLocks::new(&self.core.locks, &self.metadata)
    }
}
