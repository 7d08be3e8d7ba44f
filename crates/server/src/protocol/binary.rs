//! The binary protocol of prepared statements: parameters in, rows out.
//!
//! A row is a zero byte, a bitmap of NULLs that begins at bit 2, and the values. Integers have their column's width,
//! DECIMAL and strings a length, dates a length that says how many of their parts are there.

use super::bytes::{Reader, put_string};
use super::column::field_type as f;
use leafline_types::column::{Batch, value_at};
use leafline_types::convert::{bit_bytes, to_text};
use leafline_types::temporal::{CivilDateTime, CivilTime, DateRules, Time};
use leafline_types::{Charset, Date, DateTime, Decimal, MysqlError, RowBlock, SqlType, Value, ValueRef};

/// Appends a row of columns.
pub fn put_row(out: &mut Vec<u8>, batch: &Batch, row: usize, types: &[SqlType]) {
    let bitmap = begin_row(out, types.len());
    for (column, (array, ty)) in batch.columns.iter().zip(types).enumerate() {
        put_value(out, bitmap, column, value_at(array, row, ty).borrowed(), ty);
    }
}

/// Appends a row of a block.
pub fn put_block_row(out: &mut Vec<u8>, rows: &RowBlock, row: usize, types: &[SqlType]) {
    let bitmap = begin_row(out, types.len());
    for (column, ty) in types.iter().enumerate() {
        put_value(out, bitmap, column, rows.get(row, column), ty);
    }
}

/// Appends what is before the values; where the bitmap of NULLs is.
fn begin_row(out: &mut Vec<u8>, columns: usize) -> usize {
    out.push(0);
    let bitmap = out.len();
    out.resize(bitmap + (columns + 9) / 8, 0);
    bitmap
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
        // Clients get its text.
        ValueRef::Json(json) => put_string(out, json.to_string().as_bytes()),
        ValueRef::String(text) => put_string(out, text.as_bytes()),
        ValueRef::Bytes(bytes) => put_string(out, bytes),
        ValueRef::Date(date) => put_date(out, date),
        ValueRef::DateTime(datetime) => put_datetime(out, datetime),
        ValueRef::Decimal(_) => {
            put_string(out, to_text(&value.to_value(), ty).unwrap_or_default().as_bytes());
        }
        ValueRef::Null => {
            let bit = column + 2;
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

/// Length, year, month, day; zero is the length alone.
fn put_date(out: &mut Vec<u8>, date: Date) {
    if date == Date::ZERO {
        out.push(0);
        return;
    }
    let civil = date.civil();
    out.push(4);
    out.extend_from_slice(&civil.year.to_le_bytes());
    out.extend_from_slice(&[civil.month, civil.day]);
}

fn put_datetime(out: &mut Vec<u8>, datetime: DateTime) {
    if datetime == DateTime::ZERO {
        out.push(0);
        return;
    }
    let civil = datetime.civil();
    out.push(if civil.microsecond > 0 { 11 } else { 7 });
    out.extend_from_slice(&civil.date.year.to_le_bytes());
    out.extend_from_slice(&[civil.date.month, civil.date.day, civil.hour, civil.minute, civil.second]);
    if civil.microsecond > 0 {
        out.extend_from_slice(&civil.microsecond.to_le_bytes());
    }
}

/// Length, sign, days, hours, minutes, seconds, microseconds; zero is the length alone.
fn put_time(out: &mut Vec<u8>, time: Time) {
    let civil = time.civil();
    if time == Time::ZERO {
        out.push(0);
        return;
    }
    out.push(if civil.microsecond > 0 { 12 } else { 8 });
    out.push(u8::from(civil.negative));
    out.extend_from_slice(&u32::from(civil.hour / 24).to_le_bytes());
    out.extend_from_slice(&[(civil.hour % 24) as u8, civil.minute, civil.second]);
    if civil.microsecond > 0 {
        out.extend_from_slice(&civil.microsecond.to_le_bytes());
    }
}

/// What the client said of a parameter, with the statement or before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterType {
    field: u8,
    unsigned: bool,
    /// Its name, where parameters have names.
    name: String,
}

/// Most parameters and attributes of a statement.
const MAX_PARAMETERS: u64 = 65_535;

/// Reads how many parameters follow, where the client says that.
///
/// # Errors
/// 1835 if it is more than a statement can have.
pub fn read_count(reader: &mut Reader<'_>) -> Result<usize, MysqlError> {
    let count = reader.length()?;
    if count > MAX_PARAMETERS {
        return Err(MysqlError::malformed_packet());
    }
    Ok(count as usize)
}

/// Reads parameters as COM_STMT_EXECUTE and COM_QUERY have them: NULLs, types, values. `types` are those of the last execution
/// and are replaced if the client sends new ones, with names if they are `named`; `long_data` are parameters sent before, in parts. Strings
/// are in `charset`.
///
/// # Errors
/// 1835 if the packet ends early, 1210 for a type that no parameter can have, 1366 for a string that is not UTF-8.
pub fn read_parameters(
    reader: &mut Reader<'_>,
    count: usize,
    named: bool,
    types: &mut Vec<ParameterType>,
    long_data: &[Option<Vec<u8>>],
    charset: Charset,
) -> Result<Vec<Value>, MysqlError> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let nulls = reader.take(count.div_ceil(8))?;
    if reader.u8()? == 1 {
        let mut sent = Vec::new();
        for _ in 0..count {
            let (field, flags) = (reader.u8()?, reader.u8()?);
            let name =
                if named { String::from_utf8_lossy(reader.string()?).into_owned() } else { String::new() };
            sent.push(ParameterType { field, unsigned: flags & 0x80 != 0, name });
        }
        *types = sent;
    }
    if types.len() != count {
        return Err(MysqlError::malformed_packet());
    }
    let mut values = Vec::with_capacity(count);
    for (at, ty) in types.iter().enumerate() {
        let null = nulls.get(at / 8).is_some_and(|byte| byte & (1 << (at % 8)) != 0);
        values.push(match long_data.get(at) {
            Some(Some(bytes)) => string_value(bytes, charset),
            _ if null => Value::Null,
            _ => read_value(reader, ty, charset)?,
        });
    }
    Ok(values)
}

