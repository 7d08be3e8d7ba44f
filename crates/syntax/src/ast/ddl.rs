//! Definitions: databases, tables, columns, indexes.

use super::{AccountName, Expr, Ident, PartitionBy, Query, Span, TableName};
use crate::lexer::LexMode;
use leafline_types::words::{CheckOption, ReferentialAction, ViewAlgorithm};

/// `CREATE DATABASE [IF NOT EXISTS] name [options]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateDatabase {
    /// The name.
    pub name: Ident,
    /// With IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The options.
    pub options: DatabaseOptions,
}

/// `ALTER DATABASE [name] options`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterDatabase {
    /// The name; without it the current database.
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
    /// With IF EXISTS.
    pub if_exists: bool,
}

/// `CREATE TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    /// The table.
    pub name: TableName,
    /// TEMPORARY.
    pub temporary: bool,
    /// With IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The columns, in order; at least one, unless a query gives some.
    pub columns: Vec<ColumnDefinition>,
    /// Keys given apart from the columns, in order.
    pub keys: Vec<KeyDefinition>,
    /// CHECK constraints given apart from the columns, in order.
    pub checks: Vec<CheckDefinition>,
    /// Foreign keys, in order.
    pub foreign_keys: Vec<ForeignKeyDefinition>,
    /// Table options.
    pub options: TableOptions,
    /// PARTITION BY.
    pub partition_by: Option<PartitionBy>,
    /// The query behind it.
    pub source: Option<TableSource>,
}

/// `[IGNORE | REPLACE] [AS] SELECT ..` behind CREATE TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSource {
    /// The query.
    pub query: Box<Query>,
    /// IGNORE: of rows with the same key the first stays.
    pub ignore: bool,
    /// REPLACE: of rows with the same key the last stays.
    pub replace: bool,
}

/// `CREATE TABLE name LIKE other`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateTableLike {
    /// The table.
    pub name: TableName,
    /// TEMPORARY.
    pub temporary: bool,
    /// With IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The table it is to be like.
    pub like: TableName,
}

/// Options after the closing parenthesis of CREATE TABLE. Each is the last one written.
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
    /// Options that are known and have no meaning here, by their MySQL name (`STATS_PERSISTENT`, `MAX_ROWS`, ..):
    /// each deserves a warning.
    pub without_effect: Vec<Ident>,
}

impl TableOptions {
    /// Whether PACK_KEYS is all that is said.
    pub fn has_pack_keys_alone(&self) -> bool {
        let alone = TableOptions { pack_keys: self.pack_keys, ..TableOptions::default() };
        self.pack_keys.is_some() && *self == alone
    }
}

/// The values of PACK_KEYS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackKeys {
    /// DEFAULT, or 2: what is better.
    Default,
    /// 0.
    Off,
    /// 1.
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
    /// ON UPDATE CURRENT_TIMESTAMP, where it stands.
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
    /// CURRENT_TIMESTAMP, NOW(), with its number of fractional digits.
    CurrentTimestamp {
        /// Fractional digits.
        fsp: u8,
        /// Where it stands.
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
    /// Without NOT ENFORCED.
    pub enforced: bool,
}

/// A text that is written as a string or as a hexadecimal or bit literal.
#[derive(Debug, Clone, PartialEq)]
pub enum TextString {
    /// A string.
    Text(String),
    /// The bytes of a hexadecimal or bit literal, in the character set of what they are for.
    Bytes(Vec<u8>),
}

impl TextString {
    /// Its bytes, those of a string in UTF-8.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            TextString::Text(text) => text.into_bytes(),
            TextString::Bytes(bytes) => bytes,
        }
    }
}

/// A type as written.
#[derive(Debug, Clone, PartialEq)]
pub struct DataType {
    /// Which type.
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
    /// COLLATE; also when written among the column's attributes.
    pub collation: Option<Ident>,
    /// The BINARY attribute of a character type: the charset's `_bin` collation.
    pub binary: bool,
    /// Where it stands.
    pub span: Span,
}

