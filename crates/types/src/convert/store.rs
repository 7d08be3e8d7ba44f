//! Converts a value that is assigned to a column.

use super::cast::{datetime_to_integer, to_datetime, to_decimal, to_single};
use super::context::StoreContext;
use super::fitted::fitted;
use super::json::{convertible, store_json, target_name};
use super::members::{store_bit, store_enum, store_set};
use super::number::{decimal_prefix, f64_prefix};
use super::text::{bit_bytes, fitting, text_of_member, to_text};
use super::time::{store_time, store_year};
use crate::codec::fixed::TIMESTAMP_END;
use crate::collation::trim_spaces;
use crate::decimal::Decimal;
use crate::double::f64_text;
use crate::error::MysqlError;
use crate::json::Json;
use crate::temporal::{BadTemporal, Date, DateRules, DateTime, Zone};
use crate::value::{SqlType, Value};

/// Converts `v`, of type `from`, for a column of type `to`; `nullable` says whether the column can hold NULL.
///
/// # Errors
/// 1048 for NULL in a column that is NOT NULL. In strict mode, 1264 for a value out of range, 1265 for text after a
/// number, 1366 for text without a number or not in UTF-8, 1406 for a value that is too long, 1292 for an invalid
/// date.
pub fn store_cast(
    v: &Value,
    from: &SqlType,
    to: &SqlType,
    nullable: bool,
    cx: &mut StoreContext<'_>,
) -> Result<Value, MysqlError> {
    let converted = match (from, v) {
        (SqlType::Timestamp { .. }, Value::DateTime(t)) if !matches!(to, SqlType::Timestamp { .. }) => {
            Some(local(*t, cx.zone))
        }
        _ => text_of_member(v, from, to),
    };
    let v = converted.as_ref().unwrap_or(v);
    match (v, to) {
        (Value::Null, _) if nullable => Ok(Value::Null),
        (Value::Null, _) => Err(MysqlError::bad_null(cx.column)),
        (_, SqlType::Null) => Err(MysqlError::internal("a column of type NULL")),
        (_, SqlType::Json) => store_json(v, cx),
        (Value::Json(json), _)
            if !to.is_string() && !to.has_members() && !matches!(to, SqlType::Bit { .. }) =>
        {
            store_from_json(json, to, nullable, cx)
        }
        (Value::Double(_), SqlType::Double) => Ok(v.clone()),
        (_, SqlType::Double) => store_double(v, cx),
        (_, SqlType::Real { single, digits, unsigned, .. }) => {
            store_real(v, (*single, *digits, *unsigned), cx)
        }
        (_, SqlType::Time { fsp }) => store_time(v, from, *fsp, cx),
        (_, SqlType::Year) => store_year(v, cx),
        (_, SqlType::Timestamp { fsp }) => store_timestamp(v, from, *fsp, cx),
        (Value::UInt(_), SqlType::Enum(_) | SqlType::Set(_)) if from == to => Ok(v.clone()),
        (_, SqlType::Enum(members)) => store_enum(v, members, cx),
        (_, SqlType::Set(members)) => store_set(v, members, cx),
        (_, SqlType::Bit { len }) => store_bit(v, *len, cx),
        (_, SqlType::Decimal { precision, scale, unsigned, .. }) => {
            store_decimal(v, (*precision, *scale, *unsigned), cx)
        }
        (_, SqlType::Date | SqlType::DateTime { .. }) => store_temporal(v, from, to, cx.dates, cx),
        (_, SqlType::Char { .. } | SqlType::Varchar { .. } | SqlType::Text { .. }) => {
            store_text(v, from, to, cx)
        }
        (_, SqlType::Varbinary { len } | SqlType::Blob { max_bytes: len }) => {
            store_bytes(v, from, *len as usize, cx)
        }
        (_, SqlType::Binary { len }) => {
            let stored = store_bytes(v, from, *len as usize, cx)?;
            Ok(match stored.as_bytes() {
                Some(bytes) if bytes.len() < *len as usize => {
                    let mut padded = bytes.to_vec();
                    padded.resize(*len as usize, 0);
                    Value::bytes(padded)
                }
                _ => stored,
            })
        }
        (_, integer) => store_integer(v, integer, cx),
    }
}

/// Converts a document for a column of another type. A text column takes the document's text.
fn store_from_json(
    json: &Json,
    to: &SqlType,
    nullable: bool,
    cx: &mut StoreContext<'_>,
) -> Result<Value, MysqlError> {
    match convertible(json, to) {
        Some(v) => store_cast(&v, &SqlType::Null, to, nullable, cx),
        None => {
            cx.refuse(MysqlError::json_value_for_cast(target_name(to), cx.column, cx.row))?;
            if to.is_temporal() && nullable {
                return Ok(Value::Null);
            }
            store_cast(&Value::Int(0), &SqlType::BIGINT, to, nullable, cx)
        }
    }
}

