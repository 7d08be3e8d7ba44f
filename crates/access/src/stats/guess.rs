//! Selectivities by rule of thumb, where nothing can be sampled: MySQL's (`sql/item_func.h`, "filtering effect").

use crate::params::{GUESS_BETWEEN, GUESS_EQUALITY, GUESS_INEQUALITY, GUESS_LIST_MAX};
use leafline_expr::{CompareOp, Expr, ExprKind};

/// The share of rows for which a condition is guessed to be true.
pub fn guess_selectivity(condition: &Expr) -> f64 {
    match &condition.kind {
        ExprKind::Literal(value) => match value.as_integer() {
            Some(0) => 0.0,
            Some(_) => 1.0,
            None => 0.0,
        },
        ExprKind::And(args) => args.iter().map(guess_selectivity).product(),
        ExprKind::Or(args) => 1.0 - args.iter().map(|arg| 1.0 - guess_selectivity(arg)).product::<f64>(),
        ExprKind::Not(arg) => 1.0 - guess_selectivity(arg),
        ExprKind::Compare { op, .. } => match op {
            CompareOp::Eq | CompareOp::NullSafeEq => GUESS_EQUALITY,
            CompareOp::Ne => 1.0 - GUESS_EQUALITY,
            _ => GUESS_INEQUALITY,
        },
        ExprKind::IsNull { negated, .. } => negate(GUESS_EQUALITY, *negated),
        ExprKind::InList { list, negated, .. } => {
            negate((GUESS_EQUALITY * list.len() as f64).min(GUESS_LIST_MAX), *negated)
        }
        ExprKind::InRows { needle, list, negated } => {
            let one = GUESS_EQUALITY.powi(needle.len().try_into().unwrap_or(i32::MAX));
            negate((one * list.rows() as f64).min(GUESS_LIST_MAX), *negated)
        }
        ExprKind::Like { negated, .. } => negate(GUESS_BETWEEN, *negated),
        _ => GUESS_INEQUALITY,
    }
}

fn negate(selectivity: f64, negated: bool) -> f64 {
    if negated { 1.0 - selectivity } else { selectivity }
}
