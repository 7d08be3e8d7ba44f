//! Writes rows as an Apache Parquet file.
//!
//! | MySQL | Parquet |
//! |---|---|
//! | TINYINT to INT, signed or not | INT32, INTEGER(8, 16 or 32); MEDIUMINT: 32 |
//! | BIGINT, signed or not | INT64, INTEGER(64) |
//! | DECIMAL(p, s) | DECIMAL(p, s): INT32 up to 9 digits, INT64 up to 18, otherwise FIXED_LEN_BYTE_ARRAY |
//! | FLOAT, DOUBLE | FLOAT, DOUBLE |
//! | BIT, YEAR | INT64 INTEGER(64, unsigned), INT32 INTEGER(16, unsigned) |
//! | DATE | INT32, DATE |
//! | DATETIME | INT64, TIMESTAMP(micros, local) |
//! | TIMESTAMP | INT64, TIMESTAMP(micros, UTC) |
//! | TIME, which may be negative, or of more than a day | its text |
//! | CHAR, VARCHAR, TEXT, SET; ENUM; JSON | BYTE_ARRAY, STRING; ENUM; JSON |
//! | BINARY, VARBINARY, BLOB | BYTE_ARRAY |
//!
//! Dates that do not exist (`0000-00-00`) are NULL. Pages are compressed with Snappy.

use super::schema::{Column, Kind, Table};
use crate::failure::Failure;
use crate::link::Cells;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{
    ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

/// The number of rows after which a row group ends.
const GROUP_ROWS: usize = 1 << 20;
/// The number of bytes after which a row group ends.
const GROUP_BYTES: usize = 128 << 20;

/// Writes the rows of a table.
pub struct ParquetRows<'o> {
    writer: SerializedFileWriter<&'o mut (dyn Write + Send)>,
    columns: Vec<Values>,
    rows: usize,
    bytes: usize,
}

/// The values of a column that wait for the end of their row group.
struct Values {
    name: String,
    kind: Kind,
    optional: bool,
    /// 1 for a value, 0 for NULL.
    levels: Vec<i16>,
    data: Data,
}

enum Data {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    /// All values, and where each ends.
    Bytes(Vec<u8>, Vec<usize>),
    /// Decimals of that many bytes.
    Fixed(usize, Vec<FixedLenByteArray>),
}

impl<'o> ParquetRows<'o> {
    /// Begins a file.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn new(table: &Table, out: &'o mut (dyn Write + Send)) -> Result<ParquetRows<'o>, Failure> {
        let columns: Vec<Values> = table.columns.iter().map(Values::new).collect();
        let fields = columns.iter().map(|column| column.definition().map(Arc::new)).collect::<Result<_, _>>();
        let schema =
            fields.and_then(|fields| Type::group_type_builder(&table.name).with_fields(fields).build());
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer =
            schema.and_then(|schema| SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)));
        Ok(ParquetRows { writer: writer.map_err(failed)?, columns, rows: 0, bytes: 0 })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// A value is not of its column's type; the output cannot be written.
    pub fn row(&mut self, cells: Cells<'_>) -> Result<(), Failure> {
        for (at, column) in self.columns.iter_mut().enumerate() {
            let value = cells.get(at);
            self.bytes += value.map_or(0, <[u8]>::len) + size_of::<u64>();
            column.push(value)?;
        }
        self.rows += 1;
        if self.rows >= GROUP_ROWS || self.bytes >= GROUP_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group().map_err(failed)?;
        for column in &mut self.columns {
            if let Some(mut writer) = group.next_column().map_err(failed)? {
                column.write(&mut writer).map_err(failed)?;
                writer.close().map_err(failed)?;
            }
        }
        group.close().map_err(failed)?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }

    /// Writes the rest and the end of the file.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        self.writer.close().map_err(failed).map(|_| ())
    }
}

impl Values {
    fn new(column: &Column) -> Values {
        let data = match column.kind {
            Kind::Integer { bits: 64, .. } | Kind::Bit | Kind::DateTime | Kind::Timestamp => {
                Data::Int64(Vec::new())
            }
            Kind::Integer { .. } | Kind::Year | Kind::Date => Data::Int32(Vec::new()),
            Kind::Decimal { precision: 0..=9, .. } => Data::Int32(Vec::new()),
            Kind::Decimal { precision: 10..=18, .. } => Data::Int64(Vec::new()),
            Kind::Decimal { precision, .. } => Data::Fixed(decimal_bytes(precision), Vec::new()),
            Kind::Float => Data::Float(Vec::new()),
            Kind::Double => Data::Double(Vec::new()),
            Kind::Time | Kind::Text | Kind::Enum | Kind::Json | Kind::Binary => {
                Data::Bytes(Vec::new(), Vec::new())
            }
        };
        let may_be_no_day = matches!(column.kind, Kind::Date | Kind::DateTime | Kind::Timestamp);
        Values {
            name: column.name.clone(),
            kind: column.kind,
            optional: column.nullable || may_be_no_day,
            levels: Vec::new(),
            data,
        }
    }

