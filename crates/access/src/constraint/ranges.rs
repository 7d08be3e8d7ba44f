//! Key ranges: where the keys are that a diagram accepts.
//!
//! The points of a part multiply with what is behind them; the first real interval ends that, and so does the number of ranges. What
//! then is left to be asked of a key in the range is the range's rest.

use super::diagram::{Diagram, Link, Node, chain};
use super::interval::{Interval, IntervalSet};
use super::leap::KeyStart;
use crate::params::MAX_KEY_RANGES;
use leafline_types::key::prefix_successor;
use std::collections::HashMap;
use std::sync::Arc;

/// Keys from `lower` (inclusive) to `upper` (exclusive).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// First key inside; empty is the start of the index.
    pub lower: Vec<u8>,
    /// First key beyond; `None` is the end of the index.
    pub upper: Option<Vec<u8>>,
    /// How many leading parts have one value throughout the range, and the bytes of these.
    pub equal: KeyStart,
    /// The key filter: what keys inside have to be from the part behind the equal ones on.
    pub key_filter: Link,
}

impl KeyRange {
    /// The whole index.
    pub fn all() -> KeyRange {
        KeyRange { lower: Vec::new(), upper: None, equal: KeyStart::default(), key_filter: Link::Accept }
    }

    /// The keys that begin with these bytes, which are whole parts.
    pub(crate) fn beginning(prefix: &[u8], parts: usize, key_filter: Link) -> KeyRange {
        let equal = KeyStart { parts, bytes: prefix.len() };
        KeyRange { lower: prefix.to_vec(), upper: prefix_successor(prefix), equal, key_filter }
    }

    /// The keys that begin with `prefix` and go on with a value of an interval of the part behind it.
    fn within(prefix: &[u8], parts: usize, interval: &Interval, key_filter: Link) -> KeyRange {
        let upper = match &interval.upper {
            Some(upper) => Some(joined(prefix, upper)),
            None => prefix_successor(prefix),
        };
        let equal = KeyStart { parts, bytes: prefix.len() };
        KeyRange { lower: joined(prefix, &interval.lower), upper, equal, key_filter }
    }

    /// Whether it has all keys that begin with these parts.
    pub(crate) fn is_of_equal(&self, parts: usize) -> bool {
        self.equal.parts == parts && self.equal.bytes == self.lower.len() && self.key_filter.accepts_all()
    }

    /// Whether a key is inside.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.lower.as_slice() <= key && self.upper.as_ref().is_none_or(|upper| key < upper.as_slice())
    }
}

/// The ranges of the sets of the leading parts, none of them empty, with `behind` for the parts behind these: ascending and disjoint.
pub(super) fn expand(sets: &[&IntervalSet], behind: &Link) -> Vec<KeyRange> {
    let mut depth = 0;
    let mut product = 1usize;
    for set in sets {
        product = product.saturating_mul(set.intervals().len());
        if depth > 0 && product > MAX_KEY_RANGES {
            break;
        }
        depth += 1;
    }
    let mut expansion =
        Expansion { sets, depth, behind, rests: vec![None; sets.len() + 1], ranges: Vec::new() };
    expansion.descend(&mut Vec::new(), 0);
    expansion.ranges
}

struct Expansion<'a> {
    sets: &'a [&'a IntervalSet],
    /// The number of parts that are multiplied.
    depth: usize,
    behind: &'a Link,
    /// The key filter from each part on, where it was needed.
    rests: Vec<Option<Link>>,
    ranges: Vec<KeyRange>,
}

impl Expansion<'_> {
    fn descend(&mut self, prefix: &mut Vec<u8>, part: usize) {
        let Some(set) = self.sets.get(part).filter(|_| part < self.depth) else {
            let rest = self.rest(part);
            self.ranges.push(KeyRange::beginning(prefix, part, rest));
            return;
        };
        for interval in set.intervals() {
            if interval.point {
                let length = prefix.len();
                prefix.extend_from_slice(&interval.lower);
                self.descend(prefix, part + 1);
                prefix.truncate(length);
            } else {
                let rest = self.rest(part + 1);
                self.ranges.push(KeyRange::within(prefix, part, interval, rest));
            }
        }
    }

    fn rest(&mut self, part: usize) -> Link {
        let Some(known) = self.rests.get_mut(part) else { return self.behind.clone() };
        let sets = self.sets.get(part..).unwrap_or_default().iter().enumerate();
        let made = || chain(sets.map(|(at, set)| (part + at, *set)), self.behind.clone()).unwrap_or_default();
        known.get_or_insert_with(made).clone()
    }
}

