//! From a condition to the set of values of one column for which it can be true.
//!
//! Conditions are followed through AND, OR and NOT. NOT does not complement a set: it asks for the values for which the
//! condition inside can be *false*, which for comparisons is the inverted comparison and never NULL. Whatever is
//! not understood admits everything and makes the set a superset.

use super::part_set::PartSet;
use crate::params::{LISTED_SLOTS, MAX_NEGATED_LIST};
use leafline_expr::domain::like_range;
use leafline_expr::{CompareDomain, CompareOp, Expr, ExprKind, LikePattern};
use leafline_types::key::KeyPart;
use leafline_types::{SqlType, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// A set and whether it holds exactly the values for which the condition can be true, given that the
/// condition depends on no other column of the scanned table.
pub(super) struct Extracted {
    pub set: PartSet,
    pub exact: bool,
}

impl Extracted {
    fn anything() -> Extracted {
        Extracted { set: PartSet::All, exact: false }
    }
}

/// The bounds found so far, each once.
#[derive(Default)]
pub(super) struct Slots {
    values: Vec<Expr>,
    /// Where each is, from the time on when there are too many to look through.
    places: HashMap<Expr, usize>,
}

impl Slots {
    fn place(&mut self, expr: &Expr) -> usize {
        if self.values.len() < LISTED_SLOTS {
            if let Some(known) = self.values.iter().position(|known| known == expr) {
                return known;
            }
        } else {
            if self.places.is_empty() {
                self.places.extend(self.values.iter().cloned().zip(0..));
            }
            if let Some(known) = self.places.get(expr) {
                return *known;
            }
            self.places.insert(expr.clone(), self.values.len());
        }
        self.values.push(expr.clone());
        self.values.len() - 1
    }

    /// Whether the bound is another one for each outer row.
    pub fn varies(&self, slot: usize) -> bool {
        self.values.get(slot).is_some_and(|value| !value.columns().is_empty())
    }

    pub fn into_values(self) -> Vec<Expr> {
        self.values
    }
}

/// Looks for conditions on one column.
pub(super) struct Extractor<'a> {
    column: usize,
    part: &'a KeyPart,
    table_column: &'a dyn Fn(usize) -> Option<usize>,
    slots: &'a mut Slots,
}

