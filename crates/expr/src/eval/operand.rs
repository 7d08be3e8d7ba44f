//! Converts operands to the domain of a computation or comparison.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::super::context::EvalContext;
use super::super::context::held::LONG;
use super::super::ir::CompareDomain;
use leafline_types::convert;
use leafline_types::decimal::Decimal;
use leafline_types::error::MysqlError;
use leafline_types::json::{Json, Node, order};
use leafline_types::output::{Output, Stop, room_for};
use leafline_types::temporal::{Date, DateRules, DateTime, Time};
use leafline_types::value::{SqlType, Value};

/// Runs a conversion that may warn. If the statement stores values in strict mode, returns the first warning that
/// strict mode makes an error.
pub(super) fn strictly<T>(
    cx: &mut EvalContext<'_>,
    convert: impl FnOnce(&mut leafline_types::statement::Warnings) -> T,
) -> Result<T, MysqlError> {
    if !(cx.stores && cx.sql_mode.strict) {
        return Ok(convert(cx.warnings));
    }
    let mut raised = leafline_types::statement::Warnings::new();
    let converted = convert(&mut raised);
    for warning in raised.iter() {
        let raised = MysqlError::with_message(warning.code, warning.message.clone());
        if raised.fails_in_strict_mode() {
            return Err(raised);
        }
        cx.warnings.push(warning.level, raised);
    }
    Ok(converted)
}

/// Computes `CAST`.
pub(crate) fn cast(
    v: &Value,
    from: &SqlType,
    to: &SqlType,
    cx: &mut EvalContext<'_>,
) -> Result<Value, MysqlError> {
    match (from, to, v) {
        (SqlType::Timestamp { .. }, SqlType::Timestamp { .. }, _) => return Ok(v.clone()),
        (SqlType::Timestamp { fsp }, _, Value::DateTime(t)) => {
            return cast(&convert::local(*t, cx.zone), &SqlType::DateTime { fsp: *fsp }, to, cx);
        }
        (_, SqlType::Timestamp { .. }, _) => {
            return Ok(match cast(v, from, &SqlType::DateTime { fsp: 6 }, cx)? {
                Value::DateTime(t) => convert::utc(t, cx.zone),
                other => other,
            });
        }
        // `build::plain` compares text with an ENUM by such a cast.
        (from, SqlType::Enum(members), Value::String(text)) if from.is_string() => {
            return Ok(Value::UInt(members.compared_number(text)));
        }
        (from, SqlType::Json, Value::String(text)) if !from.has_members() => {
            return convert::parse_json_within(text, "cast_as_json", 1, cx.memory, cx.cancel)
                .map(Value::Json);
        }
        // The text of a large document is measured before it is made.
        (_, to, Value::Json(json)) if to.is_string() && json.as_bytes().len() >= LONG => {
            let mut out = Output::new(cx.sql_mode.max_result.max(json.as_bytes().len()), cx.cancel);
            match leafline_types::json::text::put_text(json.view(), &mut out) {
                Ok(()) => room_for(out.len())?,
                Err(Stop::TooLong) => {
                    cx.warn(MysqlError::allowed_packet_overflowed("cast_as_char", cx.sql_mode.max_result))?;
                    return Ok(Value::Null);
                }
                Err(Stop::Error(error)) => return Err(error),
            }
        }
        _ => {}
    }
    let dated = convert::dated(v, to, cx.now.date()).or_else(|| zoned(v, to, cx));
    let rules = rules_for_parts(v, cx);
    strictly(cx, |warnings| convert::cast(dated.as_ref().unwrap_or(v), from, to, rules, warnings))?
}

/// Converts a text with an offset from UTC to local time if `to` has a day; None for other values and types.
fn zoned(v: &Value, to: &SqlType, cx: &EvalContext<'_>) -> Option<Value> {
    let text = v.as_str().filter(|_| to.has_date())?;
    let parsed = DateTime::parse(text, cx.sql_mode.dates.with_zero_parts()).ok()?;
    parsed.offset?;
    parsed.in_zone(cx.zone).map(Value::DateTime)
}

