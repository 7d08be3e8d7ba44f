//! The tokens of an XPath expression.

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'p> {
    /// A name, or two with a colon between them.
    Name(&'p str),
    /// Digits.
    Digits(&'p str),
    /// Text in quotes.
    Literal(&'p str),
    /// `::`.
    Axis,
    /// `..`.
    Parent,
    /// `!=`, `<=` or `>=`.
    Comparison([u8; 2]),
    /// Any other character.
    Sign(char),
    /// The end.
    End,
}

fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
}

fn continues_name(c: char) -> bool {
    begins_name(c) || c.is_ascii_digit() || c == '-' || c == '.'
}

fn name_length(text: &str) -> usize {
    match text.chars().next() {
        Some(first) if begins_name(first) => text.find(|c| !continues_name(c)).unwrap_or(text.len()),
        _ => 0,
    }
}

/// Returns the first token of a text, how many bytes precede it, and how many it has.
pub(super) fn token(text: &str) -> (Token<'_>, usize, usize) {
    let rest = text.trim_start_matches([' ', '\t', '\r', '\n']);
    let (token, length) = first(rest);
    (token, text.len() - rest.len(), length)
}

fn first(text: &str) -> (Token<'_>, usize) {
    let Some(c) = text.chars().next() else { return (Token::End, 0) };
    let two = text.as_bytes().get(1).copied();
    match (c, two) {
        (':', Some(b':')) => return (Token::Axis, 2),
        ('.', Some(b'.')) => return (Token::Parent, 2),
        ('!' | '<' | '>', Some(b'=')) => return (Token::Comparison([c as u8, b'=']), 2),
        _ => {}
    }
    if begins_name(c) {
        let mut length = name_length(text);
        if let Some(local) = text[length..].strip_prefix(':') {
            length += match name_length(local) {
                0 => 0,
                local => 1 + local,
            };
        }
        return (Token::Name(&text[..length]), length);
    }
    if c.is_ascii_digit() {
        let length = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        return (Token::Digits(&text[..length]), length);
    }
    if matches!(c, '"' | '\'')
        && let Some(end) = text[1..].find(c)
    {
        return (Token::Literal(&text[1..=end]), end + 2);
    }
    (Token::Sign(c), c.len_utf8())
}