/// The type names of the grammar, synonyms resolved. Those that columns cannot have yet are refused by the
/// parser, with error 1235.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeName {
    /// BOOL, BOOLEAN: what TINYINT(1) is.
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
    /// Primary, unique or plain.
    pub kind: KeyKind,
    /// Its name: the index name or, without it, the CONSTRAINT symbol.
    pub name: Option<Ident>,
    /// Its parts, in order; at least one.
    pub parts: Vec<KeyPartDefinition>,
    /// Its options.
    pub options: KeyOptions,
}

/// Options of a key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyOptions {
    /// COMMENT.
    pub comment: Option<String>,
    /// INVISIBLE.
    pub invisible: bool,
    /// PACKED, or NOT PACKED.
    pub packed: Option<bool>,
    /// USING HASH.
    pub hash: bool,
    /// With KEY_BLOCK_SIZE.
    pub block_size: bool,
}

/// `[CONSTRAINT name] FOREIGN KEY [index] (columns) REFERENCES table (columns) [ON DELETE ..] [ON UPDATE ..]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKeyDefinition {
    /// The CONSTRAINT symbol.
    pub name: Option<Ident>,
    /// The name for an index that has to be made.
    pub index_name: Option<Ident>,
    /// The columns that refer.
    pub columns: Vec<Ident>,
    /// The table referred to.
    pub parent: TableName,
    /// The columns referred to.
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
}

/// A part of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPartDefinition {
    /// What it is made of.
    pub value: KeyPartValue,
    /// With DESC.
    pub descending: bool,
}

/// What a part of a key is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPartValue {
    /// A column.
    Column {
        /// Its name.
        name: Ident,
        /// `column(10)`: as many characters of the beginning, or bytes.
        prefix: Option<u32>,
    },
    /// `(expression)`, as text.
    Expression(String),
}

/// What is to become of a view of that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewVerb {
    /// CREATE: there is none.
    Create,
    /// CREATE OR REPLACE.
    CreateOrReplace,
    /// ALTER: there is one.
    Alter,
}

/// `CREATE VIEW name (columns) AS query`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateView {
    /// CREATE or ALTER.
    pub verb: ViewVerb,
    /// ALGORITHM.
    pub algorithm: ViewAlgorithm,
    /// DEFINER.
    pub definer: Option<AccountName>,
    /// SQL SECURITY INVOKER: `Some(true)`, SQL SECURITY DEFINER: `Some(false)`.
    pub by_invoker: Option<bool>,
    /// The view.
    pub name: TableName,
    /// The names of its columns; empty for those of the query.
    pub columns: Vec<Ident>,
    /// The query.
    pub query: Box<Query>,
    /// WITH CHECK OPTION.
    pub check_option: CheckOption,
    /// Where the query stands.
    pub span: Span,
    /// How it was read.
    pub mode: LexMode,
}

/// `DROP VIEW [IF EXISTS] a, b`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropView {
    /// The views.
    pub views: Vec<TableName>,
    /// With IF EXISTS.
    pub if_exists: bool,
}

/// A kind of stored program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramKind {
    /// PROCEDURE.
    Procedure,
    /// FUNCTION.
    Function,
    /// TRIGGER.
    Trigger,
    /// EVENT.
    Event,
}

/// `DROP PROCEDURE|FUNCTION|TRIGGER|EVENT [IF EXISTS] a`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropProgram {
    /// Which of them.
    pub kind: ProgramKind,
    /// The program.
    pub name: TableName,
    /// With IF EXISTS.
    pub if_exists: bool,
}

/// `DROP [TEMPORARY] TABLE [IF EXISTS] a, b`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropTable {
    /// TEMPORARY: no others.
    pub temporary: bool,
    /// The tables.
    pub tables: Vec<TableName>,
    /// With IF EXISTS.
    pub if_exists: bool,
}
