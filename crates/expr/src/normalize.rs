//! Rewrites that keep the meaning: constant folding, parameters replaced by values, NOT pushed to the leaves.

use super::build;
use super::context::EvalContext;
use super::eval::evaluate_scalar;
use super::ir::{Expr, ExprKind};
use crate::function::Volatility;
use leafline_types::error::MysqlError;
use leafline_types::statement::Warnings;
use leafline_types::value::SqlType;

/// Computes constants at plan time: literals and deterministic functions of them. A node whose evaluation
/// raises an error or a warning stays, to raise it when (and if) it is evaluated.
pub fn fold(e: Expr, cx: &mut EvalContext<'_>) -> Result<Expr, MysqlError> {
    e.transform(&mut |e| {
        cx.cancel.check()?;
        let foldable = match &e.kind {
            ExprKind::Call { function, .. } => {
                function.definition().volatility == Volatility::Immutable && !has_time_operand(&e)
            }
            ExprKind::Parameter(_) => false,
            // A TIME that becomes a datetime takes the day of the execution.
            _ => !has_time_operand(&e),
        };
        Ok(if foldable { folded(e, cx) } else { e })
    })
}

/// Folds like [`fold`], for one execution: parameters and functions that are fixed for a statement become literals
/// too, and comparisons with them are typed anew, as if the values had been written in the statement.
pub fn bind_parameters(e: &Expr, cx: &mut EvalContext<'_>) -> Result<Expr, MysqlError> {
    e.clone().transform(&mut |e| {
        let foldable = match &e.kind {
            ExprKind::Call { function, .. } => function.definition().volatility != Volatility::Volatile,
            ExprKind::Parameter(_) => {
                let mut bound = build::literal(evaluate_scalar(&e, cx)?);
                if bound.ty.sql.is_character() {
                    bound.ty.collation = e.ty.collation;
                }
                return Ok(bound);
            }
            _ => true,
        };
        if foldable { build::retype(folded(e, cx)) } else { Ok(e) }
    })
}

fn has_time_operand(e: &Expr) -> bool {
    let mut found = false;
    e.for_each_child(&mut |child| found |= matches!(child.ty.sql, SqlType::Time { .. }));
    found
}

/// The longest value, in bytes, that a plan holds in place of the expression that makes it.
const LONGEST_LITERAL: usize = 64 << 10;

/// Returns a literal for a node with literal operands, unless computing it raises something, or it is long.
fn folded(e: Expr, cx: &mut EvalContext<'_>) -> Expr {
    let mut constant = !matches!(
        e.kind,
        ExprKind::Literal(_)
            | ExprKind::Column(_)
            | ExprKind::Outer(_)
            | ExprKind::Subquery(_)
            | ExprKind::Program(_)
            | ExprKind::Match(_)
    );
    e.for_each_child(&mut |child| constant &= child.as_literal().is_some());
    if !constant {
        return e;
    }
    let mut warnings = Warnings::new();
    let mut quiet = EvalContext {
        parameters: cx.parameters,
        outer: &[],
        subqueries: None,
        programs: None,
        now: cx.now,
        utc_now: cx.utc_now,
        zone: cx.zone,
        sql_mode: cx.sql_mode,
        stores: cx.stores,
        session: cx.session,
        warnings: &mut warnings,
        cancel: cx.cancel,
        memory: cx.memory,
        ignores: cx.ignores,
        row_by_row: cx.row_by_row,
        state: Default::default(),
    };
    match evaluate_scalar(&e, &mut quiet) {
        Ok(v) if warnings.is_empty() && v.byte_len() <= LONGEST_LITERAL => {
            let mut ty = e.ty;
            ty.nullable = v.is_null();
            Expr { kind: ExprKind::Literal(v), ty }
        }
        _ => e,
    }
}

/// Rewrites a condition without NOT above AND, OR or a comparison. It keeps its value, TRUE, FALSE or NULL.
pub fn push_down_not(e: Expr) -> Expr {
    pushed(e, false)
}

fn pushed(e: Expr, negate: bool) -> Expr {
    let all = |list: Vec<Expr>| list.into_iter().map(|c| pushed(c, negate)).collect();
    let kind = match e.kind {
        ExprKind::Not(operand) => {
            // NOT NOT of a number cannot be dropped: `NOT NOT 5` is 1.
            if negate && !operand.is_condition() {
                return build::not(build::not(*operand));
            }
            return pushed(*operand, !negate);
        }
        ExprKind::And(list) if negate => return build::or(all(list)),
        ExprKind::And(list) => return build::and(all(list)),
        ExprKind::Or(list) if negate => return build::and(all(list)),
        ExprKind::Or(list) => return build::or(all(list)),
        ExprKind::Xor(left, right) => {
            ExprKind::Xor(Box::new(pushed(*left, negate)), Box::new(pushed(*right, false)))
        }
        ExprKind::Compare { op, left, right, domain } if negate => match op.negated() {
            Some(op) => ExprKind::Compare { op, left, right, domain },
            None => {
                let compare = Expr { kind: ExprKind::Compare { op, left, right, domain }, ty: e.ty };
                return build::not(compare);
            }
        },
        ExprKind::IsNull { operand, negated } => ExprKind::IsNull { operand, negated: negated != negate },
        ExprKind::IsTruth { operand, truth, negated } => {
            let operand = if operand.is_condition() { Box::new(pushed(*operand, false)) } else { operand };
            ExprKind::IsTruth { operand, truth, negated: negated != negate }
        }
        ExprKind::InList { needle, list, negated, domain, set } => {
            ExprKind::InList { needle, list, negated: negated != negate, domain, set }
        }
        ExprKind::InRows { needle, list, negated } => {
            ExprKind::InRows { needle, list, negated: negated != negate }
        }
        ExprKind::Like { value, pattern, escape, negated, collation, compiled } => {
            ExprKind::Like { value, pattern, escape, negated: negated != negate, collation, compiled }
        }
        kind if negate => return build::not(Expr { kind, ty: e.ty }),
        kind => kind,
    };
    Expr { kind, ty: e.ty }
}

/// Returns the conjuncts of a condition, in order; flattens nested ANDs.
pub fn conjuncts(e: Expr) -> Vec<Expr> {
    match e.kind {
        ExprKind::And(list) => list.into_iter().flat_map(conjuncts).collect(),
        _ => vec![e],
    }
}
