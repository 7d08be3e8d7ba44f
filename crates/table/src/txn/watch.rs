//! Watching running transactions from outside: `information_schema.INNODB_TRX`.
//!
//! A watcher keeps nothing alive, and costs the transaction nothing.

use super::{Isolation, Transaction, TxnMode};
use crate::lock::LockOwner;
use crate::write_set::WriteSet;
use parking_lot::RwLock;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A handle for watching a transaction.
#[derive(Clone, Debug)]
pub struct TransactionWatch {
    locks: Weak<LockOwner>,
    writes: Weak<RwLock<WriteSet>>,
    isolation: Isolation,
    mode: TxnMode,
}

/// The work of a transaction so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionFigures {
    /// Its isolation level.
    pub isolation: Isolation,
    /// Its access mode.
    pub mode: TxnMode,
    /// The number of locks it holds.
    pub locks: u64,
    /// How long it has been waiting for a lock; `None` if it is not waiting.
    pub waiting: Option<Duration>,
    /// The number of writes to rows, including undone ones.
    pub writes: u64,
}

impl Transaction {
    /// Makes a handle with which others watch the transaction.
    pub fn watch(&self) -> TransactionWatch {
        let Transaction { locks, writes, isolation, mode, .. } = self;
        let (locks, writes) = (Arc::downgrade(locks), Arc::downgrade(writes));
        TransactionWatch { locks, writes, isolation: *isolation, mode: *mode }
    }
}

impl TransactionWatch {
    /// Its current figures; `None` if it has ended.
    pub fn figures(&self) -> Option<TransactionFigures> {
        let (locks, writes) = (self.locks.upgrade()?, self.writes.upgrade()?);
        // The watcher does not wait for a transaction that is writing: it has written something then.
        let writes = writes.try_read().map_or(1, |writes| writes.written());
        let (isolation, mode) = (self.isolation, self.mode);
        Some(TransactionFigures { isolation, mode, locks: locks.held(), waiting: locks.waiting(), writes })
    }
}
