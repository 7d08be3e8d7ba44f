//! Key ranges: the sets of the leading parts multiplied out.

use super::interval::{Interval, IntervalSet};
use leafline_types::key::prefix_successor;

/// The number of ranges up to which the points of one part are multiplied with the sets of the next.
pub const MAX_KEY_RANGES: usize = 16_384;

/// Keys from `lower` (inclusive) to `upper` (exclusive).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// First key inside; empty is the start of the index.
    pub lower: Vec<u8>,
    /// First key beyond; `None` is the end of the index.
    pub upper: Option<Vec<u8>>,
    /// How many leading parts have one value throughout the range.
    pub equal_parts: usize,
}

impl KeyRange {
    /// The whole index.
    pub fn all() -> KeyRange {
        KeyRange { lower: Vec::new(), upper: None, equal_parts: 0 }
    }

    /// Is a key inside?
    pub fn contains(&self, key: &[u8]) -> bool {
        self.lower.as_slice() <= key && self.upper.as_ref().is_none_or(|upper| key < upper.as_slice())
    }
}

/// Multiplies the sets of the leading parts, none of them empty, out: ranges ascending and disjoint, and whether every set
/// had its full effect.
pub(super) fn expand(sets: &[&IntervalSet]) -> (Vec<KeyRange>, bool) {
    let mut depth = 0;
    let mut product = 1usize;
    for set in sets {
        product = product.saturating_mul(set.intervals().len());
        if depth > 0 && product > MAX_KEY_RANGES {
            break;
        }
        depth += 1;
    }
    let cut = depth < sets.len();
    let mut expansion = Expansion { sets: sets.get(..depth).unwrap_or(sets), ranges: Vec::new(), cut };
    expansion.descend(&[], 0);
    (expansion.ranges, !expansion.cut)
}

struct Expansion<'a> {
    sets: &'a [&'a IntervalSet],
    ranges: Vec<KeyRange>,
    cut: bool,
}

impl Expansion<'_> {
    fn descend(&mut self, prefix: &[u8], depth: usize) {
        let Some(set) = self.sets.get(depth) else {
            self.ranges.push(KeyRange {
                lower: prefix.to_vec(),
                upper: prefix_successor(prefix),
                equal_parts: depth,
            });
            return;
        };
        for interval in set.intervals() {
            if interval.point {
                self.descend(&joined(prefix, &interval.lower), depth + 1);
            } else {
                self.cut |= depth + 1 < self.sets.len();
                self.push(prefix, interval, depth);
            }
        }
    }

    fn push(&mut self, prefix: &[u8], interval: &Interval, depth: usize) {
        let upper = match &interval.upper {
            Some(upper) => Some(joined(prefix, upper)),
            None => prefix_successor(prefix),
        };
        self.ranges.push(KeyRange { lower: joined(prefix, &interval.lower), upper, equal_parts: depth });
    }
}

fn joined(prefix: &[u8], bytes: &[u8]) -> Vec<u8> {
    [prefix, bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(bytes: &[u8]) -> IntervalSet {
        IntervalSet::points(bytes.iter().map(|byte| vec![*byte]).collect())
    }

    #[test]
    fn points_multiply_with_the_range_behind_them() {
        let sets = [points(&[1, 3]), IntervalSet::range(vec![5], Some(vec![9]))];
        let (ranges, uncut) = expand(&sets.each_ref());
        assert!(uncut);
        let bounds: Vec<_> = ranges.iter().map(|r| (r.lower.clone(), r.upper.clone())).collect();
        assert_eq!(bounds, [(vec![1, 5], Some(vec![1, 9])), (vec![3, 5], Some(vec![3, 9]))]);
    }

    #[test]
    fn range_before_a_condition_is_a_superset() {
        let sets = [IntervalSet::range(vec![5], None), points(&[1])];
        let (ranges, uncut) = expand(&sets.each_ref());
        assert!(!uncut);
        assert_eq!(ranges, [KeyRange { lower: vec![5], upper: None, equal_parts: 0 }]);
    }

    #[test]
    fn mixed_points_and_ranges_stay_sorted() {
        let first =
            IntervalSet::union_of([points(&[1]), IntervalSet::range(vec![4], Some(vec![6])), points(&[9])]);
        let (ranges, _) = expand(&[&first, &points(&[2, 7])]);
        assert_eq!(ranges.len(), 5);
        for pair in ranges.windows(2) {
            assert!(pair[0].upper.as_ref().is_some_and(|upper| *upper <= pair[1].lower));
        }
        let found = |key: &[u8]| ranges.iter().any(|range| range.contains(key));
        assert!(found(&[1, 2, 99]) && found(&[5, 0]) && !found(&[1, 3]));
    }

    #[test]
    fn expansion_beyond_the_cap_widens_to_fewer_parts() {
        let many = points(&(0..=255).collect::<Vec<u8>>());
        let (ranges, uncut) = expand(&[&many, &many, &many]);
        assert!(!uncut);
        assert_eq!(ranges.len(), 256);
    }
}
