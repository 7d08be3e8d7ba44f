//! Locking rows that a statement has read.
//!
//! A statement reads at its snapshot, locks a row, and then checks whether the row is still what it has read. If a
//! commit that the snapshot does not see has changed it in between, there are two possibilities. The statement fails
//! and can be run again under a newer snapshot, with its locks (first updater wins: REPEATABLE READ as snapshot
//! isolation). Or it continues with the newest version, on which it must evaluate its conditions again (READ
//! COMMITTED, and InnoDB's REPEATABLE READ).
//!
//! The newest version may come from a commit that is applied but not yet durable, because locks are released before
//! the log is flushed. Results that depend on it must not be shown before it is durable:
//! [`Transaction::make_seen_durable`].

use super::outside::CurrentRows;
use super::partition_writes::Home;
use super::unique::{CommittedRow, check_clustered};
use super::{Isolation, Transaction};
use crate::catalog::{IndexDef, TableDef};
use crate::core::Core;
use crate::error::Result;
use crate::index::entry::unique_prefix;
use crate::lock::owner::RowLock;
use crate::lock::{LockError, LockLimits, LockOwner, LockStrength, LockWait};
use crate::mvcc::RegisteredSnapshot;
use crate::serial::SerialTransaction;
use crate::write_set::{NOW, WriteSet};
use leafline_types::Value;
use parking_lot::RwLock;
use std::sync::Arc;

/// The result of an attempt to lock a row.
#[derive(Debug)]
pub struct Locked {
    /// The state of the row.
    pub row: LockedRow,
    lock: Option<RowLock>,
}

/// The state of a row after an attempt to lock it.
#[derive(Clone, PartialEq, Debug)]
pub enum LockedRow {
    /// The row is locked, and is what the statement's view shows.
    AsSeen,
    /// The row is locked, and has been changed since; these are its current columns.
    Newer(Vec<Value>),
    /// The row has been deleted since.
    Gone,
    /// Another transaction has the row locked, and the statement does not wait.
    Skipped,
}

/// The contents under a key that was locked.
#[derive(Clone, PartialEq, Debug)]
pub enum LookedUp {
    /// There is no row.
    Nothing,
    /// A row with these columns, as the statement's view shows it.
    Row(Vec<Value>),
    /// A change that the statement's view does not show.
    Changed,
}

/// Locks rows for one statement of a transaction.
#[derive(Clone, Debug)]
pub struct RowLocker {
    core: Arc<Core>,
    locks: Arc<LockOwner>,
    limits: LockLimits,
    snapshot: RegisteredSnapshot,
    writes: Arc<RwLock<WriteSet>>,
    /// Whether it continues with the newest version if the snapshot does not see that.
    follows: bool,
    locks_absent: bool,
    serial: Option<Arc<SerialTransaction>>,
}

impl RowLocker {
    /// Returns whether it returns [`LockedRow::Newer`] and [`LockedRow::Gone`] rather than `WriteConflict`.
    pub fn follows(&self) -> bool {
        self.follows
    }

    /// Returns whether it locks absent keys that a statement looks up, so that no row with the key appears before the
    /// transaction ends. It does so at REPEATABLE READ and SERIALIZABLE.
    pub fn locks_absent(&self) -> bool {
        self.locks_absent
    }

    /// Locks the row that the statement has read under `locator`.
    ///
    /// # Errors
    /// `WriteConflict` (1213, see [`follows`](Self::follows)); `Deadlock` (1213), `LockWaitTimeout` (1205),
    /// `LockNotAvailable` (3572), `LockTableFull` (1206), 1317 if the statement is killed; what the store returns.
    pub fn lock(
        &self,
        table: &Arc<TableDef>,
        locator: &[u8],
        strength: LockStrength,
        wait: LockWait,
    ) -> Result<Locked> {
        let (Home { table, .. }, locator) = Home::of_locator(table, locator)?;
        if self.writes.read().row(table.id, locator, NOW)?.is_some() {
            // The row has been locked since it was written.
            return Ok(Locked { row: LockedRow::AsSeen, lock: None });
        }
        let limits = (wait == LockWait::Wait).then_some(&self.limits);
        let lock = match self.locks.lock(table.id, table.id.0, locator, strength, limits) {
            Err(LockError::WouldWait) if wait == LockWait::SkipLocked => {
                return Ok(Locked { row: LockedRow::Skipped, lock: None });
            }
            result => result?,
        };
        let row = match check_clustered(&self.core, table, locator, &self.snapshot)? {
            CommittedRow::Present(_) => LockedRow::AsSeen,
            CommittedRow::PresentUnseen(payload) if self.follows => {
                self.writes.write().note_unseen(table, self.core.store.log_end());
                let current =
                    CurrentRows { core: &self.core, snapshot: &self.snapshot, writes: &self.writes };
                LockedRow::Newer(current.values(table, locator, &payload)?)
            }
            CommittedRow::Absent | CommittedRow::DeletedUnseen if self.follows => {
                self.writes.write().note_unseen(table, self.core.store.log_end());
                LockedRow::Gone
            }
            CommittedRow::Absent | CommittedRow::PresentUnseen(_) | CommittedRow::DeletedUnseen => {
                return Err(self.core.conflict());
            }
        };
        Ok(Locked { row, lock: Some(lock) })
    }

