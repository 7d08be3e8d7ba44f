//! The values of literal tokens, with escapes resolved and digits decoded.

use super::lex_mode::LexMode;

/// The value of a quoted token (`'..'`, `".."`, `` `..` ``). `source` includes the quotes.
///
/// Doubled quotes become one. In strings, unless NO_BACKSLASH_ESCAPES is set, `\0 \b \n \r \t \Z` are control
/// characters, `\%` and `\_` stay as they are (for LIKE), and a backslash before any other character is dropped.
pub fn unquote(source: &str, mode: LexMode) -> String {
    let mut chars = source.chars();
    let Some(quote) = chars.next() else { return String::new() };
    let escapes = quote != '`' && !(quote == '"' && mode.ansi_quotes) && !mode.no_backslash_escapes;
    let within = source.get(1..source.len() - 1).filter(|_| source.len() > 1 && source.ends_with(quote));
    let is_special = |byte: u8| char::from(byte) == quote || (escapes && byte == b'\\');
    if let Some(plain) = within.filter(|within| !within.bytes().any(is_special)) {
        return plain.to_owned();
    }
    let mut value = String::with_capacity(source.len());
    while let Some(c) = chars.next() {
        if c == quote {
            match chars.next() {
                Some(doubled) => value.push(doubled),
                None => break,
            }
        } else if c == '\\' && escapes {
            match chars.next() {
                Some('0') => value.push('\0'),
                Some('b') => value.push('\u{8}'),
                Some('n') => value.push('\n'),
                Some('r') => value.push('\r'),
                Some('t') => value.push('\t'),
                Some('Z') => value.push('\u{1a}'),
                Some(kept @ ('%' | '_')) => {
                    value.push('\\');
                    value.push(kept);
                }
                Some(other) => value.push(other),
                None => break,
            }
        } else {
            value.push(c);
        }
    }
    value
}

/// The name of a user variable token (`@a`, `@'a b'`, ``@`a` ``).
pub fn variable_name(source: &str, mode: LexMode) -> String {
    let name = source.strip_prefix('@').unwrap_or(source);
    match name.as_bytes().first() {
        // `@"a"` is a variable in every mode, and its quotes follow the rules of strings.
        Some(b'\'' | b'"' | b'`') => unquote(name, LexMode { ansi_quotes: false, ..mode }),
        _ => name.to_owned(),
    }
}

/// The bytes of `x'..'` and `0x..`; a leading zero completes an odd number of digits.
pub fn hex_bytes(source: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        digits_of(source).bytes().filter_map(|b| char::from(b).to_digit(16).map(|d| d as u8)).collect();
    digits.rchunks(2).rev().map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect()
}

/// The bytes of `b'..'` and `0b..`; leading zero bits complete the first byte.
pub fn bit_bytes(source: &str) -> Vec<u8> {
    let digits = digits_of(source).as_bytes();
    digits
        .rchunks(8)
        .rev()
        .map(|bits| bits.iter().fold(0, |byte, &digit| byte << 1 | u8::from(digit == b'1')))
        .collect()
}

fn digits_of(source: &str) -> &str {
    source.get(2..).unwrap_or("").trim_end_matches('\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved_as_mysql_does() {
        let mode = LexMode::default();
        assert_eq!(unquote(r"'a\n\t\0\Z\\\'\q\%\_'", mode), "a\n\t\0\u{1a}\\'q\\%\\_");
        assert_eq!(unquote("'it''s'", mode), "it's");
        assert_eq!(unquote("\"a\"\"b'c\"", mode), "a\"b'c");
        assert_eq!(unquote(r"`a``b\n`", mode), r"a`b\n");
        let plain = LexMode { no_backslash_escapes: true, ..mode };
        assert_eq!(unquote(r"'a\n'", plain), r"a\n");
        assert_eq!((unquote("''", mode), unquote("'é'", mode)), (String::new(), "é".to_owned()));
        assert_eq!(unquote("'", mode), "");
    }

    #[test]
    fn digits_become_bytes() {
        assert_eq!(hex_bytes("x'00fF'"), [0, 255]);
        assert_eq!(hex_bytes("0x123"), [1, 0x23]);
        assert_eq!(hex_bytes("x''"), [0u8; 0]);
        assert_eq!(bit_bytes("b'101'"), [5]);
        assert_eq!(bit_bytes("0b100000001"), [1, 1]);
    }

    #[test]
    fn variable_names_lose_their_quotes() {
        let mode = LexMode::default();
        assert_eq!(variable_name("@a.b", mode), "a.b");
        assert_eq!(variable_name("@'x y'", mode), "x y");
        assert_eq!(variable_name("@`x``y`", mode), "x`y");
    }
}
