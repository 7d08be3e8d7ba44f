//! Column definitions and the type bytes of values.
//!
//! Definition: catalog "def", database, table, original table, name, original name: strings | 0x0c | collation u16 | longest value
//! in bytes u32 | type u8 | flags u16 | decimals u8 | 2 zeros.

use crate::bytes::{Reader, put_string};
use leafline_types::result_column::{ColumnFlags, ColumnMeta};
use leafline_types::{Collation, MysqlError, SqlType};

/// Length of the fields after the names.
const FIXED_BYTES: u8 = 0x0c;

/// Type bytes of column definitions and parameters.
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

/// Returns the type byte of a column.
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
        // Flags tell ENUM and SET from strings.
        SqlType::Enum(_) | SqlType::Set(_) => field_type::STRING,
        SqlType::Char { .. } => field_type::STRING,
        SqlType::Text { .. } => field_type::BLOB,
        SqlType::Date => field_type::DATE,
        SqlType::DateTime { .. } => field_type::DATETIME,
        _ => field_type::VAR_STRING,
    }
}

/// Appends the definition of a column. Its names and texts are in the character set of `results`, and the definition names that
/// collation. `None` keeps the column's own.
pub fn put_column(out: &mut Vec<u8>, column: &ColumnMeta, results: Option<Collation>) {
    for name in ["def", &column.database, &column.table, &column.org_table, &column.name, &column.org_name] {
        match results.map(Collation::charset).filter(|charset| !charset.is_utf8() && !name.is_ascii()) {
            Some(charset) => put_string(out, &charset.encode(name)),
            None => put_string(out, name.as_bytes()),
        }
    }
    out.push(FIXED_BYTES);
    let collation = match (column.collation, results) {
        // JSON is text, but has the binary collation, as in MySQL.
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

/// The definition of a result's column that a client gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDefinition {
    /// Database of the table; empty for an expression.
    pub database: String,
    /// Alias of the table; empty for an expression.
    pub table: String,
    /// Name of the table; empty for an expression.
    pub org_table: String,
    /// Name of the column in the result.
    pub name: String,
    /// Name of the column in its table; empty for an expression.
    pub org_name: String,
    /// Number of the collation.
    pub collation: u16,
    /// Bytes of the longest value in its display form.
    pub display_bytes: u32,
    /// Type byte.
    pub type_byte: u8,
    /// Flags.
    pub flags: ColumnFlags,
    /// Digits after the decimal point; 31 if their number is not fixed.
    pub decimals: u8,
}

impl ColumnDefinition {
    /// Reads a definition. Leaves the default value that follows it in an answer to COM_FIELD_LIST.
    ///
    /// # Errors
    /// 1835 if the packet ends early.
    pub fn read(reader: &mut Reader<'_>) -> Result<ColumnDefinition, MysqlError> {
        reader.string()?;
        let mut name = || reader.text().map(|name| name.into_owned());
        let (database, table, org_table, name, org_name) = (name()?, name()?, name()?, name()?, name()?);
        let mut fixed = Reader::new(reader.string()?);
        Ok(ColumnDefinition {
            database,
            table,
            org_table,
            name,
            org_name,
            collation: fixed.u16()?,
            display_bytes: fixed.u32()?,
            type_byte: fixed.u8()?,
            flags: ColumnFlags(fixed.u16()?),
            decimals: fixed.u8()?,
        })
    }

    /// Returns whether the values are strings of bytes, not of characters.
    pub fn holds_bytes(&self) -> bool {
        use field_type as f;
        let is_string = matches!(
            self.type_byte,
            f::VARCHAR | f::VAR_STRING | f::STRING | f::BIT | f::TINY_BLOB..=f::BLOB
        );
        is_string && self.collation == Collation::Binary.id()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_types::result_column::column;

    #[test]
    fn a_definition_reads_back_as_written_and_is_refused_where_it_is_cut() {
        let mut meta = column("a", SqlType::Int { unsigned: true });
        (meta.database, meta.table, meta.org_table) = ("d".into(), "x".into(), "t".into());
        (meta.org_name, meta.flags) = ("b".into(), ColumnFlags::UNSIGNED.with(ColumnFlags::NOT_NULL));
        let mut packet = Vec::new();
        put_column(&mut packet, &meta, None);
        let read = ColumnDefinition::read(&mut Reader::new(&packet)).expect("a definition");
        assert_eq!((&*read.database, &*read.table, &*read.org_table), ("d", "x", "t"));
        assert_eq!((&*read.name, &*read.org_name), ("a", "b"));
        assert_eq!((read.type_byte, read.flags, read.decimals), (field_type::LONG, meta.flags, 0));
        assert_eq!((read.display_bytes, read.holds_bytes()), (10, false));
        for end in 0..packet.len() - 2 {
            let cut = ColumnDefinition::read(&mut Reader::new(&packet[..end]));
            assert_eq!(cut.map_err(|error| error.code), Err(1835), "cut at {end}");
        }
    }
}
