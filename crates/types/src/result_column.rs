//! Columns of results, as the protocol describes them.

use crate::{Coercibility, Collation, ExprType, SqlType};

/// Flags of a result column, with the values of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ColumnFlags(pub u16);

impl ColumnFlags {
    /// The column cannot be NULL.
    pub const NOT_NULL: ColumnFlags = ColumnFlags(1);
    /// The column is part of the primary key.
    pub const PRIMARY_KEY: ColumnFlags = ColumnFlags(2);
    /// The column is the whole of a unique key.
    pub const UNIQUE_KEY: ColumnFlags = ColumnFlags(4);
    /// The column is the first part of a key that is not unique.
    pub const MULTIPLE_KEY: ColumnFlags = ColumnFlags(8);
    /// The column is a TEXT or BLOB.
    pub const BLOB: ColumnFlags = ColumnFlags(16);
    /// Values are shown with leading zeros.
    pub const ZEROFILL: ColumnFlags = ColumnFlags(64);
    /// The column is an unsigned number.
    pub const UNSIGNED: ColumnFlags = ColumnFlags(32);
    /// Values compare byte by byte.
    pub const BINARY: ColumnFlags = ColumnFlags(128);
    /// The column is an ENUM.
    pub const ENUM: ColumnFlags = ColumnFlags(256);
    /// The column is a SET.
    pub const SET: ColumnFlags = ColumnFlags(2048);
    /// The column is AUTO_INCREMENT.
    pub const AUTO_INCREMENT: ColumnFlags = ColumnFlags(512);
    /// CURRENT_TIMESTAMP is the column's default, or is set by an UPDATE.
    pub const TIMESTAMP: ColumnFlags = ColumnFlags(1024);
    /// The column has no default value.
    pub const NO_DEFAULT_VALUE: ColumnFlags = ColumnFlags(4096);
    /// The column is ON UPDATE CURRENT_TIMESTAMP.
    pub const ON_UPDATE_NOW: ColumnFlags = ColumnFlags(8192);
    /// The column is part of some key.
    pub const PART_KEY: ColumnFlags = ColumnFlags(16_384);

    /// Returns the union of both.
    #[must_use]
    pub fn with(self, other: ColumnFlags) -> ColumnFlags {
        ColumnFlags(self.0 | other.0)
    }

    /// Whether all flags of `other` are set.
    pub fn has(self, other: ColumnFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A column of a result, as the protocol describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnMeta {
    /// The database of the table; empty for an expression.
    pub database: String,
    /// The alias of the table; empty for an expression.
    pub table: String,
    /// The name of the table; empty for an expression.
    pub org_table: String,
    /// The heading: the alias, the column's name, or the expression as written.
    pub name: String,
    /// The name of the column in its table; empty for an expression.
    pub org_name: String,
    /// The type.
    pub ty: SqlType,
    /// The collation of a string; `Binary` otherwise.
    pub collation: Collation,
    /// The flags.
    pub flags: ColumnFlags,
}

impl ColumnMeta {
    /// Returns the type that expressions over the column see.
    pub fn expr_type(&self) -> ExprType {
        let is_text = self.ty.is_character() || self.ty == SqlType::Json;
        let coercibility = if is_text { Coercibility::Implicit } else { Coercibility::Numeric };
        let nullable = !self.flags.has(ColumnFlags::NOT_NULL);
        ExprType::string(self.ty.clone(), nullable, self.collation, coercibility)
    }

    /// Returns the type of the values that clients get: text for an ENUM, SET or JSON, a DATETIME for a TIMESTAMP.
    pub fn value_type(&self) -> SqlType {
        self.ty.plain().unwrap_or_else(|| self.ty.clone())
    }

    /// Returns the length of the longest value in display form, in bytes of a character set with `of_character` bytes
    /// for a character.
    pub fn display_bytes(&self, of_character: u32) -> u32 {
        match &self.ty {
            SqlType::Null => 0,
            SqlType::TinyInt { unsigned } => 4 - u32::from(*unsigned),
            SqlType::SmallInt { unsigned } => 6 - u32::from(*unsigned),
            SqlType::MediumInt { unsigned } => 9 - u32::from(*unsigned),
            SqlType::Int { unsigned } => 11 - u32::from(*unsigned),
            SqlType::BigInt { .. } => 20 + u32::from(!self.is_column()),
            SqlType::Decimal { precision, scale, unsigned, .. } => {
                u32::from(*precision) + u32::from(!unsigned) + u32::from(*scale > 0)
            }
            SqlType::Boolean => 1,
            SqlType::Zerofill { digits, .. } => u32::from(*digits),
            SqlType::Year => 4,
            SqlType::Real { digits: Some((all, _)), .. } => u32::from(*all),
            SqlType::Real { single: true, .. } => 12,
            SqlType::Double | SqlType::Real { .. } => 22,
            SqlType::Binary { len } => *len,
            SqlType::Json => u32::MAX,
            SqlType::Blob { max_bytes } => *max_bytes,
            SqlType::Timestamp { fsp } => 19 + u32::from(*fsp) + u32::from(*fsp > 0),
            SqlType::Enum(members) => members.longest().saturating_mul(of_character),
            SqlType::Set(members) => members.longest_list().saturating_mul(of_character),
            SqlType::Bit { len } => u32::from(*len),
            SqlType::Time { fsp } => 10 + u32::from(*fsp) + u32::from(*fsp > 0),
            SqlType::Char { len } | SqlType::Varchar { len } => len.saturating_mul(of_character),
            SqlType::Text { max_bytes } => max_bytes.saturating_mul(of_character),
            SqlType::Varbinary { len } => *len,
            SqlType::Date => 10,
            SqlType::DateTime { fsp } => 19 + u32::from(*fsp) + u32::from(*fsp > 0),
        }
    }

    /// Whether it is a column of a table, not an expression.
    fn is_column(&self) -> bool {
        !self.org_name.is_empty()
    }

    /// Returns the digits after the point; 31 if there is no fixed number, as in computed strings.
    pub fn decimals(&self) -> u8 {
        match &self.ty {
            SqlType::Double | SqlType::Real { digits: None, .. } => 31,
            ty if ty.is_string() && !self.is_column() => 31,
            _ => self.ty.scale(),
        }
    }
}

/// Makes a column that comes from no table.
pub fn column(name: impl Into<String>, ty: SqlType) -> ColumnMeta {
    ColumnMeta {
        database: String::new(),
        table: String::new(),
        org_table: String::new(),
        name: name.into(),
        org_name: String::new(),
        collation: if ty.is_character() { Collation::DEFAULT } else { Collation::Binary },
        flags: if ty.is_unsigned() { ColumnFlags::UNSIGNED } else { ColumnFlags::default() },
        ty,
    }
}
