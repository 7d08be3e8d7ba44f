//! Rewrites that keep the meaning: constants computed once, parameters put in, NOT pushed to the leaves.

use super::context::EvalContext;
use super::ir::Expr;
use crate::error::MysqlError;

/// Computes what is constant at plan time: literals and deterministic functions of them. What raises an error or a
/// warning stays as it is, to raise it when (and if) it is evaluated.
pub fn fold(_expr: Expr, _cx: &mut EvalContext<'_>) -> Result<Expr, MysqlError> {
    todo!()
}

/// Like [`fold`], for one execution: parameters and functions that are fixed for a statement become literals too,
/// and comparisons with them are typed anew, as if the values had been written in the statement.
pub fn bind_parameters(_expr: &Expr, _cx: &mut EvalContext<'_>) -> Result<Expr, MysqlError> {
    todo!()
}

/// The condition without NOT above AND, OR or a comparison. It is TRUE, FALSE and NULL where it was.
pub fn push_down_not(_expr: Expr) -> Expr {
    todo!()
}

/// The conjuncts of a condition, in order; nested ANDs are flattened.
pub fn conjuncts(_expr: Expr) -> Vec<Expr> {
    todo!()
}