fn store_integer(v: &Value, to: &SqlType, cx: &mut StoreContext<'_>) -> Result<Value, MysqlError> {
    let (least, most) = to.integer_range().ok_or_else(|| MysqlError::internal("an unknown column type"))?;
    let beyond = |negative| if negative { least - 1 } else { most + 1 };
    let whole = match v {
        Value::Int(v) => i128::from(*v),
        Value::UInt(v) => i128::from(*v),
        // `as` clamps to 128 bits, which is out of range in any case. NaN is 0.
        Value::Double(d) => d.round_ties_even() as i128,
        Value::String(_) | Value::Bytes(_) => {
            let text = v.as_bytes().unwrap_or_default();
            let found = decimal_prefix(text);
            let whole = rounded(&found.value).unwrap_or(beyond(found.value.is_negative()));
            if found.missing {
                cx.incorrect("integer", &String::from_utf8_lossy(text))?;
            } else if found.garbage && (least..=most).contains(&whole) {
                cx.truncated()?;
            }
            whole
        }
        Value::DateTime(t) => datetime_to_integer(*t),
        Value::Time(t) => t.round(0).to_number().into(),
        other => {
            let d = to_decimal(other, cx.warnings).unwrap_or(Decimal::ZERO);
            // -0.4 is out of range too, although it rounds to 0.
            let refused = to.is_unsigned() && d.is_negative();
            rounded(&d).filter(|_| !refused).unwrap_or(beyond(d.is_negative()))
        }
    };
    let clamped = whole.clamp(least, most);
    if clamped != whole {
        cx.out_of_range()?;
    }
    Ok(if to.is_unsigned() { Value::UInt(clamped as u64) } else { Value::Int(clamped as i64) })
}

fn rounded(d: &Decimal) -> Option<i128> {
    d.round(0)?.unscaled_i128()
}

fn store_double(v: &Value, cx: &mut StoreContext<'_>) -> Result<Value, MysqlError> {
    let Some(text) = v.as_bytes() else {
        return Ok(super::cast::to_f64(v, cx.warnings).map_or(Value::Null, Value::Double));
    };
    let found = f64_prefix(text);
    if found.overflow {
        cx.out_of_range()?;
    } else if found.missing || found.garbage {
        cx.truncated()?;
    }
    Ok(Value::Double(found.value))
}

/// Converts to FLOAT, and to DOUBLE with digits or UNSIGNED: rounds to the type's digits, and clips to the range that
/// digits and sign allow.
fn store_real(
    v: &Value,
    (single, digits, unsigned): (bool, Option<(u8, u8)>, bool),
    cx: &mut StoreContext<'_>,
) -> Result<Value, MysqlError> {
    let Value::Double(given) = store_double(v, cx)? else { return Ok(Value::Null) };
    let mut most = if single { f32::MAX.into() } else { f64::MAX };
    let mut value = given;
    if let Some((all, scale)) = digits {
        let unit = 10f64.powi(scale.into());
        most = most.min(10f64.powi(i32::from(all) - i32::from(scale)) - 1.0 / unit);
        // Like MySQL, rounds the part after the point alone: 1234.565 becomes 1234.57.
        let whole = value.floor();
        value = whole + ((value - whole) * unit).round_ties_even() / unit;
    }
    let clipped = value.clamp(if unsigned { 0.0 } else { -most }, most);
    if clipped != value {
        cx.out_of_range()?;
    }
    Ok(Value::Double(if single { to_single(clipped) } else { clipped }))
}

fn store_decimal(
    v: &Value,
    (precision, scale, unsigned): (u8, u8, bool),
    cx: &mut StoreContext<'_>,
) -> Result<Value, MysqlError> {
    let (d, overflow) = match v {
        Value::String(_) | Value::Bytes(_) => {
            let text = v.as_bytes().unwrap_or_default();
            let found = decimal_prefix(text);
            if found.missing || found.garbage {
                cx.incorrect("decimal", &String::from_utf8_lossy(text))?;
            }
            (found.value, found.overflow)
        }
        Value::Double(d) => match Decimal::from_f64(*d) {
            Some(found) => (found, false),
            None if *d < 0.0 => (Decimal::max_value(precision, scale).negate(), true),
            None => (Decimal::max_value(precision, scale), true),
        },
        other => (to_decimal(other, cx.warnings).unwrap_or(Decimal::ZERO), false),
    };
    let most = Decimal::max_value(precision, scale);
    let least = if unsigned { Decimal::from_i128(0, scale) } else { most.negate() };
    match d.round(scale.into()) {
        Some(rounded) if !overflow && least <= rounded && rounded <= most => {
            if rounded != d {
                cx.note_truncated();
            }
            Ok(Value::Decimal(rounded))
        }
        _ => {
            cx.out_of_range()?;
            Ok(Value::Decimal(if d.is_negative() { least } else { most }))
        }
    }
}

