//! Locks of transactions: on rows and keys, and intention locks on tables.
//!
//! A row lock is on the hash of a table and a clustered key, or of a unique index and its key. The row need not
//! exist: a lock on an absent key keeps others from inserting it. Two keys with the same hash share a lock, which
//! at worst causes needless waiting. Ranges of keys are locked elsewhere (`range_locks`). Before its first row lock
//! in a table, a transaction takes an intention lock on the table, so that a lock on the whole table conflicts with
//! row locks.
//!
//! | module | contents |
//! |---|---|
//! | `table` | the table of all locks: granting, waiting, releasing |
//! | `deadlock` | the waits-for graph, and the choice of a victim |
//! | `owner` | the locks of one transaction |
//! | `owner_state` | an owner as others see it, and its sleep |
//! | `metadata` | locks on tables by name, which keep DDL from tables in use |
//!
//! # Latch order
//! `waits` (the sleeping owners), then one shard of the lock table, then a sleeper's own state. Only the shard's
//! latch is needed to take or release a lock that nobody waits for.

pub(crate) mod deadlock;
pub(crate) mod metadata;
pub(crate) mod owner;
mod owner_state;
pub(crate) mod table;
#[cfg(test)]
mod tests;

pub use metadata::{Excluding, MetadataKey, MetadataMode, SessionLocks};
pub(crate) use owner::LockOwner;
pub(crate) use table::LockTable;
pub use table::{LockStats, lock_wait_us_here};

use crate::error::TableError;
pub use leafline_types::words::{LockStrength, LockWait};
use leafline_types::{CancelToken, MysqlError};
use std::time::Duration;

/// The mode of a lock: what it allows its holder and denies others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockMode {
    /// On a table: the holder will lock rows of it shared.
    IntentionShared,
    /// On a table: the holder will lock rows of it exclusively.
    IntentionExclusive,
    /// Keeps others from changing the object.
    Shared,
    /// Keeps others from changing or locking the object.
    Exclusive,
}

/// A set of [`LockMode`]s.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Modes(u8);

impl LockMode {
    const fn bit(self) -> u8 {
        match self {
            LockMode::IntentionShared => 1,
            LockMode::IntentionExclusive => 2,
            LockMode::Shared => 4,
            LockMode::Exclusive => 8,
        }
    }

    /// The modes that conflict with this one when another owner holds them.
    const fn conflicting(self) -> u8 {
        match self {
            LockMode::IntentionShared => 8,
            LockMode::IntentionExclusive => 4 | 8,
            LockMode::Shared => 2 | 8,
            LockMode::Exclusive => 1 | 2 | 4 | 8,
        }
    }

    /// The modes that include this one: a holder of any of them need not take it.
    const fn implied_by(self) -> u8 {
        match self {
            LockMode::IntentionShared => 1 | 2 | 4 | 8,
            LockMode::IntentionExclusive => 2 | 8,
            LockMode::Shared => 4 | 8,
            LockMode::Exclusive => 8,
        }
    }
}

impl Modes {
    fn of(mode: LockMode) -> Modes {
        Modes(mode.bit())
    }

    fn add(&mut self, mode: LockMode) {
        self.0 |= mode.bit();
    }

    /// Returns whether holding these modes includes holding `mode`.
    fn cover(self, mode: LockMode) -> bool {
        self.0 & mode.implied_by() != 0
    }

    /// Returns whether `mode` cannot be granted while another owner holds these modes.
    fn conflict(self, mode: LockMode) -> bool {
        self.0 & mode.conflicting() != 0
    }
}

/// The limits of a transaction's wait for a lock.
#[derive(Clone, Debug)]
pub struct LockLimits {
    /// The maximum wait for one lock (`innodb_lock_wait_timeout`).
    pub timeout: Duration,
    /// Ends the wait when it is cancelled.
    pub cancel: CancelToken,
}

impl Default for LockLimits {
    fn default() -> LockLimits {
        LockLimits { timeout: Duration::from_secs(50), cancel: CancelToken::new() }
    }
}

/// The result of granting a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Granted {
    /// The lock is new to its holder.
    New,
    /// The holder already had the lock, perhaps in a weaker mode.
    Held,
}

/// The reason why a lock was not granted.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum LockError {
    /// Another owner holds it, and the caller did not want to wait.
    WouldWait,
    /// The wait took too long.
    Timeout,
    /// The owner was chosen as a deadlock's victim.
    Deadlock,
    /// The statement was cancelled.
    Cancelled(MysqlError),
    /// There are too many locks.
    Full,
}

impl From<LockError> for TableError {
    fn from(error: LockError) -> TableError {
        match error {
            LockError::WouldWait => TableError::LockNotAvailable,
            LockError::Timeout => TableError::LockWaitTimeout,
            LockError::Deadlock => TableError::Deadlock,
            LockError::Cancelled(error) => TableError::Sql(error),
            LockError::Full => TableError::LockTableFull,
        }
    }
}
