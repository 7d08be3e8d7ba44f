//! Sets of encoded values of one key part: sorted, disjoint, half-open intervals of bytes.
//!
//! The encodings of one part are prefix-free and ordered by `memcmp`, so an interval is
//! `lower <= bytes < upper`, a missing upper bound is the end of the part's domain, and the single
//! value `e` is `[e, successor(e))` where the successor is the smallest string above everything that
//! starts with `e`. Bounds only ever fall between encodings, never inside one; a point therefore
//! lies wholly inside or wholly outside any other interval. Points stay points when they touch a
//! neighbour: only behind a point can the next key part narrow the scan.

use leafline_types::key::prefix_successor;

/// Encoded values of one key part from `lower` (inclusive) to `upper` (exclusive).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// First encoding inside; empty is the start of the domain.
    pub lower: Vec<u8>,
    /// First bytes beyond; `None` is the end of the domain.
    pub upper: Option<Vec<u8>>,
    /// Holds exactly one encoding, which is `lower`.
    pub point: bool,
}

impl Interval {
    /// Holds every value.
    pub(super) fn is_all(&self) -> bool {
        self.lower.is_empty() && self.upper.is_none()
    }

    /// Whether an encoding is inside.
    pub(super) fn contains(&self, encoded: &[u8]) -> bool {
        self.lower.as_slice() <= encoded && self.upper.as_ref().is_none_or(|upper| encoded < upper.as_slice())
    }

    /// Whether it ends where the other does, or before.
    pub(super) fn ends_no_later(&self, other: &Interval) -> bool {
        match (&self.upper, &other.upper) {
            (Some(a), Some(b)) => a <= b,
            (Some(_), None) => true,
            (None, other) => other.is_none(),
        }
    }

    /// Of an interval that is no point, what lies before `bound`.
    pub(super) fn until(&self, bound: &[u8]) -> Interval {
        if self.upper.as_ref().is_some_and(|upper| upper.as_slice() <= bound) {
            return self.clone();
        }
        Interval { lower: self.lower.clone(), upper: Some(bound.to_vec()), point: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.upper.as_ref().is_some_and(|upper| *upper <= self.lower)
    }

    pub(super) fn intersect(&self, other: &Interval) -> Interval {
        let lower = self.lower.as_slice().max(&other.lower).to_vec();
        let upper = match (&self.upper, &other.upper) {
            (Some(a), Some(b)) => Some(a.min(b).clone()),
            (Some(bound), None) | (None, Some(bound)) => Some(bound.clone()),
            (None, None) => None,
        };
        Interval { lower, upper, point: self.point || other.point }
    }

    /// Whether this interval ends before `other` begins, leaving nothing in common.
    fn ends_before(&self, other: &Interval) -> bool {
        self.upper.as_ref().is_some_and(|upper| *upper <= other.lower)
    }
}

/// A set of encoded values of one key part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntervalSet {
    intervals: Vec<Interval>,
}

impl IntervalSet {
    /// No value.
    pub fn empty() -> IntervalSet {
        IntervalSet::default()
    }

    /// Every value, NULL included.
    pub fn all() -> IntervalSet {
        IntervalSet { intervals: vec![Interval { lower: Vec::new(), upper: None, point: false }] }
    }

    /// The one value with this encoding.
    pub fn point(encoded: Vec<u8>) -> IntervalSet {
        let upper = prefix_successor(&encoded);
        IntervalSet { intervals: vec![Interval { lower: encoded, upper, point: true }] }
    }

    /// Encodings from `lower` (inclusive) to `upper` (exclusive, `None` = no bound).
    pub fn range(lower: Vec<u8>, upper: Option<Vec<u8>>) -> IntervalSet {
        let interval = Interval { lower, upper, point: false };
        if interval.is_empty() { IntervalSet::empty() } else { IntervalSet { intervals: vec![interval] } }
    }

    /// The points of a list, in any order and with repetitions.
    pub fn points(mut encoded: Vec<Vec<u8>>) -> IntervalSet {
        encoded.sort_unstable();
        encoded.dedup();
        let intervals = encoded
            .into_iter()
            .map(|lower| Interval { upper: prefix_successor(&lower), lower, point: true })
            .collect();
        IntervalSet { intervals }
    }

    /// The intervals, ascending and disjoint.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Holds nothing.
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Holds every value.
    pub fn is_all(&self) -> bool {
        matches!(self.intervals.as_slice(), [only] if only.is_all())
    }

    /// Consists of single values only.
    pub fn is_points(&self) -> bool {
        self.intervals.iter().all(|interval| interval.point)
    }

    /// Whether an encoding is in the set.
    pub fn contains(&self, encoded: &[u8]) -> bool {
        let at = self.intervals.partition_point(|interval| interval.lower.as_slice() <= encoded);
        at.checked_sub(1)
            .and_then(|at| self.intervals.get(at))
            .is_some_and(|interval| interval.upper.as_ref().is_none_or(|upper| encoded < upper.as_slice()))
    }