/// Those of the parameters that have names.
pub fn attributes(types: &[ParameterType], values: &[Value]) -> Vec<(String, Value)> {
    let named = types.iter().zip(values).filter(|(ty, _)| !ty.name.is_empty());
    named.map(|(ty, value)| (ty.name.clone(), value.clone())).collect()
}

/// Reads the attributes that a statement has in front of it in COM_QUERY.
///
/// # Errors
/// Those of [`read_parameters`]; 1835 for more than one set of them.
pub fn read_attributes(
    reader: &mut Reader<'_>,
    charset: Charset,
) -> Result<Vec<(String, Value)>, MysqlError> {
    let count = read_count(reader)?;
    if reader.length()? != 1 {
        return Err(MysqlError::malformed_packet());
    }
    let mut types = Vec::new();
    let values = read_parameters(reader, count, true, &mut types, &[], charset)?;
    Ok(attributes(&types, &values))
}

fn read_value(reader: &mut Reader<'_>, ty: &ParameterType, charset: Charset) -> Result<Value, MysqlError> {
    let integer =
        |signed: i64, unsigned: u64| if ty.unsigned { Value::UInt(unsigned) } else { Value::Int(signed) };
    Ok(match ty.field {
        f::NULL => Value::Null,
        f::TINY => {
            let n = reader.u8()?;
            integer((n as i8).into(), n.into())
        }
        f::SHORT | f::YEAR => {
            let n = reader.u16()?;
            integer((n as i16).into(), n.into())
        }
        f::LONG | f::INT24 => {
            let n = reader.u32()?;
            integer((n as i32).into(), n.into())
        }
        f::LONGLONG => {
            let n = reader.u64()?;
            integer(n as i64, n)
        }
        f::FLOAT => Value::Double(f32::from_bits(reader.u32()?).into()),
        f::DOUBLE => Value::Double(f64::from_bits(reader.u64()?)),
        f::DATE | f::NEWDATE | f::DATETIME | f::TIMESTAMP => read_temporal(reader, ty.field)?,
        f::TIME => read_time(reader)?,
        // What is no number is left to be converted, and refused, as the text that it is.
        f::NEWDECIMAL | 0 => match string_value(reader.string()?, charset) {
            Value::String(text) => Decimal::parse(&text).map_or(Value::String(text), Value::Decimal),
            other => other,
        },
        f::VARCHAR
        | f::VAR_STRING
        | f::STRING
        | f::ENUM
        | f::SET
        | f::JSON
        | f::TINY_BLOB
        | f::MEDIUM_BLOB
        | f::LONG_BLOB
        | f::BLOB
        | f::BIT => string_value(reader.string()?, charset),
        _ => return Err(MysqlError::wrong_arguments("mysqld_stmt_execute")),
    })
}

/// A string parameter is text if it is text of the client's character set, and binary if it is not: drivers send both under any
/// string type.
fn string_value(bytes: &[u8], charset: Charset) -> Value {
    match std::str::from_utf8(bytes) {
        _ if !charset.is_utf8() => charset.decode(bytes).map_or_else(|_| Value::bytes(bytes), Value::string),
        Ok(text) => Value::string(text),
        Err(_) => Value::bytes(bytes),
    }
}

