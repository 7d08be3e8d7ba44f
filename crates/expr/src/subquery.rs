//! Subqueries in expressions.
//!
//! An expression knows the number of a subquery, the values it depends on, and how its rows give the result. A
//! [`SubqueryRunner`](crate::SubqueryRunner) runs it, when its value is needed and only then.
//!
//! Inside the subquery the values it depends on are [`ExprKind::Outer`]: constants while it runs.

use super::context::EvalContext;
use super::eval::{evaluate_row, truth};
use super::ir::{Expr, ExprKind, Subquery, SubqueryUse};
use leafline_types::error::MysqlError;
use leafline_types::value::{ExprType, SqlType, Value};

/// Returns the truth of a comparison of a needle with a row of a subquery; None for NULL.
///
/// # Errors
/// Errors of the evaluation.
pub fn compare_with_row(
    comparison: &Expr,
    needle: &[Value],
    row: &[Value],
    cx: &mut EvalContext<'_>,
) -> Result<Option<bool>, MysqlError> {
    let values: Vec<Value> = needle.iter().chain(row).cloned().collect();
    truth(&evaluate_row(comparison, &values, cx)?, cx)
}

/// Makes a value of an enclosing query's row.
pub fn outer(number: usize, ty: ExprType) -> Expr {
    Expr { kind: ExprKind::Outer(number), ty }
}

/// Makes a subquery; `ty` is the type of its column if its value is asked for.
pub fn subquery(subquery: Subquery, ty: ExprType) -> Expr {
    let ty = match &subquery.question {
        SubqueryUse::Value => ExprType { nullable: true, sql: ty.sql.clone().without_zerofill(), ..ty },
        SubqueryUse::Exists => ExprType::numeric(SqlType::BIGINT, false),
        SubqueryUse::Any(_) | SubqueryUse::Row(_) => ExprType::numeric(SqlType::BIGINT, true),
    };
    Expr { kind: ExprKind::Subquery(Box::new(subquery)), ty }
}

impl Expr {
    /// Whether it can be computed when a plan is made: it contains no subquery, no call of a stored function, and no value of
    /// an enclosing query's row.
    pub fn is_constant_for_planning(&self) -> bool {
        !self
            .any(&mut |e| matches!(e.kind, ExprKind::Outer(_) | ExprKind::Subquery(_) | ExprKind::Program(_)))
    }

    /// Whether it contains a subquery or a call of a stored function: evaluating it runs plans.
    pub fn has_subquery(&self) -> bool {
        self.any(&mut |e| matches!(e.kind, ExprKind::Subquery(_) | ExprKind::Program(_)))
    }
}
