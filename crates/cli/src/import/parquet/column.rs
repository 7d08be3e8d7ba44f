//! Columns of a Parquet file: the SQL type of each, and its values.
//!
//! | Parquet | SQL type, in a table that is created |
//! |---|---|
//! | BOOLEAN | TINYINT(1) |
//! | INTEGER(8 to 64), signed or not | TINYINT to BIGINT |
//! | DECIMAL(p, s) up to 65 and 30 | the same |
//! | FLOAT, FLOAT16, DOUBLE | FLOAT, DOUBLE |
//! | DATE | DATE |
//! | TIMESTAMP, local or UTC; INT96 | DATETIME(6); UTC stays UTC, and nanoseconds are cut off |
//! | TIME | TIME(6) |
//! | STRING; ENUM; JSON | LONGTEXT; VARCHAR(255); JSON |
//! | UUID | CHAR(36) |
//! | other bytes | BINARY(n) up to 255, LONGBLOB |

use leafline_types::{Date, DateTime, Decimal, Time, Value};
use num_bigint::BigInt;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescriptor;

/// The meaning of a column's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    Boolean,
    Signed {
        bits: u8,
    },
    Unsigned {
        bits: u8,
    },
    Decimal {
        precision: i32,
        scale: u8,
    },
    Float,
    Half,
    Double,
    Date,
    /// A moment, in units of which a second has `a_second`.
    Timestamp {
        a_second: i64,
    },
    Int96,
    Time {
        a_second: i64,
    },
    Text,
    Enum,
    Json,
    Uuid,
    Bytes {
        fixed: Option<i32>,
    },
}

