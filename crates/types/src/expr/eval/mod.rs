//! The evaluator: expressions over batches of columns, and over single rows.

mod selection;

use arrow_array::ArrayRef;

use super::context::EvalContext;
use super::ir::Expr;
use crate::column::Batch;
use crate::error::MysqlError;
use crate::value::{SqlType, Value};

pub use selection::Selection;

/// The value of an expression for the rows of a batch.
#[derive(Debug, Clone)]
pub enum Datum {
    /// One value per row, in the Arrow type of the expression's SQL type.
    Array(ArrayRef),
    /// The same value for all rows.
    Scalar(Value),
}

impl Datum {
    /// The column that a batch needs: a scalar is repeated.
    pub fn into_array(self, _ty: &SqlType, _rows: usize) -> Result<ArrayRef, MysqlError> {
        todo!()
    }
}

/// The value of `expr` for every row of `batch`; its columns are positions in the batch.
pub fn evaluate(_expr: &Expr, _batch: &Batch, _cx: &mut EvalContext<'_>) -> Result<Datum, MysqlError> {
    todo!()
}

/// The rows of `batch` for which all `conjuncts` are TRUE. A conjunct is evaluated only on rows that the ones
/// before it let pass, as far as that can be noticed: errors and warnings of other rows do not arise.
pub fn evaluate_filter(
    _conjuncts: &[Expr],
    _batch: &Batch,
    _cx: &mut EvalContext<'_>,
) -> Result<Selection, MysqlError> {
    todo!()
}

/// The value of an expression without columns.
pub fn evaluate_scalar(_expr: &Expr, _cx: &mut EvalContext<'_>) -> Result<Value, MysqlError> {
    todo!()
}

/// The value of `expr` for one row, whose values its columns number.
pub fn evaluate_row(_expr: &Expr, _row: &[Value], _cx: &mut EvalContext<'_>) -> Result<Value, MysqlError> {
    todo!()
}

/// Whether all `conjuncts` are TRUE for one row.
pub fn evaluate_condition(
    _conjuncts: &[Expr],
    _row: &[Value],
    _cx: &mut EvalContext<'_>,
) -> Result<bool, MysqlError> {
    todo!()
}

/// The truth of a value: None for NULL.
pub fn truth(_v: &Value, _cx: &mut EvalContext<'_>) -> Result<Option<bool>, MysqlError> {
    todo!()
}
