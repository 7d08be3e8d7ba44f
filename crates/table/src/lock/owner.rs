//! What one transaction holds, and where it sleeps.

use super::metadata::SessionLocks;
use super::table::{LockKey, LockTable};
use super::{Granted, LockError, LockLimits, LockMode, LockStrength, Modes};
use crate::catalog::TableId;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often a sleeper looks whether it was cancelled.
const CANCEL_INTERVAL: Duration = Duration::from_millis(20);

/// So many row locks in a table are exchanged for one on the whole table, if nobody is in the way.
pub(super) const ESCALATE_AT: usize = 1 << 17;

/// A transaction, to the lock table. Numbers ascend with time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct OwnerId(pub(super) u64);

/// What ends a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Woken {
    /// The lock is granted.
    Granted,
    /// Another has the right of way.
    Victim,
}

/// The part of an owner that others see.
#[derive(Debug)]
pub(super) struct OwnerState {
    pub(super) id: OwnerId,
    weight: AtomicU64,
    woken: Mutex<Option<Woken>>,
    wake: Condvar,
}

impl OwnerState {
    pub(super) fn new(id: OwnerId) -> OwnerState {
        OwnerState { id, weight: AtomicU64::new(0), woken: Mutex::default(), wake: Condvar::new() }
    }

    /// What rolling it back would cost: the number of its locks.
    pub(super) fn weight(&self) -> u64 {
        self.weight.load(Ordering::Relaxed)
    }

    pub(super) fn add_weight(&self, weight: u64) {
        self.weight.fetch_add(weight, Ordering::Relaxed);
    }

    pub(super) fn take_weight(&self, weight: u64) {
        // What a transaction that has ended meanwhile has set to zero stays that.
        self.weight
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |all| Some(all.saturating_sub(weight)))
            .ok();
    }

    pub(super) fn prepare_to_sleep(&self) {
        *self.woken.lock() = None;
    }

    /// To what it was woken, if it was.
    pub(super) fn woken(&self) -> Option<Woken> {
        *self.woken.lock()
    }

    pub(super) fn wake(&self, to: Woken) {
        *self.woken.lock() = Some(to);
        self.wake.notify_one();
    }

    /// Sleeps until woken, or until the limits, counted from `begun`, are reached.
    pub(super) fn sleep(&self, limits: &LockLimits, begun: Instant) -> Result<Woken, LockError> {
        let mut woken = self.woken.lock();
        loop {
            if let Some(to) = *woken {
                return Ok(to);
            }
            limits.cancel.check().map_err(LockError::Cancelled)?;
            let left = limits.timeout.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Err(LockError::Timeout);
            }
            self.wake.wait_for(&mut woken, left.min(CANCEL_INTERVAL));
        }
    }
}

/// The locks of one transaction; dropping it releases them.
#[derive(Debug)]
pub(crate) struct LockOwner {
    table: Arc<LockTable>,
    state: Arc<OwnerState>,
    held: Mutex<Vec<TableLocks>>,
    victim: AtomicBool,
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
    /// As many row locks as these are the next occasion to exchange them.
    escalate_at: usize,
}

/// A row lock, so that it can be given back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowLock {
    table: TableId,
    key: LockKey,
    pub(super) granted: Granted,
}

impl LockOwner {
    /// An owner without locks.
    pub(crate) fn new(table: &Arc<LockTable>) -> LockOwner {
        let (state, held) = (table.new_owner(), Mutex::default());
        LockOwner { table: table.clone(), state, held, victim: AtomicBool::new(false) }
    }

    /// An owner without locks in the name of a session.
    pub(crate) fn of_session(session: &SessionLocks, table: &Arc<LockTable>) -> LockOwner {
        let (state, held) = (session.state().clone(), Mutex::default());
        LockOwner { table: table.clone(), state, held, victim: AtomicBool::new(false) }
    }

    /// Whether it was chosen to give up in a deadlock: it has to release its locks.
    pub(crate) fn is_victim(&self) -> bool {
        self.victim.load(Ordering::Relaxed)
    }

    /// How many locks it holds, with those of its session on names.
    pub(crate) fn held(&self) -> u64 {
        self.state.weight()
    }

    /// How long it has been waiting for a lock, if it is.
    pub(crate) fn waiting(&self) -> Option<Duration> {
        self.table.waiting(self.state.id)
    }

    /// Locks what `key` is in `space`: the table's own number for a clustered key, an index's for a unique key of it.
    /// Without limits it does not wait.
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

    /// Tries to exchange the row locks of a table for one on the table. It is held as strongly as the strongest of them.
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

    /// Gives a lock back that was new when it was taken: for a row that turned out not to be wanted.
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

    /// Releases everything.
    pub(crate) fn release_all(&self) {
        for locks in std::mem::take(&mut *self.held.lock()) {
            for key in locks.rows {
                self.table.release(self.state.id, key);
            }
            self.table.release(self.state.id, locks.whole);
        }
        self.state.weight.store(0, Ordering::Relaxed);
    }

    /// Number of locks held.
    pub(crate) fn count(&self) -> u64 {
        self.state.weight()
    }
}

impl Drop for LockOwner {
    fn drop(&mut self) {
        self.release_all();
    }
}
