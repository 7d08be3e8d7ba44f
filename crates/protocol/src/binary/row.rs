//! Rows of the binary protocol.
//!
//! A row is a zero byte, a bitmap of NULLs that begins at bit 2, and the values that are not NULL. Integers have the width of their
//! column's type.

use super::{put_date, put_datetime, put_time, read_value};
use crate::bytes::{Reader, put_string};
use crate::column::ColumnDefinition;
use leafline_types::column::{Batch, value_at};
use leafline_types::convert::{bit_bytes, to_text};
use leafline_types::result_column::ColumnFlags;
use leafline_types::{Charset, MysqlError, RowBlock, SqlType, Value, ValueRef};

/// First byte of a row.
const HEADER: u8 = 0;
/// Bit of the first column in the bitmap of NULLs.
const FIRST_BIT: usize = 2;

/// Appends a row of a batch.
pub fn put_row(out: &mut Vec<u8>, batch: &Batch, row: usize, types: &[SqlType]) {
    let bitmap = begin_row(out, types.len());
    for (column, (array, ty)) in batch.columns.iter().zip(types).enumerate() {
        put_value(out, bitmap, column, value_at(array, row, ty).borrowed(), ty);
    }
}

/// Appends a row of a [`RowBlock`].
pub fn put_block_row(out: &mut Vec<u8>, rows: &RowBlock, row: usize, types: &[SqlType]) {
    let bitmap = begin_row(out, types.len());
    for (column, ty) in types.iter().enumerate() {
        put_value(out, bitmap, column, rows.get(row, column), ty);
    }
}

/// Appends the bytes before the values. Returns the position of the bitmap of NULLs.
fn begin_row(out: &mut Vec<u8>, columns: usize) -> usize {
    out.push(HEADER);
    let bitmap = out.len();
    out.resize(bitmap + bitmap_bytes(columns), 0);
    bitmap
}

fn bitmap_bytes(columns: usize) -> usize {
    (columns + FIRST_BIT).div_ceil(8)
}

fn put_value(out: &mut Vec<u8>, bitmap: usize, column: usize, value: ValueRef<'_>, ty: &SqlType) {
    match value {
        ValueRef::Int(n) => put_integer(out, n as u64, ty),
        ValueRef::UInt(n) if matches!(ty, SqlType::Bit { .. }) => put_string(out, &bit_bytes(n, ty)),
        ValueRef::UInt(n) => put_integer(out, n, ty),
        ValueRef::Double(d) if matches!(ty, SqlType::Real { single: true, .. }) => {
            out.extend_from_slice(&(d as f32).to_le_bytes());
        }
        ValueRef::Double(d) => out.extend_from_slice(&d.to_le_bytes()),
        ValueRef::Time(time) => put_time(out, time),
        // Clients get JSON as text.
        ValueRef::Json(json) => put_string(out, json.to_string().as_bytes()),
        ValueRef::String(text) => put_string(out, text.as_bytes()),
        ValueRef::Bytes(bytes) => put_string(out, bytes),
        ValueRef::Date(date) => put_date(out, date),
        ValueRef::DateTime(datetime) => put_datetime(out, datetime),
        ValueRef::Decimal(_) => {
            put_string(out, to_text(&value.to_value(), ty).unwrap_or_default().as_bytes());
        }
        ValueRef::Null => {
            let bit = column + FIRST_BIT;
            if let Some(byte) = out.get_mut(bitmap + bit / 8) {
                *byte |= 1 << (bit % 8);
            }
        }
    }
}

fn put_integer(out: &mut Vec<u8>, n: u64, ty: &SqlType) {
    let bytes = n.to_le_bytes();
    let width = match ty {
        SqlType::TinyInt { .. } | SqlType::Boolean | SqlType::Zerofill { bytes: 1, .. } => 1,
        SqlType::SmallInt { .. } | SqlType::Year | SqlType::Zerofill { bytes: 2, .. } => 2,
        SqlType::MediumInt { .. } | SqlType::Int { .. } | SqlType::Zerofill { bytes: 3 | 4, .. } => 4,
        _ => 8,
    };
    out.extend(bytes.iter().take(width));
}

