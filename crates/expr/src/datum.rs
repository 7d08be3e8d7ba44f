//! The columns of a row, which an evaluation reads, and the values for the rows of a batch, which it makes.

use arrow_array::{Array, ArrayRef};
use leafline_types::column::{ColumnBuilder, value_at};
use leafline_types::error::MysqlError;
use leafline_types::output::room_for;
use leafline_types::value::{SqlType, Value};

/// The source of column values.
pub(crate) trait Row: std::fmt::Debug {
    /// Returns the value of a column.
    fn value(&self, column: usize, ty: &SqlType) -> Result<Value, MysqlError>;
}

/// The value of an expression for the rows of a batch.
#[derive(Debug, Clone)]
pub enum Datum {
    /// One value per row, in the Arrow type of the expression's SQL type.
    Array(ArrayRef),
    /// One value for all rows.
    Scalar(Value),
}

impl Datum {
    /// Returns a column; repeats a scalar.
    pub fn into_array(self, ty: &SqlType, rows: usize) -> Result<ArrayRef, MysqlError> {
        match self {
            Datum::Array(array) => Ok(array),
            Datum::Scalar(v) => {
                room_for(v.byte_len().saturating_mul(rows))?;
                let mut out = ColumnBuilder::with_capacity(ty, rows);
                for _ in 0..rows {
                    out.push_value(&v)?;
                }
                Ok(out.finish())
            }
        }
    }

    /// Returns the value of a row; `ty` is the type of the expression.
    pub fn value(&self, row: usize, ty: &SqlType) -> Value {
        match self {
            Datum::Array(array) if *ty == SqlType::Null || array.is_null(row) => Value::Null,
            Datum::Array(array) => value_at(array, row, ty),
            Datum::Scalar(v) => v.clone(),
        }
    }
}
