//! Finds conditions that cannot be true where some relations are NULL. Such a condition turns an outer join into an inner one.

use leafline_expr::{CompareOp, Expr, ExprKind};

/// Whether the condition is never true for rows in which all columns of some relations are NULL. `in_relations` recognises those
/// columns.
pub(super) fn rejects_null(condition: &Expr, in_relations: &dyn Fn(usize) -> bool) -> bool {
    match &condition.kind {
        ExprKind::And(args) => args.iter().any(|arg| rejects_null(arg, in_relations)),
        ExprKind::Or(args) => args.iter().all(|arg| rejects_null(arg, in_relations)),
        ExprKind::IsNull { operand, negated: true } => is_strict(operand, in_relations),
        ExprKind::IsTruth { operand, truth: true, negated: false } => rejects_null(operand, in_relations),
        _ => is_strict(condition, in_relations),
    }
}

/// Whether the value is NULL whenever all columns of the relations are NULL.
pub(super) fn is_strict(expr: &Expr, in_relations: &dyn Fn(usize) -> bool) -> bool {
    let strict = |expr: &Expr| is_strict(expr, in_relations);
    match &expr.kind {
        ExprKind::Column(column) => in_relations(*column),
        ExprKind::Arithmetic { left, right, .. } => strict(left) || strict(right),
        ExprKind::Compare { op, left, right, .. } => {
            *op != CompareOp::NullSafeEq && (strict(left) || strict(right))
        }
        ExprKind::Negate(operand) | ExprKind::Not(operand) | ExprKind::Cast { operand } => strict(operand),
        ExprKind::InList { needle, .. } => strict(needle),
        ExprKind::Like { value, pattern, .. } => strict(value) || strict(pattern),
        ExprKind::Xor(left, right) => strict(left) || strict(right),
        _ => false,
    }
}
