//! Statements that are not all text: dumps have the bytes of BLOBs in their string literals, as they are.
//!
//! Statements are UTF-8 everywhere else. A literal that is not is written as a hexadecimal one, which means the same bytes.

use super::lexer::LexMode;
use leafline_types::MysqlError;
use std::borrow::Cow;
use std::fmt::Write as _;

/// A statement, or several, as text.
///
/// # Errors
/// 1300 if there are bytes outside of string literals that are not UTF-8.
pub fn statement_text(bytes: &[u8], mode: LexMode) -> Result<Cow<'_, str>, MysqlError> {
    let wrong = match std::str::from_utf8(bytes) {
        Ok(text) => return Ok(Cow::Borrowed(text)),
        Err(error) => error.valid_up_to(),
    };
    let mut out = Vec::with_capacity(2 * bytes.len());
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let is_string = first == b'\'' || (first == b'"' && !mode.ansi_quotes);
        let length = match first {
            b'\'' | b'"' | b'`' => quoted_length(rest, first, is_string && !mode.no_backslash_escapes),
            b'#' => line_length(rest),
            b'-' if rest.starts_with(b"--") && rest.get(2).is_none_or(u8::is_ascii_whitespace) => {
                line_length(rest)
            }
            b'/' if rest.starts_with(b"/*") && !rest.starts_with(b"/*!") => comment_length(rest),
            _ => 1,
        };
        let piece = rest.get(..length).unwrap_or(rest);
        match piece.get(1..piece.len().saturating_sub(1)) {
            Some(inside) if is_string && std::str::from_utf8(piece).is_err() => {
                if out.last().is_some_and(|last: &u8| last.is_ascii_alphanumeric()) {
                    out.push(b' ');
                }
                out.extend_from_slice(hexadecimal(inside, first, mode).as_bytes());
            }
            _ => out.extend_from_slice(piece),
        }
        at += piece.len().max(1);
    }
    String::from_utf8(out).map(Cow::Owned).map_err(|_| {
        let bytes = bytes.iter().skip(wrong).take(6);
        let shown: String = bytes.map(|byte| format!("\\x{byte:02X}")).collect();
        MysqlError::invalid_character_string("utf8mb4", shown)
    })
}

/// Bytes of a quoted piece, its quotes included; all that is left if it does not end.
fn quoted_length(rest: &[u8], quote: u8, escapes: bool) -> usize {
    let mut at = 1;
    while let Some(&byte) = rest.get(at) {
        match byte {
            b'\\' if escapes => at += 2,
            _ if byte != quote => at += 1,
            _ if rest.get(at + 1) == Some(&quote) => at += 2,
            _ => return at + 1,
        }
    }
    rest.len()
}

fn line_length(rest: &[u8]) -> usize {
    rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len())
}

fn comment_length(rest: &[u8]) -> usize {
    rest.windows(2).position(|two| two == b"*/").map_or(rest.len(), |at| at + 2)
}

/// The literal of the bytes that a string literal stands for.
fn hexadecimal(inside: &[u8], quote: u8, mode: LexMode) -> String {
    let mut text = String::with_capacity(2 * inside.len() + 3);
    text.push_str("x'");
    let mut bytes = inside.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let mut meant = byte;
        if byte == quote {
            bytes.next();
        } else if byte == b'\\'
            && !mode.no_backslash_escapes
            && let Some(escaped) = bytes.next()
        {
            meant = match escaped {
                b'0' => 0,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'b' => 8,
                b'Z' => 26,
                b'%' | b'_' => {
                    text.push_str("5C");
                    escaped
                }
                other => other,
            };
        }
        write!(text, "{meant:02X}").ok();
    }
    text.push('\'');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Result<String, u16> {
        statement_text(bytes, LexMode::default()).map(Cow::into_owned).map_err(|error| error.code)
    }

    #[test]
    fn bytes_of_literals_are_kept() {
        assert_eq!(text("SELECT 'é'".as_bytes()), Ok("SELECT 'é'".into()));
        assert_eq!(
            text(b"VALUES (1,_binary'\xff\\0\\'\\\\''\\n\\%a','it''s')"),
            Ok("VALUES (1,_binary x'FF00275C270A5C2561','it''s')".into())
        );
        assert_eq!(
            text(b"/* it's */ SELECT \"\xff\"\"\" -- it's\n, '\xfe'"),
            Ok("/* it's */ SELECT x'FF22' -- it's\n, x'FE'".into())
        );
        assert_eq!(text(b"/*! SELECT '\xff' */"), Ok("/*! SELECT x'FF' */".into()));
    }

    #[test]
    fn other_bytes_are_refused() {
        for wrong in [&b"SELECT \xff"[..], b"SELECT `\xff`", b"-- \xff", b"/* \xff */ SELECT 'a'"] {
            assert_eq!(text(wrong), Err(1300));
        }
        let mode = LexMode { ansi_quotes: true, ..LexMode::default() };
        assert!(statement_text(b"SELECT \"\xff\"", mode).is_err());
        let mode = LexMode { no_backslash_escapes: true, ..LexMode::default() };
        assert_eq!(statement_text(b"SELECT '\xff\\', 'a'", mode).as_deref(), Ok("SELECT x'FF5C', 'a'"));
        // What does not end is a syntax error later.
        assert!(text(b"SELECT '\xff").is_ok());
    }
}