/// Returns an integer, or the number of a date; None for NULL and for values that need another conversion.
pub(super) fn integer(v: &Value) -> Option<i128> {
    match v {
        Value::Int(v) => Some((*v).into()),
        Value::UInt(v) => Some((*v).into()),
        Value::Date(d) => Some(d.to_number().into()),
        Value::DateTime(t) => Some(t.to_number().into()),
        Value::Time(t) => Some(t.to_number().into()),
        _ => None,
    }
}

/// Returns the value as a double; None for NULL.
pub(crate) fn double(v: &Value, cx: &mut EvalContext<'_>) -> Result<Option<f64>, MysqlError> {
    Ok(match v {
        Value::Null => None,
        Value::Double(d) => Some(*d),
        Value::Int(v) => Some(*v as f64),
        Value::UInt(v) => Some(*v as f64),
        Value::Decimal(d) => Some(d.to_f64()),
        Value::Date(d) => Some(d.to_number() as f64),
        Value::DateTime(t) => Some(t.to_number() as f64 + (t.micros_of_day() % 1_000_000) as f64 / 1e6),
        Value::Time(t) => Some(convert::time_number(*t).to_f64()),
        Value::String(_) | Value::Bytes(_) | Value::Json(_) => strictly(cx, |w| convert::to_f64(v, w))?,
    })
}

/// Returns the value as a decimal; None for NULL.
pub(crate) fn decimal(v: &Value, cx: &mut EvalContext<'_>) -> Result<Option<Decimal>, MysqlError> {
    Ok(match v {
        Value::Null => None,
        Value::Decimal(d) => Some(d.clone()),
        Value::Int(v) => Some(Decimal::from_i64(*v)),
        Value::UInt(v) => Some(Decimal::from_u64(*v)),
        Value::Date(d) => Some(Decimal::from_i64(d.to_number())),
        Value::DateTime(t) => Some(convert::datetime_number(*t)),
        Value::Time(t) => Some(convert::time_number(*t)),
        Value::Double(_) | Value::String(_) | Value::Bytes(_) | Value::Json(_) => {
            strictly(cx, |w| convert::to_decimal(v, w))?
        }
    })
}

/// Returns the value as the bytes of a string; None for NULL. `ty` is its type.
pub(crate) fn text<'v>(v: &'v Value, ty: &SqlType) -> Option<Cow<'v, [u8]>> {
    match v {
        Value::Null => None,
        Value::String(s) => Some(Cow::Borrowed(s.as_bytes())),
        Value::Bytes(b) => Some(Cow::Borrowed(b)),
        Value::UInt(n) if matches!(ty, SqlType::Bit { .. }) => Some(Cow::Owned(convert::bit_bytes(*n, ty))),
        _ => convert::to_text(v, ty).map(|s| Cow::Owned(s.as_bytes().to_vec())),
    }
}

/// Returns the value as a datetime whose parts may be zero, for readers of its parts; None, with a warning, for an
/// invalid one.
pub(crate) fn datetime(v: &Value, cx: &mut EvalContext<'_>) -> Result<Option<DateTime>, MysqlError> {
    read_datetime(v, rules_for_parts(v, cx), cx)
}

/// Returns the rules of `sql_mode` for reading parts of a date. As in MySQL, the number 0 is the zero date in every
/// mode.
fn rules_for_parts(v: &Value, cx: &EvalContext<'_>) -> DateRules {
    let rules = cx.sql_mode.dates.with_zero_parts();
    match v {
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) => {
            DateRules { zero: true, ..rules }
        }
        _ => rules,
    }
}

/// Returns the value as a datetime for functions that count days; None if month or day is zero, with a warning for
/// text and numbers.
pub(crate) fn day_and_time(v: &Value, cx: &mut EvalContext<'_>) -> Result<Option<DateTime>, MysqlError> {
    let rules = cx.sql_mode.dates.without_zeros();
    Ok(read_datetime(v, rules, cx)?.filter(|t| t.is_admitted(DateRules::ANY.without_zeros())))
}