/// The ranges of a diagram: ascending and disjoint.
pub(super) fn ranges(diagram: &Diagram, parts: usize) -> Vec<KeyRange> {
    let Some(link) = diagram else { return Vec::new() };
    let mut depth = parts.max(1);
    while depth > 1 && Count::default().of(link, 0, depth) > MAX_KEY_RANGES {
        depth -= 1;
    }
    let mut found = Vec::new();
    collect(link, depth, &mut Vec::new(), 0, &mut found);
    found
}

/// The node about a part, if what is asked from this part on begins with it.
fn node_of(link: &Link, part: usize, depth: usize) -> Option<&Arc<Node>> {
    match link {
        Link::To(node) if node.part == part && part < depth => Some(node),
        _ => None,
    }
}

/// Counts ranges, each node once.
#[derive(Default)]
struct Count {
    known: HashMap<*const Node, usize>,
}

impl Count {
    fn of(&mut self, link: &Link, part: usize, depth: usize) -> usize {
        let Some(node) = node_of(link, part, depth) else { return 1 };
        if let Some(known) = self.known.get(&Arc::as_ptr(node)) {
            return *known;
        }
        let mut sum = 0usize;
        for edge in &node.edges {
            let ranges = if edge.interval.point { self.of(&edge.next, part + 1, depth) } else { 1 };
            sum = sum.saturating_add(ranges);
        }
        self.known.insert(Arc::as_ptr(node), sum);
        sum
    }
}

fn collect(link: &Link, depth: usize, prefix: &mut Vec<u8>, part: usize, found: &mut Vec<KeyRange>) {
    let Some(node) = node_of(link, part, depth) else {
        found.push(KeyRange::beginning(prefix, part, link.clone()));
        return;
    };
    for edge in &node.edges {
        if edge.interval.point {
            let length = prefix.len();
            prefix.extend_from_slice(&edge.interval.lower);
            collect(&edge.next, depth, prefix, part + 1, found);
            prefix.truncate(length);
        } else {
            found.push(KeyRange::within(prefix, part, &edge.interval, edge.next.clone()));
        }
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
        let ranges = expand(&sets.each_ref(), &Link::Accept);
        let bounds: Vec<_> = ranges.iter().map(|r| (r.lower.clone(), r.upper.clone())).collect();
        assert_eq!(bounds, [(vec![1, 5], Some(vec![1, 9])), (vec![3, 5], Some(vec![3, 9]))]);
        assert!(ranges.iter().all(|range| range.key_filter.accepts_all()));
    }

    #[test]
    fn range_before_a_condition_leaves_it_to_be_tested() {
        let sets = [IntervalSet::range(vec![5], None), points(&[1])];
        let ranges = expand(&sets.each_ref(), &Link::Accept);
        let rest = chain([(1, &sets[1])].into_iter(), Link::Accept).expect("a set of something");
        assert_eq!(
            ranges,
            [KeyRange { lower: vec![5], upper: None, equal: KeyStart::default(), key_filter: rest }]
        );
    }

    #[test]
    fn mixed_points_and_ranges_stay_sorted() {
        let first =
            IntervalSet::union_of([points(&[1]), IntervalSet::range(vec![4], Some(vec![6])), points(&[9])]);
        let ranges = expand(&[&first, &points(&[2, 7])], &Link::Accept);
        assert_eq!(ranges.len(), 5);
        for pair in ranges.windows(2) {
            assert!(pair[0].upper.as_ref().is_some_and(|upper| *upper <= pair[1].lower));
        }
        let found = |key: &[u8]| ranges.iter().any(|range| range.contains(key));
        assert!(found(&[1, 2, 99]) && found(&[5, 0]) && !found(&[1, 3]));
    }

    #[test]
    fn expansion_beyond_the_cap_leaves_the_last_parts_to_be_tested() {
        let many = points(&(0..=255).collect::<Vec<u8>>());
        let found = expand(&[&many, &many, &many], &Link::Accept);
        assert_eq!(found.len(), 256);
        let diagram = chain([&many, &many, &many].into_iter().enumerate(), Link::Accept);
        assert_eq!(ranges(&diagram, 3), found);
        assert!(found.iter().all(|range| !range.key_filter.accepts_all() && range.equal.bytes == 1));
    }
}
