//! The constraint that conditions put on an index, and that drives a scan.
//!
//! [`Constraint::build`] takes the conjuncts of a WHERE clause and the parts of an index and keeps, per part, the set of values
//! for which the conjuncts can be true, and the ORs that say more about several parts together (`formula`), as a template
//! whose bounds are expressions over constants, parameters and columns of tables read before. [`Constraint::instantiate`]
//! puts values to the bounds, once per execution or once per outer row. Then it is a decision diagram over the parts
//! (`diagram`), whose leading points and intervals give sorted, disjoint [`KeyRange`]s; what is asked of the parts behind is the
//! [key filter](KeyRange::key_filter) of each range: a test of the bytes of an entry, and where it fails, the key to go on from (`leap`).
//!
//! Ranges and tests pass every entry that satisfies the conjuncts (never fewer). [`Bounds::exact`] says when they pass no
//! other: then the conjuncts listed by [`Built::implied`] need not be evaluated again. A conjunct is a condition to be
//! *true*: NULL never qualifies for a comparison, and NOT is pushed to the leaves under three-valued logic
//! before anything is complemented.

mod diagram;
mod extract;
mod formula;
mod instantiate;
mod interval;
mod leap;
mod part_set;
mod ranges;
#[cfg(test)]
mod tests;

pub use diagram::{Link, Node};
pub use instantiate::{Bounds, FixedSets};
pub use interval::{Interval, IntervalSet};
pub use leap::KeyStart;
pub use part_set::PartSet;
pub use ranges::KeyRange;

use crate::params::MAX_JOINT_ORS;
use formula::{Joint, Reader};
use leafline_expr::{Expr, ExprKind};
use leafline_types::key::KeyPart;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A key part as far as constraints care: which column it holds and how it is encoded.
#[derive(Clone, Debug)]
pub struct IndexKeyPart {
    /// Ordinal of the column in its table.
    pub column: usize,
    /// Encoding of the part.
    pub key: KeyPart,
}

/// The constraint on the parts of an index, with the bounds as expressions.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// The leading parts, which give the ranges.
    parts: Vec<ConstrainedPart>,
    /// Position and set of parts behind them, which are tested on each entry.
    tests: Vec<(usize, ConstrainedPart)>,
    /// The conditions on several parts together.
    joint: Arc<[Joint]>,
    /// How many parts a key has.
    key_parts: usize,
    /// Entries are not tested.
    ranges_only: bool,
    values: Vec<Expr>,
}

#[derive(Clone, Debug)]
struct ConstrainedPart {
    key: KeyPart,
    set: PartSet,
}

/// A constraint and what it makes superfluous.
#[derive(Clone, Debug)]
pub struct Built {
    /// The constraint; without parts if the conjuncts say nothing about the leading part.
    pub constraint: Constraint,
    /// Per conjunct: what makes it superfluous where the bounds come out exact.
    pub implied: Vec<Implied>,
}

/// The part of a constraint that implies a conjunct, if the bounds are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Implied {
    /// Nothing: it has to be evaluated.
    No,
    /// An entry lying in the ranges.
    ByRanges,
    /// An entry passing the tests.
    ByTests,
    /// An entry lying in the ranges does so but for few: they are of the beginnings of strings. It has to be evaluated.
    Nearly,
}

/// A constraint, and which conjuncts it implies.
struct Collected {
    parts: Vec<ConstrainedPart>,
    tests: Vec<(usize, ConstrainedPart)>,
    implied: Vec<Implied>,
}

