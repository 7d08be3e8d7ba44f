//! Converts SQL values to documents and scalars of documents back.

use super::text::{bit_bytes, to_text};
use crate::error::MysqlError;
use crate::json::kind::field_type;
use crate::json::{Item, Node, View, text};
use crate::value::{SqlType, Value};

/// Converts a SQL value of type `ty` to a tree: a string becomes a JSON string, NULL `null`.
///
/// # Errors
/// 1041 if there is no memory for the tree of a long document.
pub(super) fn node_of(v: &Value, ty: &SqlType) -> Result<Node, MysqlError> {
    Ok(match v {
        Value::Null => Node::Null,
        Value::Json(json) => json.to_node()?,
        Value::Int(v) => Node::Int(*v),
        Value::UInt(v) => match ty {
            SqlType::Enum(_) | SqlType::Set(_) => {
                Node::String(to_text(&Value::UInt(*v), ty).unwrap_or_default().to_string())
            }
            SqlType::Bit { .. } => Node::Opaque { field_type: field_type::BIT, bytes: bit_bytes(*v, ty) },
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
pub(super) fn sql_value(view: View<'_>) -> Option<Value> {
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
