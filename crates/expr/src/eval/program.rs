//! Calls stored functions for the rows of a batch.

use super::super::context::EvalContext;
use super::super::context::held::ColumnBytes;
use super::super::datum::Datum;
use super::super::ir::{Expr, ProgramCall};
use leafline_types::column::ColumnBuilder;
use leafline_types::error::MysqlError;
use leafline_types::value::Value;

/// Returns the results of a call for the rows of a batch, given the values of its arguments; a single result if the call is not
/// volatile, because then its arguments are constants.
pub(super) fn results(
    e: &Expr,
    call: &ProgramCall,
    data: &[Datum],
    rows: usize,
    cx: &mut EvalContext<'_>,
) -> Result<Datum, MysqlError> {
    let mut values = vec![Value::Null; call.args.len()];
    let mut result = |row: usize, cx: &mut EvalContext<'_>| {
        for ((value, datum), ty) in values.iter_mut().zip(data).zip(call.argument_types()) {
            *value = datum.value(row, ty);
        }
        cx.call(call, &values)
    };
    if !call.is_volatile && data.iter().all(|d| matches!(d, Datum::Scalar(_))) {
        return match rows {
            0 => Ok(Datum::Scalar(Value::Null)),
            _ => result(0, cx).map(Datum::Scalar),
        };
    }
    let mut out = ColumnBuilder::with_capacity(&e.ty.sql, rows);
    let mut bytes = ColumnBytes::default();
    for row in 0..rows {
        let v = result(row, cx)?;
        bytes.add(&v, cx)?;
        out.push_value(&v)?;
    }
    Ok(Datum::Array(out.finish()))
}
