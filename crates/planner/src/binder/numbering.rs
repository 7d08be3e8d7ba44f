//! Numbers distinct values in the order of their arrival, and finds them by hash once there are many.
//!
//! Invariant: no two values are equal; `by_hash` is empty, or holds the position of every value.

use crate::params::LISTED_EXPRESSIONS;
use std::hash::{BuildHasher, Hash};
use std::ops::Deref;

use crate::bound::ColumnId;
use hashbrown::{DefaultHashBuilder, HashTable};

/// Provisional number of the first aggregate, until the block's other columns are known.
pub(super) const FIRST_AGGREGATE: ColumnId = usize::MAX / 2;

/// Provisional number of the first GROUPING(), until the group keys are known.
pub(super) const FIRST_GROUPING: ColumnId = FIRST_AGGREGATE / 4;

/// Provisional number of the first window function.
pub(super) const FIRST_WINDOW: ColumnId = FIRST_AGGREGATE + FIRST_AGGREGATE / 2;

/// Distinct values, numbered from 0.
#[derive(Debug, Clone)]
pub(super) struct Numbering<T> {
    values: Vec<T>,
    by_hash: HashTable<usize>,
    hasher: DefaultHashBuilder,
}

impl<T> Default for Numbering<T> {
    fn default() -> Self {
        Numbering { values: Vec::new(), by_hash: HashTable::new(), hasher: DefaultHashBuilder::default() }
    }
}

impl<T: Eq + Hash> Numbering<T> {
    /// Whether there are no values.
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the number of a known value.
    pub(super) fn number(&self, value: &T) -> Option<usize> {
        if self.by_hash.is_empty() {
            return self.values.iter().position(|known| known == value);
        }
        let equal = |at: &usize| self.values.get(*at) == Some(value);
        self.by_hash.find(self.hasher.hash_one(value), equal).copied()
    }

    /// Returns the number of a value, adding it if it is new, and whether it is new.
    pub(super) fn insert(&mut self, value: T) -> (usize, bool) {
        if let Some(number) = self.number(&value) {
            return (number, false);
        }
        let number = self.values.len();
        self.values.push(value);
        let values = &self.values;
        let hash_at = |at: &usize| self.hasher.hash_one(&values[*at]);
        let unhashed = match self.by_hash.is_empty() {
            true if number < LISTED_EXPRESSIONS => number + 1,
            true => 0,
            false => number,
        };
        for at in unhashed..=number {
            self.by_hash.insert_unique(hash_at(&at), at, hash_at);
        }
        (number, true)
    }

    /// Returns the values in the order of their numbers.
    pub(super) fn into_values(self) -> Vec<T> {
        self.values
    }
}

impl<T> Deref for Numbering<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::{LISTED_EXPRESSIONS, Numbering};

    #[test]
    fn values_have_the_numbers_of_those_equal_to_them_few_or_many() {
        let mut numbering = Numbering::default();
        for value in 0..LISTED_EXPRESSIONS * 4 {
            assert_eq!(numbering.insert(value * 7), (value, true));
            for known in 0..=value {
                assert_eq!(numbering.insert(known * 7), (known, false));
                assert_eq!(numbering.number(&(known * 7)), Some(known));
            }
            assert_eq!(numbering.number(&(value * 7 + 1)), None);
        }
        assert_eq!(numbering.len(), LISTED_EXPRESSIONS * 4);
        assert!(numbering.into_values().iter().enumerate().all(|(number, value)| *value == number * 7));
    }
}
