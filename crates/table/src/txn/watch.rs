//! What others may see of a transaction while it lasts: `information_schema.INNODB_TRX`.
//!
//! Whoever watches keeps nothing alive, and the transaction does nothing for it.

use super::write_set::WriteSet;
use super::{Isolation, Transaction, TxnMode};
use crate::lock::LockOwner;
use parking_lot::RwLock;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A transaction, to who watches it.
#[derive(Clone, Debug)]
pub struct TransactionWatch {
    locks: Weak<LockOwner>,
    writes: Weak<RwLock<WriteSet>>,
    isolation: Isolation,
    mode: TxnMode,
}

/// What a transaction has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionFigures {
    /// Its isolation level.
    pub isolation: Isolation,
    /// Its mode.
    pub mode: TxnMode,
    /// Locks that it holds.
    pub locks: u64,
    /// How long it has been waiting for a lock, if it is.
    pub waiting: Option<Duration>,
    /// Writes to rows, with those that were taken back.
    pub writes: u64,
}

impl Transaction {
    /// For others, to see what it does.
    pub fn watch(&self) -> TransactionWatch {
        let Transaction { locks, writes, isolation, mode, .. } = self;
        let (locks, writes) = (Arc::downgrade(locks), Arc::downgrade(writes));
        TransactionWatch { locks, writes, isolation: *isolation, mode: *mode }
    }
}

impl TransactionWatch {
    /// How it is now; `None` if it has ended.
    pub fn figures(&self) -> Option<TransactionFigures> {
        let (locks, writes) = (self.locks.upgrade()?, self.writes.upgrade()?);
        // While it writes it is not waited for: it has written something then.
        let writes = writes.try_read().map_or(1, |writes| writes.written());
        let (isolation, mode) = (self.isolation, self.mode);
        Some(TransactionFigures { isolation, mode, locks: locks.held(), waiting: locks.waiting(), writes })
    }
}
