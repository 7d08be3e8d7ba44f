//! Builds one Arrow column, value by value.

use arrow_array::ArrayRef;
use arrow_array::builder::{
    BinaryBuilder, Date32Builder, Decimal128Builder, Decimal256Builder, Float64Builder, Int64Builder,
    NullBuilder, StringBuilder, TimestampMicrosecondBuilder, UInt64Builder,
};

use crate::codec::CodecError;
use crate::value::{SqlType, Value};

/// Builds one Arrow column.
#[derive(Debug)]
#[expect(missing_docs, reason = "one variant per Arrow type")]
pub enum ColumnBuilder {
    Null(NullBuilder),
    Int64(Int64Builder),
    UInt64(UInt64Builder),
    Decimal128(Decimal128Builder),
    Decimal256(Decimal256Builder),
    Float64(Float64Builder),
    Utf8(StringBuilder),
    Binary(BinaryBuilder),
    Date32(Date32Builder),
    Timestamp(TimestampMicrosecondBuilder),
}

impl ColumnBuilder {
    /// An empty one for values of `ty`.
    pub fn for_type(_ty: &SqlType) -> Self {
        todo!()
    }
    /// An empty one with room for `rows` values.
    pub fn with_capacity(_ty: &SqlType, _rows: usize) -> Self {
        todo!()
    }
    /// Appends a value, which must be NULL or of the column's type (a DECIMAL is brought to the column's scale).
    pub fn push_value(&mut self, _v: &Value) -> Result<(), CodecError> {
        todo!()
    }
    /// Appends NULL.
    pub fn push_null(&mut self) {
        todo!()
    }
    /// How many values it has.
    pub fn len(&self) -> usize {
        todo!()
    }
    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The column; the builder is empty afterwards.
    pub fn finish(&mut self) -> ArrayRef {
        todo!()
    }
}
