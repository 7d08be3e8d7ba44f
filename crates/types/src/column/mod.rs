//! SQL values as Arrow columns.
//!
//! | SQL type                  | Arrow type                                |
//! |---------------------------|-------------------------------------------|
//! | NULL                      | Null                                      |
//! | integers, signed          | Int64                                     |
//! | integers, unsigned        | UInt64                                    |
//! | DECIMAL(p, s), p <= 38    | Decimal128(p, s)                          |
//! | DECIMAL(p, s), p > 38     | Decimal256(p, s)                          |
//! | DOUBLE, FLOAT             | Float64                                   |
//! | CHAR, VARCHAR, TEXT       | Utf8                                      |
//! | BINARY, VARBINARY, BLOB   | Binary                                    |
//! | JSON                      | Binary: see `json::binary`                |
//! | DATE                      | Date32, `Date::ordinal`                   |
//! | DATETIME, TIMESTAMP       | Timestamp(Microsecond), `DateTime::ordinal` |
//! | ENUM, SET, BIT            | UInt64: numbers                           |
//! | TIME                      | Duration(Microsecond)                     |
//!
//! Integers of all widths share one Arrow type, so that kernels and builders need two variants, not ten. Batches
//! are short-lived; narrow integers save space in rows and keys. `Utf8` (32-bit offsets) holds 2 GiB in a batch;
//! the builder refuses more.

mod builder;
pub mod spilled;
mod text;
mod text_values;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, DurationMicrosecondType, Float64Type, Int64Type,
    TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_schema::{DataType, TimeUnit};

use crate::collation::Charset;
use crate::decimal::Decimal;
use crate::error::CodecError;
use crate::json::Json;
use crate::temporal::{Date, DateTime, Time};
use crate::value::{SqlType, Value};

pub use builder::ColumnBuilder;
pub use text::TextBuilder;
pub use text_values::{TextColumns, append_text};

/// The most digits of Arrow's 128-bit decimals.
pub const DECIMAL128_PRECISION: u8 = 38;

/// Rows as columns of equal length. The plan knows their types.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The columns.
    pub columns: Vec<ArrayRef>,
    /// The number of rows; also valid if there are no columns.
    pub rows: usize,
}

impl Batch {
    /// Makes a batch of columns with `rows` values each; there may be no columns.
    pub fn new(columns: Vec<ArrayRef>, rows: usize) -> Self {
        debug_assert!(columns.iter().all(|c| c.len() == rows), "columns of unequal length");
        Batch { columns, rows }
    }

    /// Re-encodes texts, and members of ENUM and SET, in the character set given for each column, if any, for
    /// clients. The types of these columns become binary strings.
    pub fn in_charsets(self, charsets: &[Option<Charset>], types: &[SqlType]) -> Self {
        let encoded = |(at, column): (usize, ArrayRef)| {
            let charset = charsets.get(at).copied().flatten();
            match (charset, types.get(at)) {
                (Some(charset), Some(ty)) => Self::in_charset(column, ty, charset),
                _ => column,
            }
        };
        Batch { columns: self.columns.into_iter().enumerate().map(encoded).collect(), rows: self.rows }
    }

    fn in_charset(column: ArrayRef, ty: &SqlType, charset: Charset) -> ArrayRef {
        if ty.has_members() {
            let text = |row| crate::convert::to_text(&value_at(&column, row, ty), ty);
            let texts = (0..column.len()).map(|row| text(row).map(|text| charset.encode(&text)));
            return Arc::new(texts.collect::<BinaryArray>());
        }
        match column.data_type() {
            DataType::Utf8 => {
                let texts = column.as_string::<i32>();
                let same = match charset {
                    Charset::Utf8mb3 => texts.value_data().iter().all(|byte| *byte < 0xf0),
                    _ => charset.keeps_ascii() && texts.value_data().is_ascii(),
                };
                let bytes: BinaryArray = match same {
                    true => texts.clone().into(),
                    false => texts.iter().map(|text| text.map(|text| charset.encode(text))).collect(),
                };
                Arc::new(bytes) as ArrayRef
            }
            _ => column,
        }
    }

    /// Makes a batch of rows of values, with one type per column, for VALUES lists, SHOW and tests.
    pub fn from_rows<'a>(
        types: &[SqlType],
        rows: impl IntoIterator<Item = &'a [Value]>,
    ) -> Result<Self, CodecError> {
        let mut builders: Vec<ColumnBuilder> = types.iter().map(ColumnBuilder::for_type).collect();
        let mut count = 0;
        for row in rows {
            count += 1;
            for (builder, value) in builders.iter_mut().zip(row) {
                builder.push_value(value)?;
            }
        }
        Ok(Batch::new(builders.iter_mut().map(ColumnBuilder::finish).collect(), count))
    }
}

