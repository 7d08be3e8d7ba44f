//! Memory borrowed from the buffer pool, so that `buffer_pool_size` limits everything that grows with
//! transactions.
//!
//! A user of memory counts its own use, and asks its account before it exceeds the granted amount.
//!
//! | account of | kept by | when the pool lends no more |
//! |---|---|---|
//! | a write set | `write_set::memory` | writes go to files |
//! | the operations of a commit | `txn::commit` | they are sorted on disk |
//! | old versions of rows and ghosts | `mvcc::history_memory` | they go to files |
//! | locks | `lock::table` | error 1206 |
//! | what SERIALIZABLE transactions have read and written | `serial` | it becomes coarser |
//!
//! Users that can write to files leave a part of the pool's memory to users that cannot. Otherwise a few
//! large transactions would leave no memory for the locks of the small ones.

use crate::error::Result;
use leafline_storage::{MemoryLoan, StorageError, Store};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The terms of an account.
#[derive(Debug)]
pub(crate) struct Terms {
    /// The number of bytes granted without borrowing, so that small uses cost nothing.
    pub(crate) allowance: u64,
    /// The minimum and maximum number of bytes borrowed at once. In between, as many are borrowed as are
    /// granted already.
    pub(crate) step: (u64, u64),
    /// Whether the user can write to files if there is no memory.
    pub(crate) yields: bool,
}

/// Accounts that yield leave this part of the lendable memory to others.
const LEFT_TO_OTHERS: u64 = 4;

/// The memory that a user may use, of which some is borrowed; dropping the account returns it.
pub(crate) struct MemoryAccount {
    terms: &'static Terms,
    granted: AtomicU64,
    loan: Mutex<Option<MemoryLoan>>,
}

impl MemoryAccount {
    /// Makes an account that has borrowed nothing.
    pub(crate) const fn new(terms: &'static Terms) -> MemoryAccount {
        MemoryAccount { terms, granted: AtomicU64::new(terms.allowance), loan: Mutex::new(None) }
    }

    /// The number of bytes that may be used.
    #[inline]
    pub(crate) fn granted(&self) -> u64 {
        self.granted.load(Ordering::Relaxed)
    }

    /// The number of borrowed bytes among them.
    pub(crate) fn borrowed(&self) -> u64 {
        self.granted() - self.terms.allowance
    }

