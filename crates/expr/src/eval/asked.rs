//! Values that an expression computes row by row: answers of subqueries, results of stored functions, scores of searches.

use super::super::context::EvalContext;
use super::super::context::held::ColumnBytes;
use super::super::datum::Datum;
use super::super::ir::{Expr, ExprKind};
use leafline_types::column::ColumnBuilder;
use leafline_types::error::MysqlError;
use leafline_types::value::Value;

/// Returns the values of `e` for the rows of a batch, given its operands and their values; `ask` gives the value for operands.
/// A subquery or call that is not volatile is asked once if its operands depend on no column.
pub(super) fn values(
    e: &Expr,
    (operands, data): (&[&Expr], &[Datum]),
    rows: usize,
    cx: &mut EvalContext<'_>,
    mut ask: impl FnMut(&[Value], &mut EvalContext<'_>) -> Result<Value, MysqlError>,
) -> Result<Datum, MysqlError> {
    let mut values = vec![Value::Null; operands.len()];
    let mut of_row = |row: usize, cx: &mut EvalContext<'_>| {
        for ((value, datum), operand) in values.iter_mut().zip(data).zip(operands) {
            *value = datum.value(row, &operand.ty.sql);
        }
        ask(&values, cx)
    };
    let is_volatile = match &e.kind {
        ExprKind::Subquery(subquery) => subquery.is_volatile,
        ExprKind::Program(call) => call.is_volatile,
        _ => true,
    };
    if !is_volatile && data.iter().all(|d| matches!(d, Datum::Scalar(_))) {
        return match rows {
            0 => Ok(Datum::Scalar(Value::Null)),
            _ => of_row(0, cx).map(Datum::Scalar),
        };
    }
    let mut out = ColumnBuilder::with_capacity(&e.ty.sql, rows);
    let mut bytes = ColumnBytes::default();
    for row in 0..rows {
        let value = of_row(row, cx)?;
        bytes.add(&value, cx)?;
        out.push_value(&value)?;
    }
    Ok(Datum::Array(out.finish()))
}
