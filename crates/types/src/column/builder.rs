//! Builds an Arrow column value by value.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    ArrayBuilder, BinaryBuilder, Date32Builder, Decimal128Builder, Decimal256Builder,
    DurationMicrosecondBuilder, Float64Builder, Int64Builder, NullBuilder, TimestampMicrosecondBuilder,
    UInt64Builder,
};
use arrow_buffer::i256;
use arrow_schema::DataType;

use super::arrow_type;
use super::text::{TextBuilder, check_room, text_of};
use crate::decimal::{Decimal, pow10_i128, pow10_i256};
use crate::error::CodecError;
use crate::value::{SqlType, Value};

/// Builds an Arrow column. The codecs of rows and keys push into the variants directly.
#[derive(Debug)]
pub enum ColumnBuilder {
    /// A column of NULLs only.
    Null(NullBuilder),
    /// A column of signed integers.
    Int64(Int64Builder),
    /// A column of unsigned integers.
    UInt64(UInt64Builder),
    /// A column of decimals of up to 38 digits, with precision and scale.
    Decimal128(Decimal128Builder, (u8, u8)),
    /// A column of longer decimals, with precision and scale.
    Decimal256(Decimal256Builder, (u8, u8)),
    /// A column of doubles.
    Float64(Float64Builder),
    /// A column of character strings.
    Utf8(TextBuilder),
    /// A column of binary strings.
    Binary(BinaryBuilder),
    /// A column of days.
    Date32(Date32Builder),
    /// A column of datetimes.
    Timestamp(TimestampMicrosecondBuilder),
    /// A column of times.
    Duration(DurationMicrosecondBuilder),
}

/// Expands to the same expression for every builder.
macro_rules! each {
    ($self:expr, $builder:ident => $body:expr) => {
        match $self {
            ColumnBuilder::Null($builder) => $body,
            ColumnBuilder::Int64($builder) => $body,
            ColumnBuilder::UInt64($builder) => $body,
            ColumnBuilder::Decimal128($builder, _) => $body,
            ColumnBuilder::Decimal256($builder, _) => $body,
            ColumnBuilder::Float64($builder) => $body,
            ColumnBuilder::Utf8($builder) => $body,
            ColumnBuilder::Binary($builder) => $body,
            ColumnBuilder::Date32($builder) => $body,
            ColumnBuilder::Timestamp($builder) => $body,
            ColumnBuilder::Duration($builder) => $body,
        }
    };
}

/// Bytes reserved per row in a new string column.
const STRING_BYTES_GUESS: usize = 16;

impl ColumnBuilder {
    /// Makes an empty builder for values of `ty`.
    pub fn for_type(ty: &SqlType) -> Self {
        Self::with_capacity(ty, 0)
    }

    /// Makes an empty builder with room for `rows` values.
    pub fn with_capacity(ty: &SqlType, rows: usize) -> Self {
        let arrow = arrow_type(ty);
        match arrow {
            DataType::Null => ColumnBuilder::Null(NullBuilder::new()),
            DataType::Int64 => ColumnBuilder::Int64(Int64Builder::with_capacity(rows)),
            DataType::UInt64 => ColumnBuilder::UInt64(UInt64Builder::with_capacity(rows)),
            DataType::Decimal128(precision, scale) => ColumnBuilder::Decimal128(
                Decimal128Builder::with_capacity(rows).with_data_type(arrow),
                (precision, scale as u8),
            ),
            DataType::Decimal256(precision, scale) => ColumnBuilder::Decimal256(
                Decimal256Builder::with_capacity(rows).with_data_type(arrow),
                (precision, scale as u8),
            ),
            DataType::Float64 => ColumnBuilder::Float64(Float64Builder::with_capacity(rows)),
            DataType::Utf8 => {
                ColumnBuilder::Utf8(TextBuilder::with_capacity(rows, rows * STRING_BYTES_GUESS))
            }
            DataType::Binary => {
                ColumnBuilder::Binary(BinaryBuilder::with_capacity(rows, rows * STRING_BYTES_GUESS))
            }
            DataType::Date32 => ColumnBuilder::Date32(Date32Builder::with_capacity(rows)),
            DataType::Duration(_) => ColumnBuilder::Duration(DurationMicrosecondBuilder::with_capacity(rows)),
            _ => ColumnBuilder::Timestamp(TimestampMicrosecondBuilder::with_capacity(rows)),
        }
    }