    /// The intervals that lie between the first and the last of another set: of thousands a single value needs no look at most.
    fn meeting(&self, other: &IntervalSet) -> &[Interval] {
        let (Some(first), Some(last)) = (other.intervals.first(), other.intervals.last()) else { return &[] };
        let from = self.intervals.partition_point(|interval| interval.ends_before(first));
        let to = self.intervals.partition_point(|interval| !last.ends_before(interval));
        self.intervals.get(from..to).unwrap_or_default()
    }

    /// Values in both sets.
    pub fn intersect(&self, other: &IntervalSet) -> IntervalSet {
        let mut intervals = Vec::new();
        let mut left = self.meeting(other).iter().peekable();
        let mut right = other.meeting(self).iter().peekable();
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            let both = a.intersect(b);
            if !both.is_empty() {
                intervals.push(both);
            }
            if a.ends_no_later(b) {
                left.next();
            } else {
                right.next();
            }
        }
        IntervalSet { intervals }
    }

    /// Values in all of the sets. Neighbours are taken together first, so that thousands of sets with a hole each take time
    /// proportional to their number, but for a logarithm.
    pub fn intersection_of(mut sets: Vec<IntervalSet>) -> IntervalSet {
        while sets.len() > 1 {
            let pairs = sets.chunks(2).map(|pair| match pair {
                [a, b] => a.intersect(b),
                rest => rest[0].clone(),
            });
            sets = pairs.collect();
        }
        sets.pop().unwrap_or_else(IntervalSet::all)
    }

    /// Values in one of the sets at least.
    pub fn union_of(sets: impl IntoIterator<Item = IntervalSet>) -> IntervalSet {
        let mut sorted: Vec<Interval> = sets.into_iter().flat_map(|set| set.intervals).collect();
        sorted.sort_by(|a, b| a.lower.cmp(&b.lower));
        let mut intervals: Vec<Interval> = Vec::with_capacity(sorted.len());
        for next in sorted {
            match intervals.last_mut() {
                Some(last)
                    if !last.ends_before(&next)
                        || (last.upper.as_ref() == Some(&next.lower) && !last.point && !next.point) =>
                {
                    let same = last.point && next.point;
                    if last.upper.is_some() && (next.upper.is_none() || next.upper > last.upper) {
                        last.upper.clone_from(&next.upper);
                    }
                    last.point = same;
                }
                _ => intervals.push(next),
            }
        }
        IntervalSet { intervals }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng, rngs::SmallRng};

    /// One-byte encodings: the model of a set is 256 booleans.
    fn model(set: &IntervalSet) -> Vec<bool> {
        (0..=255u8).map(|byte| set.contains(&[byte])).collect()
    }

    fn random_set(rng: &mut SmallRng) -> IntervalSet {
        let mut set = IntervalSet::empty();
        for _ in 0..rng.random_range(0..5) {
            let lower: u8 = rng.random();
            let piece = match rng.random_range(0..4) {
                0 => IntervalSet::point(vec![lower]),
                1 => IntervalSet::range(vec![lower], None),
                2 => IntervalSet::range(Vec::new(), Some(vec![lower])),
                _ => IntervalSet::range(vec![lower], Some(vec![rng.random()])),
            };
            set = IntervalSet::union_of([set, piece]);
        }
        set
    }

    fn check_shape(set: &IntervalSet) {
        for pair in set.intervals().windows(2) {
            assert!(pair[0].ends_before(&pair[1]), "{set:?}");
        }
        for interval in set.intervals() {
            assert!(!interval.is_empty());
            if interval.point {
                assert_eq!(interval.upper, prefix_successor(&interval.lower));
            }
        }
    }

    #[test]
    fn union_and_intersection_agree_with_a_set_of_bytes() {
        let seed = crate::testing::seed();
        let mut rng = SmallRng::seed_from_u64(seed);
        for _ in 0..2000 {
            let (a, b) = (random_set(&mut rng), random_set(&mut rng));
            let (union, both) = (IntervalSet::union_of([a.clone(), b.clone()]), a.intersect(&b));
            check_shape(&union);
            check_shape(&both);
            let (a, b) = (model(&a), model(&b));
            let or: Vec<bool> = a.iter().zip(&b).map(|(a, b)| *a || *b).collect();
            let and: Vec<bool> = a.iter().zip(&b).map(|(a, b)| *a && *b).collect();
            assert_eq!(model(&union), or, "seed {seed}");
            assert_eq!(model(&both), and, "seed {seed}");
        }
    }

    #[test]
    fn union_of_touching_points_keeps_them_apart() {
        let set = IntervalSet::union_of([IntervalSet::point(vec![1]), IntervalSet::point(vec![2])]);
        assert!(set.is_points());
        assert_eq!(set.intervals().len(), 2);
        assert_eq!(IntervalSet::points(vec![vec![2], vec![1], vec![2]]), set);
    }

    #[test]
    fn last_encoding_of_the_domain_is_a_point_without_upper_bound() {
        let set = IntervalSet::point(vec![0xff]);
        assert!(set.contains(&[0xff]) && !set.contains(&[0xfe]));
        assert!(set.intersect(&IntervalSet::all()).is_points());
    }
}
