//! Locks of transactions: on rows and keys, and intentions on tables.
//!
//! A row lock is on the hash of a table and a clustered key, or of a unique index and its key; whether there is such a row
//! does not matter, so an absent key can be locked and keeps inserters out. Two keys with one hash share a lock: too
//! much waiting at worst. There are no gap locks. Before its first row lock a transaction takes an intention lock on
//! the table, so that a lock on the whole table means what it says.
//!
//! | module | is |
//! |---|---|
//! | `table` | the table of all locks: granting, waiting, releasing |
//! | `deadlock` | who waits for whom, and who has to give up |
//! | `owner` | what one transaction holds, and where it sleeps |
//! | `metadata` | locks on tables by name, which keep DDL away from who uses them |
//!
//! # Order
//! `waits` (who sleeps) | one shard of the lock table | a sleeper's own state. A lock that nobody waits for is taken
//! and released under its shard alone.

pub(crate) mod deadlock;
pub(crate) mod metadata;
pub(crate) mod owner;
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

/// What a lock allows its holder, and denies others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockMode {
    /// On a table: rows of it will be locked shared.
    IntentionShared,
    /// On a table: rows of it will be locked exclusively.
    IntentionExclusive,
    /// Nobody else changes it.
    Shared,
    /// Nobody else changes it or locks it.
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

    /// The modes that others must not hold meanwhile.
    const fn conflicting(self) -> u8 {
        match self {
            LockMode::IntentionShared => 8,
            LockMode::IntentionExclusive => 4 | 8,
            LockMode::Shared => 2 | 8,
            LockMode::Exclusive => 1 | 2 | 4 | 8,
        }
    }

    /// The modes of which each makes this one needless.
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

    /// Whether holding these is as good as holding `mode`.
    fn cover(self, mode: LockMode) -> bool {
        self.0 & mode.implied_by() != 0
    }

    /// Whether another's holding these keeps `mode` from being granted.
    fn conflict(self, mode: LockMode) -> bool {
        self.0 & mode.conflicting() != 0
    }
}

/// How long a transaction waits for a lock, and who can wake it before.
#[derive(Clone, Debug)]
pub struct LockLimits {
    /// Longest wait for one lock (`innodb_lock_wait_timeout`).
    pub timeout: Duration,
    /// Ends a wait when it is cancelled.
    pub cancel: CancelToken,
}

impl Default for LockLimits {
    fn default() -> LockLimits {
        LockLimits { timeout: Duration::from_secs(50), cancel: CancelToken::new() }
    }
}

/// A lock that was granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Granted {
    /// It is new to its holder.
    New,
    /// The holder had it before, perhaps in a weaker mode.
    Held,
}

/// Why a lock was not granted.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum LockError {
    /// Somebody holds it, and there was to be no waiting.
    WouldWait,
    /// Waited too long.
    Timeout,
    /// Chosen to end a deadlock.
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
