//! A value where it lies: read without being copied.

use super::Value;
use crate::decimal::Decimal;
use crate::json::Json;
use crate::temporal::{Date, DateTime, Time};

/// A SQL value that somebody else keeps; its kinds are those of [`Value`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValueRef<'v> {
    /// NULL.
    Null,
    /// Of a signed integer type.
    Int(i64),
    /// Of an unsigned integer type.
    UInt(u64),
    /// Of a DECIMAL type.
    Decimal(&'v Decimal),
    /// Of type DOUBLE or FLOAT.
    Double(f64),
    /// Of a character type.
    String(&'v str),
    /// Of a binary string type.
    Bytes(&'v [u8]),
    /// Of type DATE.
    Date(Date),
    /// Of a DATETIME type.
    DateTime(DateTime),
    /// Of a TIME type.
    Time(Time),
    /// Of type JSON.
    Json(&'v Json),
}

impl<'v> ValueRef<'v> {
    /// Whether it is NULL.
    #[inline]
    pub fn is_null(self) -> bool {
        matches!(self, ValueRef::Null)
    }

    /// The text of a character string.
    #[inline]
    pub fn as_str(self) -> Option<&'v str> {
        match self {
            ValueRef::String(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes of a string of either kind.
    #[inline]
    pub fn as_bytes(self) -> Option<&'v [u8]> {
        match self {
            ValueRef::String(text) => Some(text.as_bytes()),
            ValueRef::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// A value of its own.
    pub fn to_value(self) -> Value {
        match self {
            ValueRef::Null => Value::Null,
            ValueRef::Int(number) => Value::Int(number),
            ValueRef::UInt(number) => Value::UInt(number),
            ValueRef::Decimal(number) => Value::Decimal(number.clone()),
            ValueRef::Double(number) => Value::Double(number),
            ValueRef::String(text) => Value::String(text.into()),
            ValueRef::Bytes(bytes) => Value::Bytes(bytes.into()),
            ValueRef::Date(date) => Value::Date(date),
            ValueRef::DateTime(time) => Value::DateTime(time),
            ValueRef::Time(time) => Value::Time(time),
            ValueRef::Json(json) => Value::Json(json.clone()),
        }
    }
}

impl Value {
    /// The value, where it is.
    #[inline]
    pub fn borrowed(&self) -> ValueRef<'_> {
        match self {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Int(*number),
            Value::UInt(number) => ValueRef::UInt(*number),
            Value::Decimal(number) => ValueRef::Decimal(number),
            Value::Double(number) => ValueRef::Double(*number),
            Value::String(text) => ValueRef::String(text),
            Value::Bytes(bytes) => ValueRef::Bytes(bytes),
            Value::Date(date) => ValueRef::Date(*date),
            Value::DateTime(time) => ValueRef::DateTime(*time),
            Value::Time(time) => ValueRef::Time(*time),
            Value::Json(json) => ValueRef::Json(json),
        }
    }
}
