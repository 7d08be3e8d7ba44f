//! Selectivities by rule of thumb, where nothing can be sampled: MySQL's (`sql/item_func.h`, "filtering effect").

use leafline_expr::{CompareOp, Expr, ExprKind};

const EQUALITY: f64 = 0.1;
const INEQUALITY: f64 = 1.0 / 3.0;
const BETWEEN: f64 = 1.0 / 9.0;
const LIST_AT_MOST: f64 = 0.5;

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
            CompareOp::Eq | CompareOp::NullSafeEq => EQUALITY,
            CompareOp::Ne => 1.0 - EQUALITY,
            _ => INEQUALITY,
        },
        ExprKind::IsNull { negated, .. } => negate(EQUALITY, *negated),
        ExprKind::InList { list, negated, .. } => {
            negate((EQUALITY * list.len() as f64).min(LIST_AT_MOST), *negated)
        }
        ExprKind::InRows { needle, list, negated } => {
            let one = EQUALITY.powi(needle.len().try_into().unwrap_or(i32::MAX));
            negate((one * list.rows() as f64).min(LIST_AT_MOST), *negated)
        }
        ExprKind::Like { negated, .. } => negate(BETWEEN, *negated),
        _ => INEQUALITY,
    }
}

fn negate(selectivity: f64, negated: bool) -> f64 {
    if negated { 1.0 - selectivity } else { selectivity }
}
