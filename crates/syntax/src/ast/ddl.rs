//! Definitions: databases, tables, views, stored programs, columns and keys.

use super::{AccountName, Expr, Ident, PartitionBy, Query, Span, TableName};
use crate::lex_mode::LexMode;
pub use leafline_types::words::ProgramKind;
use leafline_types::words::{CheckOption, ReferentialAction, ViewAlgorithm};

/// `CREATE DATABASE [IF NOT EXISTS] name [options]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateDatabase {
    /// The name.
    pub name: Ident,
    /// Whether IF NOT EXISTS was written.
    pub if_not_exists: bool,
    /// The options.
    pub options: DatabaseOptions,
}

/// `ALTER DATABASE [name] options`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterDatabase {
    /// The name; `None` names the current database.
    pub name: Option<Ident>,
    /// The options.
    pub options: DatabaseOptions,
}

/// Options of a database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DatabaseOptions {
    /// CHARACTER SET.
    pub charset: Option<Ident>,
    /// COLLATE.
    pub collation: Option<Ident>,
}

/// `DROP DATABASE [IF EXISTS] name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropDatabase {
    /// The name.
    pub name: Ident,
    /// Whether IF EXISTS was written.
    pub if_exists: bool,
}

/// `CREATE TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    /// The table.
    pub name: TableName,
    /// TEMPORARY.
    pub temporary: bool,
    /// Whether IF NOT EXISTS was written.
    pub if_not_exists: bool,
    /// The columns, in order; at least one unless a query supplies them.
    pub columns: Vec<ColumnDefinition>,
    /// Keys written apart from the columns, in order.
    pub keys: Vec<KeyDefinition>,
    /// CHECK constraints written apart from the columns, in order.
    pub checks: Vec<CheckDefinition>,
    /// Foreign keys, in order.
    pub foreign_keys: Vec<ForeignKeyDefinition>,
    /// Table options.
    pub options: TableOptions,
    /// PARTITION BY.
    pub partition_by: Option<PartitionBy>,
    /// The query that follows the definition.
    pub source: Option<TableSource>,
}

/// `[IGNORE | REPLACE] [AS] SELECT ..` after CREATE TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSource {
    /// The query.
    pub query: Box<Query>,
    /// IGNORE: the first of the rows with the same key stays.
    pub ignore: bool,
    /// REPLACE: the last of the rows with the same key stays.
    pub replace: bool,
}

/// `CREATE TABLE name LIKE other`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateTableLike {
    /// The table.
    pub name: TableName,
    /// TEMPORARY.
    pub temporary: bool,
    /// Whether IF NOT EXISTS was written.
    pub if_not_exists: bool,
    /// The table whose definition is copied.
    pub like: TableName,
}

/// Options after the closing parenthesis of CREATE TABLE. Where an option is repeated, the last one counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableOptions {
    /// ENGINE.
    pub engine: Option<Ident>,
    /// `[DEFAULT] CHARACTER SET`.
    pub charset: Option<Ident>,
    /// `[DEFAULT] COLLATE`.
    pub collation: Option<Ident>,
    /// COMMENT.
    pub comment: Option<String>,
    /// AUTO_INCREMENT.
    pub auto_increment: Option<u64>,
    /// PACK_KEYS.
    pub pack_keys: Option<PackKeys>,
    /// ROW_FORMAT.
    pub row_format: Option<Ident>,
    /// Options that the grammar knows and the engine ignores, by their MySQL names (`STATS_PERSISTENT`, `MAX_ROWS`,
    /// ..); each deserves a warning.
    pub without_effect: Vec<Ident>,
}

impl TableOptions {
    /// Whether PACK_KEYS is the only option written.
    pub fn has_pack_keys_alone(&self) -> bool {
        let alone = TableOptions { pack_keys: self.pack_keys, ..TableOptions::default() };
        self.pack_keys.is_some() && *self == alone
    }
}

/// The values of PACK_KEYS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackKeys {
    /// DEFAULT, or 2: the engine chooses.
    Default,
    /// 0: keys are not packed.
    Off,
    /// 1: keys are packed.
    On,
}

