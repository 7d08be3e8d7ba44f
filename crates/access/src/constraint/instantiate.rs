//! Putting values to the bounds of a constraint.

use super::diagram::{Combiner, Diagram, Link, TooLarge, chain};
use super::interval::IntervalSet;
use super::part_set::PartSet;
use super::ranges::{KeyRange, expand, ranges};
use super::{ConstrainedPart, Constraint};
use leafline_expr::domain::{
    ByteRange, ColumnRange, column_range, equal_key, like_range, non_null_range, null_range,
};
use leafline_expr::{CompareDomain, CompareOp, Expr, LikePattern};
use leafline_types::Value;
use leafline_types::key::{KeyPart, prefix_successor};
use std::borrow::Cow;
use std::ops::Bound;

/// A constraint with values for its bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// Where matching entries lie, and what they pass there: ascending, disjoint.
    pub ranges: Vec<KeyRange>,
    /// No entry of the ranges that passes their tests is rejected by the conjuncts that the constraint
    /// [implies](super::Built::implied). Of others nothing is said.
    pub exact: bool,
}

impl Bounds {
    /// The whole index.
    pub fn all() -> Bounds {
        Bounds { ranges: vec![KeyRange::all()], exact: true }
    }

    /// Nothing: the conditions contradict each other.
    pub fn none() -> Bounds {
        Bounds { ranges: Vec::new(), exact: true }
    }

    /// Whether entries of the ranges are tested by a key filter.
    pub fn has_key_filter(&self) -> bool {
        self.ranges.iter().any(|range| !range.key_filter.accepts_all())
    }

    /// The ranges alone.
    #[must_use]
    pub fn without_key_filter(mut self) -> Bounds {
        for range in &mut self.ranges {
            range.key_filter = Link::Accept;
        }
        self
    }
}

/// The sets that do not change with the outer row.
#[derive(Clone, Debug, Default)]
pub struct FixedSets {
    /// The sets of those leading parts whose bounds are the same for all.
    parts: Vec<Option<Values>>,
    /// The key filter behind them, if none of it varies.
    tests: Option<Tests>,
    /// The diagram of conditions on several parts together, if none of it varies.
    joint: Option<Result<Tests, TooLarge>>,
}

/// A diagram and whether it is exact.
type Tests = (Diagram, bool);

impl Constraint {
    /// The key ranges and tests for these values of the bounds, in the order of [`values`](Self::values).
    pub fn instantiate(&self, values: &[Value]) -> Bounds {
        self.instantiate_with(&FixedSets::default(), values)
    }

    /// The sets that do not change while only the bounds for which `is_fixed` is false do.
    pub fn fix(&self, values: &[Value], is_fixed: &dyn Fn(usize) -> bool) -> FixedSets {
        let part = |part: &ConstrainedPart| {
            part.set.all_slots(is_fixed).then(|| set_values(&part.key, &part.set, values))
        };
        let parts = self.parts.iter().map(part).collect();
        let fixed_tests = self.tests.iter().all(|(_, part)| part.set.all_slots(is_fixed));
        let fixed_joint = self.joint.iter().all(|joint| joint.all_slots(is_fixed));
        FixedSets {
            parts,
            tests: fixed_tests.then(|| self.part_tests(values)),
            joint: fixed_joint.then(|| self.joint_tests(values)),
        }
    }

    /// As [`instantiate`](Self::instantiate), with what was [fixed](Self::fix) before.
    pub fn instantiate_with(&self, fixed: &FixedSets, values: &[Value]) -> Bounds {
        let mut exact = true;
        let mut sets = Vec::with_capacity(self.parts.len());
        for (position, part) in self.parts.iter().enumerate() {
            let found = match fixed.parts.get(position) {
                Some(Some(known)) => Cow::Borrowed(known),
                _ => Cow::Owned(set_values(&part.key, &part.set, values)),
            };
            if found.set.is_empty() {
                return Bounds::none();
            }
            exact &= found.exact;
            sets.push(found);
        }
        let tests = match &fixed.tests {
            Some(known) => Cow::Borrowed(known),
            None => Cow::Owned(self.part_tests(values)),
        };
        let (Some(behind), tests_exact) = tests.as_ref() else { return Bounds::none() };
        exact &= tests_exact;
        let sets: Vec<&IntervalSet> = sets.iter().map(|found| &found.set).collect();
        let together =
            if self.joint.is_empty() { None } else { Some(self.together(&sets, behind, fixed, values)) };
        let ranges = match together {
            Some(Ok((diagram, joint_exact))) => {
                exact &= joint_exact;
                ranges(&diagram, self.key_parts)
            }
            // Too much is said about several parts together: each by itself says some of it.
            Some(Err(TooLarge)) => {
                exact = false;
                expand(&sets, behind)
            }
            None => expand(&sets, behind),
        };
        let mut bounds = Bounds { ranges, exact };
        if self.ranges_only && bounds.has_key_filter() {
            bounds = bounds.without_key_filter();
            bounds.exact = false;
        }
        bounds
    }