fn read_datetime(
    v: &Value,
    rules: DateRules,
    cx: &mut EvalContext<'_>,
) -> Result<Option<DateTime>, MysqlError> {
    match v {
        Value::Null => Ok(None),
        Value::DateTime(t) => Ok(Some(*t)),
        Value::Date(d) => Ok(Some(d.to_datetime())),
        Value::Time(t) => Ok(t.on(cx.now.date())),
        Value::String(text) => match DateTime::parse(text, rules) {
            Ok(parsed) => {
                if parsed.truncated {
                    cx.warn(MysqlError::truncated_value("datetime", text))?;
                }
                Ok(parsed.in_zone(cx.zone))
            }
            Err(_) => {
                cx.warn(MysqlError::incorrect_temporal("datetime", text))?;
                Ok(None)
            }
        },
        other => match convert::to_datetime(other, rules) {
            Ok(t) => Ok(t),
            Err(e) => {
                cx.warn(e)?;
                Ok(None)
            }
        },
    }
}

/// Returns the value as a date whose parts may be zero; None, with a warning, for an invalid one.
pub(crate) fn date(v: &Value, cx: &mut EvalContext<'_>) -> Result<Option<Date>, MysqlError> {
    match v {
        Value::Date(d) => Ok(Some(*d)),
        other => Ok(datetime(other, cx)?.map(DateTime::date)),
    }
}

/// Returns the value as a day; None if month or day is zero, and, with a warning, for an invalid one.
pub(crate) fn day(v: &Value, cx: &mut EvalContext<'_>) -> Result<Option<Date>, MysqlError> {
    Ok(day_and_time(v, cx)?.map(DateTime::date))
}

/// Returns the value as a time, for a datetime its time of day; None, with a warning, for an invalid one.
pub(crate) fn time(v: &Value, cx: &mut EvalContext<'_>) -> Result<Option<Time>, MysqlError> {
    match v {
        Value::Time(t) => Ok(Some(*t)),
        other => strictly(cx, |warnings| convert::to_time(other, warnings)),
    }
}

/// Returns the truth of a value; None for NULL.
pub fn truth(v: &Value, cx: &mut EvalContext<'_>) -> Result<Option<bool>, MysqlError> {
    Ok(match v {
        Value::Null => None,
        Value::Int(v) => Some(*v != 0),
        Value::UInt(v) => Some(*v != 0),
        Value::Decimal(d) => Some(!d.is_zero()),
        Value::Double(d) => Some(*d != 0.0),
        Value::Date(d) => Some(*d != Date::ZERO),
        Value::DateTime(t) => Some(*t != DateTime::ZERO),
        Value::Time(t) => Some(*t != Time::ZERO),
        Value::String(_) | Value::Bytes(_) => double(v, cx)?.map(|d| d != 0.0),
        // A document is compared with the number 0, so one that is not a number is true.
        Value::Json(json) => {
            let zero = Json::new(&Node::Int(0))?;
            Some(order::compare(json.view(), zero.view()).is_ne())
        }
    })
}

/// Returns a condition's value.
pub(super) fn condition_value(truth: Option<bool>) -> Value {
    truth.map_or(Value::Null, |t| Value::Int(t.into()))
}

