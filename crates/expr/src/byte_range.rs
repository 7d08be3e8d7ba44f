//! Sets of byte strings as sorted, disjoint ranges.

use std::cmp::Ordering;
use std::ops::Bound;

/// A range of the bytes of one key part, as [`leafline_types::key::encode_part`] writes them, including the marker of
/// a nullable part and the inversion of a descending one. Bounds are in byte order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ByteRange {
    /// The lower bound.
    pub lower: Bound<Vec<u8>>,
    /// The upper bound.
    pub upper: Bound<Vec<u8>>,
}

impl ByteRange {
    /// Makes the range of one value.
    pub fn point(bytes: Vec<u8>) -> Self {
        ByteRange { lower: Bound::Included(bytes.clone()), upper: Bound::Included(bytes) }
    }

    /// Whether it is a single value.
    pub fn is_point(&self) -> bool {
        matches!((&self.lower, &self.upper), (Bound::Included(a), Bound::Included(b)) if a == b)
    }

    /// Whether `bytes` are in the range.
    #[inline]
    pub fn contains(&self, bytes: &[u8]) -> bool {
        let from = match &self.lower {
            Bound::Included(lower) => bytes >= lower.as_slice(),
            Bound::Excluded(lower) => bytes > lower.as_slice(),
            Bound::Unbounded => true,
        };
        from && !self.ends_before(bytes)
    }

    /// Whether the whole range is below `bytes`.
    #[inline]
    fn ends_before(&self, bytes: &[u8]) -> bool {
        match &self.upper {
            Bound::Included(upper) => bytes > upper.as_slice(),
            Bound::Excluded(upper) => bytes >= upper.as_slice(),
            Bound::Unbounded => false,
        }
    }

    fn is_empty(&self) -> bool {
        match (&self.lower, &self.upper) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(a), Bound::Included(b)) => a > b,
            (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => a >= b,
        }
    }
}

fn compare_lower(a: &Bound<Vec<u8>>, b: &Bound<Vec<u8>>) -> Ordering {
    match (a, b) {
        (Bound::Unbounded, Bound::Unbounded) => Ordering::Equal,
        (Bound::Unbounded, _) => Ordering::Less,
        (_, Bound::Unbounded) => Ordering::Greater,
        (Bound::Included(x) | Bound::Excluded(x), Bound::Included(y) | Bound::Excluded(y)) => {
            let excluded = |bound: &Bound<Vec<u8>>| matches!(bound, Bound::Excluded(_));
            x.cmp(y).then(excluded(a).cmp(&excluded(b)))
        }
    }
}

fn compare_upper(a: &Bound<Vec<u8>>, b: &Bound<Vec<u8>>) -> Ordering {
    match (a, b) {
        (Bound::Unbounded, Bound::Unbounded) => Ordering::Equal,
        (Bound::Unbounded, _) => Ordering::Greater,
        (_, Bound::Unbounded) => Ordering::Less,
        (Bound::Included(x) | Bound::Excluded(x), Bound::Included(y) | Bound::Excluded(y)) => {
            let included = |bound: &Bound<Vec<u8>>| matches!(bound, Bound::Included(_));
            x.cmp(y).then(included(a).cmp(&included(b)))
        }
    }
}

/// Whether a range that ends with `upper` overlaps or touches one that begins with `lower`.
fn meets(upper: &Bound<Vec<u8>>, lower: &Bound<Vec<u8>>) -> bool {
    match (upper, lower) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
        (Bound::Excluded(u), Bound::Excluded(l)) => l < u,
        (Bound::Included(u) | Bound::Excluded(u), Bound::Included(l) | Bound::Excluded(l)) => l <= u,
    }
}

/// Sorts the ranges and merges those that overlap or touch.
pub(super) fn union(mut ranges: Vec<ByteRange>) -> Vec<ByteRange> {
    ranges.retain(|r| !r.is_empty());
    ranges.sort_by(|a, b| compare_lower(&a.lower, &b.lower));
    let mut merged: Vec<ByteRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if meets(&last.upper, &range.lower) => {
                if compare_upper(&range.upper, &last.upper).is_gt() {
                    last.upper = range.upper;
                }
            }
            _ => merged.push(range),
        }
    }
    merged
}

/// Intersects two lists of sorted, disjoint ranges.
pub(super) fn intersection(a: &[ByteRange], b: &[ByteRange]) -> Vec<ByteRange> {
    let (mut i, mut j) = (0, 0);
    let mut common = Vec::new();
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let lower = if compare_lower(&x.lower, &y.lower).is_ge() { &x.lower } else { &y.lower };
        let x_ends_first = compare_upper(&x.upper, &y.upper).is_le();
        let upper = if x_ends_first { &x.upper } else { &y.upper };
        let range = ByteRange { lower: lower.clone(), upper: upper.clone() };
        if !range.is_empty() {
            common.push(range);
        }
        if x_ends_first { i += 1 } else { j += 1 }
    }
    common
}

/// Returns the rest of `within` without the sorted, disjoint ranges, which are all inside it.
pub(super) fn complement(ranges: &[ByteRange], within: ByteRange) -> Vec<ByteRange> {
    let flipped = |bound: &Bound<Vec<u8>>| match bound {
        Bound::Included(bytes) => Some(Bound::Excluded(bytes.clone())),
        Bound::Excluded(bytes) => Some(Bound::Included(bytes.clone())),
        Bound::Unbounded => None,
    };
    let mut gaps = Vec::with_capacity(ranges.len() + 1);
    let mut lower = Some(within.lower);
    for range in ranges {
        if let Some((lower, upper)) = lower.take().zip(flipped(&range.lower)) {
            gaps.push(ByteRange { lower, upper });
        }
        lower = flipped(&range.upper);
    }
    if let Some(lower) = lower {
        gaps.push(ByteRange { lower, upper: within.upper });
    }
    union(gaps)
}

/// Whether one of the sorted, disjoint ranges contains `bytes`.
#[inline]
pub(super) fn contains(ranges: &[ByteRange], bytes: &[u8]) -> bool {
    match ranges {
        [only] => only.contains(bytes),
        [a, b] => a.contains(bytes) || b.contains(bytes),
        many => {
            let next = many.partition_point(|r| r.ends_before(bytes));
            many.get(next).is_some_and(|r| r.contains(bytes))
        }
    }
}
