//! CAST, and the conversions of operands for arithmetic and comparison. A bad value is a warning, never an error.

use super::document::sql_value;
use super::json::{cast_to_json, value_for_cast};
use super::number::{decimal_prefix, f64_prefix, whole_prefix};
use super::text::{bit_bytes, fitting, text_of_member, to_text};
use super::time::{cast_time, cast_year};
use crate::decimal::Decimal;
use crate::double::f64_text;
use crate::error::MysqlError;
use crate::statement::Warnings;
use crate::temporal::{DateRules, DateTime, Time, fraction_unit};
use crate::value::{SqlType, Value};

/// Computes `CAST(v AS to)`; `from` is the type of `v`. A value that does not convert becomes what MySQL makes of it,
/// with a warning: the leading number of a text, the nearest limit, NULL for an invalid date.
///
/// `rules` says which texts and numbers are accepted as dates although no such day exists.
///
/// # Errors
/// 1235 for a type that CAST cannot produce, 1815 for NULL as a type.
pub fn cast(
    v: &Value,
    from: &SqlType,
    to: &SqlType,
    rules: DateRules,
    warnings: &mut Warnings,
) -> Result<Value, MysqlError> {
    if v.is_null() {
        return Ok(Value::Null);
    }
    let converted = match v {
        Value::Json(json) if !to.is_string() && *to != SqlType::Json => {
            match value_for_cast(json, to, warnings) {
                Some(v) => return cast(&v, &SqlType::Null, to, rules, warnings),
                None if to.is_temporal() => return Ok(Value::Null),
                None => return cast(&Value::Int(0), &SqlType::BIGINT, to, rules, warnings),
            }
        }
        _ => text_of_member(v, from, to),
    };
    let v = converted.as_ref().unwrap_or(v);
    Ok(match to {
        SqlType::Json => return cast_to_json(v, from),
        SqlType::Null => return Err(MysqlError::internal("a cast to NULL")),
        SqlType::Double | SqlType::Real { single: false, .. } => {
            to_f64(v, warnings).map_or(Value::Null, Value::Double)
        }
        SqlType::Real { .. } => to_f64(v, warnings).map_or(Value::Null, |d| Value::Double(to_single(d))),
        SqlType::Time { fsp } => cast_time(v, *fsp, rules, warnings),
        SqlType::Year => cast_year(v, from, warnings),
        SqlType::Decimal { precision, scale, unsigned, .. } => {
            cast_decimal(v, from, (*precision, *scale, *unsigned), warnings)
        }
        SqlType::Date | SqlType::DateTime { .. } => cast_temporal(v, to, rules, warnings),
        SqlType::Char { len } | SqlType::Varchar { len } => {
            cut_text(to_text(v, from).unwrap_or_default().as_ref(), *len as usize, warnings)
        }
        SqlType::Text { max_bytes } => {
            let text = to_text(v, from).unwrap_or_default();
            let end = fitting(&text, *max_bytes as usize);
            if end < text.len() {
                warnings.warn(MysqlError::truncated_value("CHAR", &text));
            }
            Value::string(&text[..end])
        }
        SqlType::Binary { len } | SqlType::Varbinary { len } | SqlType::Blob { max_bytes: len } => {
            let text;
            let bits;
            let bytes = match v {
                Value::Bytes(b) => b.as_ref(),
                Value::UInt(n) if matches!(from, SqlType::Bit { .. }) => {
                    bits = bit_bytes(*n, from);
                    &bits
                }
                other => {
                    text = to_text(other, from).unwrap_or_default();
                    text.as_bytes()
                }
            };
            let end = bytes.len().min(*len as usize);
            if end < bytes.len() {
                let kind = format!("BINARY({len})");
                warnings.warn(MysqlError::truncated_value(&kind, &String::from_utf8_lossy(bytes)));
            }
            Value::bytes(&bytes[..end])
        }
        integer => cast_integer(v, integer, warnings),
    })
}

/// Returns the nearest binary32 number; the largest or smallest for a value out of range.
pub(super) fn to_single(d: f64) -> f64 {
    (d as f32).clamp(f32::MIN, f32::MAX).into()
}

