//! A hash table from byte keys to dense numbers, for groups, distinct rows and hash joins.
//!
//! Keys lie one after another in one buffer; the table holds their numbers. Keys are numbered from 0 in the order of
//! their first appearance.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// From this size on a buffer of keys grows by an eighth at a time.
const LARGE_BYTES: usize = 8 << 20;

/// A sequence of byte strings in one buffer.
#[derive(Clone, Debug, Default)]
pub struct KeyBuffer {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl KeyBuffer {
    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Removes all keys and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Returns the key at `position`.
    pub fn get(&self, position: usize) -> &[u8] {
        let start = if position == 0 { 0 } else { self.ends[position - 1] };
        &self.bytes[start..self.ends[position]]
    }

    /// Appends a key.
    pub fn push(&mut self, key: &[u8]) {
        if self.bytes.capacity() - self.bytes.len() < key.len() && self.bytes.len() >= LARGE_BYTES {
            // Doubling the buffer would exceed the accounted memory.
            self.bytes.reserve_exact(key.len().max(self.bytes.len() / 8));
        }
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    /// Returns the memory it holds in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()
    }
}

/// Keys with their numbers.
#[derive(Debug, Default)]
pub struct KeyTable {
    hasher: DefaultHashBuilder,
    table: HashTable<u32>,
    keys: KeyBuffer,
}

impl KeyTable {
    /// Returns the number of different keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the number of a key, and adds the key if it is missing; then the number equals the length before.
    pub fn find_or_insert(&mut self, key: &[u8]) -> u32 {
        let KeyTable { hasher, table, keys } = self;
        let hash = hasher.hash_one(key);
        let entry = table.entry(
            hash,
            |number| keys.get(*number as usize) == key,
            |number| hasher.hash_one(keys.get(*number as usize)),
        );
        match entry {
            hashbrown::hash_table::Entry::Occupied(found) => *found.get(),
            hashbrown::hash_table::Entry::Vacant(vacant) => {
                let number = keys.len() as u32;
                vacant.insert(number);
                keys.push(key);
                number
            }
        }
    }

    /// Returns the number of a key if it is there.
    pub fn find(&self, key: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        self.table.find(hash, |number| self.keys.get(*number as usize) == key).copied()
    }

    /// Removes and returns the keys in the order of their numbers.
    pub fn take_keys(&mut self) -> KeyBuffer {
        self.table = HashTable::new();
        std::mem::take(&mut self.keys)
    }

    /// Returns the memory it holds in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.keys.memory_bytes() + self.table.capacity() * (size_of::<u32>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn numbers_follow_first_appearance() {
        let mut table = KeyTable::default();
        let mut model: HashMap<Vec<u8>, u32> = HashMap::new();
        for i in 0..10_000u32 {
            let key = (i.wrapping_mul(2_654_435_761) % 700).to_string().into_bytes();
            let next = model.len() as u32;
            let expected = *model.entry(key.clone()).or_insert(next);
            assert_eq!(table.find_or_insert(&key), expected);
        }
        assert_eq!(table.len(), model.len());
        assert_eq!(table.find(b"absent"), None);
        assert_eq!(table.find(b""), None);
        assert_eq!(table.find_or_insert(b"") as usize, model.len());
        assert_eq!(table.find(b""), Some(model.len() as u32));
    }
}
