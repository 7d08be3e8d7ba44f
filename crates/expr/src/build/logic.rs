//! AND, OR, XOR, NOT and IS.

use super::{condition, literal};
use crate::ir::{Expr, ExprKind};
use leafline_types::value::Value;

/// Makes the conjunction of `conditions`; TRUE if there are none.
pub fn and(conditions: Vec<Expr>) -> Expr {
    let mut flat = Vec::with_capacity(conditions.len());
    for c in conditions {
        match c.kind {
            ExprKind::And(inner) => flat.extend(inner),
            _ => flat.push(c),
        }
    }
    several(flat, true, ExprKind::And)
}

/// Makes the disjunction of `conditions`; FALSE if there are none.
pub fn or(conditions: Vec<Expr>) -> Expr {
    let mut flat = Vec::with_capacity(conditions.len());
    for c in conditions {
        match c.kind {
            ExprKind::Or(inner) => flat.extend(inner),
            _ => flat.push(c),
        }
    }
    several(flat, false, ExprKind::Or)
}

fn several(mut list: Vec<Expr>, of_none: bool, make: fn(Vec<Expr>) -> ExprKind) -> Expr {
    match list.len() {
        0 => literal(Value::Int(of_none.into())),
        1 => list.remove(0),
        _ => {
            let nullable = list.iter().any(|c| c.ty.nullable);
            condition(make(list), nullable)
        }
    }
}

/// Makes `left XOR right`.
pub fn xor(left: Expr, right: Expr) -> Expr {
    let nullable = left.ty.nullable || right.ty.nullable;
    condition(ExprKind::Xor(Box::new(left), Box::new(right)), nullable)
}

/// Makes `NOT operand`.
pub fn not(operand: Expr) -> Expr {
    let nullable = operand.ty.nullable;
    condition(ExprKind::Not(Box::new(operand)), nullable)
}

/// Makes `operand IS [NOT] NULL`, `IS [NOT] UNKNOWN`.
pub fn is_null(operand: Expr, negated: bool) -> Expr {
    condition(ExprKind::IsNull { operand: Box::new(operand), negated }, false)
}

/// Makes `operand IS [NOT] TRUE`, `IS [NOT] FALSE`.
pub fn is_truth(operand: Expr, truth: bool, negated: bool) -> Expr {
    condition(ExprKind::IsTruth { operand: Box::new(operand), truth, negated }, false)
}