    /// Locks the clustered key of `table`, whether there is such a row or not, before anything is read. A statement
    /// that knows the key of its row thus never reads a row that another is about to change. A row that was inserted
    /// since the snapshot is a conflict: a statement that passed over it would leave a row that the lock was to keep out.
    ///
    /// # Errors
    /// The errors of [`lock`](Self::lock).
    pub fn lock_key(
        &self,
        table: &Arc<TableDef>,
        key: &[u8],
        strength: LockStrength,
        wait: LockWait,
    ) -> Result<()> {
        let (Home { table, .. }, key) = Home::of_locator(table, key)?;
        let limits = (wait == LockWait::Wait).then_some(&self.limits);
        match self.locks.lock(table.id, table.id.0, key, strength, limits) {
            Err(LockError::WouldWait) if wait == LockWait::SkipLocked => return Ok(()),
            result => result.map(drop)?,
        }
        if self.writes.read().row(table.id, key, NOW)?.is_some() {
            return Ok(());
        }
        match check_clustered(&self.core, table, key, &self.snapshot)? {
            CommittedRow::PresentUnseen(_) => Err(self.core.conflict()),
            CommittedRow::Present(_) | CommittedRow::Absent | CommittedRow::DeletedUnseen => Ok(()),
        }
    }

    /// Locks the clustered key of a table without partitions for a change, and reads the row, in one step, for a
    /// statement that has written nothing yet. If there is no row, it releases the lock, unless absent keys are
    /// [locked, too](Self::locks_absent).
    ///
    /// # Errors
    /// The errors of [`lock`](Self::lock), except for `WriteConflict`.
    pub fn look_up(&self, table: &Arc<TableDef>, key: &[u8]) -> Result<LookedUp> {
        let current = CurrentRows { core: &self.core, snapshot: &self.snapshot, writes: &self.writes };
        let written = self.writes.read().row(table.id, key, NOW)?;
        if let Some(state) = written {
            // The row has been locked since it was written.
            let row = state.map(|payload| current.values(table, key, &payload)).transpose()?;
            return Ok(row.map_or(LookedUp::Nothing, LookedUp::Row));
        }
        let lock = self.locks.lock(table.id, table.id.0, key, LockStrength::Update, Some(&self.limits))?;
        if let Some(serial) = &self.serial {
            serial.register_keys(table, std::iter::once(key))?;
        }
        match check_clustered(&self.core, table, key, &self.snapshot)? {
            CommittedRow::Present(payload) => Ok(LookedUp::Row(current.values(table, key, &payload)?)),
            CommittedRow::Absent => {
                if !self.locks_absent {
                    self.unlock(Locked { row: LockedRow::Gone, lock: Some(lock) });
                }
                Ok(LookedUp::Nothing)
            }
            CommittedRow::PresentUnseen(_) | CommittedRow::DeletedUnseen => Ok(LookedUp::Changed),
        }
    }

    /// Releases the lock on a row that turned out not to qualify, unless the transaction had it before.
    pub fn unlock(&self, locked: Locked) {
        if let Some(lock) = locked.lock {
            self.locks.unlock(lock);
        }
    }
}

impl Transaction {
    /// Makes a locker of rows for the running statement.
    pub fn row_locker(&mut self) -> RowLocker {
        RowLocker {
            core: self.core.clone(),
            locks: self.locks.clone(),
            limits: self.limits.clone(),
            snapshot: self.snapshot(),
            writes: self.writes.clone(),
            follows: self.follows(),
            locks_absent: self.isolation != Isolation::ReadCommitted,
            serial: self.serial.clone(),
        }
    }

    /// Locks a row for a change, which the caller has read at the transaction's snapshot or written. It never follows
    /// the newest version, because the caller's values come from the version it has read.
    pub(super) fn lock_read_row(&mut self, table: &Arc<TableDef>, locator: &[u8]) -> Result<()> {
        let locker = RowLocker { follows: false, ..self.row_locker() };
        locker.lock(table, locator, LockStrength::Update, LockWait::Wait).map(drop)
    }

    /// Locks a clustered key for a new row.
    pub(super) fn lock_new_row(&self, table: &TableDef, key: &[u8]) -> Result<RowLock> {
        let lock = self.locks.lock(table.id, table.id.0, key, LockStrength::Update, Some(&self.limits));
        Ok(lock?)
    }

    /// Locks a unique key for a new entry. A key with NULL is never a duplicate and needs no lock.
    pub(super) fn lock_unique_key(&self, table: &TableDef, index: &IndexDef, key: &[u8]) -> Result<()> {
        let Some(prefix) = unique_prefix(index, key)? else { return Ok(()) };
        let limits = Some(&self.limits);
        Ok(self.locks.lock(table.id, index.id, prefix, LockStrength::Update, limits).map(drop)?)
    }

    /// Waits until no other transaction that may delete or change the row has it locked.
    pub(super) fn lock_duplicate(&self, table: &TableDef, locator: &[u8]) -> Result<RowLock> {
        let lock = self.locks.lock(table.id, table.id.0, locator, LockStrength::Share, Some(&self.limits));
        Ok(lock?)
    }

    /// The number of locks held.
    pub fn locks(&self) -> u64 {
        self.locks.count()
    }

    /// Waits until everything that this transaction has read is durable, before its client is told.
    ///
    /// # Errors
    /// Errors of a stopped store.
    pub fn make_seen_durable(&mut self) -> Result<()> {
        let seen = self.writes.write().take_seen();
        match seen {
            Some(seen) => Ok(self.core.store.commit_durable(seen)?),
            None => Ok(()),
        }
    }
}
