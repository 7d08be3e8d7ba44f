//! Splitting a script into statements.

use super::lex_mode::LexMode;
use super::lexer::{Lexer, Symbol, TokenKind};

/// The statements of a script, without the semicolons between them. Semicolons in strings, quoted names and comments
/// do not count. Pieces without any token are left out. Text that cannot be lexed is part of the last piece. Comments
/// stay, because a statement may begin or end inside one (`/*!40101 SET .. */`).
pub fn split_statements(sql: &str, mode: LexMode) -> Vec<&str> {
    let mut statements = Vec::new();
    let mut lexer = Lexer::new(sql, mode);
    if memchr::memchr(b';', sql.as_bytes()).is_none() {
        let is_any = lexer.next_token().kind != TokenKind::End;
        return if is_any { vec![sql.trim()] } else { statements };
    }
    let (mut start, mut has_tokens) = (0, false);
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::End | TokenKind::Symbol(Symbol::Semicolon) => {
                let at_end = token.kind == TokenKind::End;
                let end = if at_end { sql.len() } else { token.span.start as usize };
                if std::mem::take(&mut has_tokens) {
                    statements.extend(sql.get(start..end).map(str::trim));
                }
                if at_end {
                    return statements;
                }
                start = token.span.end as usize;
            }
            _ => has_tokens = true,
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
            ["SELECT ';'", "-- a;b\n SELECT `;`, \";\" /* ; */", "# ;\n SELECT 3"]
        );
    }

    #[test]
    fn statements_may_begin_and_end_in_version_comments() {
        let sql = "/*!40101 SET a */; CREATE TABLE t (a INT) /*! ENGINE = x */ ; SET b /*! c */";
        assert_eq!(
            split_statements(sql, LexMode::default()),
            ["/*!40101 SET a */", "CREATE TABLE t (a INT) /*! ENGINE = x */", "SET b /*! c */"]
        );
    }

    #[test]
    fn an_open_string_takes_the_rest() {
        assert_eq!(
            split_statements("SELECT 1; SELECT 'a; b", LexMode::default()),
            ["SELECT 1", "SELECT 'a; b"]
        );
        assert!(split_statements(" ; -- x\n;", LexMode::default()).is_empty());
        assert!(split_statements(" /* x */ ", LexMode::default()).is_empty());
        assert_eq!(split_statements(" SELECT 1\n", LexMode::default()), ["SELECT 1"]);
    }
}