impl Collected {
    fn new(
        parts: &[IndexKeyPart],
        conjuncts: &[&Expr],
        table_column: &dyn Fn(usize) -> Option<usize>,
        slots: &mut extract::Slots,
    ) -> Collected {
        let implied = vec![Implied::No; conjuncts.len()];
        let mut collected = Collected { parts: Vec::new(), tests: Vec::new(), implied };
        let mut leading = true;
        for (position, part) in parts.iter().enumerate() {
            let mut extractor = extract::Extractor::new(part.column, &part.key, table_column, slots);
            let mut sets = Vec::new();
            for (conjunct, implied) in conjuncts.iter().zip(&mut collected.implied) {
                let found = extractor.conjunct(conjunct);
                // A guard bounds no part by itself, but said once it can empty the whole scan.
                if found.set.bounds_the_part() || (position == 0 && found.set != PartSet::All) {
                    if found.exact && found.set.bounds_the_part() && *implied == Implied::No {
                        *implied = match (part.key.prefix.is_some(), leading) {
                            (false, true) => Implied::ByRanges,
                            (false, false) => Implied::ByTests,
                            (true, true) => Implied::Nearly,
                            (true, false) => Implied::No,
                        };
                    }
                    sets.push(found.set);
                }
            }
            let set = PartSet::and(sets);
            if !set.bounds_the_part() {
                leading = false;
                continue;
            }
            let points = set.is_points();
            let constrained = ConstrainedPart { key: part.key.clone(), set };
            if leading {
                collected.parts.push(constrained);
                leading = points;
            } else {
                collected.tests.push((position, constrained));
            }
        }
        collected
    }
}

impl Constraint {
    /// The constraint that admits every entry of an index.
    pub fn unbounded() -> Constraint {
        Constraint {
            parts: Vec::new(),
            tests: Vec::new(),
            joint: Arc::default(),
            key_parts: 0,
            ranges_only: false,
            values: Vec::new(),
        }
    }

    /// Returns the constraint that `conjuncts` put on an index.
    ///
    /// `table_column` gives the ordinal of a column of the table that is scanned and `None` for the columns of others,
    /// which are taken for known when the scan starts.
    pub fn build(
        parts: &[IndexKeyPart],
        conjuncts: &[Expr],
        table_column: &dyn Fn(usize) -> Option<usize>,
    ) -> Built {
        let mut slots = extract::Slots::default();
        let conjuncts: Vec<&Expr> = conjuncts.iter().collect();
        let mut collected = Collected::new(parts, &conjuncts, table_column, &mut slots);
        let mut joint = Vec::new();
        let leading = collected.parts.len();
        for (conjunct, implied) in conjuncts.iter().zip(&mut collected.implied) {
            let mut reader = Reader { parts, table_column, slots: &mut slots };
            if *implied == Implied::No
                && joint.len() < MAX_JOINT_ORS
                && let Some((found, by)) = reader.joint(conjunct, leading)
            {
                joint.push(found);
                *implied = by;
            }
        }
        let key_parts = parts.len();
        let Collected { parts, tests, implied } = collected;
        let (joint, values) = (joint.into(), slots.into_values());
        Built {
            constraint: Constraint { parts, tests, joint, key_parts, ranges_only: false, values },
            implied,
        }
    }

    /// Whether it says nothing about the leading part, so that the whole index is to be read, but for what is leapt over.
    pub fn is_unbounded(&self) -> bool {
        self.parts.is_empty()
    }

    /// How many leading parts of the index are constrained.
    pub fn used_parts(&self) -> usize {
        self.parts.len()
    }

    /// Whether it depends on columns of tables read before.
    pub fn is_correlated(&self) -> bool {
        self.values.iter().any(|value| !value.columns().is_empty())
    }

    /// Whether entries are tested beyond lying in the ranges: whether there is a key filter.
    pub fn has_key_filter(&self) -> bool {
        !self.ranges_only && (!self.tests.is_empty() || self.joint.iter().any(|joint| !joint.by_ranges))
    }

