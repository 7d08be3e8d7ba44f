//! The error type that reaches a client: MySQL's error number, SQLSTATE and message.
//!
//! Every error that the product can return is one line of `catalogue.rs`, with a constructor; the crates above map
//! their own errors to these. Clients and tests distinguish errors by number.

mod catalogue;
mod codec;

pub use catalogue::{CATALOGUE, errno};
pub use codec::CodecError;

use std::fmt::{Arguments, Write};

/// An error as a client sees it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("ERROR {code} ({}): {message}", self.state())]
pub struct MysqlError {
    /// MySQL's error number.
    pub code: u16,
    /// The SQLSTATE: five ASCII letters or digits.
    pub sqlstate: [u8; 5],
    /// The message, in English.
    pub message: String,
    /// The condition items that SIGNAL has set besides these.
    pub details: Option<Box<ConditionDetails>>,
}

/// The items of a condition that only SIGNAL and RESIGNAL set; GET DIAGNOSTICS reads them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConditionDetails {
    /// CLASS_ORIGIN.
    pub class_origin: Option<String>,
    /// SUBCLASS_ORIGIN.
    pub subclass_origin: Option<String>,
    /// CONSTRAINT_CATALOG.
    pub constraint_catalog: Option<String>,
    /// CONSTRAINT_SCHEMA.
    pub constraint_schema: Option<String>,
    /// CONSTRAINT_NAME.
    pub constraint_name: Option<String>,
    /// CATALOG_NAME.
    pub catalog_name: Option<String>,
    /// SCHEMA_NAME.
    pub schema_name: Option<String>,
    /// TABLE_NAME.
    pub table_name: Option<String>,
    /// COLUMN_NAME.
    pub column_name: Option<String>,
    /// CURSOR_NAME.
    pub cursor_name: Option<String>,
}

impl MysqlError {
    /// Returns the SQLSTATE as text.
    pub fn state(&self) -> &str {
        std::str::from_utf8(&self.sqlstate).unwrap_or("HY000")
    }

    /// Makes an error with its own message; the SQLSTATE comes from the catalogue, or is `HY000` for an unknown
    /// number.
    pub fn with_message(code: u16, message: impl Into<String>) -> Self {
        let state = CATALOGUE.iter().find(|e| e.code == code).map_or("HY000", |e| e.sqlstate);
        Self::new(code, state, message.into())
    }

    /// Whether strict mode turns this warning into an error in a statement that stores values. MySQL's warnings
    /// without a number of their own (1105), such as those of CAST .. AS UNSIGNED, stay warnings.
    pub fn fails_in_strict_mode(&self) -> bool {
        self.code != errno::ER_UNKNOWN_ERROR
    }

    /// Makes error 1041 for a session that would keep more of `what` than it may.
    pub fn session_memory(what: &str) -> Self {
        let text = format!(
            "Out of memory: {what} of this session would take more than leafline_session_memory allows"
        );
        Self::with_message(1041, text)
    }

    fn new(code: u16, sqlstate: &str, message: String) -> Self {
        let mut state = *b"HY000";
        if let Ok(given) = sqlstate.as_bytes().try_into() {
            state = given;
        }
        MysqlError { code, sqlstate: state, message, details: None }
    }

    /// Makes `1064`: a syntax error near `near` (the rest of the statement) at `line`, counted from 1.
    pub fn syntax(near: &str, line: usize) -> Self {
        Self::parse_error(SYNTAX, clip(near, 80), line)
    }

    /// Makes `1292`: `value`, an input text, is not a whole number, date or other `kind`. Like MySQL, shows 128
    /// characters.
    pub fn truncated_value(kind: &str, value: &str) -> Self {
        Self::truncated_wrong_value(kind, clip(value, 128))
    }

    /// Makes `1292`: `value` is not a `kind` (`date`, `datetime`), in an expression.
    pub fn incorrect_temporal(kind: &str, value: &str) -> Self {
        let text = format!("Incorrect {kind} value: '{}'", clip(value, 128));
        Self::with_message(errno::ER_TRUNCATED_WRONG_VALUE, text)
    }

    /// Makes `1292`: `value` is not a `kind` (`date`, `datetime`) and cannot be stored in `column`.
    pub fn incorrect_temporal_for_column(kind: &str, value: &str, column: &str, row: u64) -> Self {
        let text =
            format!("Incorrect {kind} value: '{}' for column '{column}' at row {row}", clip(value, 128));
        Self::with_message(errno::ER_TRUNCATED_WRONG_VALUE, text)
    }

    /// Makes `1366`: `value` is not a `kind` (`integer`, `decimal`, `double`, `string`) and cannot be stored in
    /// `column`.
    pub fn incorrect_value(kind: &str, value: &str, column: &str, row: u64) -> Self {
        Self::incorrect_value_for_column(kind, clip(value, 128), column, row)
    }

    /// Makes `1062`: the key `entry` exists in `key` (written `table.index`). Like MySQL, shows 64 characters of the
    /// entry.
    pub fn duplicate_entry(entry: &str, key: &str) -> Self {
        Self::dup_entry(clip(entry, 64), key)
    }
}

const SYNTAX: &str = "You have an error in your SQL syntax; check the manual that corresponds to your Leafline server \
                      version for the right syntax to use";

/// The length limit of a message in bytes, so that an error about a long value stays short.
const MOST_BYTES: usize = 4096;

/// Formats a message and cuts it at [`MOST_BYTES`].
fn bounded(text: Arguments<'_>) -> String {
    let mut out = Bounded(String::new());
    // Writing fails where the text is cut.
    let _ = out.write_fmt(text);
    out.0
}

struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        let left = MOST_BYTES - self.0.len();
        if part.len() <= left {
            self.0.push_str(part);
            return Ok(());
        }
        let end = (0..=left).rev().find(|end| part.is_char_boundary(*end)).unwrap_or(0);
        self.0.push_str(&part[..end]);
        Err(std::fmt::Error)
    }
}

fn clip(text: &str, characters: usize) -> &str {
    match text.char_indices().nth(characters) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catalogue_is_sorted_and_well_formed() {
        for pair in CATALOGUE.windows(2) {
            assert!(pair[0].code < pair[1].code, "{} before {}", pair[0].code, pair[1].code);
        }
        for e in CATALOGUE {
            assert!(
                e.sqlstate.len() == 5 && e.sqlstate.bytes().all(|b| b.is_ascii_alphanumeric()),
                "{}",
                e.code
            );
            // EE_ errors concern files; MySQL's `mysys` library defines them.
            let known = ["ER_", "WARN_", "EE_"].iter().any(|prefix| e.symbol.starts_with(prefix));
            assert!(known, "{}", e.code);
        }
    }

    #[test]
    fn messages_read_as_mysql_writes_them() {
        let e = MysqlError::bad_null("a");
        assert_eq!(e.to_string(), "ERROR 1048 (23000): Column 'a' cannot be null");
        let e = MysqlError::syntax("selec 1", 1);
        assert_eq!((e.code, e.state()), (1064, "42000"));
        assert!(e.message.ends_with("right syntax to use near 'selec 1' at line 1"), "{}", e.message);
        let e = MysqlError::duplicate_entry(&"é".repeat(100), "t.PRIMARY");
        assert_eq!(e.message, format!("Duplicate entry '{}' for key 't.PRIMARY'", "é".repeat(64)));
        assert_eq!(MysqlError::with_message(1213, "x").state(), "40001");
    }
}
