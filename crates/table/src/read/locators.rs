//! Clustered keys collected for a fetch.

/// Clustered keys, one after another in one buffer.
#[derive(Clone, Default, Debug)]
pub struct LocatorBatch {
    bytes: Vec<u8>,
    /// The beginning and the end of each key in `bytes`.
    spans: Vec<(u32, u32)>,
}

impl LocatorBatch {
    /// An empty batch.
    pub fn new() -> LocatorBatch {
        LocatorBatch::default()
    }

    /// Adds a key.
    ///
    /// # Panics
    /// If the keys together reach 4 GiB.
    pub fn push(&mut self, key: &[u8]) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(key);
        assert!(u32::try_from(self.bytes.len()).is_ok(), "a batch of locators is too large");
        self.spans.push((begin as u32, self.bytes.len() as u32));
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The length of all keys, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The key at `position`, which must be below [`len`](Self::len).
    pub fn get(&self, position: usize) -> &[u8] {
        let (begin, end) = self.spans[position];
        &self.bytes[begin as usize..end as usize]
    }

    /// Removes all keys but keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }

    /// Sorts the keys, and returns for each position the position it had before. Equal keys keep their order.
    pub fn sort(&mut self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.spans.len() as u32).collect();
        order.sort_by(|&a, &b| self.get(a as usize).cmp(self.get(b as usize)));
        let spans = order.iter().filter_map(|&at| self.spans.get(at as usize).copied()).collect();
        self.spans = spans;
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_tells_where_each_key_was() {
        let mut batch = LocatorBatch::new();
        for key in [&b"c"[..], b"a", b"", b"b", b"a"] {
            batch.push(key);
        }
        assert_eq!(batch.sort(), [2, 1, 4, 3, 0]);
        let keys: Vec<&[u8]> = (0..batch.len()).map(|at| batch.get(at)).collect();
        assert_eq!(keys, [&b""[..], b"a", b"a", b"b", b"c"]);
        assert_eq!(batch.bytes(), 4);
    }
}
