//! Kinds of values in documents.

use super::binary::{Item, View};

/// The protocol's numbers of types, which the text of a document shows for bytes.
pub(crate) mod field_type {
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
