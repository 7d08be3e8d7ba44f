//! The locks of one transaction, and its sleep while it waits.

use super::metadata::SessionLocks;
use super::owner_state::{LockKey, OwnerState};
use super::table::LockTable;
use super::{Granted, LockError, LockLimits, LockMode, LockStrength, Modes};
use crate::catalog::TableId;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// This many row locks in a table are exchanged for one lock on the whole table, if no other owner's lock conflicts
/// with it.
pub(super) const ESCALATE_AT: usize = 1 << 17;

/// The locks of one transaction; dropping it releases them.
#[derive(Debug)]
pub(crate) struct LockOwner {
    table: Arc<LockTable>,
    state: Arc<OwnerState>,
    held: Mutex<Vec<TableLocks>>,
    victim: AtomicBool,
    end: Mutex<End>,
}

/// The end of a transaction, for which others may wait.
#[derive(Clone, Copy, Debug)]
enum End {
    /// Nobody waits for it.
    Unknown,
    /// The owner holds this lock until then.
    Awaited(LockKey),
    /// The owner has released all its locks.
    Over,
}

/// Locks in one table.
#[derive(Debug)]
struct TableLocks {
    table: TableId,
    /// The lock on the table as a whole, with the modes it is held in.
    whole: LockKey,
    modes: Modes,
    /// Locks on rows and keys of unique indexes.
    rows: Vec<LockKey>,
    /// The number of row locks at which to try again to exchange them for one table lock.
    escalate_at: usize,
}

/// A row lock, kept so that it can be released alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowLock {
    table: TableId,
    key: LockKey,
    pub(super) granted: Granted,
}

impl LockOwner {
    /// An owner without locks.
    pub(crate) fn new(table: &Arc<LockTable>) -> LockOwner {
        LockOwner::with_state(table.new_owner(), table)
    }

    /// An owner without locks, which acts for a session.
    pub(crate) fn of_session(session: &SessionLocks, table: &Arc<LockTable>) -> LockOwner {
        LockOwner::with_state(session.state().clone(), table)
    }

    fn with_state(state: Arc<OwnerState>, table: &Arc<LockTable>) -> LockOwner {
        LockOwner {
            table: table.clone(),
            state,
            held: Mutex::default(),
            victim: AtomicBool::new(false),
            end: Mutex::new(End::Unknown),
        }
    }

    /// Returns whether it was chosen as a deadlock's victim and must release its locks.
    pub(crate) fn is_victim(&self) -> bool {
        self.victim.load(Ordering::Relaxed)
    }

    /// The number of its row and table locks, by which the victim of a deadlock is chosen; far more while its session keeps
    /// others away from a table (DDL, LOCK TABLES).
    pub(crate) fn held(&self) -> u64 {
        self.state.weight()
    }

    /// How long it has been waiting for a lock; `None` if it is not waiting.
    pub(crate) fn waiting(&self) -> Option<Duration> {
        self.table.waiting(self.state.id)
    }

    /// Locks `key` in `space`, which is the table's number for a clustered key and the index's number for a unique
    /// key. Without limits it does not wait.
    pub(crate) fn lock(
        &self,
        table: TableId,
        space: u64,
        key: &[u8],
        strength: LockStrength,
        limits: Option<&LockLimits>,
    ) -> Result<RowLock, LockError> {
        let (intention, mode) = match strength {
            LockStrength::Share => (LockMode::IntentionShared, LockMode::Shared),
            LockStrength::Update => (LockMode::IntentionExclusive, LockMode::Exclusive),
        };
        self.lock_table(table, intention, limits)?;
        let mut held = self.held.lock();
        let key = self.table.key(space, key);
        let Some(locks) = held.iter_mut().find(|locks| locks.table == table) else {
            return Err(LockError::WouldWait);
        };
        if locks.modes.cover(mode) {
            return Ok(RowLock { table, key, granted: Granted::Held });
        }
        let granted = match self.acquire(key, mode, limits) {
            Err(LockError::Full) if self.escalate(locks, mode) => {
                return Ok(RowLock { table, key, granted: Granted::Held });
            }
            result => result?,
        };
        if granted == Granted::New {
            locks.rows.push(key);
            self.state.weight.fetch_add(1, Ordering::Relaxed);
            if locks.rows.len() >= locks.escalate_at {
                self.escalate(locks, mode);
            }
        }
        Ok(RowLock { table, key, granted })
    }

