//! Statements as text. Clients send them in their own character set, and a dump writes the bytes of a BLOB into a
//! string literal unchanged.
//!
//! A string literal that is not text of the character set is rewritten as a hexadecimal literal with the same bytes.
//! A literal with an introducer is rewritten too unless clients speak UTF-8, because its value is the bytes that were
//! sent.

use super::lex_mode::LexMode;
use leafline_types::{Charset, MysqlError};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Converts one or several statements to text.
///
/// # Errors
/// 1300 if bytes outside string literals are not text of the character set.
pub fn statement_text(bytes: &[u8], charset: Charset, mode: LexMode) -> Result<Cow<'_, str>, MysqlError> {
    let charset = if charset.is_utf8() { Charset::Utf8mb4 } else { charset };
    let is_utf8 = charset == Charset::Utf8mb4 || bytes.is_ascii() && charset.keeps_ascii();
    if is_utf8 && let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(2 * bytes.len());
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let is_string = first == b'\'' || (first == b'"' && !mode.ansi_quotes);
        let length = match first {
            b'\'' | b'"' | b'`' => {
                quoted_length(rest, (first, charset), is_string && !mode.no_backslash_escapes)
            }
            b'#' => line_length(rest),
            b'-' if rest.starts_with(b"--") && rest.get(2).is_none_or(u8::is_ascii_whitespace) => {
                line_length(rest)
            }
            b'/' if rest.starts_with(b"/*") && !rest.starts_with(b"/*!") => comment_length(rest),
            _ => plain_length(rest, charset),
        };
        let piece = rest.get(..length).unwrap_or(rest);
        let text = charset.decode(piece);
        match (piece.get(1..piece.len().saturating_sub(1)), text) {
            (Some(inside), text)
                if is_string
                    && (text.is_err() || charset != Charset::Utf8mb4 && is_introduced(&out, piece)) =>
            {
                if out.ends_with(|last: char| last.is_ascii_alphanumeric()) {
                    out.push(' ');
                }
                out.push_str(&hexadecimal(inside, (first, charset), mode));
            }
            (_, text) => out.push_str(&text?),
        }
        at += piece.len().max(1);
    }
    Ok(Cow::Owned(out))
}

/// The number of bytes before the first that may begin a quoted piece or a comment.
fn plain_length(rest: &[u8], charset: Charset) -> usize {
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        if at > 0 && matches!(byte, b'\'' | b'"' | b'`' | b'#' | b'-' | b'/') {
            break;
        }
        at += if byte.is_ascii() { 1 } else { charset.first_len(rest.get(at..).unwrap_or_default()) };
    }
    at
}

/// Returns whether a literal follows an introducer and is not plain ASCII.
fn is_introduced(before: &str, literal: &[u8]) -> bool {
    let before = before.trim_end();
    let word = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    !literal.is_ascii() && word.strip_prefix('_').is_some_and(|name| Charset::known(name).is_some())
}

/// The length of a quoted piece in bytes, with its quotes; all remaining bytes if the piece does not end.
fn quoted_length(rest: &[u8], (quote, charset): (u8, Charset), escapes: bool) -> usize {
    let mut at = 1;
    while let Some(&byte) = rest.get(at) {
        match byte {
            0x80.. => at += charset.first_len(rest.get(at..).unwrap_or_default()),
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

/// A hexadecimal literal with the bytes of a string literal.
fn hexadecimal(inside: &[u8], (quote, charset): (u8, Charset), mode: LexMode) -> String {
    let mut text = String::with_capacity(2 * inside.len() + 3);
    text.push_str("x'");
    let mut rest = inside;
    while let Some((&byte, mut after)) = rest.split_first() {
        if !byte.is_ascii() {
            let (character, after) = rest.split_at(charset.first_len(rest).min(rest.len()));
            character.iter().for_each(|byte| {
                write!(text, "{byte:02X}").ok();
            });
            rest = after;
            continue;
        }
        let mut meant = byte;
        if byte == quote {
            after = after.get(1..).unwrap_or_default();
        } else if byte == b'\\'
            && !mode.no_backslash_escapes
            && let Some((&escaped, behind)) = after.split_first()
        {
            after = behind;
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
        rest = after;
    }
    text.push('\'');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Result<String, u16> {
        statement_text(bytes, Charset::Utf8mb4, LexMode::default())
            .map(Cow::into_owned)
            .map_err(|error| error.code)
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
        assert!(statement_text(b"SELECT \"\xff\"", Charset::Utf8mb4, mode).is_err());
        let mode = LexMode { no_backslash_escapes: true, ..LexMode::default() };
        let text_of = statement_text(b"SELECT '\xff\\', 'a'", Charset::Utf8mb4, mode);
        assert_eq!(text_of.as_deref(), Ok("SELECT x'FF5C', 'a'"));
        // A string that does not end is left for the parser to reject.
        assert!(text(b"SELECT '\xff").is_ok());
    }

    #[test]
    fn text_of_other_character_sets_is_converted() {
        let text = |bytes: &[u8], charset| {
            let text = statement_text(bytes, charset, LexMode::default());
            text.map(Cow::into_owned).map_err(|error| error.code)
        };
        assert_eq!(text(b"SELECT '\xe9' `\xe9`", Charset::Latin1), Ok("SELECT 'é' `é`".into()));
        // The second byte of a character is not a backslash or a quote, whatever its value.
        assert_eq!(text(b"SELECT '\x95\x5c', 'a'", Charset::Sjis), Ok("SELECT '表', 'a'".into()));
        assert_eq!(text(b"SELECT '\xbf\x5c' -- \xbf\x5c", Charset::Gbk), Ok("SELECT '縗' -- 縗".into()));
        // A literal with an introducer keeps its bytes.
        assert_eq!(
            text(b"SELECT _koi8r'\xd0', _utf8mb4 '\xc3\xa9'", Charset::Latin1),
            Ok("SELECT _koi8r x'D0', _utf8mb4 x'C3A9'".into())
        );
        assert_eq!(text(b"SELECT _sjis'\x95\x5c\\''", Charset::Sjis), Ok("SELECT _sjis x'955C27'".into()));
        assert_eq!(text(b"SELECT \x98", Charset::Cp1251), Err(1300));
    }
}
