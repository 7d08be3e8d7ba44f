//! Sets of keys of one index: what a transaction has read of it, and what it has written.
//!
//! Both give up detail when they have to: many ranges or keys become their hull, the hull becomes the whole index. A
//! coarser set contains the finer one, so that coarsening never hides a conflict.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// A range of keys, from the first (inclusive) to the second (exclusive); `None` is the end of the index.
pub type KeyBounds<'k> = (&'k [u8], Option<&'k [u8]>);

/// Calls `f` with ranges of which each contains one key.
pub(crate) fn with_ranges_of_keys<'k, R>(
    keys: impl Iterator<Item = &'k [u8]>,
    f: impl FnOnce(&[KeyBounds<'_>]) -> R,
) -> R {
    let keys: Vec<(&[u8], Vec<u8>)> = keys.map(|key| (key, [key, &[0]].concat())).collect();
    let ranges: Vec<KeyBounds<'_>> = keys.iter().map(|(key, end)| (*key, Some(end.as_slice()))).collect();
    f(&ranges)
}

/// The memory of a range or key beyond its bytes: nodes of a map and two allocations.
const OVERHEAD: usize = 64;

/// Ranges of keys: disjoint, and not adjacent.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct KeyRanges {
    /// The first key of each range, and the first key behind it.
    ranges: BTreeMap<Box<[u8]>, Option<Box<[u8]>>>,
    bytes: usize,
}

fn size(lower: &[u8], upper: Option<&[u8]>) -> usize {
    lower.len() + upper.map_or(0, <[u8]>::len) + OVERHEAD
}

impl KeyRanges {
    /// The whole index.
    pub fn whole() -> KeyRanges {
        let mut all = KeyRanges::default();
        all.insert(&[], None);
        all
    }

    /// The memory used, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether there is more than one range.
    pub fn is_detailed(&self) -> bool {
        self.ranges.len() > 1
    }

    /// The number of ranges.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Returns whether this is the whole index.
    pub fn is_whole(&self) -> bool {
        self.ranges.first_key_value().is_some_and(|(lower, upper)| lower.is_empty() && upper.is_none())
    }

    /// The range that begins at or before `key`.
    fn before(&self, key: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
        let found = self.ranges.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back();
        found.map(|(lower, upper)| (&**lower, upper.as_deref()))
    }

    /// Returns whether a key is in one of the ranges.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.before(key).is_some_and(|(_, upper)| upper.is_none_or(|upper| key < upper))
    }

    /// Returns whether one of the ranges contains all of `[lower, upper)`.
    pub fn covers(&self, lower: &[u8], upper: Option<&[u8]>) -> bool {
        self.before(lower).is_some_and(|(_, end)| match (end, upper) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(end), Some(upper)) => upper <= end,
        })
    }

    /// Returns whether a key between `first` and `last`, both inclusive, may be in one of the ranges.
    fn meets(&self, first: &[u8], last: &[u8]) -> bool {
        self.contains(first)
            || self.ranges.range::<[u8], _>((Bound::Excluded(first), Bound::Included(last))).next().is_some()
    }

    /// Adds a range. An empty one adds nothing.
    pub fn insert(&mut self, lower: &[u8], upper: Option<&[u8]>) {
        if upper.is_some_and(|upper| upper <= lower) || self.covers(lower, upper) {
            return;
        }
        let (mut lower, mut upper) = (lower.to_vec(), upper.map(<[u8]>::to_vec));
        let reaches = |end: Option<&[u8]>| end.is_none_or(|end| end >= lower.as_slice());
        if let Some((start, _)) = self.before(&lower).filter(|(_, end)| reaches(*end)) {
            lower = start.to_vec();
        }
        // The ranges that the new one meets are replaced.
        loop {
            let met =
                self.ranges.range::<[u8], _>((Bound::Included(lower.as_slice()), Bound::Unbounded)).next();
            let Some((start, end)) = met else { break };
            if upper.as_ref().is_some_and(|upper| **start > **upper) {
                break;
            }
            upper = match (upper, end) {
                (Some(upper), Some(end)) => Some(upper.max(end.to_vec())),
                _ => None,
            };
            let start = start.clone();
            if let Some(end) = self.ranges.remove(&start) {
                self.bytes -= size(&start, end.as_deref());
            }
        }
        self.bytes += size(&lower, upper.as_deref());
        self.ranges.insert(lower.into(), upper.map(Into::into));
    }

    /// Adds all ranges of another set.
    pub fn merge(&mut self, other: &KeyRanges) {
        other.ranges.iter().for_each(|(lower, upper)| self.insert(lower, upper.as_deref()));
    }

    /// Replaces the ranges by one from the first to the last key.
    pub fn become_hull(&mut self) {
        let lower = self.ranges.first_key_value().map(|(lower, _)| lower.clone());
        let upper = self.ranges.last_key_value().and_then(|(_, upper)| upper.clone());
        let Some(lower) = lower else { return };
        *self = KeyRanges::default();
        self.insert(&lower, upper.as_deref());
    }
}

