//! One SQL value. 24 bytes, and cheap to clone: strings are shared.

use std::sync::Arc;

use crate::decimal::Decimal;
use crate::json::Json;
use crate::temporal::{Date, DateTime, Time};

/// A SQL value. Signed integer types are `Int`, unsigned ones `UInt`, whatever their width; YEAR is `UInt`, FLOAT
/// `Double`.
///
/// `==` is Rust's equality, for tests and caches: NULL equals NULL, kinds never equal each other, strings compare as
/// bytes. SQL's comparison depends on types and collations and is an expression.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// NULL.
    #[default]
    Null,
    /// A value of a signed integer type.
    Int(i64),
    /// A value of an unsigned integer type.
    UInt(u64),
    /// A value of a DECIMAL type.
    Decimal(Decimal),
    /// A value of type DOUBLE or FLOAT.
    Double(f64),
    /// A value of a character type.
    String(Arc<str>),
    /// A value of a binary string type.
    Bytes(Arc<[u8]>),
    /// A value of type DATE.
    Date(Date),
    /// A value of a DATETIME type.
    DateTime(DateTime),
    /// A value of a TIME type.
    Time(Time),
    /// A value of type JSON.
    Json(Json),
}

const _: () = assert!(size_of::<Value>() == 24, "values are copied a lot");

impl Value {
    /// Makes a character string.
    pub fn string(s: impl Into<Arc<str>>) -> Self {
        Value::String(s.into())
    }

    /// Makes a binary string.
    pub fn bytes(b: impl Into<Arc<[u8]>>) -> Self {
        Value::Bytes(b.into())
    }

    /// Whether it is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Returns the kind's name, for messages about broken logic.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "NULL",
            Value::Int(_) => "INT",
            Value::UInt(_) => "INT UNSIGNED",
            Value::Decimal(_) => "DECIMAL",
            Value::Double(_) => "DOUBLE",
            Value::String(_) => "VARCHAR",
            Value::Bytes(_) => "VARBINARY",
            Value::Date(_) => "DATE",
            Value::DateTime(_) => "DATETIME",
            Value::Time(_) => "TIME",
            Value::Json(_) => "JSON",
        }
    }

    /// Returns the bytes of a character or binary string.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::String(s) => Some(s.as_bytes()),
            Value::Bytes(b) => Some(b),
            _ => None,
        }
    }

    /// Returns the length in bytes of a string or document; 0 for other values.
    #[inline]
    pub fn byte_len(&self) -> usize {
        match self {
            Value::String(s) => s.len(),
            Value::Bytes(b) => b.len(),
            Value::Json(json) => json.as_bytes().len(),
            _ => 0,
        }
    }

    /// Returns the text of a character string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    /// Returns an integer of either signedness.
    #[inline]
    pub fn as_integer(&self) -> Option<i128> {
        match self {
            Value::Int(v) => Some((*v).into()),
            Value::UInt(v) => Some((*v).into()),
            _ => None,
        }
    }
}

impl From<i64> for Value {
    fn from(v: i64) -> Self {
        Value::Int(v)
    }
}

impl From<u64> for Value {
    fn from(v: u64) -> Self {
        Value::UInt(v)
    }
}

impl From<f64> for Value {
    fn from(v: f64) -> Self {
        Value::Double(v)
    }
}

impl From<&str> for Value {
    fn from(v: &str) -> Self {
        Value::String(v.into())
    }
}

impl From<Decimal> for Value {
    fn from(v: Decimal) -> Self {
        Value::Decimal(v)
    }
}
