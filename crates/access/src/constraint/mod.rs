//! What a set of conditions says about an index: the constraint a scan is driven by.
//!
//! [`Constraint::build`] takes the conjuncts of a WHERE clause and the parts of an index and keeps, per part, the set of values
//! for which the conjuncts can be true, as a template whose bounds are expressions over constants, parameters and
//! columns of tables read before. [`Constraint::instantiate`] puts values to the bounds, once per execution or once
//! per outer row. The leading parts give sorted, disjoint [`KeyRange`]s: points multiply with the sets of the parts behind
//! them, and the first real interval ends that. The sets of the parts behind are [`PartTest`]s on the bytes of
//! each entry in the ranges.
//!
//! An OR that says something about several parts together gives the ranges of each of its branches (`alternatives`).
//!
//! Ranges and tests pass every entry that satisfies the conjuncts (never fewer). [`Bounds::exact`] says when they pass no
//! other: then the conjuncts listed by [`Built::implied`] need not be evaluated again. A conjunct is a condition to be
//! *true*: NULL never qualifies for a comparison, and NOT is pushed to the leaves under three-valued logic
//! before anything is complemented.

mod alternatives;
mod extract;
mod instantiate;
mod interval;
mod part_set;
mod ranges;
#[cfg(test)]
mod tests;

pub use instantiate::{Bounds, FixedSets, PartTest};
pub use interval::{Interval, IntervalSet};
pub use part_set::PartSet;
pub use ranges::{KeyRange, MAX_KEY_RANGES};

use alternatives::{Alternatives, alternatives};
use leafline_types::expr::Expr;
use leafline_types::key::KeyPart;

/// A key part as far as constraints care: which column it holds and how it is encoded.
#[derive(Clone, Debug)]
pub struct IndexKeyPart {
    /// Ordinal of the column in its table.
    pub column: usize,
    /// Encoding of the part.
    pub key: KeyPart,
}

/// What is known of the parts of an index, with the bounds as expressions.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// The leading parts, which give the ranges.
    parts: Vec<ConstrainedPart>,
    /// Position and set of parts behind them, which are tested on each entry.
    tests: Vec<(usize, ConstrainedPart)>,
    /// What gives the ranges in place of `parts`, if there are any, and not too many.
    alternatives: Alternatives,
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

/// What a conjunct follows from, if the bounds are exact.
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

/// What conjuncts say about each part of an index.
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
            alternatives: Alternatives::default(),
            values: Vec::new(),
        }
    }

    /// What `conjuncts` say about an index.
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
        let alternatives = alternatives(parts, &conjuncts, table_column, &mut slots, &mut collected);
        let Collected { parts, tests, implied } = collected;
        let constraint = Constraint { parts, tests, alternatives, values: slots.into_values() };
        Built { constraint, implied }
    }

    /// Does it leave the whole index to be read?
    pub fn is_unbounded(&self) -> bool {
        self.parts.is_empty()
    }

    /// How many leading parts of the index are constrained.
    pub fn used_parts(&self) -> usize {
        self.parts.len()
    }

    /// Do the ranges depend on columns of tables read before?
    pub fn is_correlated(&self) -> bool {
        !self.parts.is_empty() && self.values.iter().any(|value| !value.columns().is_empty())
    }

    /// Are entries tested beyond lying in the ranges?
    pub fn has_tests(&self) -> bool {
        !self.tests.is_empty()
    }

    /// The same constraint without the tests on entries, for paths that may look at nothing but the ranges.
    pub fn without_tests(mut self) -> Constraint {
        self.tests.clear();
        self
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

    /// The same constraint with the bounds rewritten, for another numbering of the outer columns.
    pub fn map_values(&self, map: &mut dyn FnMut(&Expr) -> Expr) -> Constraint {
        let values = self.values.iter().map(map).collect();
        let (parts, tests) = (self.parts.clone(), self.tests.clone());
        Constraint { parts, tests, alternatives: self.alternatives.clone(), values }
    }
}