    /// The diagram of the sets of the parts together with the conditions on several of them.
    fn together(
        &self,
        sets: &[&IntervalSet],
        behind: &Link,
        fixed: &FixedSets,
        values: &[Value],
    ) -> Result<Tests, TooLarge> {
        let (joint, exact) = match &fixed.joint {
            Some(known) => known.as_ref().map(Cow::Borrowed).map_err(|_| TooLarge)?,
            None => Cow::Owned(self.joint_tests(values)?),
        }
        .into_owned();
        let own = chain(sets.iter().copied().enumerate(), behind.clone());
        let (Some(own), Some(joint)) = (own, joint) else { return Ok((None, true)) };
        Ok((Combiner::default().and(&own, &joint)?, exact))
    }

    fn joint_tests(&self, values: &[Value]) -> Result<Tests, TooLarge> {
        Combiner::default().all(&self.joint, |joint, combiner| joint.diagram(values, combiner))
    }

    /// The one key of all leading parts for these values of the bounds, in `key`: short for [`instantiate`](Self::instantiate) where
    /// that comes out as one range of keys that begin so, exactly. False if no entry matches; `None` if it is not so simple.
    pub fn equal_key(&self, values: &[Value], key: &mut Vec<u8>) -> Option<bool> {
        key.clear();
        if !(self.joint.is_empty() && self.tests.is_empty()) {
            return None;
        }
        for part in &self.parts {
            let PartSet::Compare { op: CompareOp::Eq, slot, domain } = part.set else { return None };
            if part.key.prefix.is_some() {
                return None;
            }
            match equal_key(&part.key, bound(values, slot), domain, key) {
                Some(true) => {}
                none => return none,
            }
        }
        Some(true)
    }

    /// The key filter behind the leading parts.
    fn part_tests(&self, values: &[Value]) -> Tests {
        let mut exact = true;
        let mut sets = Vec::with_capacity(self.tests.len());
        for (position, part) in &self.tests {
            let found = set_values(&part.key, &part.set, values);
            exact &= found.exact;
            sets.push((*position, found.set));
        }
        (chain(sets.iter().map(|(position, set)| (*position, set)), Link::Accept), exact)
    }
}

/// A set with the knowledge whether it holds only what its conditions admit.
#[derive(Clone, Debug)]
pub(super) struct Values {
    pub(super) set: IntervalSet,
    pub(super) exact: bool,
}

impl Values {
    fn exact(set: IntervalSet) -> Values {
        Values { set, exact: true }
    }

    fn superset(set: IntervalSet) -> Values {
        Values { set, exact: false }
    }
}

pub(super) fn set_values(key: &KeyPart, set: &PartSet, values: &[Value]) -> Values {
    match set {
        PartSet::All => Values::exact(IntervalSet::all()),
        PartSet::NotNull => Values::exact(not_null(key)),
        PartSet::Null if key.nullable => Values::exact(interval(&null_range(key))),
        PartSet::Null => Values::exact(IntervalSet::empty()),
        PartSet::Guard { slot, truth } => Values::exact(if admits(bound(values, *slot), *truth) {
            IntervalSet::all()
        } else {
            IntervalSet::empty()
        }),
        PartSet::Compare { op, slot, domain } => compared(key, *op, bound(values, *slot), *domain),
        PartSet::OneOf { list, domain } => listed(key, list.iter().filter_map(Expr::as_literal), *domain),
        PartSet::Known(set) => Values::exact(IntervalSet::clone(set)),
        PartSet::In { slots, domain } => listed(key, slots.iter().map(|slot| bound(values, *slot)), *domain),
        PartSet::Like { slot, escape, decides } => {
            let found = like(key, bound(values, *slot), *escape);
            Values { exact: found.exact || !decides, ..found }
        }
        PartSet::And(sets) => {
            let mut exact = true;
            // Of thousands of values that are known, those that the others leave are looked up.
            let (known, others): (Vec<_>, Vec<_>) =
                sets.iter().partition(|set| matches!(set, PartSet::Known(_)));
            let found = others.into_iter().map(|set| {
                let found = set_values(key, set, values);
                exact &= found.exact;
                found.set
            });
            let mut set = IntervalSet::intersection_of(found.collect());
            for known in known {
                if let PartSet::Known(known) = known {
                    set = set.intersect(known);
                }
            }
            Values { exact: exact || set.is_empty(), set }
        }
        PartSet::Or(sets) => {
            let mut exact = true;
            let found = sets.iter().map(|set| {
                let found = set_values(key, set, values);
                exact &= found.exact;
                found.set
            });
            let set = IntervalSet::union_of(found);
            Values { set, exact }
        }
    }
}

