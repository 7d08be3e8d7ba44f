//! What the operators of one execution may hold in memory.
//!
//! Sorts, hash joins, aggregation and DISTINCT account for what they keep before they keep it. Whoever would go beyond the
//! session's limit gets error 1038; nothing is written to disk in its place.

use leafline_types::MysqlError;
use std::cell::Cell;

/// The memory of one execution.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    limit: usize,
    used: Cell<usize>,
    peak: Cell<usize>,
}

impl MemoryBudget {
    /// A budget of `limit` bytes.
    pub fn new(limit: usize) -> MemoryBudget {
        MemoryBudget { limit, used: Cell::new(0), peak: Cell::new(0) }
    }

    /// Takes `bytes`, or error 1038 if that is more than is left.
    pub fn take(&self, bytes: usize) -> Result<(), MysqlError> {
        let used = self.used.get().saturating_add(bytes);
        if used > self.limit {
            return Err(MysqlError::with_message(
                leafline_types::error::errno::ER_OUT_OF_SORTMEMORY,
                format!(
                    "Out of memory for sorting, joining or grouping: {used} bytes needed, limit {}",
                    self.limit
                ),
            ));
        }
        self.used.set(used);
        self.peak.set(self.peak.get().max(used));
        Ok(())
    }

    /// Gives `bytes` back.
    pub fn give_back(&self, bytes: usize) {
        self.used.set(self.used.get().saturating_sub(bytes));
    }

    /// What is held now, bytes.
    pub fn used(&self) -> usize {
        self.used.get()
    }

    /// Lets go of everything beyond `bytes`: what was held besides is gone.
    pub fn shrink_to(&self, bytes: usize) {
        self.used.set(self.used.get().min(bytes));
    }

    /// The most that was held at one time, bytes.
    pub fn peak(&self) -> usize {
        self.peak.get()
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