fn read_time(reader: &mut Reader<'_>) -> Result<Value, MysqlError> {
    let length = reader.u8()?;
    let mut parts = Reader::new(reader.take(length.into())?);
    if length == 0 {
        return Ok(Value::Time(Time::ZERO));
    }
    let (negative, days) = (parts.u8()? != 0, parts.u32()?);
    let (hour, minute, second) = (parts.u8()?, parts.u8()?, parts.u8()?);
    let microsecond = if length > 8 { parts.u32()? } else { 0 };
    let hours = u64::from(days) * 24 + u64::from(hour);
    let civil =
        u16::try_from(hours).ok().map(|hour| CivilTime { negative, hour, minute, second, microsecond });
    let sign = if negative { "-" } else { "" };
    civil.and_then(Time::from_civil).map(Value::Time).ok_or_else(|| {
        MysqlError::incorrect_temporal("time", &format!("{sign}{hours}:{minute:02}:{second:02}"))
    })
}

fn read_temporal(reader: &mut Reader<'_>, field: u8) -> Result<Value, MysqlError> {
    let length = reader.u8()?;
    let mut parts = Reader::new(reader.take(length.into())?);
    if length == 0 {
        let is_date = matches!(field, f::DATE | f::NEWDATE);
        return Ok(if is_date { Value::Date(Date::ZERO) } else { Value::DateTime(DateTime::ZERO) });
    }
    let date = (parts.u16()?, parts.u8()?, parts.u8()?);
    let time = if length > 4 { (parts.u8()?, parts.u8()?, parts.u8()?) } else { (0, 0, 0) };
    let micros = if length > 7 { parts.u32()? } else { 0 };
    let wrong = || {
        let text =
            format!("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", date.0, date.1, date.2, time.0, time.1, time.2);
        MysqlError::incorrect_temporal("datetime", &text)
    };
    let day = Date::from_parts(date.0, date.1, date.2).ok_or_else(wrong)?;
    if matches!(field, f::DATE | f::NEWDATE) {
        return Ok(Value::Date(day));
    }
    let civil = CivilDateTime {
        date: day.civil(),
        hour: time.0,
        minute: time.1,
        second: time.2,
        microsecond: micros,
    };
    DateTime::from_civil(civil, DateRules::ANY).map(Value::DateTime).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decimals come as text, whichever of the two types they are said to be.
    #[test]
    fn a_decimal_is_a_number() {
        let mut packet = vec![0, 1];
        for field in [f::NEWDECIMAL, 0, f::NEWDECIMAL, f::VAR_STRING] {
            packet.extend_from_slice(&[field, 0]);
        }
        for text in ["36.50", "-7", "no number", "36.5"] {
            put_string(&mut packet, text.as_bytes());
        }
        let mut types = Vec::new();
        let values =
            read_parameters(&mut Reader::new(&packet), 4, false, &mut types, &[], Charset::Utf8mb4).unwrap();
        let decimal = |text| Value::Decimal(Decimal::parse(text).unwrap());
        let expected = [decimal("36.50"), decimal("-7"), Value::string("no number"), Value::string("36.5")];
        assert_eq!(values, expected);
    }

    #[test]
    fn attributes_are_the_parameters_with_names() {
        let mut packet = vec![3, 1, 0b010, 1];
        for (field, name) in [(f::VAR_STRING, "trace"), (f::LONG, "none"), (f::LONG, "")] {
            packet.extend_from_slice(&[field, 0]);
            put_string(&mut packet, name.as_bytes());
        }
        put_string(&mut packet, b"7-1");
        packet.extend_from_slice(&[9, 0, 0, 0]);
        packet.extend_from_slice(b"SELECT 1");
        let mut reader = Reader::new(&packet);
        let read = read_attributes(&mut reader, Charset::Utf8mb4);
        let expected = vec![("trace".to_owned(), Value::string("7-1")), ("none".to_owned(), Value::Null)];
        assert_eq!(read, Ok(expected));
        assert_eq!(reader.rest(), b"SELECT 1");
        for end in 0..packet.len() - 8 {
            assert!(
                read_attributes(&mut Reader::new(&packet[..end]), Charset::Utf8mb4).is_err(),
                "cut at {end}"
            );
        }
        for wrong in [&[3, 2, 0, 1][..], &[0xfe, 255, 255, 255, 255, 255, 255, 255, 255, 1]] {
            let refused = read_attributes(&mut Reader::new(wrong), Charset::Utf8mb4);
            assert_eq!(refused.map_err(|error| error.code), Err(1835));
        }
    }
}
