//! Values of the binary protocol, the form of a prepared statement's rows and parameters.
//!
//! DECIMAL, JSON and strings are sent as strings after their length. Dates and times begin with the length of the parts that
//! follow.

pub mod parameter;
pub mod row;

use crate::bytes::Reader;
use crate::column::field_type as f;
use leafline_types::temporal::{CivilDateTime, CivilTime, DateRules, Time};
use leafline_types::{Charset, Date, DateTime, Decimal, MysqlError, Value};

/// Appends length, year, month, day; for the zero date the length alone.
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

/// Appends length, date, hour, minute, second, and microseconds if there are any; for the zero time the length alone.
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

/// Appends length, sign, days, hours, minutes, seconds, and microseconds if there are any; for zero the length alone.
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

/// Reads a value of the type byte `field`.
fn read_value(
    reader: &mut Reader<'_>,
    field: u8,
    unsigned: bool,
    charset: Charset,
) -> Result<Value, MysqlError> {
    let integer = |as_signed: i64, as_unsigned: u64| match unsigned {
        true => Value::UInt(as_unsigned),
        false => Value::Int(as_signed),
    };
    Ok(match field {
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
        f::DATE | f::NEWDATE | f::DATETIME | f::TIMESTAMP => read_temporal(reader, field)?,
        f::TIME => read_time(reader)?,
        // A text that is no number stays text: the statement converts it or refuses it.
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

/// Makes a value of a string: text if the bytes are text in `charset`, else binary, because drivers send both under any string
/// type.
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
