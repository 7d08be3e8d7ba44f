//! The parts of `sql_mode` that the lexer and the parser read.

/// The parts of `sql_mode` that change tokens or the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LexMode {
    /// ANSI_QUOTES: double quotes hold identifiers.
    pub ansi_quotes: bool,
    /// NO_BACKSLASH_ESCAPES: a backslash is an ordinary character.
    pub no_backslash_escapes: bool,
    /// PIPES_AS_CONCAT: `||` concatenates strings.
    pub pipes_as_concat: bool,
    /// IGNORE_SPACE: blanks may separate a function's name from its parenthesis.
    pub ignore_space: bool,
    /// REAL_AS_FLOAT: REAL means FLOAT.
    pub real_as_float: bool,
    /// HIGH_NOT_PRECEDENCE: NOT binds as tightly as `!`.
    pub high_not_precedence: bool,
    /// NO_DIR_IN_CREATE: DATA DIRECTORY and INDEX DIRECTORY are ignored.
    pub no_directories: bool,
}
