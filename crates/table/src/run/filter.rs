//! A Bloom filter over the keys of a run: it shows for most absent keys that they are absent, without I/O.
//!
//! The filter is blocked (Putze, Sanders and Singler, 2007): all bits of a key are in one cache line, so
//! that a look-up costs one cache miss. With 10 bits a key, it takes about one absent key in sixty for
//! present.

use hashbrown::DefaultHashBuilder;
use std::hash::{BuildHasher, Hasher};

/// The number of bits per key.
const BITS_PER_KEY: u64 = 10;
/// The number of bits set per key.
const PROBES: u32 = 6;
/// The number of words in a cache line.
const LINE_WORDS: usize = 8;
/// The number of bits that number a position in a line.
const POSITION_BITS: u32 = 9;
const LINE_BYTES: u64 = 64;

type Line = [u64; LINE_WORDS];

/// The size of a filter for this many keys, in bytes.
pub(crate) fn filter_bytes(keys: u64) -> u64 {
    lines(keys).saturating_mul(LINE_BYTES)
}

fn lines(keys: u64) -> u64 {
    keys.saturating_mul(BITS_PER_KEY).div_ceil(8 * LINE_BYTES)
}

pub(super) struct BloomFilter {
    hasher: DefaultHashBuilder,
    lines: Vec<Line>,
}

impl BloomFilter {
    /// Makes a filter for up to `keys` keys; `None` for 0.
    pub(super) fn new(keys: u64) -> Option<BloomFilter> {
        let lines = vec![[0; LINE_WORDS]; lines(keys) as usize];
        (!lines.is_empty()).then(|| BloomFilter { hasher: DefaultHashBuilder::default(), lines })
    }

    pub(super) fn add(&mut self, key: &[u8]) {
        let hash = self.hash(key);
        let line = self.line(hash);
        if let Some(line) = self.lines.get_mut(line) {
            for (word, bit) in probes(hash) {
                line[word] |= bit;
            }
        }
    }

    /// Returns false only if the key was not added.
    pub(super) fn may_contain(&self, key: &[u8]) -> bool {
        let hash = self.hash(key);
        let line = self.lines.get(self.line(hash));
        line.is_none_or(|line| probes(hash).all(|(word, bit)| line[word] & bit != 0))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.lines.len() as u64 * LINE_BYTES
    }

    fn hash(&self, key: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(key);
        finished(hasher.finish())
    }

    fn line(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.lines.len() as u128) >> 64) as usize
    }
}

/// Mixes a hash so that every bit depends on all others (the end of MurmurHash3, which is a bijection). The
/// hasher is made for hash tables: with some of its random seeds, bits of consecutive short keys correlate,
/// and several times as many absent keys would be taken for present.
fn finished(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

/// The words of a line, and the bit in each. The highest bits of the hash choose the line, and a product of
/// the hash chooses the bits, so that the two are nearly independent.
fn probes(hash: u64) -> impl Iterator<Item = (usize, u64)> {
    let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..PROBES).map(move |probe| {
        let position = (mixed >> (64 - POSITION_BITS * (probe + 1))) as usize % (64 * LINE_WORDS);
        (position / 64, 1 << (position % 64))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_were_added_are_found_and_few_others() {
        const KEYS: u64 = 20_000;
        let mut filter = BloomFilter::new(KEYS).unwrap();
        assert_eq!(filter.bytes(), filter_bytes(KEYS));
        assert!((KEYS..2 * KEYS).contains(&filter.bytes()));
        (0..KEYS).for_each(|key| filter.add(&key.to_be_bytes()));
        assert!((0..KEYS).all(|key| filter.may_contain(&key.to_be_bytes())));
        // About one in a hundred, whatever the seed: twice as many are thirteen standard deviations away.
        let wrong = (KEYS..2 * KEYS).filter(|key| filter.may_contain(&key.to_be_bytes())).count();
        assert!(wrong < KEYS as usize / 50, "{wrong} of {KEYS} absent keys");
        assert!(BloomFilter::new(0).is_none());
    }
}