fn cut_text(text: &str, chars: usize, warnings: &mut Warnings) -> Value {
    match text.char_indices().nth(chars) {
        Some((end, _)) => {
            warnings.warn(MysqlError::truncated_value(&format!("CHAR({chars})"), text));
            Value::string(&text[..end])
        }
        None => Value::string(text),
    }
}

/// Converts to SIGNED, UNSIGNED or a narrower integer type. Integers keep their 64 bits (-1 is 2^64 - 1 as UNSIGNED);
/// other values are clamped.
fn cast_integer(v: &Value, to: &SqlType, warnings: &mut Warnings) -> Value {
    let unsigned = to.is_unsigned();
    let whole = match v {
        Value::Int(v) if unsigned => i128::from(*v as u64),
        Value::UInt(v) if !unsigned => i128::from(*v as i64),
        Value::Int(_) | Value::UInt(_) => v.as_integer().unwrap_or(0),
        Value::Double(d) => {
            let rounded = d.round_ties_even();
            let (least, most) =
                if unsigned { (0.0, u64::MAX as f64) } else { (i64::MIN as f64, i64::MAX as f64) };
            if !(least..=most).contains(&rounded) {
                warnings.warn(MysqlError::truncated_value("INTEGER", &f64_text(*d)));
            }
            // `as` clamps.
            if unsigned { i128::from(rounded as u64) } else { i128::from(rounded as i64) }
        }
        Value::String(_) | Value::Bytes(_) => {
            text_to_integer(v.as_bytes().unwrap_or_default(), unsigned, warnings)
        }
        Value::DateTime(t) => datetime_to_integer(*t),
        Value::Time(t) => t.round(0).to_number().into(),
        other => {
            decimal_to_integer(&to_decimal(other, warnings).unwrap_or(Decimal::ZERO), unsigned, warnings)
        }
    };
    let (least, most) = to.integer_range().unwrap_or((i64::MIN.into(), i64::MAX.into()));
    let clamped = whole.clamp(least, most);
    if clamped != whole {
        warnings.warn(MysqlError::truncated_value("INTEGER", &whole.to_string()));
    }
    if unsigned { Value::UInt(clamped as u64) } else { Value::Int(clamped as i64) }
}

fn text_to_integer(text: &[u8], unsigned: bool, warnings: &mut Warnings) -> i128 {
    let found = whole_prefix(text);
    let shown = String::from_utf8_lossy(text);
    // A number beyond 63 bits is read as unsigned, whatever it is cast to.
    let clamped = found.value.clamp(i64::MIN.into(), u64::MAX.into());
    if found.missing || found.garbage || clamped != found.value {
        warnings.warn(MysqlError::truncated_value("INTEGER", &shown));
    }
    if unsigned && clamped < 0 {
        warnings.warn(MysqlError::with_message(
            crate::error::errno::ER_UNKNOWN_ERROR,
            "Cast to unsigned converted negative integer to its positive complement",
        ));
        return i128::from(clamped as i64 as u64);
    }
    if !unsigned && clamped > i64::MAX.into() {
        warnings.warn(MysqlError::with_message(
            crate::error::errno::ER_UNKNOWN_ERROR,
            "Cast to signed converted positive out-of-range integer to its negative complement",
        ));
        return i128::from(clamped as u64 as i64);
    }
    clamped
}

/// Returns YYYYMMDDhhmmss of the nearest second; rounding up carries as on a clock.
pub(super) fn datetime_to_integer(t: DateTime) -> i128 {
    t.round(0).unwrap_or_else(|| t.truncate(0)).to_number().into()
}

fn decimal_to_integer(d: &Decimal, unsigned: bool, warnings: &mut Warnings) -> i128 {
    let (least, most) = if unsigned { (0, u64::MAX.into()) } else { (i64::MIN.into(), i64::MAX.into()) };
    let rounded = d.round(0).and_then(|r| r.unscaled_i128());
    let whole = rounded.unwrap_or(if d.is_negative() { least } else { most });
    let clamped = whole.clamp(least, most);
    if rounded != Some(clamped) {
        warnings.warn(MysqlError::truncated_value("DECIMAL", &d.to_string()));
    }
    clamped
}

/// The number of characters of a value that a message shows.
const SHOWN_CHARS: usize = 128;

