//! A borrowed SQL value.

use super::Value;
use crate::decimal::Decimal;
use crate::json::Json;
use crate::temporal::{Date, DateTime, Time};

/// A SQL value that borrows its content; its kinds are those of [`Value`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValueRef<'v> {
    /// NULL.
    Null,
    /// A value of a signed integer type.
    Int(i64),
    /// A value of an unsigned integer type.
    UInt(u64),
    /// A value of a DECIMAL type.
    Decimal(&'v Decimal),
    /// A value of type DOUBLE or FLOAT.
    Double(f64),
    /// A value of a character type.
    String(&'v str),
    /// A value of a binary string type.
    Bytes(&'v [u8]),
    /// A value of type DATE.
    Date(Date),
    /// A value of a DATETIME type.
    DateTime(DateTime),
    /// A value of a TIME type.
    Time(Time),
    /// A value of type JSON.
    Json(&'v Json),
}

impl<'v> ValueRef<'v> {
    /// Whether it is NULL.
    #[inline]
    pub fn is_null(self) -> bool {
        matches!(self, ValueRef::Null)
    }

    /// Returns the text of a character string.
    #[inline]
    pub fn as_str(self) -> Option<&'v str> {
        match self {
            ValueRef::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the bytes of a character or binary string.
    #[inline]
    pub fn as_bytes(self) -> Option<&'v [u8]> {
        match self {
            ValueRef::String(text) => Some(text.as_bytes()),
            ValueRef::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns an owned copy.
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
    /// Borrows the value.
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
