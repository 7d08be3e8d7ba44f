//! Writes rows of columns to files that only this process reads, and reads them back.
//!
//! A row is its columns one after another: a byte that is 0 for NULL and 1 for a value, then the value. Numbers are
//! little-endian in the width of their Arrow type; strings have their length (u32) before them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, DurationMicrosecondType, Float64Type,
    Int64Type, TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{ToByteSlice, i256};
use arrow_schema::DataType;

use super::{Batch, ColumnBuilder};
use crate::error::CodecError;
use crate::value::SqlType;

/// Appends a row of some columns to `out`.
pub fn push_row(columns: &[ArrayRef], row: usize, out: &mut Vec<u8>) {
    for column in columns {
        if column.is_null(row) || *column.data_type() == DataType::Null {
            out.push(0);
            continue;
        }
        out.push(1);
        match column.data_type() {
            DataType::Int64 => push::<Int64Type>(column, row, out),
            DataType::UInt64 => push::<UInt64Type>(column, row, out),
            DataType::Float64 => push::<Float64Type>(column, row, out),
            DataType::Decimal128(..) => push::<Decimal128Type>(column, row, out),
            DataType::Decimal256(..) => {
                out.extend_from_slice(&column.as_primitive::<Decimal256Type>().value(row).to_le_bytes());
            }
            DataType::Date32 => push::<Date32Type>(column, row, out),
            DataType::Duration(_) => push::<DurationMicrosecondType>(column, row, out),
            DataType::Utf8 => push_string(column.as_string::<i32>().value(row).as_bytes(), out),
            DataType::Binary => push_string(column.as_binary::<i32>().value(row), out),
            _ => push::<TimestampMicrosecondType>(column, row, out),
        }
    }
}

fn push<T: ArrowPrimitiveType>(column: &ArrayRef, row: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(column.as_primitive::<T>().value(row).to_byte_slice());
}

fn push_string(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Makes batches of the bytes of rows.
#[derive(Debug)]
pub struct RowReader {
    builders: Vec<ColumnBuilder>,
    rows: usize,
    bytes: usize,
}

impl RowReader {
    /// Makes a reader for rows with columns of these types.
    pub fn new<'t>(types: impl IntoIterator<Item = &'t SqlType>) -> Self {
        RowReader { builders: types.into_iter().map(ColumnBuilder::for_type).collect(), rows: 0, bytes: 0 }
    }

    /// Returns the number of rows read.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of bytes read.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a row.
    ///
    /// # Errors
    /// The bytes are not a row of these columns.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), CodecError> {
        self.bytes += bytes.len();
        for builder in &mut self.builders {
            let [is_value] = take(&mut bytes)?;
            if is_value == 0 {
                builder.push_null();
                continue;
            }
            match builder {
                ColumnBuilder::Null(_) => return Err(malformed()),
                ColumnBuilder::Int64(b) => b.append_value(i64::from_le_bytes(take(&mut bytes)?)),
                ColumnBuilder::UInt64(b) => b.append_value(u64::from_le_bytes(take(&mut bytes)?)),
                ColumnBuilder::Float64(b) => b.append_value(f64::from_le_bytes(take(&mut bytes)?)),
                ColumnBuilder::Decimal128(b, _) => b.append_value(i128::from_le_bytes(take(&mut bytes)?)),
                ColumnBuilder::Decimal256(b, _) => b.append_value(i256::from_le_bytes(take(&mut bytes)?)),
                ColumnBuilder::Date32(b) => b.append_value(i32::from_le_bytes(take(&mut bytes)?)),
                ColumnBuilder::Timestamp(b) => b.append_value(i64::from_le_bytes(take(&mut bytes)?)),
                ColumnBuilder::Duration(b) => b.append_value(i64::from_le_bytes(take(&mut bytes)?)),
                ColumnBuilder::Utf8(_) | ColumnBuilder::Binary(_) => {
                    let length = u32::from_le_bytes(take(&mut bytes)?) as usize;
                    let (value, rest) = bytes.split_at_checked(length).ok_or_else(malformed)?;
                    builder.push_bytes(value)?;
                    bytes = rest;
                }
            }
        }
        self.rows += 1;
        if bytes.is_empty() { Ok(()) } else { Err(malformed()) }
    }

    /// Returns the rows and leaves the reader empty.
    pub fn finish(&mut self) -> Batch {
        let columns = self.builders.iter_mut().map(ColumnBuilder::finish).collect();
        self.bytes = 0;
        Batch { columns, rows: std::mem::take(&mut self.rows) }
    }
}

fn malformed() -> CodecError {
    CodecError::Malformed { what: "row of a temporary file" }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], CodecError> {
    let (head, rest) = bytes.split_first_chunk::<N>().ok_or_else(malformed)?;
    *bytes = rest;
    Ok(*head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::Decimal;
    use crate::temporal::{Date, DateTime, Time};
    use crate::value::Value;

    #[test]
    fn rows_of_every_type_come_back() {
        let types = [
            SqlType::BIGINT,
            SqlType::BIGINT_UNSIGNED,
            SqlType::Double,
            SqlType::decimal(20, 2),
            SqlType::decimal(65, 30),
            SqlType::Date,
            SqlType::DateTime { fsp: 6 },
            SqlType::Time { fsp: 6 },
            SqlType::Text { max_bytes: 255 },
            SqlType::Varbinary { len: 9 },
            SqlType::Null,
        ];
        let full = vec![
            Value::Int(-5),
            Value::UInt(u64::MAX),
            Value::Double(-0.5),
            Value::Decimal(Decimal::parse("-17.25").unwrap()),
            Value::Decimal(Decimal::max_value(65, 30)),
            Value::Date(Date::from_epoch_days(-1).unwrap()),
            Value::DateTime(DateTime::from_epoch_micros(-1).unwrap()),
            Value::Time(Time::MIN),
            Value::from("é"),
            Value::bytes([0, 255]),
            Value::Null,
        ];
        let rows = [full, vec![Value::Null; types.len()]];
        let batch = Batch::from_rows(&types, rows.iter().map(Vec::as_slice)).unwrap();
        let mut reader = RowReader::new(&types);
        let mut bytes = Vec::new();
        for (row, values) in rows.iter().enumerate() {
            bytes.clear();
            push_row(&batch.columns, row, &mut bytes);
            reader.push(&bytes).unwrap();
            assert!(reader.push(&bytes[..bytes.len() - 1]).is_err());
            reader = RowReader::new(&types);
            reader.push(&bytes).unwrap();
            assert_eq!(reader.rows(), 1);
            let back = reader.finish();
            for ((column, ty), value) in back.columns.iter().zip(&types).zip(values) {
                assert_eq!(&super::super::value_at(column, 0, ty), value, "{ty}");
            }
        }
    }
}