impl Meaning {
    /// Returns the meaning of a column; `None` if it does not fit in a table.
    pub fn of(column: &ColumnDescriptor) -> Option<Meaning> {
        if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
            return None;
        }
        let decimal = |precision, scale: i32| {
            let scale = u8::try_from(scale).ok().filter(|scale| *scale <= 30);
            scale.filter(|_| (1..=65).contains(&precision)).map(|scale| Meaning::Decimal { precision, scale })
        };
        let unit = |unit: &TimeUnit| match unit {
            TimeUnit::MILLIS => 1_000,
            TimeUnit::MICROS => 1_000_000,
            TimeUnit::NANOS => 1_000_000_000,
        };
        let integer = |bits: i8, signed| match signed {
            true => Meaning::Signed { bits: bits.unsigned_abs() },
            false => Meaning::Unsigned { bits: bits.unsigned_abs() },
        };
        let plain = match column.physical_type() {
            Physical::BOOLEAN => Meaning::Boolean,
            Physical::INT32 => Meaning::Signed { bits: 32 },
            Physical::INT64 => Meaning::Signed { bits: 64 },
            Physical::INT96 => Meaning::Int96,
            Physical::FLOAT => Meaning::Float,
            Physical::DOUBLE => Meaning::Double,
            Physical::BYTE_ARRAY => Meaning::Bytes { fixed: None },
            Physical::FIXED_LEN_BYTE_ARRAY => Meaning::Bytes { fixed: Some(column.type_length()) },
        };
        Some(match column.logical_type_ref() {
            Some(LogicalType::Integer(of)) => integer(of.bit_width, of.is_signed),
            Some(LogicalType::Decimal(of)) => return decimal(of.precision, of.scale),
            Some(LogicalType::Date) => Meaning::Date,
            Some(LogicalType::Timestamp(of)) => Meaning::Timestamp { a_second: unit(&of.unit) },
            Some(LogicalType::Time(of)) => Meaning::Time { a_second: unit(&of.unit) },
            Some(LogicalType::String) => Meaning::Text,
            Some(LogicalType::Enum) => Meaning::Enum,
            Some(LogicalType::Json) => Meaning::Json,
            Some(LogicalType::Uuid) => Meaning::Uuid,
            Some(LogicalType::Float16) => Meaning::Half,
            Some(LogicalType::Bson | LogicalType::Unknown) => plain,
            Some(_) => return None,
            None => match column.converted_type() {
                ConvertedType::NONE | ConvertedType::BSON => plain,
                ConvertedType::UTF8 => Meaning::Text,
                ConvertedType::ENUM => Meaning::Enum,
                ConvertedType::JSON => Meaning::Json,
                ConvertedType::DECIMAL => return decimal(column.type_precision(), column.type_scale()),
                ConvertedType::DATE => Meaning::Date,
                ConvertedType::TIME_MILLIS => Meaning::Time { a_second: 1_000 },
                ConvertedType::TIME_MICROS => Meaning::Time { a_second: 1_000_000 },
                ConvertedType::TIMESTAMP_MILLIS => Meaning::Timestamp { a_second: 1_000 },
                ConvertedType::TIMESTAMP_MICROS => Meaning::Timestamp { a_second: 1_000_000 },
                ConvertedType::UINT_8 => Meaning::Unsigned { bits: 8 },
                ConvertedType::UINT_16 => Meaning::Unsigned { bits: 16 },
                ConvertedType::UINT_32 => Meaning::Unsigned { bits: 32 },
                ConvertedType::UINT_64 => Meaning::Unsigned { bits: 64 },
                ConvertedType::INT_8 => Meaning::Signed { bits: 8 },
                ConvertedType::INT_16 => Meaning::Signed { bits: 16 },
                ConvertedType::INT_32 => Meaning::Signed { bits: 32 },
                ConvertedType::INT_64 => Meaning::Signed { bits: 64 },
                _ => return None,
            },
        })
    }

    /// Returns the SQL type; `key` says that it is in the primary key.
    pub fn ty(self, key: bool) -> String {
        let integer = |bits| match bits {
            8 => "TINYINT",
            16 => "SMALLINT",
            32 => "INT",
            _ => "BIGINT",
        };
        match self {
            Meaning::Boolean => "TINYINT(1)".into(),
            Meaning::Signed { bits } => integer(bits).into(),
            Meaning::Unsigned { bits } => format!("{} UNSIGNED", integer(bits)),
            Meaning::Decimal { precision, scale } => format!("DECIMAL({precision},{scale})"),
            Meaning::Float | Meaning::Half => "FLOAT".into(),
            Meaning::Double => "DOUBLE".into(),
            Meaning::Date => "DATE".into(),
            Meaning::Timestamp { .. } | Meaning::Int96 => "DATETIME(6)".into(),
            Meaning::Time { .. } => "TIME(6)".into(),
            Meaning::Text if key => "VARCHAR(255)".into(),
            Meaning::Text => "LONGTEXT".into(),
            Meaning::Enum => "VARCHAR(255)".into(),
            Meaning::Json => "JSON".into(),
            Meaning::Uuid => "CHAR(36)".into(),
            Meaning::Bytes { fixed: Some(length @ 1..=255) } => format!("BINARY({length})"),
            Meaning::Bytes { .. } if key => "VARBINARY(255)".into(),
            Meaning::Bytes { .. } => "LONGBLOB".into(),
        }
    }

    /// Converts a whole number; `None` if SQL has no such value.
    fn value_of_integer(self, number: i64) -> Option<Value> {
        let micros = |a_second: i64| match a_second {
            1_000 => number.checked_mul(1_000),
            1_000_000 => Some(number),
            _ => Some(number.div_euclid(1_000)),
        };
        Some(match self {
            Meaning::Unsigned { bits: 32 } => Value::UInt(u64::from(number as u32)),
            Meaning::Unsigned { .. } => Value::UInt(number.cast_unsigned()),
            Meaning::Decimal { scale, .. } => Value::Decimal(Decimal::from_i128(number.into(), scale)),
            Meaning::Date => Value::Date(Date::from_epoch_days(i32::try_from(number).ok()?)?),
            Meaning::Timestamp { a_second } => {
                Value::DateTime(DateTime::from_epoch_micros(micros(a_second)?)?)
            }
            Meaning::Int96 => Value::DateTime(DateTime::from_epoch_micros(number)?),
            Meaning::Time { a_second } => Value::Time(Time::from_micros(micros(a_second)?)?),
            _ => Value::Int(number),
        })
    }

    /// Converts bytes; `None` if SQL has no such value.
    fn bytes(self, bytes: &[u8]) -> Option<Value> {
        Some(match self {
            Meaning::Text | Meaning::Enum | Meaning::Json => Value::string(std::str::from_utf8(bytes).ok()?),
            Meaning::Decimal { scale, .. } => Value::Decimal(decimal(bytes, scale)?),
            Meaning::Half => {
                let bits = u16::from_le_bytes(bytes.try_into().ok()?);
                double(half(bits))?
            }
            Meaning::Uuid => Value::string(uuid::Uuid::from_slice(bytes).ok()?.to_string()),
            _ => Value::bytes(bytes),
        })
    }
}