fn bound(values: &[Value], slot: usize) -> &Value {
    &values[slot]
}

/// Whether a condition's value is the wanted one. NULL is neither.
fn admits(value: &Value, truth: bool) -> bool {
    match value {
        Value::Int(value) => (*value != 0) == truth,
        Value::UInt(value) => (*value != 0) == truth,
        Value::Double(value) => (*value != 0.0) == truth,
        Value::Decimal(value) => (value.to_f64() != 0.0) == truth,
        // Conditions are integers; what is not is left to the evaluator, which sees the conjunct again.
        Value::Null => false,
        _ => true,
    }
}

fn compared(key: &KeyPart, op: CompareOp, value: &Value, domain: CompareDomain) -> Values {
    match column_range(key, op, value, domain) {
        ColumnRange::Empty => Values::exact(IntervalSet::empty()),
        ColumnRange::AllNonNull => Values::exact(not_null(key)),
        ColumnRange::Ranges(ranges) => Values::exact(IntervalSet::union_of(ranges.iter().map(interval))),
        ColumnRange::NotConvertible => Values::superset(IntervalSet::all()),
    }
}

fn listed<'v>(key: &KeyPart, list: impl Iterator<Item = &'v Value>, domain: CompareDomain) -> Values {
    let mut points = Vec::new();
    let mut others = Vec::new();
    for value in list {
        match column_range(key, CompareOp::Eq, value, domain) {
            ColumnRange::Empty => {}
            ColumnRange::Ranges(ranges) => {
                for range in &ranges {
                    match point(range) {
                        Some(encoded) => points.push(encoded.to_vec()),
                        None => others.push(interval(range)),
                    }
                }
            }
            ColumnRange::AllNonNull => return Values::exact(not_null(key)),
            ColumnRange::NotConvertible => return Values::superset(IntervalSet::all()),
        }
    }
    let points = IntervalSet::points(points);
    if others.is_empty() {
        return Values::exact(points);
    }
    others.push(points);
    Values::exact(IntervalSet::union_of(others))
}

/// The single encoding of a range that is one.
fn point(range: &ByteRange) -> Option<&[u8]> {
    match (&range.lower, &range.upper) {
        (Bound::Included(lower), Bound::Included(upper)) if lower == upper => Some(lower),
        _ => None,
    }
}

/// A byte range as a half-open interval: what lies beyond an encoding begins at its successor.
fn interval(range: &ByteRange) -> IntervalSet {
    if let Some(encoded) = point(range) {
        return IntervalSet::point(encoded.to_vec());
    }
    let lower = match &range.lower {
        Bound::Unbounded => Vec::new(),
        Bound::Included(lower) => lower.clone(),
        Bound::Excluded(lower) => match prefix_successor(lower) {
            Some(successor) => successor,
            None => return IntervalSet::empty(),
        },
    };
    let upper = match &range.upper {
        Bound::Unbounded => None,
        Bound::Excluded(upper) => Some(upper.clone()),
        Bound::Included(upper) => prefix_successor(upper),
    };
    IntervalSet::range(lower, upper)
}

/// Every value of the part but NULL.
fn not_null(key: &KeyPart) -> IntervalSet {
    if key.nullable { interval(&non_null_range(key)) } else { IntervalSet::all() }
}

/// The interval of the strings that can match a LIKE pattern.
fn like(key: &KeyPart, pattern: &Value, escape: Option<char>) -> Values {
    if pattern.is_null() {
        return Values::exact(IntervalSet::empty());
    }
    let found = pattern
        .as_bytes()
        .and_then(|bytes| like_range(key, &LikePattern::new(bytes, escape, key.collation), key.collation));
    match found {
        Some((range, exact)) => Values { set: interval(&range), exact },
        None => Values::superset(not_null(key)),
    }
}