    fn acquire(
        &self,
        key: LockKey,
        mode: LockMode,
        limits: Option<&LockLimits>,
    ) -> Result<Granted, LockError> {
        let result = self.table.acquire(&self.state, key, mode, limits);
        if result == Err(LockError::Deadlock) {
            self.victim.store(true, Ordering::Relaxed);
        }
        result
    }

    /// Tries to exchange the row locks in a table for one table lock, which is as strong as the strongest of them.
    fn escalate(&self, locks: &mut TableLocks, mode: LockMode) -> bool {
        let exclusive = locks.modes.cover(LockMode::IntentionExclusive);
        let mode = if exclusive { LockMode::Exclusive } else { mode };
        if self.table.acquire(&self.state, locks.whole, mode, None).is_err() {
            locks.escalate_at = locks.rows.len() * 2;
            return false;
        }
        locks.modes.add(mode);
        for key in std::mem::take(&mut locks.rows) {
            self.table.release(self.state.id, key);
        }
        true
    }

    /// Releases a lock that was new when it was taken, because the row turned out not to qualify.
    pub(crate) fn unlock(&self, lock: RowLock) {
        if lock.granted != Granted::New {
            return;
        }
        let mut held = self.held.lock();
        let Some(locks) = held.iter_mut().find(|locks| locks.table == lock.table) else { return };
        if let Some(at) = locks.rows.iter().rposition(|key| *key == lock.key) {
            locks.rows.swap_remove(at);
            self.state.weight.fetch_sub(1, Ordering::Relaxed);
            self.table.release(self.state.id, lock.key);
        }
    }

    /// Locks a table as a whole.
    pub(crate) fn lock_table(
        &self,
        table: TableId,
        mode: LockMode,
        limits: Option<&LockLimits>,
    ) -> Result<(), LockError> {
        let mut held = self.held.lock();
        match held.iter_mut().find(|locks| locks.table == table) {
            Some(locks) if locks.modes.cover(mode) => {}
            Some(locks) => {
                self.acquire(locks.whole, mode, limits)?;
                locks.modes.add(mode);
            }
            None => {
                let whole = self.table.whole(table.0);
                self.acquire(whole, mode, limits)?;
                let (rows, modes) = (Vec::new(), Modes::of(mode));
                held.push(TableLocks { table, whole, modes, rows, escalate_at: ESCALATE_AT });
                self.state.weight.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Waits until another owner has released all its locks, because its transaction has ended. Returns false if that is
    /// the case already.
    pub(crate) fn wait_for_end(
        &self,
        other: &LockOwner,
        limits: Option<&LockLimits>,
    ) -> Result<bool, LockError> {
        let key = {
            let mut end = other.end.lock();
            match *end {
                End::Over => return Ok(false),
                End::Awaited(key) => key,
                End::Unknown => {
                    // The first who waits takes the lock for the other owner. Nobody else has wanted it before.
                    let key = self.table.unique();
                    self.table.acquire(&other.state, key, LockMode::Exclusive, None)?;
                    *end = End::Awaited(key);
                    key
                }
            }
        };
        if self.acquire(key, LockMode::Shared, limits)? == Granted::New {
            self.table.release(self.state.id, key);
        }
        Ok(true)
    }

    /// Returns whether its transaction has ended.
    pub(crate) fn is_over(&self) -> bool {
        matches!(*self.end.lock(), End::Over)
    }

    /// Releases all locks, because its transaction has ended.
    pub(crate) fn release_all(&self) {
        if let End::Awaited(key) = std::mem::replace(&mut *self.end.lock(), End::Over) {
            self.table.release(self.state.id, key);
        }
        for locks in std::mem::take(&mut *self.held.lock()) {
            for key in locks.rows {
                self.table.release(self.state.id, key);
            }
            self.table.release(self.state.id, locks.whole);
        }
        self.state.weight.store(0, Ordering::Relaxed);
    }

    /// The number of locks held.
    pub(crate) fn count(&self) -> u64 {
        self.state.weight()
    }
}

impl Drop for LockOwner {
    fn drop(&mut self) {
        self.release_all();
    }
}