/// One column of CREATE TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDefinition {
    /// The name.
    pub name: Ident,
    /// The type.
    pub data_type: DataType,
    /// NOT NULL: `Some(false)`, NULL: `Some(true)`, neither: `None`.
    pub nullable: Option<bool>,
    /// DEFAULT.
    pub default: Option<DefaultValue>,
    /// The place of ON UPDATE CURRENT_TIMESTAMP.
    pub on_update: Option<Span>,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// GENERATED ALWAYS AS.
    pub generated: Option<GeneratedDefinition>,
    /// INVISIBLE.
    pub invisible: bool,
    /// CHECK at the column.
    pub checks: Vec<CheckDefinition>,
    /// PRIMARY KEY or UNIQUE at the column.
    pub key: Option<KeyKind>,
    /// COMMENT.
    pub comment: Option<String>,
}

/// The DEFAULT of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum DefaultValue {
    /// A literal, sign included.
    Literal(Expr),
    /// CURRENT_TIMESTAMP or NOW().
    CurrentTimestamp {
        /// Fractional digits.
        fsp: u8,
        /// Its place in the text.
        span: Span,
    },
    /// `(expression)`, as text.
    Expression(String),
}

/// `GENERATED ALWAYS AS (expression)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedDefinition {
    /// The text of the expression.
    pub expression: String,
    /// STORED.
    pub stored: bool,
}

/// `CHECK (expression)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckDefinition {
    /// The CONSTRAINT symbol.
    pub name: Option<Ident>,
    /// The text of the condition.
    pub expression: String,
    /// Whether it is enforced: NOT ENFORCED was not written.
    pub enforced: bool,
}

/// A text written as a string or as a hexadecimal or bit literal.
#[derive(Debug, Clone, PartialEq)]
pub enum TextString {
    /// A string.
    Text(String),
    /// The bytes of a hexadecimal or bit literal, in the character set of the column they are for.
    Bytes(Vec<u8>),
}

impl TextString {
    /// The text's bytes; a string gives its UTF-8 bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            TextString::Text(text) => text.into_bytes(),
            TextString::Bytes(bytes) => bytes,
        }
    }
}

/// A data type as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct DataType {
    /// The type's name.
    pub name: TypeName,
    /// The number in parentheses: display width, length, precision, or fractional digits.
    pub length: Option<u64>,
    /// The second number: scale.
    pub decimals: Option<u64>,
    /// The texts of an ENUM or SET.
    pub members: Vec<TextString>,
    /// UNSIGNED.
    pub unsigned: bool,
    /// ZEROFILL, which means UNSIGNED too.
    pub zerofill: bool,
    /// CHARACTER SET.
    pub charset: Option<Ident>,
    /// COLLATE, written in the type or among the column's attributes.
    pub collation: Option<Ident>,
    /// The BINARY attribute of a character type: the charset's `_bin` collation.
    pub binary: bool,
    /// Its place in the text.
    pub span: Span,
}

/// The type names of the grammar, with synonyms resolved. The parser refuses types that columns cannot have yet with
/// error 1235.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeName {
    /// BOOL, BOOLEAN: the same as TINYINT(1).
    Bool,
    /// TINYINT, INT1.
    TinyInt,
    /// SMALLINT, INT2.
    SmallInt,
    /// MEDIUMINT, INT3, MIDDLEINT.
    MediumInt,
    /// INT, INTEGER, INT4.
    Int,
    /// BIGINT, INT8.
    BigInt,
    /// DECIMAL, DEC, NUMERIC, FIXED.
    Decimal,
    /// `DOUBLE [PRECISION], REAL, FLOAT8`.
    Double,
    /// FLOAT, FLOAT4.
    Float,
    /// CHAR, CHARACTER.
    Char,
    /// VARCHAR, CHARACTER VARYING.
    Varchar,
    /// TINYTEXT.
    TinyText,
    /// TEXT.
    Text,
    /// MEDIUMTEXT, LONG VARCHAR.
    MediumText,
    /// LONGTEXT.
    LongText,
    /// BINARY.
    Binary,
    /// VARBINARY.
    Varbinary,
    /// TINYBLOB.
    TinyBlob,
    /// BLOB.
    Blob,
    /// MEDIUMBLOB, LONG VARBINARY.
    MediumBlob,
    /// LONGBLOB.
    LongBlob,
    /// JSON.
    Json,
    /// DATE.
    Date,
    /// DATETIME.
    DateTime,
    /// TIMESTAMP.
    Timestamp,
    /// ENUM.
    Enum,
    /// SET.
    Set,
    /// BIT.
    Bit,
    /// TIME.
    Time,
    /// YEAR.
    Year,
}

