//! TIME and YEAR: casts and assignments.

use super::context::StoreContext;
use super::document::sql_value;
use super::number::{decimal_prefix, whole_prefix};
use super::text::to_text;
use crate::decimal::Decimal;
use crate::error::MysqlError;
use crate::statement::Warnings;
use crate::temporal::{Date, DateRules, Time};
use crate::value::{SqlType, Value};

/// Converts a TIME to a datetime on the current day if `to` needs a day; None for other values and types.
pub fn dated(v: &Value, to: &SqlType, today: Date) -> Option<Value> {
    match v {
        Value::Time(t) if to.has_date() || *to == SqlType::Year => t.on(today).map(Value::DateTime),
        _ => None,
    }
}

/// A value read as a time.
struct Spelled {
    value: Time,
    /// Something after the time was ignored.
    truncated: bool,
    clipped: bool,
    /// A date in front of the time was dropped.
    had_date: bool,
}

/// Reads a value as a time; None if it is not one, or NULL.
fn spelled(v: &Value, rules: DateRules) -> Option<Spelled> {
    let plain = |value| Spelled { value, truncated: false, clipped: false, had_date: false };
    let number = |d: &Decimal| {
        let whole = d.truncate(0)?;
        let Some(number) = whole.to_i64() else {
            let value = if d.is_negative() { Time::MIN } else { Time::MAX };
            return Some(Spelled { clipped: true, ..plain(value) });
        };
        let (time, clipped) = Time::from_number(number)?;
        let fraction = d.checked_sub(&whole)?;
        let fraction = if rules.cut_fractions { fraction.truncate(6)? } else { fraction.round(6)? };
        let micros = fraction.unscaled_i128()?;
        let value = Time::clipped(time.micros() + i64::try_from(micros).ok()?);
        Some(Spelled { clipped, ..plain(value) })
    };
    match v {
        Value::Null => None,
        Value::Time(t) => Some(plain(*t)),
        Value::DateTime(t) => Some(Spelled { had_date: true, ..plain(Time::from(*t)) }),
        Value::Date(_) => Some(Spelled { had_date: true, ..plain(Time::ZERO) }),
        Value::String(_) | Value::Bytes(_) => {
            let text = String::from_utf8_lossy(v.as_bytes().unwrap_or_default());
            let found = Time::parse_by(&text, rules).ok()?;
            Some(Spelled {
                value: found.value,
                truncated: found.truncated,
                clipped: found.clipped,
                had_date: found.had_date,
            })
        }
        Value::Json(json) => spelled(&sql_value(json.view())?, rules),
        Value::Int(n) => number(&Decimal::from_i64(*n)),
        Value::UInt(n) => number(&Decimal::from_u64(*n)),
        Value::Decimal(d) => number(d),
        Value::Double(d) => number(&Decimal::from_f64(*d)?),
    }
}

/// Converts a value to a time for functions and comparisons; None, with a warning, if it is not a time.
pub fn to_time(v: &Value, warnings: &mut Warnings) -> Option<Time> {
    to_time_by(v, DateRules::DAYS, warnings)
}

/// Converts a value to a time; `rules` say whether digits after the sixth of the fraction are rounded or cut.
fn to_time_by(v: &Value, rules: DateRules, warnings: &mut Warnings) -> Option<Time> {
    if v.is_null() {
        return None;
    }
    let found = spelled(v, rules);
    if found.as_ref().is_none_or(|found| found.truncated || found.clipped) {
        let shown = to_text(v, &SqlType::Null).unwrap_or_default();
        warnings.warn(MysqlError::truncated_value("time", &shown));
    }
    found.map(|found| found.value)
}

pub(super) fn store_time(
    v: &Value,
    from: &SqlType,
    fsp: u8,
    cx: &mut StoreContext<'_>,
) -> Result<Value, MysqlError> {
    let shown = || to_text(v, from).unwrap_or_default();
    let incorrect = |cx: &StoreContext<'_>| {
        MysqlError::incorrect_temporal_for_column("time", &shown(), cx.column, cx.row)
    };
    let Some(found) = spelled(v, cx.dates) else {
        let (error, warning) = (incorrect(cx), MysqlError::data_truncated(cx.column, cx.row));
        cx.refuse_or(error, warning)?;
        return Ok(Value::Time(Time::ZERO));
    };
    let rounded = found.value.fitted(fsp, cx.dates);
    if found.clipped {
        let (error, warning) = (incorrect(cx), MysqlError::out_of_range(cx.column, cx.row));
        cx.refuse_or(error, warning)?;
    } else if found.truncated {
        let (error, warning) = (incorrect(cx), MysqlError::data_truncated(cx.column, cx.row));
        cx.refuse_or(error, warning)?;
    } else if found.had_date {
        cx.note_truncated();
    }
    Ok(Value::Time(rounded))
}