/// Reads the values of a row.
///
/// # Errors
/// 1835 if the packet ends early or is no row; errors of a date or time that is not valid.
pub fn read_row(
    packet: &[u8],
    columns: &[ColumnDefinition],
    charset: Charset,
) -> Result<Vec<Value>, MysqlError> {
    let mut reader = Reader::new(packet);
    if reader.u8()? != HEADER {
        return Err(MysqlError::malformed_packet());
    }
    let nulls = reader.take(bitmap_bytes(columns.len()))?;
    let is_null = |column: usize| {
        let bit = column + FIRST_BIT;
        nulls.get(bit / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
    };
    let mut values = Vec::with_capacity(columns.len());
    for (at, column) in columns.iter().enumerate() {
        values.push(match is_null(at) {
            true => Value::Null,
            false => {
                let unsigned = column.flags.has(ColumnFlags::UNSIGNED);
                match column.holds_bytes() {
                    true => Value::bytes(reader.string()?),
                    false => read_value(&mut reader, column.type_byte, unsigned, charset)?,
                }
            }
        });
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::put_column;
    use leafline_types::result_column::column;
    use leafline_types::{Collation, Date, DateTime, Decimal, Time};

    #[test]
    fn a_row_reads_back_as_written_and_is_refused_where_it_is_cut() {
        let date = Date::from_parts(2024, 2, 29).expect("a date");
        let types_and_values = [
            (SqlType::TinyInt { unsigned: false }, Value::Int(-7)),
            (SqlType::Int { unsigned: true }, Value::UInt(u32::MAX.into())),
            (SqlType::BigInt { unsigned: false }, Value::Int(i64::MIN)),
            (SqlType::Double, Value::Double(-0.5)),
            (SqlType::Varchar { len: 9 }, Value::Null),
            (SqlType::Varchar { len: 9 }, Value::string("\u{e9}")),
            (SqlType::Varbinary { len: 9 }, Value::bytes(&b"\xff\0"[..])),
            (SqlType::Date, Value::Date(date)),
            (SqlType::DateTime { fsp: 0 }, Value::DateTime(DateTime::ZERO)),
            (SqlType::Time { fsp: 0 }, Value::Time(Time::ZERO)),
        ];
        let (types, values): (Vec<_>, Vec<_>) = types_and_values.into_iter().unzip();
        let definitions: Vec<ColumnDefinition> = types
            .iter()
            .map(|ty| {
                let mut meta = column("c", ty.clone());
                if ty.is_character() {
                    meta.collation = Collation::DEFAULT;
                }
                if let SqlType::Int { unsigned: true } = ty {
                    meta.flags = ColumnFlags::UNSIGNED;
                }
                let mut packet = Vec::new();
                put_column(&mut packet, &meta, None);
                ColumnDefinition::read(&mut Reader::new(&packet)).expect("a definition")
            })
            .collect();
        let batch = Batch::from_rows(&types, [&values[..]]).expect("a batch");
        let mut packet = Vec::new();
        put_row(&mut packet, &batch, 0, &types);
        assert_eq!(read_row(&packet, &definitions, Charset::Utf8mb4).as_ref(), Ok(&values));
        for end in 0..packet.len() {
            let cut = read_row(&packet[..end], &definitions, Charset::Utf8mb4);
            assert_eq!(cut.map_err(|error| error.code), Err(1835), "cut at {end}");
        }
        assert!(read_row(b"\x01\0", &definitions[..1], Charset::Utf8mb4).is_err());
        let decimal = [ColumnDefinition { type_byte: 246, ..definitions[5].clone() }];
        let read = read_row(b"\0\0\x031.5", &decimal, Charset::Utf8mb4);
        assert_eq!(read, Ok(vec![Value::Decimal(Decimal::parse("1.5").expect("a decimal"))]));
    }
}