/// A key of CREATE TABLE, CREATE INDEX or ALTER TABLE ADD.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyDefinition {
    /// The kind of the key.
    pub kind: KeyKind,
    /// The index name, or else the CONSTRAINT symbol.
    pub name: Option<Ident>,
    /// The key's parts, in order; at least one.
    pub parts: Vec<KeyPartDefinition>,
    /// The key's options.
    pub options: KeyOptions,
}

/// Options of a key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyOptions {
    /// COMMENT.
    pub comment: Option<String>,
    /// INVISIBLE.
    pub invisible: bool,
    /// PACKED: `Some(true)`, NOT PACKED: `Some(false)`.
    pub packed: Option<bool>,
    /// USING HASH.
    pub hash: bool,
    /// Whether KEY_BLOCK_SIZE was written.
    pub block_size: bool,
    /// WITH PARSER, of a FULLTEXT key.
    pub parser: Option<Ident>,
}

/// `[CONSTRAINT name] FOREIGN KEY [index] (columns) REFERENCES table (columns) [ON DELETE ..] [ON UPDATE ..]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKeyDefinition {
    /// The CONSTRAINT symbol.
    pub name: Option<Ident>,
    /// The name for the index, if the statement has to create one.
    pub index_name: Option<Ident>,
    /// The referring columns.
    pub columns: Vec<Ident>,
    /// The referenced table.
    pub parent: TableName,
    /// The referenced columns.
    pub parent_columns: Vec<Ident>,
    /// ON DELETE.
    pub on_delete: ReferentialAction,
    /// ON UPDATE.
    pub on_update: ReferentialAction,
}

/// Kinds of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// PRIMARY KEY.
    Primary,
    /// UNIQUE.
    Unique,
    /// INDEX, KEY.
    Index,
    /// FULLTEXT.
    Fulltext,
}

/// A part of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPartDefinition {
    /// The column or expression.
    pub value: KeyPartValue,
    /// Whether DESC was written.
    pub descending: bool,
}

/// The value that a part of a key holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPartValue {
    /// A column.
    Column {
        /// Its name.
        name: Ident,
        /// `column(10)`: how many characters, or bytes, of the column's beginning the key holds.
        prefix: Option<u32>,
    },
    /// `(expression)`, as text.
    Expression(String),
}

/// The verb of a view's definition, which says whether the view may or must exist already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewVerb {
    /// CREATE: it must not exist.
    Create,
    /// CREATE OR REPLACE: it may exist.
    CreateOrReplace,
    /// ALTER: it must exist.
    Alter,
}

/// `CREATE VIEW name (columns) AS query`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateView {
    /// CREATE, CREATE OR REPLACE, or ALTER.
    pub verb: ViewVerb,
    /// ALGORITHM.
    pub algorithm: ViewAlgorithm,
    /// DEFINER.
    pub definer: Option<AccountName>,
    /// SQL SECURITY INVOKER: `Some(true)`, SQL SECURITY DEFINER: `Some(false)`.
    pub by_invoker: Option<bool>,
    /// The view's name.
    pub name: TableName,
    /// The names of the view's columns; empty where the query names them.
    pub columns: Vec<Ident>,
    /// The query.
    pub query: Box<Query>,
    /// WITH CHECK OPTION.
    pub check_option: CheckOption,
    /// The query's place in the text.
    pub span: Span,
    /// The lexer's mode that the query was read in.
    pub mode: LexMode,
}

/// `DROP VIEW [IF EXISTS] a, b`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropView {
    /// The views.
    pub views: Vec<TableName>,
    /// Whether IF EXISTS was written.
    pub if_exists: bool,
}

/// `DROP PROCEDURE|FUNCTION|TRIGGER|EVENT [IF EXISTS] a`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropProgram {
    /// The program's kind.
    pub kind: ProgramKind,
    /// The program's name.
    pub name: TableName,
    /// Whether IF EXISTS was written.
    pub if_exists: bool,
}

/// `DROP [TEMPORARY] TABLE [IF EXISTS] a, b`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropTable {
    /// TEMPORARY: only temporary tables are dropped.
    pub temporary: bool,
    /// The tables.
    pub tables: Vec<TableName>,
    /// Whether IF EXISTS was written.
    pub if_exists: bool,
}