    /// Appends a value, which must be NULL or of the column's type. Rounds a decimal to the column's scale; takes an
    /// integer of the other signedness if it fits.
    pub fn push_value(&mut self, v: &Value) -> Result<(), CodecError> {
        match (&mut *self, v) {
            (_, Value::Null) => self.push_null(),
            (ColumnBuilder::Int64(b), Value::Int(v)) => b.append_value(*v),
            (ColumnBuilder::UInt64(b), Value::UInt(v)) => b.append_value(*v),
            (ColumnBuilder::Int64(b), Value::UInt(v)) if i64::try_from(*v).is_ok() => {
                b.append_value(*v as i64)
            }
            (ColumnBuilder::UInt64(b), Value::Int(v)) if *v >= 0 => b.append_value(*v as u64),
            (ColumnBuilder::Float64(b), Value::Double(v)) => b.append_value(*v),
            (ColumnBuilder::Date32(b), Value::Date(v)) => b.append_value(v.ordinal()),
            (ColumnBuilder::Timestamp(b), Value::DateTime(v)) => b.append_value(v.ordinal()),
            (ColumnBuilder::Duration(b), Value::Time(v)) => b.append_value(v.micros()),
            (ColumnBuilder::Utf8(_), Value::String(s)) => return self.push_str(s),
            (ColumnBuilder::Binary(_), Value::Bytes(s)) => return self.push_bytes(s),
            (ColumnBuilder::Binary(_), Value::Json(json)) => return self.push_bytes(json.as_bytes()),
            (ColumnBuilder::Binary(_), Value::String(s)) => return self.push_bytes(s.as_bytes()),
            (ColumnBuilder::Decimal128(b, (precision, scale)), Value::Decimal(d)) => {
                let most = pow10_i128(*precision);
                let unscaled = at_scale(d, *scale).and_then(i256::to_i128);
                match unscaled.filter(|v| -most < *v && *v < most) {
                    Some(v) => b.append_value(v),
                    None => return Err(self.mismatch(v)),
                }
            }
            (ColumnBuilder::Decimal256(b, (precision, scale)), Value::Decimal(d)) => {
                let most = pow10_i256(*precision);
                match at_scale(d, *scale).filter(|v| v.wrapping_abs() < most) {
                    Some(v) => b.append_value(v),
                    None => return Err(self.mismatch(v)),
                }
            }
            _ => return Err(self.mismatch(v)),
        }
        Ok(())
    }

    /// Appends NULL.
    #[inline]
    pub fn push_null(&mut self) {
        each!(self, b => b.append_null());
    }

    /// Appends a character string.
    #[inline]
    pub fn push_str(&mut self, s: &str) -> Result<(), CodecError> {
        let ColumnBuilder::Utf8(b) = self else { return Err(self.mismatch(&Value::from(""))) };
        b.append(s)
    }

    /// Appends bytes. A column of character strings refuses bytes that are not UTF-8.
    #[inline]
    pub fn push_bytes(&mut self, s: &[u8]) -> Result<(), CodecError> {
        match self {
            ColumnBuilder::Binary(b) => {
                check_room(b.values_slice().len(), s.len())?;
                b.append_value(s);
                Ok(())
            }
            ColumnBuilder::Utf8(_) => self.push_str(text_of(s)?),
            _ => Err(self.mismatch(&Value::bytes([]))),
        }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        each!(self, b => b.len())
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the column and leaves the builder empty.
    pub fn finish(&mut self) -> ArrayRef {
        each!(self, b => Arc::new(b.finish()))
    }

    fn mismatch(&self, v: &Value) -> CodecError {
        let ty = match self {
            ColumnBuilder::Null(_) => "NULL",
            ColumnBuilder::Int64(_) => "an integer",
            ColumnBuilder::UInt64(_) => "an unsigned integer",
            ColumnBuilder::Decimal128(_, (p, s)) | ColumnBuilder::Decimal256(_, (p, s)) => {
                return CodecError::TypeMismatch { value: v.kind(), ty: format!("decimal({p},{s})") };
            }
            ColumnBuilder::Float64(_) => "a double",
            ColumnBuilder::Utf8(_) => "a string",
            ColumnBuilder::Binary(_) => "bytes",
            ColumnBuilder::Date32(_) => "a date",
            ColumnBuilder::Timestamp(_) => "a datetime",
            ColumnBuilder::Duration(_) => "a time",
        };
        CodecError::TypeMismatch { value: v.kind(), ty: ty.to_owned() }
    }
}

fn at_scale(d: &Decimal, scale: u8) -> Option<i256> {
    if d.scale() == scale { Some(d.unscaled()) } else { Some(d.round(scale.into())?.unscaled()) }
}