fn cast_decimal(
    v: &Value,
    from: &SqlType,
    (precision, scale, unsigned): (u8, u8, bool),
    warnings: &mut Warnings,
) -> Value {
    let Some(d) = to_decimal(v, warnings) else { return Value::Null };
    let most = Decimal::max_value(precision, scale);
    let least = if unsigned { Decimal::ZERO } else { most.negate() };
    match d.round(scale.into()) {
        Some(rounded) if least <= rounded && rounded <= most => Value::Decimal(rounded),
        _ => {
            let text = to_text(v, from).unwrap_or_default();
            let shown = text.char_indices().nth(SHOWN_CHARS).map_or(&*text, |(end, _)| &text[..end]);
            let column = format!("cast({shown} as decimal({precision},{scale}))");
            warnings.warn(MysqlError::out_of_range(column, 1));
            let limit = if d.is_negative() { least } else { most };
            Value::Decimal(limit.round(scale.into()).unwrap_or(limit))
        }
    }
}

fn cast_temporal(v: &Value, to: &SqlType, rules: DateRules, warnings: &mut Warnings) -> Value {
    let to_date = matches!(to, SqlType::Date);
    let found = match v {
        Value::String(_) | Value::Bytes(_) => {
            let text = String::from_utf8_lossy(v.as_bytes().unwrap_or_default());
            DateTime::parse(&text, rules)
                .map_err(|_| MysqlError::incorrect_temporal("datetime", &text))
                .inspect(|found| {
                    if found.truncated {
                        let kind = if to_date { "date" } else { "datetime" };
                        warnings.warn(MysqlError::truncated_value(kind, &text));
                    }
                })
                .map(|found| Some(found.value))
        }
        other => to_datetime(other, rules),
    };
    match found {
        Ok(Some(t)) if to_date => Value::Date(t.date()),
        Ok(Some(t)) => match t.fitted(to.scale(), rules) {
            Some(rounded) => Value::DateTime(rounded),
            None => {
                warnings.warn(MysqlError::datetime_overflow("datetime"));
                Value::Null
            }
        },
        Ok(None) => Value::Null,
        Err(e) => {
            warnings.warn(e);
            Value::Null
        }
    }
}

/// Converts a value to a double for arithmetic and comparison; None for NULL. Takes the leading number of a text,
/// with warning 1292 if more than spaces follow.
pub fn to_f64(v: &Value, warnings: &mut Warnings) -> Option<f64> {
    Some(match v {
        Value::Null => return None,
        Value::Int(v) => *v as f64,
        Value::UInt(v) => *v as f64,
        Value::Double(d) => *d,
        Value::Decimal(d) => d.to_f64(),
        Value::Date(d) => d.to_number() as f64,
        Value::DateTime(d) => datetime_number(*d).to_f64(),
        Value::Time(t) => time_number(*t).to_f64(),
        Value::String(_) | Value::Bytes(_) => {
            let text = v.as_bytes().unwrap_or_default();
            let found = f64_prefix(text);
            if !found.is_clean() {
                warnings.warn(MysqlError::truncated_value("DOUBLE", &String::from_utf8_lossy(text)));
            }
            found.value
        }
        Value::Json(json) => {
            let converted = value_for_cast(json, &SqlType::Double, warnings);
            return converted.map_or(Some(0.0), |v| to_f64(&v, warnings));
        }
    })
}

/// Converts a value to a decimal; None for NULL. Takes the leading number of a text, with warning 1292 if more than
/// spaces follow.
pub fn to_decimal(v: &Value, warnings: &mut Warnings) -> Option<Decimal> {
    Some(match v {
        Value::Null => return None,
        Value::Int(v) => Decimal::from_i64(*v),
        Value::UInt(v) => Decimal::from_u64(*v),
        Value::Decimal(d) => d.clone(),
        Value::Date(d) => Decimal::from_i64(d.to_number()),
        Value::DateTime(d) => datetime_number(*d),
        Value::Time(t) => time_number(*t),
        Value::Double(d) => match Decimal::from_f64(*d) {
            Some(found) => found,
            None => {
                warnings.warn(MysqlError::truncated_value("DECIMAL", &f64_text(*d)));
                let most = Decimal::max_value(crate::decimal::MAX_PRECISION, 0);
                if *d < 0.0 { most.negate() } else { most }
            }
        },
        Value::String(_) | Value::Bytes(_) => {
            let text = v.as_bytes().unwrap_or_default();
            let found = decimal_prefix(text);
            if !found.is_clean() {
                warnings.warn(MysqlError::truncated_value("DECIMAL", &String::from_utf8_lossy(text)));
            }
            found.value
        }
        Value::Json(json) => {
            let decimal = SqlType::decimal(crate::decimal::MAX_PRECISION, 0);
            let converted = value_for_cast(json, &decimal, warnings);
            return converted.map_or(Some(Decimal::ZERO), |v| to_decimal(&v, warnings));
        }
    })
}