/// Returns the Arrow type that holds `ty`.
pub fn arrow_type(ty: &SqlType) -> DataType {
    match ty {
        SqlType::Null => DataType::Null,
        SqlType::TinyInt { .. }
        | SqlType::SmallInt { .. }
        | SqlType::MediumInt { .. }
        | SqlType::Int { .. }
        | SqlType::BigInt { .. }
        | SqlType::Boolean
        | SqlType::Zerofill { .. }
        | SqlType::Year => {
            if ty.is_unsigned() {
                DataType::UInt64
            } else {
                DataType::Int64
            }
        }
        SqlType::Decimal { precision, scale, .. } if *precision <= DECIMAL128_PRECISION => {
            DataType::Decimal128(*precision, *scale as i8)
        }
        SqlType::Decimal { precision, scale, .. } => DataType::Decimal256(*precision, *scale as i8),
        SqlType::Double | SqlType::Real { .. } => DataType::Float64,
        SqlType::Char { .. } | SqlType::Varchar { .. } | SqlType::Text { .. } => DataType::Utf8,
        SqlType::Binary { .. } | SqlType::Varbinary { .. } | SqlType::Blob { .. } | SqlType::Json => {
            DataType::Binary
        }
        SqlType::Date => DataType::Date32,
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => {
            DataType::Timestamp(TimeUnit::Microsecond, None)
        }
        SqlType::Enum(_) | SqlType::Set(_) | SqlType::Bit { .. } => DataType::UInt64,
        SqlType::Time { .. } => DataType::Duration(TimeUnit::Microsecond),
    }
}

/// Returns the text in `row` of a column of character strings, without a copy; `Some(None)` for NULL. `None` if the
/// column holds no character strings or has no such row.
pub fn text_at(array: &ArrayRef, row: usize) -> Option<Option<&str>> {
    let texts = array.as_string_opt::<i32>().filter(|texts| row < texts.len())?;
    Some(texts.is_valid(row).then(|| texts.value(row)))
}

/// Returns the length in bytes of the string in `row`; 0 in a column of another type.
pub fn byte_len_at(array: &dyn Array, row: usize) -> usize {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value_length(row) as usize,
        DataType::Binary => array.as_binary::<i32>().value_length(row) as usize,
        _ => 0,
    }
}

