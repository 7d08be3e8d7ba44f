//! ORs that say something about several key parts together: `(a, b) IN ((1, 2), (3, 4))`, `a = 1 AND b > 5 OR a = 2 AND b < 3`.
//!
//! Part by part such a condition says less than it does: every `a` with every `b`. So each branch of it, together with the other
//! conjuncts, is a constraint of its own, and the ranges are those of all branches, in order and merged where they meet. There is one
//! such OR in a constraint, the first; of others the parts keep what they say of each. The tests of the constraint
//! hold for all branches.
//!
//! Each branch bounds what the leading parts of the whole constraint bound, or more: what that makes superfluous is so here, too.

use super::instantiate::{Values, set_values};
use super::interval::IntervalSet;
use super::ranges::{KeyRange, MAX_KEY_RANGES, expand};
use super::{Collected, ConstrainedPart, Constraint, Implied, IndexKeyPart, extract};
use leafline_types::Value;
use leafline_types::expr::{Expr, ExprKind};
use std::sync::Arc;

/// Branches up to which ranges are made of them for each outer row.
const MAX_CORRELATED: usize = 64;

/// The leading parts of each branch.
pub(super) type Alternatives = Arc<[Vec<ConstrainedPart>]>;

/// The branches of the first of `conjuncts` that says something about several of the leading parts, if there is one. It becomes implied
/// where the ranges of all branches say all of it.
pub(super) fn alternatives(
    parts: &[IndexKeyPart],
    conjuncts: &[&Expr],
    table_column: &dyn Fn(usize) -> Option<usize>,
    slots: &mut extract::Slots,
    collected: &mut Collected,
) -> Alternatives {
    let leading = parts.get(..collected.parts.len()).unwrap_or_default();
    let is_several = |(conjunct, implied): (&&Expr, &Implied)| {
        *implied == Implied::No && says_several(conjunct, leading, table_column, slots)
    };
    let Some(chosen) = conjuncts.iter().zip(&collected.implied).position(is_several) else {
        return Alternatives::default();
    };
    let Some(ExprKind::Or(branches)) = conjuncts.get(chosen).map(|conjunct| &conjunct.kind) else {
        return Alternatives::default();
    };
    let others: Vec<&Expr> =
        conjuncts.iter().enumerate().filter(|(at, _)| *at != chosen).map(|(_, conjunct)| *conjunct).collect();
    let mut found = Vec::with_capacity(branches.len());
    let mut exact = true;
    for branch in branches {
        let mut all: Vec<&Expr> = match &branch.kind {
            ExprKind::And(conjuncts) => conjuncts.iter().collect(),
            _ => vec![branch],
        };
        let own = all.len();
        all.extend(&others);
        let of_branch = Collected::new(parts, &all, table_column, slots);
        exact &= of_branch.implied.iter().take(own).all(|implied| *implied == Implied::ByRanges);
        found.push(of_branch.parts);
    }
    let varies = |part: &ConstrainedPart| !part.set.all_slots(&|slot| !slots.varies(slot));
    if found.len() > MAX_CORRELATED && found.iter().flatten().any(varies) {
        return Alternatives::default();
    }
    if let Some(implied) = collected.implied.get_mut(chosen).filter(|_| exact) {
        *implied = Implied::ByRanges;
    }
    found.into()
}

/// Whether a condition is an OR that bounds two key parts at least.
fn says_several(
    conjunct: &Expr,
    leading: &[IndexKeyPart],
    table_column: &dyn Fn(usize) -> Option<usize>,
    slots: &mut extract::Slots,
) -> bool {
    if !matches!(&conjunct.kind, ExprKind::Or(branches) if (2..=MAX_KEY_RANGES).contains(&branches.len())) {
        return false;
    }
    let bounds = |part: &&IndexKeyPart| {
        let mut extractor = extract::Extractor::new(part.column, &part.key, table_column, slots);
        extractor.conjunct(conjunct).set.bounds_the_part()
    };
    leading.iter().filter(bounds).take(2).count() == 2
}

impl Constraint {
    /// The ranges of all branches, and whether they are exact. `None` if there are no branches, or more ranges than are kept.
    pub(super) fn alternative_ranges(&self, values: &[Value]) -> Option<(Vec<KeyRange>, bool)> {
        if self.alternatives.is_empty() {
            return None;
        }
        let mut ranges = Vec::with_capacity(self.alternatives.len());
        let mut exact = true;
        for parts in self.alternatives.iter() {
            let found = parts.iter().map(|part| set_values(&part.key, &part.set, values));
            let found: Vec<Values> = found.take_while(|found| !found.set.is_empty()).collect();
            if found.len() < parts.len() {
                continue;
            }
            let sets: Vec<&IntervalSet> = found.iter().map(|found| &found.set).collect();
            let (of_branch, uncut) = expand(&sets);
            exact &= uncut && found.iter().all(|found| found.exact);
            ranges.extend(of_branch);
            if ranges.len() > MAX_KEY_RANGES {
                return None;
            }
        }
        Some((merged(ranges), exact))
    }
}

/// Ranges in any order as ascending, disjoint ones.
fn merged(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.sort_by(|a, b| a.lower.cmp(&b.lower));
    let mut merged: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for next in ranges {
        match merged.last_mut() {
            Some(last) if last.upper.as_ref().is_none_or(|upper| next.lower < *upper) => {
                if last.upper.is_some() && (next.upper.is_none() || next.upper > last.upper) {
                    last.upper = next.upper;
                }
                // They overlap, so that they have the values of the shorter prefix in common.
                last.equal_parts = last.equal_parts.min(next.equal_parts);
            }
            _ => merged.push(next),
        }
    }
    merged
}
