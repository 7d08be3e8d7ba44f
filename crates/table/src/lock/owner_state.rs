//! An owner as others see it: its number, its cost in a deadlock, and its sleep while it waits for a lock.

use super::{LockError, LockLimits};
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often a sleeper checks whether it was cancelled.
const CANCEL_INTERVAL: Duration = Duration::from_millis(20);

/// The object of a lock, as a hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct LockKey(pub(super) u64);

/// The number of a transaction in the lock table. Numbers ascend with time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct OwnerId(pub(super) u64);

/// The event that ended a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Woken {
    /// The lock is granted.
    Granted,
    /// The owner was chosen as a deadlock's victim.
    Victim,
}

/// The part of an owner that other owners see.
#[derive(Debug)]
pub(super) struct OwnerState {
    pub(super) id: OwnerId,
    pub(super) weight: AtomicU64,
    woken: Mutex<Option<Woken>>,
    wake: Condvar,
}

impl OwnerState {
    pub(super) fn new(id: OwnerId) -> OwnerState {
        OwnerState { id, weight: AtomicU64::new(0), woken: Mutex::default(), wake: Condvar::new() }
    }

    /// The cost of rolling it back: the number of its locks, and more while it does DDL.
    pub(super) fn weight(&self) -> u64 {
        self.weight.load(Ordering::Relaxed)
    }

    pub(super) fn add_weight(&self, weight: u64) {
        self.weight.fetch_add(weight, Ordering::Relaxed);
    }

    pub(super) fn take_weight(&self, weight: u64) {
        // The owner's release of all locks may have set the weight to zero meanwhile; it stays zero.
        self.weight
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |all| Some(all.saturating_sub(weight)))
            .ok();
    }

    pub(super) fn prepare_to_sleep(&self) {
        *self.woken.lock() = None;
    }

    /// The event that woke it; `None` if it was not woken.
    pub(super) fn woken(&self) -> Option<Woken> {
        *self.woken.lock()
    }

    pub(super) fn wake(&self, to: Woken) {
        *self.woken.lock() = Some(to);
        self.wake.notify_one();
    }

    /// Sleeps until it is woken, or until the limits, counted from `begun`, are reached.
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