/// Converts a stored TIMESTAMP to local time in `zone`; NULL outside the years 0 to 9999.
pub fn local(utc: DateTime, zone: &Zone) -> Value {
    zone.to_local(utc).map_or(Value::Null, Value::DateTime)
}

/// Converts a local time in `zone` to the stored form of a TIMESTAMP; NULL outside the years 0 to 9999.
pub fn utc(local: DateTime, zone: &Zone) -> Value {
    zone.to_utc(local).map_or(Value::Null, |(utc, _)| Value::DateTime(utc))
}

/// Converts to TIMESTAMP, which is stored in UTC and begins one second after 1970. A value that is not a TIMESTAMP is
/// local time in the session's zone. A local time that a clock change skipped is an error in strict mode; otherwise
/// the moment of the change is stored.
fn store_timestamp(
    v: &Value,
    from: &SqlType,
    fsp: u8,
    cx: &mut StoreContext<'_>,
) -> Result<Value, MysqlError> {
    let mut there = true;
    let utc = match (from, v) {
        (SqlType::Timestamp { .. }, Value::DateTime(t)) => t.fitted(fsp, cx.dates),
        _ => {
            let rules = DateRules { zero_parts: false, beyond_month: false, ..cx.dates };
            let stored = store_temporal(v, from, &SqlType::DateTime { fsp }, rules, cx)?;
            let Value::DateTime(local) = stored else { return Ok(stored) };
            if local == DateTime::ZERO {
                return Ok(stored);
            }
            let found = cx.zone.to_utc(local);
            there = found.is_none_or(|(_, there)| there);
            found.map(|(utc, _)| utc)
        }
    };
    let incorrect = |cx: &StoreContext<'_>| {
        let shown = to_text(v, from).unwrap_or_default();
        MysqlError::incorrect_temporal_for_column("datetime", &shown, cx.column, cx.row)
    };
    let within =
        |t: &DateTime| t.epoch_micros().is_some_and(|micros| (1_000_000..TIMESTAMP_END).contains(&micros));
    match utc {
        Some(t) if t == DateTime::ZERO || within(&t) => {
            if !there {
                let (error, warning) = (incorrect(cx), MysqlError::invalid_timestamp(cx.column, cx.row));
                cx.refuse_or(error, warning)?;
            }
            Ok(Value::DateTime(t))
        }
        _ => {
            let (error, warning) = (incorrect(cx), MysqlError::out_of_range(cx.column, cx.row));
            cx.refuse_or(error, warning)?;
            Ok(Value::DateTime(DateTime::ZERO))
        }
    }
}

/// Converts to DATE or DATETIME. An invalid date becomes the zero date if it is not an error.
fn store_temporal(
    v: &Value,
    from: &SqlType,
    to: &SqlType,
    rules: DateRules,
    cx: &mut StoreContext<'_>,
) -> Result<Value, MysqlError> {
    let to_date = matches!(to, SqlType::Date);
    let kind = if to_date { "date" } else { "datetime" };
    let bad = |cx: &StoreContext<'_>| {
        let shown = to_text(v, from).unwrap_or_default();
        MysqlError::incorrect_temporal_for_column(kind, &shown, cx.column, cx.row)
    };
    let found = match v {
        Value::String(_) | Value::Bytes(_) => {
            let text = String::from_utf8_lossy(v.as_bytes().unwrap_or_default());
            let found = DateTime::parse(&text, rules);
            if found.is_ok_and(|found| found.truncated) {
                let (error, warning) = (bad(cx), MysqlError::data_truncated(cx.column, cx.row));
                cx.refuse_or(error, warning)?;
            }
            found.and_then(|found| found.in_zone(cx.zone).ok_or(BadTemporal::Day))
        }
        Value::Date(d) if d.to_datetime().is_admitted(rules) => Ok(d.to_datetime()),
        Value::DateTime(t) if t.is_admitted(rules) => Ok(*t),
        Value::Date(_) | Value::DateTime(_) => Err(BadTemporal::Day),
        other => to_datetime(other, rules).ok().flatten().ok_or(BadTemporal::Spelling),
    };
    let stored = found.and_then(|found| match to_date {
        true => Ok(found.date().to_datetime()),
        false => found.fitted(to.scale(), rules).ok_or(BadTemporal::Day),
    });
    match (stored, found) {
        (Ok(stored), Ok(found)) => {
            if to_date && stored != found {
                cx.note_truncated();
            }
            Ok(if to_date { Value::Date(stored.date()) } else { Value::DateTime(stored) })
        }
        (Err(reason), _) | (_, Err(reason)) => {
            let warning = match reason {
                BadTemporal::Spelling => MysqlError::data_truncated(cx.column, cx.row),
                BadTemporal::Day => MysqlError::out_of_range(cx.column, cx.row),
            };
            let error = bad(cx);
            cx.refuse_or(error, warning)?;
            Ok(if to_date { Value::Date(Date::ZERO) } else { Value::DateTime(DateTime::ZERO) })
        }
    }
}

