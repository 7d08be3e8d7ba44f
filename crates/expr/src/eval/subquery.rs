//! Evaluates subqueries for the rows of a batch.

use super::super::context::EvalContext;
use super::super::context::held::ColumnBytes;
use super::super::datum::Datum;
use super::super::ir::{Expr, Subquery};
use leafline_types::column::ColumnBuilder;
use leafline_types::error::MysqlError;
use leafline_types::value::Value;

/// Returns the answers of a subquery for the rows of a batch, given its operands and their values; a single answer if
/// they depend on no column.
pub(super) fn answers(
    e: &Expr,
    subquery: &Subquery,
    (operands, data): (&[&Expr], &[Datum]),
    rows: usize,
    cx: &mut EvalContext<'_>,
) -> Result<Datum, MysqlError> {
    let mut values: Vec<Value> = vec![Value::Null; operands.len()];
    let mut answer = |row: usize, cx: &mut EvalContext<'_>| {
        for ((value, datum), operand) in values.iter_mut().zip(data).zip(operands) {
            *value = datum.value(row, &operand.ty.sql);
        }
        let (needle, outer) = values.split_at(subquery.needle.len());
        cx.answer(subquery, needle, outer)
    };
    if !subquery.is_volatile && data.iter().all(|d| matches!(d, Datum::Scalar(_))) {
        return answer(0, cx).map(Datum::Scalar);
    }
    let mut out = ColumnBuilder::with_capacity(&e.ty.sql, rows);
    let mut bytes = ColumnBytes::default();
    for row in 0..rows {
        let v = answer(row, cx)?;
        bytes.add(&v, cx)?;
        out.push_value(&v)?;
    }
    Ok(Datum::Array(out.finish()))
}
