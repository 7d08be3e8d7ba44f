//! The memory of old versions and of the ghosts that wait to be removed: borrowed from the buffer pool.
//!
//! What is used is counted where it is allocated, under latches too; it is borrowed before that, in steps, by whoever is
//! about to need more and holds no latch ([`HistoryMemory::borrow`]). Who finds that no more can be had spills (see
//! [`super::relief`]). What an operation saves is not known to the byte, and segments grow by more than it needs; so usage may be
//! above what is borrowed by some tens of KiB for each commit that is being applied.

use leafline_storage::{MemoryLoan, Store};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that need not be borrowed, so that a store with little to do lends nothing.
const ALLOWANCE: u64 = 64 << 10;
/// Borrowed and given back this much at a time, at least.
const STEP: u64 = 256 << 10;

/// Bytes in use and borrowed.
pub(crate) struct HistoryMemory {
    used: AtomicU64,
    borrowed: AtomicU64,
    limit: u64,
    store: Option<Store>,
    loan: Mutex<Option<MemoryLoan>>,
}

impl HistoryMemory {
    /// Up to `limit` bytes, of the pool of `store` if there is one.
    pub(crate) fn new(store: Option<Store>, limit: u64) -> HistoryMemory {
        let borrowed = AtomicU64::new(if store.is_some() { 0 } else { limit });
        HistoryMemory { used: AtomicU64::new(0), borrowed, limit, store, loan: Mutex::default() }
    }

    /// Most bytes that should be in use.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes in use.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that can be in use without borrowing.
    pub(crate) fn available(&self) -> u64 {
        (self.borrowed.load(Ordering::Relaxed) + ALLOWANCE).min(self.limit)
    }

    /// `bytes` more are in use.
    pub(crate) fn add(&self, bytes: u64) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// `bytes` less are in use.
    pub(crate) fn remove(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether `bytes` more are there to be used.
    pub(crate) fn fits(&self, bytes: u64) -> bool {
        self.used() + bytes <= self.available()
    }

    /// Borrows enough for `bytes` more. The caller holds no latch. False if they cannot be had.
    pub(crate) fn borrow(&self, bytes: u64) -> bool {
        let needed = self.used() + bytes;
        if needed > self.limit {
            return false;
        }
        if let Some(store) = &self.store {
            let mut loan = self.loan.lock();
            let have = self.borrowed.load(Ordering::Relaxed);
            let want = needed.saturating_sub(ALLOWANCE).next_multiple_of(STEP);
            if want > have {
                let grown = match &mut *loan {
                    Some(loan) => loan.grow(want - have),
                    none => store.borrow_memory(want).map(|borrowed| *none = Some(borrowed)),
                };
                // A failure of the store shows where the store is needed.
                if grown.is_ok() {
                    self.borrowed.store(want, Ordering::Relaxed);
                }
            }
        }
        self.fits(bytes)
    }

    /// Gives back what has been too much for some time, as far as this call knows.
    pub(crate) fn give_back(&self) {
        let mut loan = self.loan.lock();
        let Some(borrowed) = &mut *loan else { return };
        let want = self.used().saturating_sub(ALLOWANCE).next_multiple_of(STEP);
        let want = if want == 0 { 0 } else { want + STEP };
        if borrowed.bytes() > want {
            borrowed.shrink(borrowed.bytes() - want);
            self.borrowed.store(want, Ordering::Relaxed);
        }
    }

    /// Bytes borrowed from the pool.
    pub(crate) fn borrowed(&self) -> u64 {
        self.borrowed.load(Ordering::Relaxed)
    }
}
