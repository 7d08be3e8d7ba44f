//! What the operators and expressions of one execution may hold in memory.
//!
//! Operators account for what they keep. Sorts, hash joins, aggregation, DISTINCT, the partitions of windows and the keys of recursive
//! tables go to disk when the session's limit is reached, or when the server is short of memory, except for a small share that each
//! may hold whatever the others do. What cannot go to disk gets error 1038.

use super::server;
use crate::error::MysqlError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The part of the memory that every operator may hold.
const SHARE: usize = 16;

/// The memory of one execution, shared by its threads.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
}

impl MemoryBudget {
    /// A budget of `limit` bytes.
    pub const fn new(limit: usize) -> MemoryBudget {
        MemoryBudget { limit, used: AtomicUsize::new(0), peak: AtomicUsize::new(0) }
    }

    /// A budget of `limit` bytes, or of half of what all statements may hold together if that is less.
    pub fn of_statement(limit: u64) -> MemoryBudget {
        MemoryBudget::new(usize::try_from(limit).unwrap_or(usize::MAX).min(server::limit() / 2))
    }

    /// The budget of what is no part of a statement. It refuses nothing.
    pub fn unlimited() -> &'static MemoryBudget {
        static UNLIMITED: MemoryBudget = MemoryBudget::new(usize::MAX);
        &UNLIMITED
    }

    /// Takes `bytes`, or error 1038 if that is more than is left.
    pub fn take(&self, bytes: usize) -> Result<(), MysqlError> {
        let used = self.note(bytes);
        if used > self.limit {
            self.give_back(bytes);
            return Err(self.exhausted(used));
        }
        self.peak.fetch_max(used, Ordering::Relaxed);
        Ok(())
    }

    /// Takes `bytes` in any case; gives what is held then.
    fn note(&self, bytes: usize) -> usize {
        self.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes)
    }

    /// Error 1038: `used` bytes are too many.
    pub fn exhausted(&self, used: usize) -> MysqlError {
        let text = format!(
            "Out of memory for sorting, joining or grouping: {used} bytes needed, limit {}",
            self.limit
        );
        MysqlError::with_message(crate::error::errno::ER_OUT_OF_SORTMEMORY, text)
    }

    /// What each of so many threads may hold of what is left; at least what every operator may.
    pub fn part(&self, threads: usize) -> usize {
        (self.limit.saturating_sub(self.used()) / threads.max(1)).max(self.share())
    }

    /// What every operator may hold, bytes.
    pub fn share(&self) -> usize {
        self.limit / SHARE
    }

    /// The limit, bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Gives `bytes` back.
    pub fn give_back(&self, bytes: usize) {
        let less = |used: usize| {
            debug_assert!(bytes <= used, "{bytes} bytes given back, {used} are used");
            Some(used.saturating_sub(bytes))
        };
        // It cannot fail: there is always a new value.
        let _ = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// What is held now, bytes.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Lets go of everything beyond `bytes`: what was held besides is gone.
    pub fn shrink_to(&self, bytes: usize) {
        self.used.fetch_min(bytes, Ordering::Relaxed);
    }

    /// The most that was held at one time, bytes.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }
}

/// What one operator holds of a budget. It grows with the structure it stands for.
#[derive(Debug, Default)]
pub struct Held {
    bytes: usize,
}

impl Held {
    /// The structure holds `bytes` now.
    pub fn set(&mut self, bytes: usize, budget: &MemoryBudget) -> Result<(), MysqlError> {
        if bytes > self.bytes {
            budget.take(bytes - self.bytes)?;
        } else {
            budget.give_back(self.bytes - bytes);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// The structure holds `bytes` now, which is noted in any case: false if it is too much, and has to become less.
    pub fn fits(&mut self, bytes: usize, budget: &MemoryBudget) -> bool {
        budget.give_back(self.bytes);
        self.bytes = bytes;
        let used = budget.note(bytes);
        budget.peak.fetch_max(used, Ordering::Relaxed);
        (used <= budget.limit && !server::is_short()) || bytes <= budget.share()
    }

    /// The structure grew by `bytes`.
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
