//! The memory of old versions and of the ghosts that wait to be removed: borrowed from the buffer pool.
//!
//! What is used is counted where it is allocated, under latches too; it is borrowed before that, in steps, by whoever is
//! about to need more and holds no latch ([`HistoryMemory::borrow`]). Who finds that no more can be had spills (see
//! [`super::relief`]). What an operation saves is not known to the byte, and segments grow by more than it needs; so usage may be
//! above what is borrowed by some tens of KiB for each commit that is being applied.

use crate::memory::{MemoryAccount, Terms};
use leafline_storage::Store;
use std::sync::atomic::{AtomicU64, Ordering};

static TERMS: Terms = Terms { allowance: 64 << 10, step: (256 << 10, 256 << 10), yields: true };

/// Bytes in use and borrowed.
pub(crate) struct HistoryMemory {
    used: AtomicU64,
    limit: u64,
    store: Option<Store>,
    account: MemoryAccount,
}

impl HistoryMemory {
    /// Up to `limit` bytes, of the pool of `store` if there is one.
    pub(crate) fn new(store: Option<Store>, limit: u64) -> HistoryMemory {
        HistoryMemory { used: AtomicU64::new(0), limit, store, account: MemoryAccount::new(&TERMS) }
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
        if self.store.is_some() { self.account.granted().min(self.limit) } else { self.limit }
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
            // A failure of the store shows where the store is needed.
            let _ = self.account.reach(store, needed, self.limit);
        }
        self.fits(bytes)
    }

    /// Gives back what has been too much for some time, as far as this call knows.
    pub(crate) fn give_back(&self) {
        self.account.give_back(self.used());
    }

    /// Bytes borrowed from the pool.
    pub(crate) fn borrowed(&self) -> u64 {
        self.account.borrowed()
    }
}
