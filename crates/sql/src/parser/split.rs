//! Cutting a script into statements.

use super::lexer::{LexMode, Lexer, Symbol, TokenKind};

/// The statements of a script, without the semicolons between them. Strings, quoted names and comments hide
/// semicolons; pieces without any token are left out. What cannot be lexed ends in the last piece.
pub fn split_statements(sql: &str, mode: LexMode) -> Vec<&str> {
    let mut statements = Vec::new();
    let mut lexer = Lexer::new(sql, mode);
    let mut start = None;
    let mut end = 0;
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::End | TokenKind::Symbol(Symbol::Semicolon) => {
                if let Some(start) = start.take() {
                    statements.extend(sql.get(start..end));
                }
                if token.kind == TokenKind::End {
                    return statements;
                }
            }
            _ => {
                start.get_or_insert(token.span.start as usize);
                end = token.span.end as usize;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semicolons_in_strings_names_and_comments_do_not_split() {
        let sql = "SELECT ';' ; -- a;b\n SELECT `;`, \";\" /* ; */ ;; # ;\n SELECT 3";
        assert_eq!(
            split_statements(sql, LexMode::default()),
            ["SELECT ';'", "SELECT `;`, \";\"", "SELECT 3"]
        );
    }

    #[test]
    fn an_open_string_takes_the_rest() {
        assert_eq!(
            split_statements("SELECT 1; SELECT 'a; b", LexMode::default()),
            ["SELECT 1", "SELECT 'a; b"]
        );
        assert!(split_statements(" ; -- x\n;", LexMode::default()).is_empty());
    }
}