/// Converts a value to a datetime; a text or number is read as one. Returns Ok(None) for NULL. Ignores what follows a
/// datetime in a text. A TIME has no day: see [`dated`](super::dated).
///
/// `rules` says which texts and numbers are accepted as dates although no such day exists.
///
/// # Errors
/// 1292 if the value is not a datetime.
pub fn to_datetime(v: &Value, rules: DateRules) -> Result<Option<DateTime>, MysqlError> {
    let spelled = match v {
        Value::Null => return Ok(None),
        Value::Date(d) => Some(d.to_datetime()),
        Value::DateTime(d) => Some(*d),
        Value::String(s) => DateTime::parse(s, rules).ok().map(|found| found.value),
        Value::Bytes(b) => DateTime::parse(&String::from_utf8_lossy(b), rules).ok().map(|found| found.value),
        Value::Int(v) => DateTime::from_number(*v, rules),
        Value::UInt(v) => i64::try_from(*v).ok().and_then(|n| DateTime::from_number(n, rules)),
        Value::Decimal(d) => decimal_datetime(d, rules),
        Value::Double(d) => Decimal::from_f64(*d).as_ref().and_then(|d| decimal_datetime(d, rules)),
        Value::Time(_) => None,
        Value::Json(json) => match sql_value(json.view()) {
            Some(v) => return to_datetime(&v, rules),
            None => None,
        },
    };
    match spelled {
        Some(t) => Ok(Some(t)),
        None => {
            let shown = to_text(v, &SqlType::Null).unwrap_or_default();
            Err(MysqlError::incorrect_temporal("datetime", &shown))
        }
    }
}

/// Reads a number such as 20240102030405.6 as a datetime: the digits after the point are the second's fraction,
/// rounded to six. They count only if the number has a time of day.
fn decimal_datetime(d: &Decimal, rules: DateRules) -> Option<DateTime> {
    /// The least number with a time of day; 101000000 is 2000-01-01.
    const LEAST_WITH_TIME: i64 = 101_000_000;
    let whole = d.truncate(0)?;
    let number = whole.unscaled_i128().and_then(|v| i64::try_from(v).ok())?;
    if d.is_negative() {
        return None;
    }
    let base = DateTime::from_number(number, rules)?;
    if number < LEAST_WITH_TIME {
        return Some(base);
    }
    let fraction = d.checked_sub(&whole)?;
    let fraction = if rules.cut_fractions { fraction.truncate(6)? } else { fraction.round(6)? };
    let micros = fraction.unscaled_i128().and_then(|v| i64::try_from(v).ok())?;
    if micros == 0 { Some(base) } else { base.plus_micros(micros) }
}

/// Returns a time as a number, such as 101112.500000; without a point if there is no fraction.
pub fn time_number(t: Time) -> Decimal {
    let micros = t.micros() % fraction_unit(0);
    let whole = i128::from(t.to_number());
    if micros == 0 {
        return Decimal::from_i128(whole, 0);
    }
    Decimal::from_i128(whole * 1_000_000 + i128::from(micros), 6)
}

/// Returns a datetime as a number, such as 20240102030405.600000; without a point if there is no fraction.
pub fn datetime_number(d: DateTime) -> Decimal {
    let micros = d.micros_of_day() % fraction_unit(0);
    let whole = i128::from(d.to_number());
    if micros == 0 {
        return Decimal::from_i128(whole, 0);
    }
    Decimal::from_i128(whole * 1_000_000 + i128::from(micros), 6)
}