    /// Borrows enough for `bytes` to be used, and some more as long as `most` is not reached. Returns
    /// false, and borrows nothing, if the pool does not lend it. The caller holds no latch.
    ///
    /// # Errors
    /// Errors of the store while it writes pages to make room.
    pub(crate) fn reach(&self, store: &Store, bytes: u64, most: u64) -> Result<bool> {
        let mut loan = self.loan.lock();
        let granted = self.granted();
        let lacking = bytes.saturating_sub(granted);
        if lacking == 0 {
            return Ok(true);
        }
        let (least, largest) = self.terms.step;
        let needed = lacking.next_multiple_of(least);
        let wanted = needed.max(granted.clamp(least, largest).min(most.saturating_sub(granted)));
        for more in [wanted, needed] {
            if self.borrow(store, &mut loan, more)? {
                self.granted.store(granted + more, Ordering::Relaxed);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Borrows what is missing up to `bytes`, or half of it, or a quarter, and so on, as the pool lends it.
    /// The caller holds no latch.
    ///
    /// # Errors
    /// The errors of [`reach`](Self::reach).
    pub(crate) fn approach(&self, store: &Store, bytes: u64) -> Result<()> {
        let mut lacking = bytes.saturating_sub(self.granted());
        while lacking >= self.terms.step.0 && !self.reach(store, self.granted() + lacking, 0)? {
            lacking /= 2;
        }
        Ok(())
    }

    fn borrow(&self, store: &Store, loan: &mut Option<MemoryLoan>, bytes: u64) -> Result<bool> {
        if self.terms.yields {
            let limit = store.memory_limit();
            if store.memory_lent() + bytes > limit - limit / LEFT_TO_OTHERS {
                return Ok(false);
            }
        }
        let lent = match loan {
            Some(loan) => loan.grow(bytes),
            none => store.borrow_memory(bytes).map(|lent| *none = Some(lent)),
        };
        match lent {
            Ok(()) => Ok(true),
            Err(StorageError::MemoryExhausted { .. }) => Ok(false),
            Err(other) => Err(other.into()),
        }
    }

    /// Returns everything beyond `used` and one step.
    pub(crate) fn give_back(&self, used: u64) {
        let mut loan = self.loan.lock();
        let Some(borrowed) = &mut *loan else { return };
        let step = self.terms.step.0;
        let want = used.saturating_sub(self.terms.allowance).next_multiple_of(step);
        let want = if want == 0 { 0 } else { want + step };
        if borrowed.bytes() > want {
            borrowed.shrink(borrowed.bytes() - want);
            self.granted.store(self.terms.allowance + want, Ordering::Relaxed);
        }
    }
}

impl std::fmt::Debug for MemoryAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryAccount").field("granted", &self.granted()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::open;
    use leafline_storage::device::SimulatedEnv;

    static GREEDY: Terms = Terms { allowance: 1000, step: (10_000, 40_000), yields: false };
    static YIELDING: Terms = Terms { yields: true, ..GREEDY };

    #[test]
    fn borrows_in_growing_steps_and_gives_back_all_but_one() {
        let engine = open(&SimulatedEnv::new());
        let store = &engine.store;
        let account = MemoryAccount::new(&GREEDY);
        assert!(account.reach(store, 1000, u64::MAX).unwrap());
        assert_eq!((account.granted(), store.memory_lent()), (1000, 0), "the allowance is not borrowed");
        assert!(account.reach(store, 1001, u64::MAX).unwrap());
        assert_eq!((account.granted(), account.borrowed()), (11_000, 10_000));
        assert!(account.reach(store, 11_001, u64::MAX).unwrap());
        assert_eq!(account.granted(), 22_000, "as much again");
        assert!(account.reach(store, 50_000, 0).unwrap());
        assert_eq!(account.granted(), 52_000, "no more than is needed beyond the most");
        assert!(account.reach(store, 52_001, u64::MAX).unwrap());
        assert_eq!((account.granted(), store.memory_lent()), (92_000, 91_000), "the largest step");
        account.give_back(80_500);
        assert_eq!(account.granted(), 91_000);
        account.give_back(5000);
        assert_eq!((account.granted(), store.memory_lent()), (21_000, 20_000), "one step is kept");
        account.give_back(1000);
        assert_eq!((account.granted(), store.memory_lent()), (1000, 0));
        assert!(account.reach(store, 2000, u64::MAX).unwrap());
        drop(account);
        assert_eq!(store.memory_lent(), 0);
    }

    #[test]
    fn accounts_that_can_use_files_leave_a_part_to_others() {
        let engine = open(&SimulatedEnv::new());
        let store = &engine.store;
        let limit = store.memory_limit();
        let (files, locks) = (MemoryAccount::new(&YIELDING), MemoryAccount::new(&GREEDY));
        assert!(!files.reach(store, limit, u64::MAX).unwrap());
        assert_eq!(files.borrowed(), 0);
        files.approach(store, limit).unwrap();
        assert!(files.borrowed() > limit / 4 && files.borrowed() <= limit / 4 * 3, "{}", files.borrowed());
        while files.reach(store, files.granted() + 1, u64::MAX).unwrap() {}
        assert!(store.memory_lent() <= limit / 4 * 3);
        assert!(store.memory_lent() + 10_000 > limit / 4 * 3, "smaller steps near the end");
        assert!(locks.reach(store, limit / 4, 0).unwrap());
        while locks.reach(store, locks.granted() + 1, u64::MAX).unwrap() {}
        assert!(store.memory_lent() <= limit && store.memory_lent() + 10_000 > limit);
        assert!(!files.reach(store, files.granted() + 1, u64::MAX).unwrap());
    }
}