    /// Returns the constraint with a set, known only now, for the part at `position`: a leading part makes the ranges narrower,
    /// others are tested.
    #[must_use]
    pub fn narrowed(mut self, position: usize, key: &KeyPart, set: IntervalSet) -> Constraint {
        let known = PartSet::Known(Arc::new(set));
        let leads = position == self.parts.len() && self.parts.iter().all(|part| part.set.is_points());
        let tested = self.tests.iter().position(|(at, _)| *at == position);
        if let Some(part) = self.parts.get_mut(position) {
            part.set = PartSet::and(vec![part.set.clone(), known]);
        } else if leads {
            let before = tested.map_or(PartSet::All, |at| self.tests.remove(at).1.set);
            self.parts.push(ConstrainedPart { key: key.clone(), set: PartSet::and(vec![before, known]) });
        } else if let Some((_, part)) = tested.and_then(|at| self.tests.get_mut(at)) {
            part.set = PartSet::and(vec![part.set.clone(), known]);
        } else if !self.ranges_only {
            let at = self.tests.partition_point(|(at, _)| *at < position);
            self.tests.insert(at, (position, ConstrainedPart { key: key.clone(), set: known }));
        }
        while self.parts.last().is_some_and(|part| part.set.is_points())
            && self.tests.first().is_some_and(|(at, _)| *at == self.parts.len())
        {
            self.parts.push(self.tests.remove(0).1);
        }
        self
    }

    /// Returns the constraint without the tests on entries, for paths that may look at nothing but the ranges.
    pub fn without_key_filter(mut self) -> Constraint {
        self.tests.clear();
        self.ranges_only = true;
        self
    }

    /// The first part whose values are tested, and not only looked for in ranges; `None`: there is none.
    pub fn first_filtered_part(&self) -> Option<usize> {
        if self.ranges_only {
            return None;
        }
        let joint = self.joint.iter().any(|joint| !joint.by_ranges).then(|| self.parts.len().max(1));
        self.tests.first().map(|(position, _)| *position).into_iter().chain(joint).min()
    }

    /// The parts whose values are tested on entries.
    pub fn filtered_parts(&self) -> BTreeSet<usize> {
        if self.ranges_only {
            return BTreeSet::new();
        }
        let joint = self.joint.iter().filter(|joint| !joint.by_ranges).flat_map(Joint::parts);
        self.tests.iter().map(|(position, _)| *position).chain(joint).collect()
    }

    /// How many leading parts are each fixed to single values.
    pub fn point_parts(&self) -> usize {
        self.parts.iter().take_while(|part| part.set.is_points()).count()
    }

    /// How many leading parts are each fixed to one value, NULL included.
    pub fn equal_parts(&self) -> usize {
        self.parts.iter().take_while(|part| part.set.is_single_value()).count()
    }

    /// Of the [`equal_parts`](Self::equal_parts), those that can never be NULL: what makes a unique key identify one row.
    pub fn equal_not_null_parts(&self) -> usize {
        self.parts.iter().take_while(|part| part.set.is_single_value() && !part.set.admits_null()).count()
    }

    /// The expression each leading equal part is compared with, for EXPLAIN's `ref`; `None` for `IS NULL`.
    pub fn equal_values(&self) -> Vec<Option<&Expr>> {
        self.parts
            .iter()
            .take(self.equal_parts())
            .map(|part| part.set.single_value().and_then(|slot| self.values.get(slot)))
            .collect()
    }

    /// The bounds, in the order [`instantiate`](Self::instantiate) wants their values.
    pub fn values(&self) -> &[Expr] {
        &self.values
    }

    /// Returns whether all bounds are literals and parameters, so that they need no evaluation.
    pub fn has_known_values(&self) -> bool {
        self.values.iter().all(|value| matches!(value.kind, ExprKind::Literal(_) | ExprKind::Parameter(_)))
    }

    /// Returns the constraint with its bounds rewritten, for another numbering of the outer columns.
    pub fn map_values(&self, map: &mut dyn FnMut(&Expr) -> Expr) -> Constraint {
        let values = self.values.iter().map(map).collect();
        Constraint { values, ..self.clone() }
    }
}
