//! The text of a statement without its values: for digests.
//!
//! Tokens are separated by one blank; a literal or parameter is a `?`. A list of values is `...`, as is one of rows of them.

use super::lexer::{LexMode, Lexer, TokenKind};

/// The text of `sql` in that form, cut after `most` bytes or so.
pub fn normalized(sql: &str, mode: LexMode, most: usize) -> String {
    let mut lexer = Lexer::new(sql, mode);
    let mut text = String::new();
    loop {
        let token = lexer.next_token();
        let source = token.span.text(sql);
        match token.kind {
            TokenKind::End | TokenKind::Invalid => return text,
            TokenKind::Integer
            | TokenKind::Decimal
            | TokenKind::Float
            | TokenKind::String
            | TokenKind::Parameter => {
                match text
                    .strip_suffix(" ,")
                    .filter(|before| before.ends_with(" ?") || before.ends_with(" ..."))
                {
                    // One more of a list.
                    Some(before) => {
                        let length =
                            before.strip_suffix(" ?").unwrap_or(before.trim_end_matches(" ...")).len();
                        text.truncate(length);
                        text.push_str(" ...");
                    }
                    None => push(&mut text, "?"),
                }
            }
            _ => push(&mut text, source),
        }
        // One more row of a list of rows.
        for row in [" ( ... )", " ( ? )"] {
            if !text.ends_with(row) {
                continue;
            }
            let rows = format!("{row} ,{row}");
            if text.ends_with(&rows) {
                text.truncate(text.len() - rows.len());
                text.push_str(row);
            }
        }
        if text.len() > most {
            let cut = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(cut);
            return text;
        }
    }
}

fn push(text: &mut String, token: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(token);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_blanks_do_not_count() {
        let normal = |sql| normalized(sql, LexMode::default(), 80);
        assert_eq!(normal("SELECT a  FROM t\nWHERE b=5 -- x"), "SELECT a FROM t WHERE b = ?");
        assert_eq!(normal("SELECT 1, a, 'x'"), "SELECT ? , a , ?");
        assert_eq!(normal("a IN (1, 2.5, 'x')"), "a IN ( ... )");
        assert_eq!(normal("VALUES (1, 'a'), (2, 'b'), (3, ?)"), "VALUES ( ... )");
        assert_eq!(normal("VALUES (1), (2)"), "VALUES ( ? )");
        assert_eq!(normal(&"a".repeat(100)).len(), 80);
    }
}
