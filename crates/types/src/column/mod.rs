//! Values as Arrow columns.
//!
//! | SQL type                  | Arrow type                                |
//! |---------------------------|-------------------------------------------|
//! | NULL                      | Null                                      |
//! | integers, signed          | Int64                                     |
//! | integers, unsigned        | UInt64                                    |
//! | DECIMAL(p, s), p <= 38    | Decimal128(p, s)                          |
//! | DECIMAL(p, s), p > 38     | Decimal256(p, s)                          |
//! | DOUBLE                    | Float64                                   |
//! | CHAR, VARCHAR, TEXT       | Utf8                                      |
//! | VARBINARY                 | Binary                                    |
//! | DATE                      | Date32, days since 1970-01-01             |
//! | DATETIME                  | Timestamp(Microsecond), no time zone      |
//!
//! All widths of integers share one Arrow type, so that kernels and builders need two variants, not ten; batches
//! live shortly, rows and keys are where narrow integers save space. `Utf8` (32-bit offsets) holds 2 GiB a batch,
//! which a batch of 8,192 rows does not reach before the builder refuses.

mod builder;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use crate::value::{SqlType, Value};

pub use builder::ColumnBuilder;

/// Rows as columns of equal length; their types are known from the plan.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The columns.
    pub columns: Vec<ArrayRef>,
    /// How many rows; also right where there are no columns.
    pub rows: usize,
}

/// The Arrow type that holds `ty`.
pub fn arrow_type(_ty: &SqlType) -> DataType {
    todo!()
}

/// The value in `row`. Panics if `array` is not of `arrow_type(ty)` or has no such row.
pub fn value_at(_array: &dyn Array, _row: usize, _ty: &SqlType) -> Value {
    todo!()
}
