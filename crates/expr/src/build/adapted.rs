//! Literals that are read as the type of what they are compared with.

use super::literal;
use crate::ir::Expr;
use leafline_types::convert::compared_year;
use leafline_types::decimal::Decimal;
use leafline_types::error::MysqlError;
use leafline_types::temporal::{DateRules, DateTime, Time};
use leafline_types::value::{SqlType, Value};

/// Returns the number that a text of digits counts as beside a column of numbers.
pub fn number_of_text(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => Decimal::parse(text).map(narrowest),
        _ => None,
    }
}

/// Whether a text constant beside a column of that type is read as a number.
pub fn reads_text_as_number(column: &SqlType) -> bool {
    *column != SqlType::Year && (column.is_integer() || is_decimal(column))
}

/// Returns the literal that replaces `operand` in a comparison with type `other`; None if it stays.
pub(super) fn adapted(
    operand: &Expr,
    other: &SqlType,
    other_is_column: bool,
) -> Result<Option<Expr>, MysqlError> {
    let Some(value) = operand.as_literal() else { return Ok(None) };
    match value {
        Value::String(text) if is_time(other) => match Time::parse(text) {
            Ok(parsed) if !parsed.truncated && !parsed.clipped => {
                Ok(Some(literal(Value::Time(parsed.value))))
            }
            _ => Ok(None),
        },
        Value::Int(number) if is_time(other) => Ok(match Time::from_number(*number) {
            Some((time, false)) => Some(literal(Value::Time(time))),
            _ => None,
        }),
        Value::String(text) if other.has_date() => match DateTime::parse(text, DateRules::ANY) {
            Ok(parsed) if !parsed.truncated && parsed.offset.is_none() => {
                Ok(Some(temporal_literal(parsed.value, other)))
            }
            // Evaluation reads it and warns.
            Ok(_) => Ok(None),
            Err(_) => {
                let kind = if *other == SqlType::Date { "DATE" } else { "DATETIME" };
                Err(MysqlError::wrong_value(kind, text))
            }
        },
        Value::String(text) if other_is_column && *other == SqlType::Year => {
            let number = Decimal::parse(text);
            let year = number.as_ref().and_then(Decimal::to_i64).and_then(|n| match n {
                0 if text.trim() != "0000" => Some(2000),
                n => compared_year(n.into()),
            });
            Ok(match year {
                Some(year) => Some(literal(Value::UInt(year))),
                None => number.map(|d| literal(narrowest(d))),
            })
        }
        Value::Int(number @ 1..=99) if other_is_column && *other == SqlType::Year => {
            Ok(compared_year((*number).into()).map(|year| literal(Value::UInt(year))))
        }
        value @ Value::String(_) if other_is_column && reads_text_as_number(other) => {
            Ok(number_of_text(value).map(literal))
        }
        // MySQL compares a BIGINT column as an integer with constants that are whole numbers.
        Value::Double(number) if other_is_column && matches!(other, SqlType::BigInt { .. }) => {
            let (low, high) = other.integer_range().unwrap_or_default();
            let whole = *number as i128;
            Ok(((low..=high).contains(&whole) && whole as f64 == *number)
                .then(|| literal(narrowest(Decimal::from_i128(whole, 0)))))
        }
        Value::Int(number) if other.has_date() => {
            Ok(DateTime::from_number(*number, DateRules::ANY).map(|time| temporal_literal(time, other)))
        }
        Value::Date(day) if matches!(other, SqlType::DateTime { .. }) => {
            Ok(Some(literal(Value::DateTime(day.to_datetime()))))
        }
        Value::DateTime(time) if *other == SqlType::Date && time.micros_of_day() == 0 => {
            Ok(Some(literal(Value::Date(time.date()))))
        }
        _ => Ok(None),
    }
}

pub(super) fn is_decimal(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Decimal { .. })
}

/// Makes a DATE literal for a DATE operand, or a DATETIME literal if there is a time of day.
fn temporal_literal(time: DateTime, other: &SqlType) -> Expr {
    literal(match other {
        SqlType::Date if time.micros_of_day() == 0 => Value::Date(time.date()),
        _ => Value::DateTime(time),
    })
}

/// Returns an integer if the number is one.
fn narrowest(d: Decimal) -> Value {
    if d.scale() == 0 {
        if let Some(v) = d.to_i64() {
            return Value::Int(v);
        }
        if let Some(v) = d.to_u64() {
            return Value::UInt(v);
        }
    }
    Value::Decimal(d)
}

pub(super) fn is_time(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Time { .. })
}