/// Returns the value in `row`. Panics if `array` is not of `arrow_type(ty)` or has no such row. Returns NULL for a
/// day, time or number that `ty` cannot hold; no builder lets one in.
pub fn value_at(array: &dyn Array, row: usize, ty: &SqlType) -> Value {
    if matches!(ty, SqlType::Null) || array.is_null(row) {
        return Value::Null;
    }
    match arrow_type(ty) {
        DataType::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt64 => Value::UInt(array.as_primitive::<UInt64Type>().value(row)),
        DataType::Decimal128(_, scale) => {
            Value::Decimal(Decimal::from_i128(array.as_primitive::<Decimal128Type>().value(row), scale as u8))
        }
        DataType::Decimal256(_, scale) => {
            let unscaled = array.as_primitive::<Decimal256Type>().value(row);
            Decimal::from_i256(unscaled, scale as u8).map_or(Value::Null, Value::Decimal)
        }
        DataType::Float64 => Value::Double(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => Value::String(array.as_string::<i32>().value(row).into()),
        DataType::Binary if *ty == SqlType::Json => {
            Value::Json(Json::from_bytes(array.as_binary::<i32>().value(row)))
        }
        DataType::Binary => Value::Bytes(array.as_binary::<i32>().value(row).into()),
        DataType::Date32 => {
            Date::from_ordinal(array.as_primitive::<Date32Type>().value(row)).map_or(Value::Null, Value::Date)
        }
        DataType::Duration(_) => {
            let micros = array.as_primitive::<DurationMicrosecondType>().value(row);
            Time::from_micros(micros).map_or(Value::Null, Value::Time)
        }
        _ => {
            let micros = array.as_primitive::<TimestampMicrosecondType>().value(row);
            DateTime::from_ordinal(micros).map_or(Value::Null, Value::DateTime)
        }
    }
}

/// Makes a column of `rows` copies of `value`, which is NULL or of type `ty`.
pub fn repeat(value: &Value, ty: &SqlType, rows: usize) -> Result<ArrayRef, CodecError> {
    let mut builder = ColumnBuilder::with_capacity(ty, rows);
    for _ in 0..rows {
        builder.push_value(value)?;
    }
    Ok(builder.finish())
}

/// Makes a column of `rows` NULLs of type `ty`.
pub fn nulls(ty: &SqlType, rows: usize) -> ArrayRef {
    arrow_array::new_null_array(&arrow_type(ty), rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(s: &str) -> Value {
        Value::Decimal(Decimal::parse(s).unwrap())
    }

    #[test]
    fn values_of_every_type_go_through_a_column() {
        let date = Value::Date(Date::from_epoch_days(-1).unwrap());
        let time = Value::DateTime(DateTime::from_epoch_micros(-1).unwrap());
        let unsigned = false;
        for (ty, values) in [
            (SqlType::TinyInt { unsigned }, vec![Value::Int(-128), Value::Int(127)]),
            (SqlType::BIGINT_UNSIGNED, vec![Value::UInt(u64::MAX)]),
            (
                SqlType::Decimal { precision: 15, scale: 2, unsigned, zerofill: false },
                vec![decimal("-1.25"), decimal("9999999999999.99")],
            ),
            (
                SqlType::Decimal { precision: 65, scale: 30, unsigned, zerofill: false },
                vec![Value::Decimal(Decimal::max_value(65, 30))],
            ),
            (SqlType::Double, vec![Value::Double(-0.5)]),
            (SqlType::Char { len: 3 }, vec![Value::from("é")]),
            (SqlType::Text { max_bytes: 255 }, vec![Value::from(""), Value::from("a\0b")]),
            (SqlType::Varbinary { len: 3 }, vec![Value::bytes([0, 255])]),
            (SqlType::Date, vec![date]),
            (SqlType::DateTime { fsp: 6 }, vec![time]),
            (SqlType::Time { fsp: 6 }, vec![Value::Time(Time::MIN), Value::Time(Time::MAX)]),
            (SqlType::Year, vec![Value::UInt(2155)]),
            (SqlType::Binary { len: 2 }, vec![Value::bytes([0, 255])]),
            (SqlType::Null, vec![]),
        ] {
            let mut builder = ColumnBuilder::for_type(&ty);
            builder.push_null();
            for v in &values {
                builder.push_value(v).unwrap();
            }
            assert_eq!(builder.len(), values.len() + 1);
            let array = builder.finish();
            assert_eq!((array.data_type(), builder.len()), (&arrow_type(&ty), 0), "{ty}");
            assert_eq!(value_at(&array, 0, &ty), Value::Null);
            for (i, v) in values.iter().enumerate() {
                assert_eq!(&value_at(&array, i + 1, &ty), v, "{ty}");
            }
            assert_eq!(nulls(&ty, 2).data_type(), &arrow_type(&ty));
        }
    }

    #[test]
    fn a_value_of_another_type_is_refused() {
        for (ty, v) in [
            (SqlType::BIGINT, Value::from("1")),
            (SqlType::BIGINT, Value::UInt(u64::MAX)),
            (SqlType::BIGINT_UNSIGNED, Value::Int(-1)),
            (SqlType::Null, Value::Int(1)),
            (SqlType::Date, Value::Double(1.0)),
            (SqlType::Varchar { len: 1 }, Value::bytes([255])),
            (SqlType::decimal(3, 1), decimal("100")),
        ] {
            let mut builder = ColumnBuilder::for_type(&ty);
            assert!(matches!(builder.push_value(&v), Err(CodecError::TypeMismatch { .. })), "{ty} {v:?}");
            assert!(builder.is_empty());
        }
    }

    #[test]
    fn decimals_take_the_scale_of_the_column() {
        let ty = SqlType::decimal(5, 2);
        let array = repeat(&decimal("1.005"), &ty, 2).unwrap();
        assert_eq!(format!("{:?}", value_at(&array, 1, &ty)), "Decimal(1.01)");
    }

    #[test]
    fn rows_become_a_batch() {
        let rows = [vec![Value::Int(1), Value::from("a")], vec![Value::Null, Value::from("b")]];
        let types = [SqlType::BIGINT, SqlType::Varchar { len: 1 }];
        let batch = Batch::from_rows(&types, rows.iter().map(Vec::as_slice)).unwrap();
        assert_eq!((batch.rows, batch.columns.len()), (2, 2));
        assert_eq!(value_at(&batch.columns[1], 1, &types[1]), Value::from("b"));
        let empty = Batch::from_rows(&[], [&[] as &[Value]; 3]).unwrap();
        assert_eq!(empty.rows, 3);
    }
}