    fn definition(&self) -> Result<Type, ParquetError> {
        let physical = match &self.data {
            Data::Int32(_) => Physical::INT32,
            Data::Int64(_) => Physical::INT64,
            Data::Float(_) => Physical::FLOAT,
            Data::Double(_) => Physical::DOUBLE,
            Data::Bytes(..) => Physical::BYTE_ARRAY,
            Data::Fixed(..) => Physical::FIXED_LEN_BYTE_ARRAY,
        };
        let repetition = if self.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let builder = Type::primitive_type_builder(&self.name, physical).with_repetition(repetition);
        let builder = match (&self.data, self.kind) {
            (Data::Fixed(bytes, _), _) => builder.with_length(i32::try_from(*bytes)?),
            _ => builder,
        };
        let builder = match self.kind {
            Kind::Decimal { precision, scale } => {
                builder.with_precision(precision.into()).with_scale(scale.into())
            }
            _ => builder,
        };
        builder
            .with_logical_type(match self.kind {
                Kind::Integer { bits: 24, unsigned } => Some(LogicalType::integer(32, !unsigned)),
                Kind::Integer { bits, unsigned } => Some(LogicalType::integer(bits.cast_signed(), !unsigned)),
                Kind::Bit => Some(LogicalType::integer(64, false)),
                Kind::Year => Some(LogicalType::integer(16, false)),
                Kind::Decimal { precision, scale } => {
                    Some(LogicalType::decimal(scale.into(), precision.into()))
                }
                Kind::Date => Some(LogicalType::Date),
                Kind::DateTime => Some(LogicalType::timestamp(false, TimeUnit::MICROS)),
                Kind::Timestamp => Some(LogicalType::timestamp(true, TimeUnit::MICROS)),
                Kind::Text | Kind::Time => Some(LogicalType::String),
                Kind::Enum => Some(LogicalType::Enum),
                Kind::Json => Some(LogicalType::Json),
                Kind::Float | Kind::Double | Kind::Binary => None,
            })
            .build()
    }

    fn push(&mut self, value: Option<&[u8]>) -> Result<(), Failure> {
        let pushed = match value {
            None => Some(false),
            Some(value) => self.data.push(value, self.kind),
        };
        match pushed {
            Some(there) => self.levels.push(there.into()),
            None => {
                let value = String::from_utf8_lossy(value.unwrap_or_default()).into_owned();
                return Err(Failure::Message(format!(
                    "'{value}' in column {} is not of its type",
                    self.name
                )));
            }
        }
        Ok(())
    }

    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = std::mem::take(&mut self.levels);
        let levels = self.optional.then_some(&levels[..]);
        match &mut self.data {
            Data::Int32(values) => {
                writer.typed::<Int32Type>().write_batch(&std::mem::take(values), levels, None)
            }
            Data::Int64(values) => {
                writer.typed::<Int64Type>().write_batch(&std::mem::take(values), levels, None)
            }
            Data::Float(values) => {
                writer.typed::<FloatType>().write_batch(&std::mem::take(values), levels, None)
            }
            Data::Double(values) => {
                writer.typed::<DoubleType>().write_batch(&std::mem::take(values), levels, None)
            }
            Data::Fixed(_, values) => {
                writer.typed::<FixedLenByteArrayType>().write_batch(&std::mem::take(values), levels, None)
            }
            Data::Bytes(bytes, ends) => {
                let all = ByteArray::from(std::mem::take(bytes));
                let mut start = 0;
                let value = |end| {
                    let value = all.slice(start, end - start);
                    start = end;
                    value
                };
                let values: Vec<ByteArray> = std::mem::take(ends).into_iter().map(value).collect();
                writer.typed::<ByteArrayType>().write_batch(&values, levels, None)
            }
        }
        .map(|_| ())
    }
}

