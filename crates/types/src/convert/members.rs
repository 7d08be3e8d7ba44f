//! Assignment to ENUM, SET and BIT.

use super::cast::to_decimal;
use super::context::StoreContext;
use crate::error::MysqlError;
use crate::value::{Members, Value};

/// Returns the number of a value that is not a text, rounded; None if it is out of range.
fn rounded_number(v: &Value, cx: &mut StoreContext<'_>) -> Option<u64> {
    let whole = match v {
        Value::Int(_) | Value::UInt(_) => v.as_integer(),
        other => to_decimal(other, cx.warnings)?.round(0)?.unscaled_i128(),
    };
    whole.and_then(|n| u64::try_from(n).ok())
}

/// Converts a value for an ENUM column. A text is a member's text, or else a member's number.
pub(super) fn store_enum(
    v: &Value,
    members: &Members,
    cx: &mut StoreContext<'_>,
) -> Result<Value, MysqlError> {
    let number = match v.as_bytes() {
        Some(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            members.number(&text).or_else(|| text.parse().ok())
        }
        None => rounded_number(v, cx),
    };
    match number.filter(|n| (1..=members.len() as u64).contains(n)) {
        Some(number) => Ok(Value::UInt(number)),
        None => {
            cx.truncated()?;
            Ok(Value::UInt(0))
        }
    }
}

/// Converts a value for a SET column. A text is a list of members, or else the number of a set.
pub(super) fn store_set(
    v: &Value,
    members: &Members,
    cx: &mut StoreContext<'_>,
) -> Result<Value, MysqlError> {
    let all = members.all_bits();
    let (bits, found) = match v.as_bytes() {
        Some(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            match (members.bits(&text), text.parse::<u64>()) {
                ((_, false), Ok(bits)) if bits <= all => (bits, true),
                (found, _) => found,
            }
        }
        // -1 sets all bits, with a warning.
        None => match v.as_integer().map(|n| n as u64).or_else(|| rounded_number(v, cx)) {
            Some(bits) => (bits & all, bits <= all),
            None => (0, false),
        },
    };
    if !found {
        cx.truncated()?;
    }
    Ok(Value::UInt(bits))
}

/// Converts a value for a BIT column. Bytes and texts are read as a big-endian number.
pub(super) fn store_bit(v: &Value, len: u8, cx: &mut StoreContext<'_>) -> Result<Value, MysqlError> {
    let most = u64::MAX >> (64 - u32::from(len.clamp(1, 64)));
    let number = match (v, v.as_bytes()) {
        (_, Some(bytes)) => {
            let start = bytes.iter().position(|b| *b != 0).unwrap_or(bytes.len());
            let significant = &bytes[start..];
            let fits = significant.len() <= 8;
            fits.then(|| significant.iter().fold(0u64, |number, b| number << 8 | u64::from(*b)))
        }
        (Value::Int(n), _) => Some(*n as u64),
        _ => rounded_number(v, cx),
    };
    match number.filter(|n| *n <= most) {
        Some(number) => Ok(Value::UInt(number)),
        None => {
            let (error, warning) =
                (MysqlError::data_too_long(cx.column, cx.row), MysqlError::out_of_range(cx.column, cx.row));
            cx.refuse_or(error, warning)?;
            Ok(Value::UInt(most))
        }
    }
}
