//! Column definitions, and the types of values on the wire.

use super::bytes::put_string;
use leafline_sql::ColumnMeta;
use leafline_types::{Collation, SqlType};

/// Type bytes.
pub mod field_type {
    #![allow(missing_docs)]
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const NEWDATE: u8 = 14;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const JSON: u8 = 245;
    pub const NEWDECIMAL: u8 = 246;
    pub const ENUM: u8 = 247;
    pub const SET: u8 = 248;
    pub const TINY_BLOB: u8 = 249;
    pub const MEDIUM_BLOB: u8 = 250;
    pub const LONG_BLOB: u8 = 251;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
}

/// The type byte of a column.
pub fn type_byte(ty: &SqlType) -> u8 {
    match ty {
        SqlType::Null => field_type::NULL,
        SqlType::TinyInt { .. } | SqlType::Boolean | SqlType::Zerofill { bytes: 1, .. } => field_type::TINY,
        SqlType::Zerofill { bytes: 2, .. } => field_type::SHORT,
        SqlType::Zerofill { bytes: 3, .. } => field_type::INT24,
        SqlType::Zerofill { bytes: 4, .. } => field_type::LONG,
        SqlType::Zerofill { .. } => field_type::LONGLONG,
        SqlType::Year => field_type::YEAR,
        SqlType::SmallInt { .. } => field_type::SHORT,
        SqlType::MediumInt { .. } => field_type::INT24,
        SqlType::Int { .. } => field_type::LONG,
        SqlType::BigInt { .. } => field_type::LONGLONG,
        SqlType::Decimal { .. } => field_type::NEWDECIMAL,
        SqlType::Real { single: true, .. } => field_type::FLOAT,
        SqlType::Double | SqlType::Real { .. } => field_type::DOUBLE,
        SqlType::Binary { .. } => field_type::STRING,
        SqlType::Blob { .. } => field_type::BLOB,
        SqlType::Time { .. } => field_type::TIME,
        SqlType::Timestamp { .. } => field_type::TIMESTAMP,
        SqlType::Bit { .. } => field_type::BIT,
        SqlType::Json => field_type::JSON,
        // Told from others by their flags.
        SqlType::Enum(_) | SqlType::Set(_) => field_type::STRING,
        SqlType::Char { .. } => field_type::STRING,
        SqlType::Text { .. } => field_type::BLOB,
        SqlType::Date => field_type::DATE,
        SqlType::DateTime { .. } => field_type::DATETIME,
        _ => field_type::VAR_STRING,
    }
}

/// Appends a column definition. Text comes in the character set of `results`, and that is the collation it is given; none
/// leaves it its own.
pub fn put_column(out: &mut Vec<u8>, column: &ColumnMeta, results: Option<Collation>) {
    for name in ["def", &column.database, &column.table, &column.org_table, &column.name, &column.org_name] {
        match results.map(Collation::charset).filter(|charset| !charset.is_utf8() && !name.is_ascii()) {
            Some(charset) => put_string(out, &charset.encode(name)),
            None => put_string(out, name.as_bytes()),
        }
    }
    out.push(0x0c);
    let collation = match (column.collation, results) {
        // As in MySQL, though it is text.
        _ if column.ty == SqlType::Json => Collation::Binary,
        (Collation::Binary, _) | (_, None) => column.collation,
        (_, Some(results)) => results,
    };
    let of_character = results.unwrap_or(column.collation).charset().max_bytes();
    out.extend_from_slice(&collation.id().to_le_bytes());
    out.extend_from_slice(&column.display_bytes(of_character).to_le_bytes());
    out.push(type_byte(&column.ty));
    out.extend_from_slice(&column.flags.0.to_le_bytes());
    out.push(column.decimals());
    out.extend_from_slice(&[0, 0]);
}