impl<'a> Extractor<'a> {
    pub fn new(
        column: usize,
        part: &'a KeyPart,
        table_column: &'a dyn Fn(usize) -> Option<usize>,
        slots: &'a mut Slots,
    ) -> Extractor<'a> {
        Extractor { column, part, table_column, slots }
    }

    /// The values for which a conjunct can be true.
    pub fn conjunct(&mut self, expr: &Expr) -> Extracted {
        self.outcome(expr, true)
    }

    /// The values for which a condition can come out as `truth`.
    pub fn outcome(&mut self, expr: &Expr, truth: bool) -> Extracted {
        if self.is_known(expr) {
            return match &expr.kind {
                // Descend, so that the parts of a guard that are shared between branches are shared as slots too.
                ExprKind::And(args) | ExprKind::Or(args) if !args.is_empty() && !is_literal(expr) => {
                    self.junction(expr, args, truth)
                }
                _ => Extracted { set: PartSet::Guard { slot: self.slot(expr), truth }, exact: true },
            };
        }
        match &expr.kind {
            ExprKind::And(args) | ExprKind::Or(args) => self.junction(expr, args, truth),
            ExprKind::Not(inner) => self.outcome(inner, !truth),
            ExprKind::Compare { op, left, right, domain } => {
                self.comparison(*op, left, right, *domain, truth)
            }
            ExprKind::IsNull { operand, negated } if self.is_part(operand) => {
                let set = if *negated == truth { PartSet::NotNull } else { PartSet::Null };
                Extracted { set, exact: true }
            }
            ExprKind::InList { needle, list, negated, domain, set }
                if self.is_compared(needle, *domain) && (self.is_part(needle) || *negated != truth) =>
            {
                self.list(list, set.is_some(), *domain, *negated != truth)
            }
            // The rows that have one of the values of each column are more than those of the list.
            ExprKind::InRows { needle, list, negated } if *negated != truth => {
                let columns = needle.iter().zip(list.columns());
                let mut parts = columns
                    .filter(|(part, column)| self.is_part(part) && self.is_compared(part, column.domain));
                match parts.next() {
                    Some((_, column)) => {
                        Extracted { exact: false, ..self.list(&column.list, true, column.domain, true) }
                    }
                    None => Extracted::anything(),
                }
            }
            ExprKind::Like { value, pattern, escape, negated, collation, .. }
                if self.is_part(value) && *negated != truth && *collation == self.part.collation =>
            {
                self.like(pattern, *escape)
            }
            _ => Extracted::anything(),
        }
    }

    /// AND wanted true and OR wanted false need all of their arguments to come out so; the others need one.
    fn junction(&mut self, expr: &Expr, args: &[Expr], truth: bool) -> Extracted {
        let all = matches!(expr.kind, ExprKind::And(_)) == truth;
        let mut sets = Vec::with_capacity(args.len());
        let mut exact = true;
        for arg in args {
            let found = self.outcome(arg, truth);
            exact &= found.exact;
            sets.push(found.set);
        }
        let set = if all { PartSet::and(sets) } else { PartSet::or(sets) };
        Extracted { exact: exact && set != PartSet::All, set }
    }

    fn comparison(
        &mut self,
        op: CompareOp,
        left: &Expr,
        right: &Expr,
        domain: CompareDomain,
        truth: bool,
    ) -> Extracted {
        let (op, part, bound) = if self.is_compared(left, domain) && self.is_known(right) {
            (op, left, right)
        } else if self.is_compared(right, domain) && self.is_known(left) {
            (op.swapped(), right, left)
        } else {
            return Extracted::anything();
        };
        let op = match (truth, op.negated()) {
            (true, _) => op,
            (false, Some(op)) => op,
            (false, None) => return Extracted::anything(),
        };
        // `<=>` finds a NULL bound only in a part that may be NULL. Without them it identifies a row, as `=` does.
        let op = match op {
            CompareOp::NullSafeEq if !self.part.nullable => CompareOp::Eq,
            op => op,
        };
        // Texts are in another order than their numbers.
        if !self.is_part(part) && !matches!(op, CompareOp::Eq | CompareOp::NullSafeEq) {
            return Extracted::anything();
        }
        Extracted { set: PartSet::Compare { op, slot: self.slot(bound), domain }, exact: true }
    }

    fn like(&mut self, pattern: &Expr, escape: Option<char>) -> Extracted {
        if !self.is_known(pattern) || !self.part.ty.is_string() {
            return Extracted { set: PartSet::NotNull, exact: false };
        }
        // A known pattern that a range does not decide is evaluated; another pattern decides when it has its value.
        let mut decides = true;
        if let Some(known) = pattern.as_literal().and_then(Value::as_bytes) {
            let known = LikePattern::new(known, escape, self.part.collation);
            match like_range(self.part, &known, self.part.collation) {
                None => return Extracted::anything(),
                Some((_, exact)) => decides = exact,
            }
        }
        Extracted { set: PartSet::Like { slot: self.slot(pattern), escape, decides }, exact: decides }
    }

    fn list(&mut self, list: &Arc<[Expr]>, literal: bool, domain: CompareDomain, wanted: bool) -> Extracted {
        if !literal && !list.iter().all(|element| self.is_known(element)) {
            return Extracted { set: PartSet::NotNull, exact: false };
        }
        if wanted && literal && list.len() > 1 {
            return Extracted { set: PartSet::OneOf { list: list.clone(), domain }, exact: true };
        }
        if wanted {
            let slots = list.iter().map(|element| self.slot(element)).collect();
            return Extracted { set: PartSet::In { slots, domain }, exact: true };
        }
        if list.len() > MAX_NEGATED_LIST {
            return Extracted { set: PartSet::NotNull, exact: false };
        }
        let sets = list
            .iter()
            .map(|element| PartSet::Compare { op: CompareOp::Ne, slot: self.slot(element), domain })
            .collect();
        Extracted { set: PartSet::and(sets), exact: true }
    }

    fn is_part(&self, expr: &Expr) -> bool {
        matches!(expr.kind, ExprKind::Column(id) if (self.table_column)(id) == Some(self.column))
    }

    /// Whether it is the part, or the text of an ENUM or SET that the part is, in a comparison that its bytes can decide.
    fn is_compared(&self, expr: &Expr, domain: CompareDomain) -> bool {
        match &expr.kind {
            ExprKind::Cast { operand } => match (&self.part.ty, domain) {
                (SqlType::Enum(members) | SqlType::Set(members), CompareDomain::String(collation)) => {
                    self.is_part(operand) && expr.ty.sql.is_character() && collation == members.collation()
                }
                _ => false,
            },
            _ => self.is_part(expr) && self.can_convert(domain),
        }
    }

    /// Can a comparison in `domain` be a condition on the bytes of the part? Whether a value then has a place among them is
    /// decided when it is known.
    fn can_convert(&self, domain: CompareDomain) -> bool {
        match (&self.part.ty, domain) {
            (_, CompareDomain::String(collation)) => {
                self.part.ty.is_string() && collation == self.part.collation
            }
            (SqlType::Date | SqlType::DateTime { .. }, CompareDomain::Date | CompareDomain::DateTime) => true,
            (SqlType::Time { .. }, CompareDomain::Time) => true,
            (SqlType::Timestamp { .. }, CompareDomain::DateTime) => true,
            (ty, CompareDomain::Integer | CompareDomain::Decimal | CompareDomain::Double) => {
                ty.is_numeric() || ty.has_members()
            }
            _ => false,
        }
    }

    /// Whether the value of `expr` depends neither on the scanned row nor on when it is computed.
    fn is_known(&self, expr: &Expr) -> bool {
        expr.columns().iter().all(|id| (self.table_column)(*id).is_none()) && !expr.is_volatile()
    }

    fn slot(&mut self, expr: &Expr) -> usize {
        self.slots.place(expr)
    }
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Literal(_))
}
