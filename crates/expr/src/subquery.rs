//! Subqueries in expressions.
//!
//! An expression knows the number of a subquery, the values it depends on, and how its rows give the result. A
//! [`SubqueryRunner`] runs it, when its value is needed and only then.
//!
//! Inside the subquery the values it depends on are [`ExprKind::Outer`]: constants while it runs.

use super::context::EvalContext;
use super::eval::{evaluate_row, truth};
use super::ir::{Expr, ExprKind};
use leafline_types::error::MysqlError;
use leafline_types::value::{ExprType, SqlType, Value};

/// A subquery as an operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subquery {
    /// Its number in the statement.
    pub number: usize,
    /// The use of its rows.
    pub question: SubqueryUse,
    /// The values that its rows are compared with.
    pub needle: Vec<Expr>,
    /// The values it depends on, by the number that `Outer` gives them inside.
    pub outer: Vec<Expr>,
    /// Whether two runs with the same values can differ, because it calls `RAND()` or the like.
    pub is_volatile: bool,
}

/// The rule by which the rows of a subquery give its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubqueryUse {
    /// The value of the only column of the only row; NULL without rows, error 1242 with more than one.
    Value,
    /// Whether there are rows.
    Exists,
    /// Whether the comparison is true for some row: TRUE if so, otherwise NULL if it is NULL for some row, otherwise
    /// FALSE. The needle is columns 0, 1, ... of the comparison; a row's columns follow.
    Any(Box<Expr>),
    /// The comparison with the only row, written as for `Any`; with NULLs if there is no row. Error 1242 with more
    /// than one row.
    Row(Box<Expr>),
}

impl Subquery {
    /// Whether its value is 0, 1 or NULL.
    pub fn is_condition(&self) -> bool {
        self.question != SubqueryUse::Value
    }

    /// Whether one answer holds for all rows of the enclosing query.
    pub fn is_independent(&self) -> bool {
        self.outer.is_empty() && !self.is_volatile
    }
}

/// Runs the subqueries of a statement.
pub trait SubqueryRunner {
    /// Returns the result of `subquery` for these values of its needle and of what it depends on.
    ///
    /// # Errors
    /// Errors of the subquery; 1242 if it has too many rows.
    fn answer(
        &self,
        subquery: &Subquery,
        needle: &[Value],
        outer: &[Value],
        cx: &mut EvalContext<'_>,
    ) -> Result<Value, MysqlError>;
}

/// Returns the value of a subquery for given values of its operands.
pub(super) fn answer(
    subquery: &Subquery,
    needle: &[Value],
    outer: &[Value],
    cx: &mut EvalContext<'_>,
) -> Result<Value, MysqlError> {
    let runner = cx.subqueries.ok_or_else(|| MysqlError::internal("a subquery where none can be run"))?;
    runner.answer(subquery, needle, outer, cx)
}

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
    /// Whether it can be computed when a plan is made: it contains no subquery and no value of an enclosing query's
    /// row.
    pub fn is_constant_for_planning(&self) -> bool {
        !self.any(&mut |e| matches!(e.kind, ExprKind::Outer(_) | ExprKind::Subquery(_)))
    }

    /// Whether it contains a subquery.
    pub fn has_subquery(&self) -> bool {
        self.any(&mut |e| matches!(e.kind, ExprKind::Subquery(_)))
    }
}