/// Compares two values in a domain; None if one is NULL there.
pub(crate) fn compare(
    domain: CompareDomain,
    (a, a_type): (&Value, &SqlType),
    (b, b_type): (&Value, &SqlType),
    cx: &mut EvalContext<'_>,
) -> Result<Option<Ordering>, MysqlError> {
    if a.is_null() || b.is_null() {
        return Ok(None);
    }
    Ok(match domain {
        CompareDomain::Integer => integer(a).zip(integer(b)).map(|(a, b)| a.cmp(&b)),
        CompareDomain::Decimal => match (a, b) {
            (Value::Decimal(a), Value::Decimal(b)) => Some(a.cmp(b)),
            _ => decimal(a, cx)?.zip(decimal(b, cx)?).map(|(a, b)| a.cmp(&b)),
        },
        CompareDomain::Double => double(a, cx)?.zip(double(b, cx)?).and_then(|(a, b)| a.partial_cmp(&b)),
        CompareDomain::String(collation) => match text(a, a_type).zip(text(b, b_type)) {
            Some((a, b)) => Some(collation.compare_long(&a, &b, cx.cancel)?),
            None => None,
        },
        CompareDomain::Date => date(a, cx)?.zip(date(b, cx)?).map(|(a, b)| a.cmp(&b)),
        // Text that is not a date is compared as 0000-00-00.
        CompareDomain::DateTime => {
            let (a, b) =
                (datetime(a, cx)?.unwrap_or(DateTime::ZERO), datetime(b, cx)?.unwrap_or(DateTime::ZERO));
            Some(a.cmp(&b))
        }
        CompareDomain::Json => {
            let (a, b) = (convert::to_json(a, a_type)?, convert::to_json(b, b_type)?);
            Some(order::compare(a.view(), b.view()))
        }
        CompareDomain::Time => time(a, cx)?.zip(time(b, cx)?).map(|(a, b)| a.cmp(&b)),
    })
}

/// Converts a value of type `from` to type `to`, which holds all values of `from`: CASE, COALESCE and UNION convert
/// their sources so.
pub(crate) fn conform(
    v: Value,
    from: &SqlType,
    to: &SqlType,
    cx: &mut EvalContext<'_>,
) -> Result<Value, MysqlError> {
    let v = match (&v, from) {
        (Value::DateTime(t), SqlType::Timestamp { .. }) if from != to => convert::local(*t, cx.zone),
        _ => v,
    };
    Ok(match (v, to) {
        (Value::Null, _) => Value::Null,
        (Value::Int(v), to) if to.is_integer() && to.is_unsigned() => {
            Value::UInt(u64::try_from(v).map_err(|_| MysqlError::data_out_of_range("BIGINT UNSIGNED", v))?)
        }
        (Value::UInt(v), to) if to.is_integer() && !to.is_unsigned() => {
            Value::Int(i64::try_from(v).map_err(|_| MysqlError::data_out_of_range("BIGINT", v))?)
        }
        (v @ Value::Decimal(_), SqlType::Decimal { scale, .. }) | (v, SqlType::Decimal { scale, .. }) => {
            let d = decimal(&v, cx)?;
            match d {
                Some(d) if d.scale() == *scale => Value::Decimal(d),
                Some(d) => {
                    let rounded = d.round((*scale).into());
                    Value::Decimal(rounded.ok_or_else(|| MysqlError::data_out_of_range("DECIMAL", d))?)
                }
                None => Value::Null,
            }
        }
        (v, to) if to.is_real() => double(&v, cx)?.map_or(Value::Null, Value::Double),
        (v @ Value::String(_), to) if to.is_character() => v,
        (Value::Bytes(b), to) if to.is_character() => match std::str::from_utf8(&b) {
            Ok(s) => Value::from(s),
            Err(_) => {
                cx.warn(MysqlError::invalid_character_string("utf8mb4", hex(&b)))?;
                Value::Null
            }
        },
        (v, to) if to.is_character() => convert::to_text(&v, from).map_or(Value::Null, Value::String),
        (v @ Value::Bytes(_), to) if to.is_bytes() => v,
        (v, to) if to.is_bytes() => text(&v, from).map_or(Value::Null, |b| Value::bytes(&*b)),
        (v @ (Value::Date(_) | Value::Time(_)), SqlType::DateTime { .. }) => {
            datetime(&v, cx)?.map_or(Value::Null, Value::DateTime)
        }
        (v, _) => v,
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(6).map(|b| format!("\\x{b:02X}")).collect()
}
