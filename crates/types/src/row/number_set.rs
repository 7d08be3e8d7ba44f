//! A set of numbers in which many others are looked up: a bitmap if the numbers lie close together, otherwise a Bloom
//! filter.
//!
//! The filter has [`BITS_PER_NUMBER`] bits for each number, of which it sets four in one word (a blocked Bloom
//! filter: Putze, Sanders and Singler, 2007), so that a look-up reads one word. It takes about one in a hundred of
//! other numbers for one of the set.

/// Bits of the filter for each number.
const BITS_PER_NUMBER: usize = 16;
/// A set is a bitmap if its span has at most this many bits for each number, or at most [`SMALL_SPAN`] in all.
const DENSE: u64 = 64;
const SMALL_SPAN: u64 = 1 << 18;
/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The range of the numbers, and the bits of the bitmap or the filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberSet {
    first: u64,
    last: u64,
    words: Vec<u64>,
    /// Whether the words are a bitmap of the numbers from `first` on.
    exact: bool,
}

impl NumberSet {
    /// Makes the set of `numbers`.
    pub fn new(numbers: &[u64]) -> NumberSet {
        let (Some(first), Some(last)) = (numbers.iter().min(), numbers.iter().max()) else {
            return NumberSet { first: 1, last: 0, words: Vec::new(), exact: true };
        };
        let (first, last) = (*first, *last);
        let span = last - first;
        let exact = span < SMALL_SPAN || span / DENSE < numbers.len() as u64;
        let words = match exact {
            true => span as usize / 64 + 1,
            false => (numbers.len() * BITS_PER_NUMBER / 64).next_power_of_two(),
        };
        let mut set = NumberSet { first, last, words: vec![0; words], exact };
        for number in numbers {
            let (at, bits) = set.place(*number);
            if let Some(word) = set.words.get_mut(at) {
                *word |= bits;
            }
        }
        set
    }

    /// Returns the word of a number between `first` and `last`, and its bits there.
    #[inline]
    fn place(&self, number: u64) -> (usize, u64) {
        if self.exact {
            let at = number - self.first;
            return ((at / 64) as usize, 1 << (at % 64));
        }
        let hash = (number ^ (number >> 32)).wrapping_mul(GOLDEN);
        let bits = [0, 6, 12, 18].iter().fold(0, |bits, shift| bits | 1 << ((hash >> shift) & 63));
        ((hash >> 32) as usize & (self.words.len() - 1), bits)
    }

    /// Whether a number is in the set; sometimes true for a number that is not.
    #[inline]
    pub fn may_have(&self, number: u64) -> bool {
        if number < self.first || number > self.last {
            return false;
        }
        let (at, bits) = self.place(number);
        self.words.get(at).is_some_and(|word| word & bits == bits)
    }

    /// Returns the memory of the set in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn has_its_numbers_and_few_others() {
        let mut rng = crate::testing::rng("has_its_numbers_and_few_others");
        for span in [1_000, 1 << 20, u64::MAX] {
            let numbers: Vec<u64> = (0..10_000).map(|_| rng.random_range(0..span)).collect();
            let set = NumberSet::new(&numbers);
            assert!(numbers.iter().all(|number| set.may_have(*number)));
            let others: Vec<u64> = (0..10_000)
                .map(|_| rng.random_range(0..=u64::MAX))
                .filter(|number| !numbers.contains(number))
                .collect();
            let wrong = others.iter().filter(|number| set.may_have(**number)).count();
            assert!(wrong * 20 < others.len(), "span {span}: {wrong} of {}", others.len());
        }
        assert!(!NumberSet::new(&[]).may_have(0) && !NumberSet::new(&[]).may_have(1));
        let ends = NumberSet::new(&[0, u64::MAX]);
        assert!(ends.may_have(0) && ends.may_have(u64::MAX));
    }

    #[test]
    fn is_exact_where_numbers_lie_close_together() {
        let even: Vec<u64> = (500..100_000).filter(|number| number % 2 == 0).collect();
        let set = NumberSet::new(&even);
        assert!((0..200_000).all(|number| set.may_have(number) == even.binary_search(&number).is_ok()));
    }
}
