//! The errors of the parser.

use leafline_types::error::MysqlError;

/// Error 1064: the grammar does not accept the text from byte `at` on.
pub(super) fn syntax_error(sql: &str, at: usize) -> MysqlError {
    let line = 1 + sql.bytes().take(at).filter(|&b| b == b'\n').count();
    MysqlError::syntax(sql.get(at..).unwrap_or(""), line)
}

/// Error 1235: MySQL has the feature, this version does not.
pub(super) fn unsupported(what: &str) -> MysqlError {
    MysqlError::not_supported(what)
}
