//! The memory limit of the operators and expressions of one execution.
//!
//! Operators account for the memory they hold. Sorts, hash joins, aggregation, DISTINCT, the partitions of windows
//! and the keys of recursive tables spill to disk when the session's limit is reached, or when the server is short of
//! memory; a small share of the limit each may hold in any case. An operator that cannot spill fails with error 1038.

use super::server;
use crate::error::MysqlError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The divisor that gives the share of the limit which every operator may hold.
const SHARE: usize = 16;

/// The memory of one execution, shared by its threads.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
}

impl MemoryBudget {
    /// Makes a budget of `limit` bytes.
    pub const fn new(limit: usize) -> MemoryBudget {
        MemoryBudget { limit, used: AtomicUsize::new(0), peak: AtomicUsize::new(0) }
    }

    /// Makes a budget of `limit` bytes, or of half the server's bound if that is less.
    pub fn of_statement(limit: u64) -> MemoryBudget {
        MemoryBudget::new(usize::try_from(limit).unwrap_or(usize::MAX).min(server::limit() / 2))
    }

    /// Returns the budget of work that belongs to no statement. It refuses nothing.
    pub fn unlimited() -> &'static MemoryBudget {
        static UNLIMITED: MemoryBudget = MemoryBudget::new(usize::MAX);
        &UNLIMITED
    }

    /// Takes `bytes`, or returns error 1038 if less is left.
    pub fn take(&self, bytes: usize) -> Result<(), MysqlError> {
        let used = self.note(bytes);
        if used > self.limit {
            self.give_back(bytes);
            return Err(self.exhausted(used));
        }
        self.peak.fetch_max(used, Ordering::Relaxed);
        Ok(())
    }

    /// Takes `bytes` in any case; returns how many are used then.
    fn note(&self, bytes: usize) -> usize {
        self.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes)
    }

    /// Makes error 1038 for a need of `used` bytes.
    pub fn exhausted(&self, used: usize) -> MysqlError {
        let text = format!(
            "Out of memory for sorting, joining or grouping: {used} bytes needed, limit {}",
            self.limit
        );
        MysqlError::with_message(crate::error::errno::ER_OUT_OF_SORTMEMORY, text)
    }

    /// Returns how many of the remaining bytes each of `threads` threads may hold; at least an operator's share.
    pub fn part(&self, threads: usize) -> usize {
        (self.limit.saturating_sub(self.used()) / threads.max(1)).max(self.share())
    }

    /// Returns how many bytes every operator may hold.
    pub fn share(&self) -> usize {
        self.limit / SHARE
    }

    /// Returns the limit in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Returns `bytes` to the budget.
    pub fn give_back(&self, bytes: usize) {
        let less = |used: usize| {
            debug_assert!(bytes <= used, "{bytes} bytes given back, {used} are used");
            Some(used.saturating_sub(bytes))
        };
        // The update cannot fail: `less` always returns a value.
        let _ = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Returns how many bytes are used.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Sets the used bytes to `bytes` if they are more, after the structures beyond have been dropped.
    pub fn shrink_to(&self, bytes: usize) {
        self.used.fetch_min(bytes, Ordering::Relaxed);
    }

    /// Returns the most bytes that were used at one time.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }
}

/// The bytes that one structure holds of a budget.
#[derive(Debug, Default)]
pub struct Held {
    bytes: usize,
}

impl Held {
    /// Records that the structure holds `bytes` now.
    pub fn set(&mut self, bytes: usize, budget: &MemoryBudget) -> Result<(), MysqlError> {
        if bytes > self.bytes {
            budget.take(bytes - self.bytes)?;
        } else {
            budget.give_back(self.bytes - bytes);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Records in any case that the structure holds `bytes` now; returns false if that exceeds the limit, and the
    /// structure has to shrink.
    pub fn fits(&mut self, bytes: usize, budget: &MemoryBudget) -> bool {
        budget.give_back(self.bytes);
        self.bytes = bytes;
        let used = budget.note(bytes);
        budget.peak.fetch_max(used, Ordering::Relaxed);
        (used <= budget.limit && !server::is_short()) || bytes <= budget.share()
    }

    /// Records that the structure grew by `bytes`.
    pub fn grow(&mut self, bytes: usize, budget: &MemoryBudget) -> Result<(), MysqlError> {
        self.set(self.bytes + bytes, budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_refuses_what_is_beyond_the_limit_and_takes_back() {
        let budget = MemoryBudget::new(100);
        let mut held = Held::default();
        held.grow(60, &budget).unwrap();
        assert_eq!(held.grow(41, &budget).unwrap_err().code, 1038);
        held.set(10, &budget).unwrap();
        held.grow(90, &budget).unwrap();
        assert_eq!(budget.peak(), 100);
    }
}