/// The keys of one index that a transaction has written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum WrittenKeys {
    /// These keys.
    Keys(BTreeSet<Box<[u8]>>),
    /// Keys from the first to the second, both inclusive.
    Hull(Box<[u8]>, Box<[u8]>),
    /// Any key.
    Whole,
}

impl Default for WrittenKeys {
    fn default() -> WrittenKeys {
        WrittenKeys::Keys(BTreeSet::new())
    }
}

impl WrittenKeys {
    /// Adds a key. Returns by how many bytes the memory grows.
    pub fn insert(&mut self, key: &[u8]) -> usize {
        match self {
            WrittenKeys::Keys(keys) => match keys.insert(key.into()) {
                true => key.len() + OVERHEAD,
                false => 0,
            },
            WrittenKeys::Hull(first, last) => {
                let before = first.len() + last.len();
                if key < &**first {
                    *first = key.into();
                } else if key > &**last {
                    *last = key.into();
                }
                (first.len() + last.len()).saturating_sub(before)
            }
            WrittenKeys::Whole => 0,
        }
    }

    /// The memory used, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            WrittenKeys::Keys(keys) => keys.iter().map(|key| key.len() + OVERHEAD).sum(),
            WrittenKeys::Hull(first, last) => first.len() + last.len() + OVERHEAD,
            WrittenKeys::Whole => 0,
        }
    }

    /// Makes the set coarser: keys become their hull, a hull becomes the whole index.
    pub fn coarsen(&mut self) {
        *self = match self {
            WrittenKeys::Keys(keys) => match (keys.first(), keys.last()) {
                (Some(first), Some(last)) => WrittenKeys::Hull(first.clone(), last.clone()),
                _ => return,
            },
            WrittenKeys::Hull(..) | WrittenKeys::Whole => WrittenKeys::Whole,
        };
    }

    /// Adds all keys of another set.
    pub fn merge(&mut self, other: &WrittenKeys) {
        match (&mut *self, other) {
            (WrittenKeys::Whole, _) => {}
            (_, WrittenKeys::Whole) => *self = WrittenKeys::Whole,
            (_, WrittenKeys::Keys(keys)) => {
                keys.iter().for_each(|key| {
                    self.insert(key);
                });
            }
            (WrittenKeys::Keys(keys), WrittenKeys::Hull(..)) if keys.is_empty() => *self = other.clone(),
            (_, WrittenKeys::Hull(first, last)) => {
                if matches!(self, WrittenKeys::Keys(_)) {
                    self.coarsen();
                }
                self.insert(first);
                self.insert(last);
            }
        }
    }

    /// Returns whether one of the keys may be in `ranges`.
    pub fn meets(&self, ranges: &KeyRanges) -> bool {
        match self {
            WrittenKeys::Keys(keys) if keys.len() <= ranges.len() => {
                keys.iter().any(|key| ranges.contains(key))
            }
            WrittenKeys::Keys(_) => {
                ranges.ranges.iter().any(|(lower, upper)| self.is_in(lower, upper.as_deref()))
            }
            WrittenKeys::Hull(first, last) => ranges.meets(first, last),
            WrittenKeys::Whole => true,
        }
    }

    /// Returns whether one of the keys may be in `[lower, upper)`.
    pub fn is_in(&self, lower: &[u8], upper: Option<&[u8]>) -> bool {
        match self {
            WrittenKeys::Keys(keys) => {
                let next = keys.range::<[u8], _>((Bound::Included(lower), Bound::Unbounded)).next();
                next.is_some_and(|key| upper.is_none_or(|upper| **key < *upper))
            }
            WrittenKeys::Hull(first, last) => lower <= &**last && upper.is_none_or(|upper| &**first < upper),
            WrittenKeys::Whole => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    #[test]
    fn ranges_agree_with_a_set_of_numbers() {
        let seed = crate::testing::seed();
        let mut random = SmallRng::seed_from_u64(seed);
        for _ in 0..300 {
            let (mut ranges, mut model) = (KeyRanges::default(), BTreeSet::new());
            for _ in 0..random.random_range(1..12) {
                let lower = random.random_range(0..40u8);
                let upper = random.random_range(0..44u8);
                let end = (upper < 42).then_some([upper]);
                ranges.insert(&[lower], end.as_ref().map(<[u8; 1]>::as_slice));
                model.extend(lower..if upper < 42 { upper } else { 50 });
            }
            let parts =
                (0..50).filter(|at| model.contains(at) && !model.contains(&(at.wrapping_sub(1)))).count();
            assert_eq!(ranges.len(), parts, "{ranges:?}");
            assert_eq!(
                ranges.bytes(),
                ranges.ranges.iter().map(|(a, b)| size(a, b.as_deref())).sum::<usize>()
            );
            for key in 0..50u8 {
                assert_eq!(ranges.contains(&[key]), model.contains(&key), "{key} in {ranges:?}");
            }
            let keys: BTreeSet<u8> =
                (0..random.random_range(1..8)).map(|_| random.random_range(0..50)).collect();
            let mut written = WrittenKeys::default();
            keys.iter().for_each(|key| assert!(written.insert(&[*key]) > 0));
            assert_eq!(written.meets(&ranges), keys.iter().any(|key| model.contains(key)));
            written.coarsen();
            let hull = *keys.first().unwrap()..=*keys.last().unwrap();
            assert_eq!(
                written.meets(&ranges),
                hull.clone().any(|key| model.contains(&key)),
                "{hull:?} {ranges:?}"
            );
            let finer = ranges.clone();
            ranges.become_hull();
            assert!(model.iter().all(|key| ranges.contains(&[*key])) && ranges.len() <= 1);
            assert!(finer.ranges.iter().all(|(lower, upper)| ranges.covers(lower, upper.as_deref())));
        }
    }

    #[test]
    fn written_keys_only_grow() {
        let mut keys = WrittenKeys::default();
        assert_eq!(keys.insert(b"b"), 1 + OVERHEAD);
        assert_eq!(keys.insert(b"b"), 0);
        keys.insert(b"f");
        assert_eq!(keys.bytes(), 2 + 2 * OVERHEAD);
        let mut other = WrittenKeys::default();
        other.insert(b"k");
        other.coarsen();
        other.merge(&keys);
        assert_eq!(other, WrittenKeys::Hull(Box::from(*b"b"), Box::from(*b"k")));
        keys.merge(&other);
        assert_eq!(keys, other);
        assert!(keys.is_in(b"k", None) && !keys.is_in(b"ka", None) && !keys.is_in(b"", Some(b"b")));
        keys.coarsen();
        assert!(keys == WrittenKeys::Whole && keys.is_in(b"z", None) && keys.bytes() == 0);
        other.merge(&keys);
        assert_eq!(other, WrittenKeys::Whole);
    }
}