impl Data {
    /// Adds a value, given as text. Returns false, and adds nothing, if Parquet has no such value; `None` if the text
    /// is not of the kind.
    fn push(&mut self, value: &[u8], kind: Kind) -> Option<bool> {
        match self {
            Data::Bytes(bytes, ends) => {
                bytes.extend_from_slice(value);
                ends.push(bytes.len());
                return Some(true);
            }
            Data::Int32(_) | Data::Int64(_)
                if matches!(kind, Kind::Date | Kind::DateTime | Kind::Timestamp) =>
            {
                let Some(day) = day(value)? else { return Some(false) };
                match self {
                    Data::Int32(values) => values.push(day),
                    Data::Int64(values) => {
                        values.push(i64::from(day) * DAY + micros_of_day(value.get(10..)?)?)
                    }
                    _ => {}
                }
                return Some(true);
            }
            _ => {}
        }
        let text = std::str::from_utf8(value).ok()?;
        if let Kind::Decimal { scale, .. } = kind {
            let digits = unscaled(text, scale)?;
            match self {
                Data::Int32(values) => values.push(digits.parse().ok()?),
                Data::Int64(values) => values.push(digits.parse().ok()?),
                Data::Fixed(length, values) => values.push(two_complement(&digits, *length)?.into()),
                _ => return None,
            }
            return Some(true);
        }
        match self {
            // Unsigned numbers keep their bits.
            Data::Int32(values) => values.push(text.parse::<i64>().ok()? as i32),
            Data::Int64(values) => {
                values.push(text.parse().or_else(|_| text.parse::<u64>().map(u64::cast_signed)).ok()?);
            }
            Data::Float(values) => values.push(text.parse::<f64>().ok()? as f32),
            Data::Double(values) => values.push(text.parse().ok()?),
            _ => return None,
        }
        Some(true)
    }
}

/// Microseconds in a day.
const DAY: i64 = 86_400_000_000;

/// Returns how many bytes hold a number of `digits` decimal digits and its sign.
fn decimal_bytes(digits: u8) -> usize {
    // log2(10) is 3.3219..
    (usize::from(digits) * 33_220 / 10_000 + 2).div_ceil(8)
}

/// Returns a number without its point, with exactly `scale` digits behind it.
fn unscaled(text: &str, scale: u8) -> Option<String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let zeros = usize::from(scale).checked_sub(fraction.len())?;
    Some(format!("{whole}{fraction}{}", "0".repeat(zeros)))
}

/// Returns a whole number as `length` bytes, big-endian, in two's complement.
fn two_complement(digits: &str, length: usize) -> Option<Vec<u8>> {
    let (negative, digits) = digits.strip_prefix('-').map_or((false, digits), |digits| (true, digits));
    let mut bytes = vec![0u8; length];
    for digit in digits.bytes() {
        let mut carry = u32::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
        for byte in bytes.iter_mut().rev() {
            carry += u32::from(*byte) * 10;
            *byte = carry as u8;
            carry >>= 8;
        }
        if carry > 0 {
            return None;
        }
    }
    if negative {
        let mut carry = true;
        for byte in bytes.iter_mut().rev() {
            (*byte, carry) = (!*byte).overflowing_add(carry.into());
        }
    }
    Some(bytes)
}

/// Returns the days since 1970 of a text that begins with a date; `Some(None)` if no such day exists.
fn day(text: &[u8]) -> Option<Option<i32>> {
    let number =
        |range: std::ops::Range<usize>| std::str::from_utf8(text.get(range)?).ok()?.parse::<u32>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let date = leafline_types::Date::from_civil(year as u16, month as u8, day as u8);
    Some(date.and_then(leafline_types::Date::epoch_days))
}

/// Returns the microseconds of ` 12:34:56.789`.
fn micros_of_day(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let seconds = (number(1..3)? * 60 + number(4..6)?) * 60 + number(7..9)?;
    let fraction = text.get(10..).unwrap_or_default();
    let micros: i64 = if fraction.is_empty() { 0 } else { format!("{fraction:0<6}").parse().ok()? };
    Some(seconds * 1_000_000 + micros)
}

/// Converts an error of the library.
fn failed(error: ParquetError) -> Failure {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(error) => Failure::output(*error),
            Err(other) => Failure::Message(format!("cannot write Parquet: {other}")),
        },
        other => Failure::Message(format!("cannot write Parquet: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_dates_and_times_are_those_of_their_texts() {
        assert_eq!(unscaled("-1.5", 3).as_deref(), Some("-1500"));
        assert_eq!(unscaled("1.5", 0), None);
        assert_eq!(two_complement("-1", 4), Some(vec![255; 4]));
        assert_eq!(two_complement("258", 3), Some(vec![0, 1, 2]));
        for digits in 1..=65 {
            let most: String = "9".repeat(digits.into());
            let bytes = two_complement(&most, decimal_bytes(digits)).unwrap();
            assert!(bytes[0] < 128, "{digits}");
        }
        assert_eq!(
            (day(b"1970-01-02"), day(b"0000-00-00"), day(b"2024-02-31")),
            (Some(Some(1)), Some(None), Some(None))
        );
        assert_eq!(micros_of_day(b" 00:01:02.5"), Some(62_500_000));
        assert_eq!(micros_of_day(b" 23:59:59"), Some(DAY - 1_000_000));
    }
}