/// Reads a big-endian number with `scale` digits behind the point.
fn decimal(bytes: &[u8], scale: u8) -> Option<Decimal> {
    if bytes.len() <= 16 {
        let sign = if bytes.first().is_some_and(|first| *first >= 128) { -1 } else { 0 };
        let number = bytes.iter().fold(sign, |number: i128, byte| number << 8 | i128::from(*byte));
        return Some(Decimal::from_i128(number, scale));
    }
    let digits = BigInt::from_signed_bytes_be(bytes).to_string();
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.as_str()), |digits| ("-", digits));
    let digits = format!("{digits:0>width$}", width = usize::from(scale) + 1);
    let (whole, fraction) = digits.split_at_checked(digits.len() - usize::from(scale))?;
    Decimal::parse(&format!("{sign}{whole}.{fraction}"))
}

/// Reads a 16-bit floating-point number (IEEE 754).
fn half(bits: u16) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15, bits >> 10 & 31, f64::from(bits & 1023));
    let number = match exponent {
        0 => fraction / 1024.0 * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1.0 + fraction / 1024.0) * 2f64.powi(i32::from(exponent) - 15),
    };
    if sign == 1 { -number } else { number }
}

/// Converts a double; None for infinities and NaN, which SQL does not have.
fn double(number: f64) -> Option<Value> {
    number.is_finite().then_some(Value::Double(number))
}

/// Reads `rows` values of a column; `None` for NULL, and for a value that SQL does not have.
///
/// # Errors
/// The file is damaged.
pub fn read(
    reader: &mut ColumnReader,
    meaning: Meaning,
    rows: usize,
    optional: bool,
) -> Result<Vec<Option<Value>>> {
    match reader {
        ColumnReader::BoolColumnReader(reader) => {
            values(reader, rows, optional, |value| Some(Value::Int((*value).into())))
        }
        ColumnReader::Int32ColumnReader(reader) => {
            values(reader, rows, optional, |value| meaning.value_of_integer((*value).into()))
        }
        ColumnReader::Int64ColumnReader(reader) => {
            values(reader, rows, optional, |value| meaning.value_of_integer(*value))
        }
        ColumnReader::Int96ColumnReader(reader) => {
            values(reader, rows, optional, |value| meaning.value_of_integer(value.to_micros()))
        }
        ColumnReader::FloatColumnReader(reader) => {
            values(reader, rows, optional, |value| double((*value).into()))
        }
        ColumnReader::DoubleColumnReader(reader) => values(reader, rows, optional, |value| double(*value)),
        ColumnReader::ByteArrayColumnReader(reader) => {
            values(reader, rows, optional, |value: &ByteArray| meaning.bytes(value.data()))
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            values(reader, rows, optional, |value| meaning.bytes(value.data()))
        }
    }
}

fn values<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    optional: bool,
    value: impl Fn(&T::T) -> Option<Value>,
) -> Result<Vec<Option<Value>>> {
    let (mut read, mut levels, mut found) = (0, Vec::new(), Vec::new());
    while read < rows {
        let (records, ..) =
            reader.read_records(rows - read, optional.then_some(&mut levels), None, &mut found)?;
        if records == 0 {
            return Err(ParquetError::EOF("a column has fewer values than the file has rows".into()));
        }
        read += records;
    }
    if !optional {
        return Ok(found.iter().map(value).collect());
    }
    let mut found = found.iter();
    let of_level = |level: &i16| match level {
        0 => Some(Value::Null),
        _ => found.next().and_then(&value),
    };
    Ok(levels.iter().map(of_level).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_lengths_are_read() {
        let text = |bytes: &[u8], scale| decimal(bytes, scale).map(|decimal| decimal.to_string());
        assert_eq!(text(&[0xff, 0x38], 2).as_deref(), Some("-2.00"));
        let mut long = vec![0; 20];
        long[19] = 5;
        assert_eq!(text(&long, 3).as_deref(), Some("0.005"));
        assert_eq!(text(&[255; 20], 1).as_deref(), Some("-0.1"));
        assert_eq!((half(0x3c00), half(0xc000), half(0x0001)), (1.0, -2.0, 2f64.powi(-24)));
        assert_eq!(double(half(0x7c00)), None);
    }
}
