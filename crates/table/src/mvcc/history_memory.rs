//! The memory of old versions and of waiting ghosts, borrowed from the buffer pool.
//!
//! Use is counted where memory is allocated, also under latches. It is borrowed before that, in steps, by a thread
//! that is about to need more and holds no latch ([`HistoryMemory::borrow`]). A thread that cannot borrow spills (see
//! `txn::relief`). The size of what an operation saves is not known exactly in advance, and segments grow by more
//! than it needs. Use may therefore exceed the borrowed amount by some tens of KiB for each commit being applied.

use crate::memory::{MemoryAccount, Terms};
use leafline_storage::Store;
use std::sync::atomic::{AtomicU64, Ordering};

static TERMS: Terms = Terms { allowance: 64 << 10, step: (256 << 10, 256 << 10), yields: true };

/// The bytes in use and borrowed.
pub(crate) struct HistoryMemory {
    used: AtomicU64,
    limit: u64,
    store: Option<Store>,
    account: MemoryAccount,
}

impl HistoryMemory {
    /// Makes an account for up to `limit` bytes, from the pool of `store` if there is one.
    pub(crate) fn new(store: Option<Store>, limit: u64) -> HistoryMemory {
        HistoryMemory { used: AtomicU64::new(0), limit, store, account: MemoryAccount::new(&TERMS) }
    }

    /// The number of bytes that should not be exceeded.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// The number of bytes in use.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// The number of bytes that can be used without borrowing.
    pub(crate) fn available(&self) -> u64 {
        if self.store.is_some() { self.account.granted().min(self.limit) } else { self.limit }
    }

    /// Adds `bytes` to the use.
    pub(crate) fn add(&self, bytes: u64) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Subtracts `bytes` from the use.
    pub(crate) fn remove(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Returns whether `bytes` more can be used without borrowing.
    pub(crate) fn fits(&self, bytes: u64) -> bool {
        self.used() + bytes <= self.available()
    }

    /// Borrows enough for `bytes` more. The caller holds no latch. Returns false if the pool does not lend it.
    pub(crate) fn borrow(&self, bytes: u64) -> bool {
        let needed = self.used() + bytes;
        if needed > self.limit {
            return false;
        }
        if let Some(store) = &self.store {
            // An error of the store is left for the operation that needs the store to report.
            let _ = self.account.reach(store, needed, self.limit);
        }
        self.fits(bytes)
    }

    /// Returns memory that has not been needed for some time, as far as this call knows.
    pub(crate) fn give_back(&self) {
        self.account.give_back(self.used());
    }

    /// The number of bytes borrowed from the pool.
    pub(crate) fn borrowed(&self) -> u64 {
        self.account.borrowed()
    }
}
