//! The text of a statement without its values, for digests.
//!
//! One blank separates tokens. A literal or parameter becomes `?`, a list of values `...`, and a list of rows of
//! values a single such row.

use super::lex_mode::LexMode;
use super::lexer::{Lexer, Symbol, TokenKind};

/// The normalized rows of several values, and of a single value.
const ROW_OF_MANY: &str = " ( ... )";
const ROW_OF_ONE: &str = " ( ? )";

/// The normalized text of `sql`, cut after about `most` bytes.
pub fn normalized(sql: &str, mode: LexMode, most: usize) -> String {
    let mut lexer = Lexer::new(sql, mode);
    let mut text = String::new();
    loop {
        let token = lexer.next_token();
        let source = token.span.text(sql);
        match token.kind {
            TokenKind::End | TokenKind::Invalid => return text,
            kind if is_value(kind) => {
                match text
                    .strip_suffix(" ,")
                    .filter(|before| before.ends_with(" ?") || before.ends_with(" ..."))
                {
                    // Another value of a list.
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
        // Another row of a list of rows.
        for row in [ROW_OF_MANY, ROW_OF_ONE] {
            if !text.ends_with(row) {
                continue;
            }
            let rows = format!("{row} ,{row}");
            if text.ends_with(&rows) {
                text.truncate(text.len() - rows.len());
                text.push_str(row);
            }
            skip_rows(&mut lexer, row == ROW_OF_MANY);
        }
        if text.len() > most {
            let cut = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(cut);
            return text;
        }
    }
}

/// Skips the rows that follow a row and have its form: several values if `many`, otherwise one. They leave no trace
/// in the text.
fn skip_rows(lexer: &mut Lexer<'_>, many: bool) {
    loop {
        let mut ahead = *lexer;
        let mut is_next = |symbol| ahead.next_token().kind == TokenKind::Symbol(symbol);
        if !is_next(Symbol::Comma) || !is_next(Symbol::LeftParen) {
            return;
        }
        let mut values = 0;
        loop {
            if !is_value(ahead.next_token().kind) {
                return;
            }
            values += 1;
            match ahead.next_token().kind {
                TokenKind::Symbol(Symbol::Comma) => {}
                TokenKind::Symbol(Symbol::RightParen) => break,
                _ => return,
            }
        }
        if (values > 1) != many {
            return;
        }
        *lexer = ahead;
    }
}

fn is_value(kind: TokenKind) -> bool {
    use TokenKind::{Decimal, Float, Integer, Parameter, String};
    matches!(kind, Integer | Decimal | Float | String | Parameter)
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
        assert_eq!(
            normal("VALUES (1, 2), (3, -4), (5, 6), (7)"),
            "VALUES ( ... ) , ( ? , - ? ) , ( ... ) , ( ? )"
        );
        assert_eq!(normal("VALUES (1, 2), (3, 4), (5, 6) AS n"), "VALUES ( ... ) AS n");
        assert_eq!(normal("VALUES (1), (2), (3, 4), (5"), "VALUES ( ? ) , ( ... ) , ( ?");
        assert_eq!(normal(&"a".repeat(100)).len(), 80);
    }
}
