//! What a statement gives back: the columns of its result, or what it did.

use leafline_types::{Collation, SqlType};

/// Flags of a result column, with the values of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ColumnFlags(pub u16);

impl ColumnFlags {
    /// The column cannot be NULL.
    pub const NOT_NULL: ColumnFlags = ColumnFlags(1);
    /// Part of the primary key.
    pub const PRIMARY_KEY: ColumnFlags = ColumnFlags(2);
    /// The whole of a unique key.
    pub const UNIQUE_KEY: ColumnFlags = ColumnFlags(4);
    /// First part of a key that is not unique.
    pub const MULTIPLE_KEY: ColumnFlags = ColumnFlags(8);
    /// TEXT or BLOB.
    pub const BLOB: ColumnFlags = ColumnFlags(16);
    /// An unsigned number.
    pub const UNSIGNED: ColumnFlags = ColumnFlags(32);
    /// Compared byte by byte.
    pub const BINARY: ColumnFlags = ColumnFlags(128);
    /// AUTO_INCREMENT.
    pub const AUTO_INCREMENT: ColumnFlags = ColumnFlags(512);
    /// No default value.
    pub const NO_DEFAULT_VALUE: ColumnFlags = ColumnFlags(4096);

    /// Both.
    #[must_use]
    pub fn with(self, other: ColumnFlags) -> ColumnFlags {
        ColumnFlags(self.0 | other.0)
    }

    /// Whether all of `other` are set.
    pub fn has(self, other: ColumnFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A column of a result, as the protocol describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnMeta {
    /// Database of the table; empty for an expression.
    pub database: String,
    /// Alias of the table; empty for an expression.
    pub table: String,
    /// Name of the table; empty for an expression.
    pub org_table: String,
    /// Heading: the alias, the column's name, or the expression as written.
    pub name: String,
    /// Name of the column in its table; empty for an expression.
    pub org_name: String,
    /// Type.
    pub ty: SqlType,
    /// Collation of a string; `Binary` otherwise.
    pub collation: Collation,
    /// Flags.
    pub flags: ColumnFlags,
}

/// What a statement without rows did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Done {
    /// Rows inserted, changed or deleted.
    pub affected: u64,
    /// Rows that an UPDATE's condition found, changed or not; equal to `affected` elsewhere.
    pub matched: u64,
    /// The first AUTO_INCREMENT value generated, or 0.
    pub last_insert_id: u64,
    /// MySQL's information string: `Rows matched: 1  Changed: 1  Warnings: 0`, `Records: 2  Duplicates: 0 ..`.
    pub info: String,
}
