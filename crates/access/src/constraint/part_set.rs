//! The values of one key part that can satisfy a condition, before its bounds are known.

use super::interval::IntervalSet;
use leafline_expr::{CompareDomain, CompareOp, Expr};
use std::sync::Arc;

/// A set of values of one key part. Bounds are positions in the constraint's list of value expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum PartSet {
    /// Every value, NULL included.
    All,
    /// NULL alone.
    Null,
    /// Everything but NULL.
    NotNull,
    /// Everything if the condition, which does not depend on the scanned row, comes out as `truth`; else nothing.
    Guard {
        /// Position of the condition's value.
        slot: usize,
        /// The outcome that admits: true or false; NULL never admits.
        truth: bool,
    },
    /// The values that compare so with a bound.
    Compare {
        /// `part op bound`.
        op: CompareOp,
        /// Position of the bound.
        slot: usize,
        /// The domain that both are converted to before they are compared.
        domain: CompareDomain,
    },
    /// The values of a list.
    In {
        /// Positions of the elements.
        slots: Vec<usize>,
        /// The domain that part and elements are converted to.
        domain: CompareDomain,
    },
    /// The values of a list of literals, which has no bounds.
    OneOf {
        /// Two or more.
        list: Arc<[Expr]>,
        /// The domain that part and elements are converted to.
        domain: CompareDomain,
    },
    /// The values of a set that became known after the plan was made.
    Known(Arc<IntervalSet>),
    /// Strings that begin as a LIKE pattern does.
    Like {
        /// Position of the pattern.
        slot: usize,
        /// The escape character, if there is one.
        escape: Option<char>,
        /// Nothing else looks at the pattern, if the range says all of it.
        decides: bool,
    },
    /// Values in every one of the sets.
    And(Vec<PartSet>),
    /// Values in one of the sets at least.
    Or(Vec<PartSet>),
}

impl PartSet {
    /// The intersection, flattened.
    pub fn and(sets: Vec<PartSet>) -> PartSet {
        let mut flat = Vec::new();
        for set in sets {
            match set {
                PartSet::All => {}
                PartSet::And(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        match flat.len() {
            0 => PartSet::All,
            1 => flat.swap_remove(0),
            _ => PartSet::And(flat),
        }
    }

    /// The union, flattened.
    pub fn or(sets: Vec<PartSet>) -> PartSet {
        let mut flat = Vec::new();
        for set in sets {
            match set {
                PartSet::All => return PartSet::All,
                PartSet::Or(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        if flat.len() == 1 { flat.swap_remove(0) } else { PartSet::Or(flat) }
    }

    /// Whether it narrows the part itself, whatever the outer values are.
    pub fn bounds_the_part(&self) -> bool {
        match self {
            PartSet::All | PartSet::Guard { .. } => false,
            PartSet::And(sets) => sets.iter().any(PartSet::bounds_the_part),
            PartSet::Or(sets) => sets.iter().all(PartSet::bounds_the_part),
            _ => true,
        }
    }

    /// Will it come out as single values only, so that the next part can narrow the scan further?
    pub fn is_points(&self) -> bool {
        match self {
            PartSet::Null | PartSet::In { .. } | PartSet::OneOf { .. } => true,
            PartSet::Known(set) => set.is_points(),
            PartSet::Compare { op, .. } => matches!(op, CompareOp::Eq | CompareOp::NullSafeEq),
            PartSet::And(sets) => sets.iter().any(PartSet::is_points),
            PartSet::Or(sets) => sets.iter().all(PartSet::is_points),
            _ => false,
        }
    }

    /// Whether it comes out as one value at most.
    pub fn is_single_value(&self) -> bool {
        match self {
            PartSet::Null => true,
            PartSet::In { slots, .. } => slots.len() == 1,
            PartSet::Compare { op, .. } => matches!(op, CompareOp::Eq | CompareOp::NullSafeEq),
            PartSet::And(sets) => sets.iter().any(PartSet::is_single_value),
            _ => false,
        }
    }

    /// The bound of a set that [is a single value](Self::is_single_value); `None` for NULL.
    pub fn single_value(&self) -> Option<usize> {
        match self {
            PartSet::Compare { op: CompareOp::Eq | CompareOp::NullSafeEq, slot, .. } => Some(*slot),
            PartSet::In { slots, .. } => slots.first().copied(),
            PartSet::And(sets) => {
                sets.iter().filter(|set| set.is_single_value()).find_map(PartSet::single_value)
            }
            _ => None,
        }
    }

    /// Whether all of its bounds satisfy `test`.
    pub fn all_slots(&self, test: &dyn Fn(usize) -> bool) -> bool {
        match self {
            PartSet::All | PartSet::Null | PartSet::NotNull | PartSet::OneOf { .. } | PartSet::Known(_) => {
                true
            }
            PartSet::Guard { slot, .. } | PartSet::Compare { slot, .. } | PartSet::Like { slot, .. } => {
                test(*slot)
            }
            PartSet::In { slots, .. } => slots.iter().all(|slot| test(*slot)),
            PartSet::And(sets) | PartSet::Or(sets) => sets.iter().all(|set| set.all_slots(test)),
        }
    }

    /// Can NULL be in it?
    pub fn admits_null(&self) -> bool {
        match self {
            PartSet::All | PartSet::Null | PartSet::Guard { .. } => true,
            PartSet::Compare { op, .. } => matches!(op, CompareOp::NullSafeEq),
            PartSet::And(sets) => sets.iter().all(PartSet::admits_null),
            PartSet::Or(sets) => sets.iter().any(PartSet::admits_null),
            PartSet::NotNull
            | PartSet::In { .. }
            | PartSet::OneOf { .. }
            | PartSet::Known(_)
            | PartSet::Like { .. } => false,
        }
    }
}
