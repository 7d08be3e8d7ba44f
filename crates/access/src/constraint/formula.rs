//! ORs that say more about several key parts together than about each of them: `(a, b) IN ((1, 2), (3, 4))`, `a = 1 OR b = 3`,
//! `(a, b) > (1, 2)`.
//!
//! The sets of the parts hold what such a condition says of each part by itself; the formula says the rest, as a diagram once
//! its bounds have values.

use super::diagram::{Combiner, Diagram, Link, TooLarge};
use super::instantiate::set_values;
use super::{ConstrainedPart, Implied, IndexKeyPart, PartSet, extract};
use crate::params::{MAX_CORRELATED_BRANCHES, MAX_OR_BRANCHES};
use leafline_expr::{Expr, ExprKind};
use leafline_types::Value;
use std::collections::BTreeSet;

/// A condition on several parts.
#[derive(Clone, Debug)]
pub(super) struct Joint {
    formula: Formula,
    /// Where its bounds have values, ranges say all of it.
    pub by_ranges: bool,
}

#[derive(Clone, Debug)]
enum Formula {
    Anything,
    Part(usize, ConstrainedPart),
    And(Vec<Formula>),
    Or(Vec<Formula>),
}

impl Joint {
    /// The parts that it is about.
    pub fn parts(&self) -> Vec<usize> {
        let (mut parts, mut waiting) = (Vec::new(), vec![&self.formula]);
        while let Some(formula) = waiting.pop() {
            match formula {
                Formula::Anything => {}
                Formula::Part(part, _) => parts.push(*part),
                Formula::And(all) | Formula::Or(all) => waiting.extend(all),
            }
        }
        parts
    }
}

/// Makes formulas of conditions.
pub(super) struct Reader<'a> {
    pub parts: &'a [IndexKeyPart],
    pub table_column: &'a dyn Fn(usize) -> Option<usize>,
    pub slots: &'a mut extract::Slots,
}

impl Reader<'_> {
    /// The formula of an OR about several parts, and whether it implies the condition; `None` if it says no more than the sets of the parts.
    /// The first `leading` of these are points, but for the last.
    pub fn joint(&mut self, conjunct: &Expr, leading: usize) -> Option<(Joint, Implied)> {
        if !matches!(&conjunct.kind, ExprKind::Or(branches) if branches.len() <= MAX_OR_BRANCHES) {
            return None;
        }
        let (formula, exact) = self.formula(conjunct, true);
        let mut mentioned = BTreeSet::new();
        formula.mention(&mut mentioned);
        if mentioned.len() < 2 {
            return None;
        }
        if formula.size() > MAX_CORRELATED_BRANCHES && !formula.all_slots(&|slot| !self.slots.varies(slot)) {
            return None;
        }
        let by_ranges = exact && mentioned.iter().all(|part| *part < leading);
        let implied = match (exact, by_ranges) {
            (false, _) => Implied::No,
            (true, false) => Implied::ByTests,
            (true, true) => Implied::ByRanges,
        };
        Some((Joint { formula, by_ranges }, implied))
    }

    /// The keys for which a condition can come out as `truth`, and whether it comes out so for all of them.
    fn formula(&mut self, expr: &Expr, truth: bool) -> (Formula, bool) {
        let of_one_part = self.of_one_part(expr, truth);
        match (&expr.kind, of_one_part) {
            (_, Some((formula, true))) => (formula, true),
            (ExprKind::And(args) | ExprKind::Or(args), _) => self.junction(expr, args, truth),
            (ExprKind::Not(inner), _) => self.formula(inner, !truth),
            (_, Some((formula, false))) => (formula, false),
            (_, None) => (Formula::Anything, false),
        }
    }

    fn junction(&mut self, expr: &Expr, args: &[Expr], truth: bool) -> (Formula, bool) {
        let all = matches!(expr.kind, ExprKind::And(_)) == truth;
        let mut formulas = Vec::with_capacity(args.len());
        let mut exact = true;
        for arg in args {
            let (formula, of_arg) = self.formula(arg, truth);
            exact &= of_arg;
            match (formula, all) {
                (Formula::Anything, true) => {}
                (Formula::Anything, false) => return (Formula::Anything, false),
                (formula, _) => formulas.push(formula),
            }
        }
        match (formulas.len(), all) {
            (0, _) => (Formula::Anything, false),
            (_, true) => (Formula::And(formulas), exact),
            (_, false) => (Formula::Or(formulas), exact),
        }
    }

    /// A condition on one part.
    fn of_one_part(&mut self, expr: &Expr, truth: bool) -> Option<(Formula, bool)> {
        let mut partly = None;
        for (position, part) in self.parts.iter().enumerate() {
            let mut extractor =
                extract::Extractor::new(part.column, &part.key, self.table_column, self.slots);
            let found = extractor.outcome(expr, truth);
            if found.set == PartSet::All {
                continue;
            }
            let exact = found.exact && part.key.prefix.is_none();
            let part = ConstrainedPart { key: part.key.clone(), set: found.set };
            let formula = Formula::Part(position, part);
            if exact {
                return Some((formula, true));
            }
            partly.get_or_insert(formula);
        }
        partly.map(|formula| (formula, false))
    }
}

impl Joint {
    /// Whether all of its bounds satisfy `test`.
    pub fn all_slots(&self, test: &dyn Fn(usize) -> bool) -> bool {
        self.formula.all_slots(test)
    }

    /// The diagram for these values of the bounds, and whether it is exact.
    pub fn diagram(&self, values: &[Value], combiner: &mut Combiner) -> Result<(Diagram, bool), TooLarge> {
        self.formula.diagram(values, combiner)
    }
}

impl Formula {
    fn mention(&self, parts: &mut BTreeSet<usize>) {
        match self {
            Formula::Anything => {}
            Formula::Part(position, _) => {
                parts.insert(*position);
            }
            Formula::And(all) | Formula::Or(all) => all.iter().for_each(|formula| formula.mention(parts)),
        }
    }

    fn size(&self) -> usize {
        match self {
            Formula::And(all) | Formula::Or(all) => all.iter().map(Formula::size).sum(),
            Formula::Anything | Formula::Part(..) => 1,
        }
    }

    fn all_slots(&self, test: &dyn Fn(usize) -> bool) -> bool {
        match self {
            Formula::Anything => true,
            Formula::Part(_, part) => part.set.all_slots(test),
            Formula::And(all) | Formula::Or(all) => all.iter().all(|formula| formula.all_slots(test)),
        }
    }

    fn diagram(&self, values: &[Value], combiner: &mut Combiner) -> Result<(Diagram, bool), TooLarge> {
        match self {
            Formula::Anything => Ok((Some(Link::Accept), false)),
            Formula::Part(position, part) => {
                let found = set_values(&part.key, &part.set, values);
                Ok((Link::Accept.behind(*position, &found.set), found.exact))
            }
            Formula::And(all) => combiner.all(all, |formula, combiner| formula.diagram(values, combiner)),
            Formula::Or(all) => {
                let (mut links, mut exact) = (Vec::with_capacity(all.len()), true);
                for formula in all {
                    let (found, of_one) = formula.diagram(values, combiner)?;
                    exact &= of_one;
                    links.extend(found);
                }
                Ok((combiner.or_all(links)?, exact))
            }
        }
    }
}
