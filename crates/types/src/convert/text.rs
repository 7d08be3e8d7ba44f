//! Converts values to the text that CONCAT, the text protocol and the shell print.

use std::sync::Arc;

use crate::double::f64_text;
use crate::value::{SqlType, Value};

/// Converts a value to text; None for NULL. `ty` is its type. It decides how many digits of the second's fraction a
/// DATETIME or TIME shows (for a type without a precision, six if there is a fraction), and how a YEAR, ZEROFILL or
/// FLOAT is written. Bytes that are not UTF-8 are replaced.
pub fn to_text(v: &Value, ty: &SqlType) -> Option<Arc<str>> {
    Some(match v {
        Value::Null => return None,
        Value::String(s) => Arc::clone(s),
        Value::Bytes(b) => String::from_utf8_lossy(b).into(),
        Value::Int(v) => v.to_string().into(),
        Value::UInt(v) => match ty {
            SqlType::Zerofill { .. } => zeros_before(v.to_string(), ty).into(),
            SqlType::Year => format!("{v:04}").into(),
            SqlType::Enum(members) => members.name(*v).into(),
            SqlType::Set(members) => members.list(*v).into(),
            SqlType::Bit { .. } => String::from_utf8_lossy(&bit_bytes(*v, ty)).into(),
            _ => v.to_string().into(),
        },
        Value::Decimal(d) => zeros_before(d.to_string(), ty).into(),
        Value::Json(json) => json.to_string().into(),
        Value::Double(d) => {
            let text = match ty {
                SqlType::Real { digits: Some((_, scale)), .. } => {
                    format!("{d:.scale$}", scale = usize::from(*scale))
                }
                SqlType::Real { single: true, .. } => single_text(*d),
                _ => f64_text(*d),
            };
            zeros_before(text, ty).into()
        }
        Value::Date(d) => d.to_string().into(),
        Value::DateTime(d) => {
            let fsp = match ty {
                SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => *fsp,
                _ if d.micros_of_day() % 1_000_000 != 0 => 6,
                _ => 0,
            };
            d.display(fsp).to_string().into()
        }
        Value::Time(t) => {
            let fsp = match ty {
                SqlType::Time { fsp } => *fsp,
                _ if t.micros() % 1_000_000 != 0 => 6,
                _ => 0,
            };
            t.display(fsp).to_string().into()
        }
    })
}

/// Converts a value of type ENUM or SET for a column of another type: a column that is not numeric takes the text.
/// None, which keeps the number, for a numeric column and for values of other types.
pub(super) fn text_of_member(v: &Value, from: &SqlType, to: &SqlType) -> Option<Value> {
    match (from, v) {
        (SqlType::Enum(_) | SqlType::Set(_), Value::UInt(_)) if !to.is_numeric() && from != to => {
            to_text(v, from).map(Value::String)
        }
        _ => None,
    }
}

/// Pads the text of a number with the zeros that ZEROFILL asks for.
fn zeros_before(text: String, ty: &SqlType) -> String {
    match ty.zerofill_width() {
        Some(width) if text.len() < width => format!("{text:0>width$}"),
        _ => text,
    }
}

/// Returns the bytes of a BIT, big-endian, as many as its type has.
pub fn bit_bytes(v: u64, ty: &SqlType) -> Vec<u8> {
    let width = ty.integer_width().unwrap_or(8).min(8);
    v.to_be_bytes()[8 - width..].to_vec()
}

/// Writes a FLOAT with the six digits that MySQL takes as reliable.
fn single_text(d: f64) -> String {
    match format!("{d:.5e}").parse::<f64>() {
        Ok(rounded) => f64_text(rounded),
        Err(_) => f64_text(d),
    }
}

/// Returns how many bytes of `text` fit in `max_bytes`, in whole characters.
pub(super) fn fitting(text: &str, max_bytes: usize) -> usize {
    let mut end = text.len().min(max_bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}
