//! Converts SQL values to documents and back.

use super::binary::{Item, View};
use super::node::Node;
use super::text;
use crate::error::MysqlError;
use crate::value::{SqlType, Value};

/// The protocol's numbers of types, which the text of a document shows for bytes.
mod field_type {
    pub const YEAR: u8 = 13;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const TINY_BLOB: u8 = 249;
    pub const MEDIUM_BLOB: u8 = 250;
    pub const LONG_BLOB: u8 = 251;
    pub const BLOB: u8 = 252;
    pub const STRING: u8 = 254;
}

pub(super) fn is_bit(field_type: u8) -> bool {
    field_type == field_type::BIT
}

pub(super) fn is_blob(field_type: u8) -> bool {
    field_type == field_type::VARCHAR || (field_type::TINY_BLOB..=field_type::STRING).contains(&field_type)
}

/// Converts a SQL value of type `ty` to a tree: a string becomes a JSON string, NULL `null`.
///
/// # Errors
/// 1041 if there is no memory for the tree of a long document.
pub fn node_of(v: &Value, ty: &SqlType) -> Result<Node, MysqlError> {
    Ok(match v {
        Value::Null => Node::Null,
        Value::Json(json) => json.to_node()?,
        Value::Int(v) => Node::Int(*v),
        Value::UInt(v) => match ty {
            SqlType::Enum(_) | SqlType::Set(_) => {
                Node::String(crate::convert::to_text(&Value::UInt(*v), ty).unwrap_or_default().to_string())
            }
            SqlType::Bit { .. } => {
                Node::Opaque { field_type: field_type::BIT, bytes: crate::convert::bit_bytes(*v, ty) }
            }
            SqlType::Year => {
                Node::Opaque { field_type: field_type::YEAR, bytes: format!("{v:04}").into_bytes() }
            }
            _ => Node::UInt(*v),
        },
        Value::Decimal(d) => Node::Decimal(d.clone()),
        Value::Double(d) => Node::Double(*d),
        Value::String(s) => Node::String(s.to_string()),
        Value::Bytes(b) => Node::Opaque { field_type: bytes_type(ty), bytes: b.to_vec() },
        Value::Date(d) => Node::Date(*d),
        Value::DateTime(t) => Node::DateTime(*t),
        Value::Time(t) => Node::Time(*t),
    })
}

fn bytes_type(ty: &SqlType) -> u8 {
    match ty {
        SqlType::Binary { .. } => field_type::STRING,
        SqlType::Blob { max_bytes: 0..=0xff } => field_type::TINY_BLOB,
        SqlType::Blob { max_bytes: 0x100..=0xffff } => field_type::BLOB,
        SqlType::Blob { max_bytes: 0x1_0000..=0xff_ffff } => field_type::MEDIUM_BLOB,
        SqlType::Blob { .. } => field_type::LONG_BLOB,
        _ => field_type::VARCHAR,
    }
}

/// Returns the SQL value of a scalar: a string without its quotes, 0 or 1 for a truth value. None for null, arrays
/// and objects, which are not SQL values.
pub fn sql_value(view: View<'_>) -> Option<Value> {
    Some(match view.item() {
        Item::Null | Item::Array(_) | Item::Object(_) => return None,
        Item::Bool(v) => Value::Int(v.into()),
        Item::Int(v) => Value::Int(v),
        Item::UInt(v) => Value::UInt(v),
        Item::Double(v) => Value::Double(v),
        Item::Decimal(v) => Value::Decimal(v),
        Item::String(s) => Value::from(s),
        Item::Date(v) => Value::Date(v),
        Item::DateTime(v) => Value::DateTime(v),
        Item::Time(v) => Value::Time(v),
        Item::Opaque(..) => Value::string(text::unquoted(view)),
    })
}

/// Returns the name of the value's kind, as JSON_TYPE does.
pub fn type_name(view: View<'_>) -> &'static str {
    match view.item() {
        Item::Null => "NULL",
        Item::Bool(_) => "BOOLEAN",
        Item::Int(_) => "INTEGER",
        Item::UInt(_) => "UNSIGNED INTEGER",
        Item::Double(_) => "DOUBLE",
        Item::Decimal(_) => "DECIMAL",
        Item::String(_) => "STRING",
        Item::Date(_) => "DATE",
        Item::DateTime(_) => "DATETIME",
        Item::Time(_) => "TIME",
        Item::Opaque(bit, _) if is_bit(bit) => "BIT",
        Item::Opaque(blob, _) if is_blob(blob) => "BLOB",
        Item::Opaque(..) => "OPAQUE",
        Item::Array(_) => "ARRAY",
        Item::Object(_) => "OBJECT",
    }
}