fn store_text(
    v: &Value,
    from: &SqlType,
    to: &SqlType,
    cx: &mut StoreContext<'_>,
) -> Result<Value, MysqlError> {
    let text = match v {
        Value::Bytes(b) if !cx.charset.is_utf8() => match cx.charset.decode(b) {
            Ok(text) => text.into(),
            Err(_) => {
                cx.incorrect("string", &printable(b))?;
                String::from_utf8_lossy(b).into()
            }
        },
        Value::Bytes(b) => match std::str::from_utf8(b) {
            Ok(text) => text.into(),
            Err(e) => {
                let (good, bad) = b.split_at(e.valid_up_to());
                cx.incorrect("string", &printable(bad))?;
                String::from_utf8_lossy(good).into()
            }
        },
        Value::Double(number) if *from == SqlType::Double => match to {
            SqlType::Char { len } | SqlType::Varchar { len } => number_in(*number, *len as usize, cx)?.into(),
            _ => to_text(v, from).unwrap_or_default(),
        },
        other => to_text(other, from).unwrap_or_default(),
    };
    let text = match cx.charset.first_foreign(&text) {
        None => text,
        Some(at) => {
            cx.incorrect("string", &printable(&text.as_bytes()[at..]))?;
            cx.charset.replace_foreign(&text).into()
        }
    };
    // The place to cut the text if it is too long.
    let end = match to {
        SqlType::Text { max_bytes } if cx.charset.is_utf8() => fitting(&text, *max_bytes as usize),
        SqlType::Text { max_bytes } => cx.charset.fitting(&text, *max_bytes as usize),
        SqlType::Char { len } | SqlType::Varchar { len } => match text.len() <= *len as usize {
            true => text.len(),
            false => text.char_indices().nth(*len as usize).map_or(text.len(), |(end, _)| end),
        },
        _ => text.len(),
    };
    let (kept, cut) = text.split_at(end);
    let is_char = matches!(to, SqlType::Char { .. });
    if !trim_spaces(cut.as_bytes()).is_empty() {
        too_long(cx)?;
    } else if !cut.is_empty() && !is_char {
        cx.note_truncated();
    }
    let kept = if is_char { kept.trim_end_matches(' ') } else { kept };
    Ok(if kept.len() == text.len() { Value::String(text) } else { Value::string(kept) })
}

/// Writes a number for a string column of `len` characters, with fewer digits if they do not all fit.
fn number_in(number: f64, len: usize, cx: &mut StoreContext<'_>) -> Result<String, MysqlError> {
    let text = f64_text(number);
    if text.len() <= len || !number.is_finite() {
        return Ok(text);
    }
    let (text, fits) = fitted(number, len);
    if !fits {
        too_long(cx)?;
    }
    Ok(text)
}

/// Returns 1406 in strict mode, otherwise adds warning 1265.
fn too_long(cx: &mut StoreContext<'_>) -> Result<(), MysqlError> {
    if cx.strict {
        return Err(MysqlError::data_too_long(cx.column, cx.row));
    }
    cx.truncated()
}

fn store_bytes(
    v: &Value,
    from: &SqlType,
    len: usize,
    cx: &mut StoreContext<'_>,
) -> Result<Value, MysqlError> {
    let bytes = match v {
        Value::Bytes(b) => b.clone(),
        Value::UInt(n) if matches!(from, SqlType::Bit { .. }) => bit_bytes(*n, from).into(),
        Value::Double(number) if *from == SqlType::Double => number_in(*number, len, cx)?.into_bytes().into(),
        other => to_text(other, from).unwrap_or_default().as_bytes().into(),
    };
    if bytes.len() <= len {
        return Ok(Value::Bytes(bytes));
    }
    too_long(cx)?;
    Ok(Value::bytes(&bytes[..len]))
}

/// Shows the first bytes of invalid UTF-8 as MySQL does: `\xFF\xFE`, six at most, then dots.
fn printable(bad: &[u8]) -> String {
    const SHOWN: usize = 6;
    let mut out = String::new();
    for &b in bad.iter().take(SHOWN) {
        match b {
            b' '..=b'~' => out.push(b.into()),
            _ => out.push_str(&format!("\\x{b:02X}")),
        }
    }
    if bad.len() > SHOWN {
        out.push_str("...");
    }
    out
}
