//! Evaluates subqueries for the rows of a batch.

use super::super::context::EvalContext;
use super::super::ir::Expr;
use super::super::subquery::{self, Subquery};
use super::Datum;
use super::batch::datum_of;
use super::held::ColumnBytes;
use leafline_types::column::{Batch, ColumnBuilder};
use leafline_types::error::MysqlError;
use leafline_types::value::Value;

/// Returns the answers of a subquery; a single one if they depend on no column.
pub(super) fn answers(
    e: &Expr,
    subquery: &Subquery,
    batch: &Batch,
    cx: &mut EvalContext<'_>,
) -> Result<Datum, MysqlError> {
    let operands: Vec<&Expr> = subquery.needle.iter().chain(&subquery.outer).collect();
    let data = operands.iter().map(|a| datum_of(a, batch, cx)).collect::<Result<Vec<_>, _>>()?;
    let mut values: Vec<Value> = vec![Value::Null; operands.len()];
    let mut answer = |row: usize, cx: &mut EvalContext<'_>| {
        for ((value, datum), operand) in values.iter_mut().zip(&data).zip(&operands) {
            *value = datum.value(row, &operand.ty.sql);
        }
        let (needle, outer) = values.split_at(subquery.needle.len());
        subquery::answer(subquery, needle, outer, cx)
    };
    if !subquery.is_volatile && data.iter().all(|d| matches!(d, Datum::Scalar(_))) {
        return answer(0, cx).map(Datum::Scalar);
    }
    let mut out = ColumnBuilder::with_capacity(&e.ty.sql, batch.rows);
    let mut bytes = ColumnBytes::default();
    for row in 0..batch.rows {
        let v = answer(row, cx)?;
        bytes.add(&v, cx)?;
        out.push_value(&v)?;
    }
    Ok(Datum::Array(out.finish()))
}
