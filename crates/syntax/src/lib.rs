//! The parser: from SQL text to a syntax tree, in MySQL's dialect.
//!
//! The grammar is that of MySQL 8.0. A statement that MySQL would reject is error 1064, which quotes the text from
//! the first token that does not fit. A statement that MySQL accepts and this version does not support is error 1235,
//! from the parser or the binder. Each rule of the grammar is one function, and each family of statements one file:
//!
//! | file | rules |
//! |---|---|
//! | `lexer`, `literal`, `reserved` | tokens, their values, reserved words |
//! | `cursor` | the parser's place and its small steps |
//! | `expression`, `operand`, `function` | operators by precedence; literals, names, CASE, CAST; calls |
//! | `query`, `from` | SELECT and set operations; table references and joins |
//! | `hint` | optimizer hints |
//! | `dml`, `ddl`, `table`, `alter`, `data_type` | INSERT, UPDATE, DELETE; CREATE, DROP; CREATE TABLE; ALTER TABLE; types |
//! | `statement`, `transaction`, `set`, `show`, `account`, `grant`, `role` | everything else |
//! | `partition` | PARTITION BY, ALTER TABLE .. PARTITION |
//! | `stored` | expressions of a table's definition |
//! | `program`, `scope` | stored programs; the names declared in a body |
//! | `split` | scripts |
//! | `privilege`, `text_format` | the privileges of GRANT, the file format of LOAD DATA |

mod account;
mod account_id;
mod alter;
pub mod ast;
mod bytes;
mod component;
mod cursor;
mod data_type;
mod ddl;
mod dml;
mod error;
mod expression;
mod foreign_key;
mod from;
mod function;
mod grant;
mod handler;
mod hint;
mod json_table;
mod lex_mode;
pub mod lexer;
mod lift;
mod literal;
mod match_against;
mod normalized;
mod operand;
mod partition;
mod privilege;
mod program;
mod query;
mod quoted;
mod reserved;
mod resource_group;
mod role;
mod scope;
mod set;
pub mod shape;
mod show;
mod split;
mod statement;
mod stored;
mod table;
mod text_file;
mod text_format;
mod transaction;
mod view;
mod window;

#[cfg(test)]
mod tests;

pub use account_id::AccountId;
pub use bytes::statement_text;
pub use cursor::{MAX_HEIGHT, MAX_NESTING};

pub use lex_mode::LexMode;
pub use lexer::OWN_VERSION;
pub use lift::{ColumnKind, Lifted, lift};
pub use normalized::normalized;
pub use privilege::{Privilege, Privileges, Reach};
pub use quoted::quoted;
pub use reserved::is_reserved;
pub use reserved::reserved_words;
pub use split::{is_open_program, split_statements};
pub use text_format::TextFormat;

use leafline_types::CancelToken;
use leafline_types::error::MysqlError;

/// The lexer's mode for texts stored in definitions: they mean the same as when they were written, whatever blanks
/// come before parentheses.
const STORED: LexMode = LexMode {
    ansi_quotes: false,
    no_backslash_escapes: false,
    pipes_as_concat: false,
    ignore_space: true,
    real_as_float: false,
    high_not_precedence: false,
    no_directories: false,
};

/// Parses exactly one statement, with an optional semicolon after it.
///
/// # Errors
/// 1064 if the text is not in MySQL's grammar, 1065 if there is no statement, 1235 if a feature is not supported,
/// 1436 beyond [`MAX_NESTING`] or [`MAX_HEIGHT`], and a few errors that MySQL reports while parsing (1221, 1630).
pub fn parse(sql: &str, mode: LexMode) -> Result<ast::Statement, MysqlError> {
    parse_within(sql, mode, ParseLimits::default())
}

/// Parses like [`parse`], within the given limits.
///
/// # Errors
/// The errors of [`parse`]; 3170 if the statement needs too much memory, and the error of a cancellation.
pub fn parse_within(sql: &str, mode: LexMode, limits: ParseLimits<'_>) -> Result<ast::Statement, MysqlError> {
    if u32::try_from(sql.len()).is_err() {
        return Err(MysqlError::packet_too_large());
    }
    cursor::Parser::new(sql, mode, limits)?.whole_statement()
}

/// Parses the text of a stored program that the catalog keeps: [`ast::CreateProgram::stored_text`].
///
/// # Errors
/// The errors of [`parse_within`].
pub fn parse_program(
    text: &str,
    mode: LexMode,
    limits: ParseLimits<'_>,
) -> Result<ast::CreateProgram, MysqlError> {
    if u32::try_from(text.len()).is_err() {
        return Err(MysqlError::packet_too_large());
    }
    cursor::Parser::new(text, mode, limits)?.whole_program()
}

/// The number of tokens in a text.
pub fn token_count(sql: &str, mode: LexMode) -> usize {
    lexer::tokenize(sql, mode).len()
}

/// The limits that end parsing early.
#[derive(Debug, Clone, Copy)]
pub struct ParseLimits<'a> {
    /// The token that cancels the statement, if it can be cancelled.
    pub cancel: Option<&'a CancelToken>,
    /// `parser_max_mem_size`: the most bytes that tokens and tree may take.
    pub memory: u64,
    /// How deep parentheses, calls, queries and joins may nest together.
    pub nesting: usize,
}

impl Default for ParseLimits<'_> {
    fn default() -> Self {
        ParseLimits { cancel: None, memory: u64::MAX, nesting: MAX_NESTING }
    }
}

/// Parses the query of a view.
///
/// # Errors
/// The errors of [`parse`].
pub fn parse_view(text: &str) -> Result<ast::Query, MysqlError> {
    cursor::Parser::new(text, STORED, ParseLimits::default())?.whole_query()
}

/// The text of a query that means the same under an empty `sql_mode`; `None` if it contains parameters or variables.
///
/// # Errors
/// The errors of [`parse`].
pub fn canonical_query(text: &str, mode: LexMode) -> Result<Option<String>, MysqlError> {
    stored::canonical(text, mode, true, None)
}

/// Parses an expression that the catalog keeps as text.
///
/// # Errors
/// The errors of [`parse`].
pub fn parse_stored(text: &str) -> Result<ast::Expr, MysqlError> {
    cursor::Parser::new(text, STORED, ParseLimits::default())?.whole_expression()
}