/// Returns the year that a number of up to four digits stands for; None if there is none. `zero` is the year for 0.
fn year_of(number: i128, zero: u64) -> Option<u64> {
    Some(match number {
        0 => zero,
        1..=69 => number as u64 + 2000,
        70..=99 => number as u64 + 1900,
        1901..=2155 => number as u64,
        _ => return None,
    })
}

/// Returns the year for 0 in a text: 2000, unless it is written with four digits.
fn zero_of(text: &[u8]) -> u64 {
    if text.trim_ascii() == b"0000" { 0 } else { 2000 }
}

/// Computes `CAST(v AS YEAR)`: NULL, with a warning, for an invalid year.
pub(super) fn cast_year(v: &Value, from: &SqlType, warnings: &mut Warnings) -> Value {
    let rounded = |d: &Decimal| d.round(0).and_then(|d| d.unscaled_i128());
    let found = match v {
        Value::Date(d) => Some(u64::from(d.civil().year)),
        Value::DateTime(t) => Some(u64::from(t.date().civil().year)),
        Value::String(_) | Value::Bytes(_) => {
            let text = v.as_bytes().unwrap_or_default();
            let found = whole_prefix(text);
            if found.garbage && !found.missing {
                let shown = String::from_utf8_lossy(text);
                warnings.warn(MysqlError::truncated_value("YEAR", &shown));
            }
            if found.missing { None } else { year_of(found.value, zero_of(text)) }
        }
        Value::Decimal(d) => rounded(d).and_then(|n| year_of(n, 0)),
        Value::Double(d) => year_of(d.round_ties_even() as i128, 0),
        other => other.as_integer().and_then(|n| year_of(n, 0)),
    };
    match found.filter(|year| *year == 0 || (1901..=2155).contains(year)) {
        Some(year) => Value::UInt(year),
        None => {
            let shown = to_text(v, from).unwrap_or_default();
            warnings.warn(MysqlError::truncated_value("YEAR", &shown));
            Value::Null
        }
    }
}

pub(super) fn store_year(v: &Value, cx: &mut StoreContext<'_>) -> Result<Value, MysqlError> {
    let found = match v {
        Value::Date(d) => Some(u64::from(d.civil().year)),
        Value::DateTime(t) => Some(u64::from(t.date().civil().year)),
        Value::String(_) | Value::Bytes(_) => {
            let text = v.as_bytes().unwrap_or_default();
            let found = decimal_prefix(text);
            if found.missing {
                cx.incorrect("integer", &String::from_utf8_lossy(text))?;
                return Ok(Value::UInt(0));
            } else if found.garbage {
                cx.truncated()?;
            }
            let whole = found.value.round(0).and_then(|d| d.unscaled_i128());
            whole.and_then(|n| year_of(n, zero_of(text)))
        }
        Value::Decimal(d) => d.round(0).and_then(|d| d.unscaled_i128()).and_then(|n| year_of(n, 0)),
        Value::Double(d) if *d < 0.0 || *d > 2155.0 => None,
        Value::Double(d) => year_of(d.trunc() as i128, 0),
        other => other.as_integer().and_then(|n| year_of(n, 0)),
    };
    match found.filter(|year| *year == 0 || (1901..=2155).contains(year)) {
        Some(year) => Ok(Value::UInt(year)),
        None => {
            cx.out_of_range()?;
            Ok(Value::UInt(0))
        }
    }
}

/// Returns the year that a number stands for in a comparison with a YEAR; None if there is no such year.
pub fn compared_year(number: i128) -> Option<u64> {
    year_of(number, 0)
}

pub(super) fn cast_time(v: &Value, fsp: u8, rules: DateRules, warnings: &mut Warnings) -> Value {
    to_time_by(v, rules, warnings).map_or(Value::Null, |t| Value::Time(t.fitted(fsp, rules)))
}
