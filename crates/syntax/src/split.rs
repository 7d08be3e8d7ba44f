//! Splitting a script into statements.
//!
//! Semicolons separate statements, but those in a stored program's body belong to it. Where a statement may define a
//! program, its parser finds the end. A program that does not parse takes the rest of the script, as in MySQL.

use super::ParseLimits;
use super::cursor::Parser;
use super::lex_mode::LexMode;
use super::lexer::{Lexer, Symbol, Token, TokenKind, tokenize};

/// The most tokens before the word of a stored program: CREATE DEFINER = CURRENT_USER ( ).
const MOST_BEFORE_PROGRAM: usize = 6;

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
    let (mut start, mut has_tokens, mut program_end) = (0, false, 0);
    let mut programs = Programs { sql, mode, tokens: Vec::new() };
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::Symbol(Symbol::Semicolon) if token.span.start < program_end => {}
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
            _ if !std::mem::replace(&mut has_tokens, true) => program_end = programs.end(token, lexer),
            _ => {}
        }
    }
}

/// Finds the ends of stored programs in a script.
struct Programs<'a> {
    sql: &'a str,
    mode: LexMode,
    /// All tokens of the script, once there is a program.
    tokens: Vec<Token>,
}

impl Programs<'_> {
    /// The end of the stored program that begins with the token `first`, which `lexer` has just read; 0 if the
    /// statement does not define one, and the largest number if it does not parse.
    fn end(&mut self, first: Token, lexer: Lexer<'_>) -> u32 {
        if !self.is_program(first, lexer) {
            return 0;
        }
        if self.tokens.is_empty() {
            self.tokens = tokenize(self.sql, self.mode);
        }
        let at = self.tokens.partition_point(|token| token.span.start < first.span.start);
        let tokens = std::mem::take(&mut self.tokens);
        let mut parser = Parser::at(self.sql, self.mode, ParseLimits::default(), (tokens, at));
        let end = parser.program_end().unwrap_or(u32::MAX);
        self.tokens = parser.into_tokens();
        end
    }

    fn is_program(&self, first: Token, mut lexer: Lexer<'_>) -> bool {
        let text = |token: Token| token.span.text(self.sql);
        let creates = text(first).eq_ignore_ascii_case("CREATE");
        if !creates && !text(first).eq_ignore_ascii_case("ALTER") {
            return false;
        }
        let kinds: &[&str] = match creates {
            true => &["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"],
            false => &["EVENT"],
        };
        for at in 0..=MOST_BEFORE_PROGRAM {
            let token = lexer.next_token();
            if at == 0 && !text(token).eq_ignore_ascii_case("DEFINER") {
                return kinds.iter().any(|word| text(token).eq_ignore_ascii_case(word));
            }
            if kinds.iter().any(|word| text(token).eq_ignore_ascii_case(word)) {
                return true;
            }
        }
        false
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
    fn semicolons_in_a_program_do_not_split() {
        let programs = [
            "CREATE PROCEDURE p() BEGIN SELECT CASE WHEN 1 THEN 2 END; IF 1 THEN SELECT 1; END IF; END",
            "/*!50003 CREATE*/ /*!50017 DEFINER=`a`@`b`*/ /*!50003 TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN SET NEW.a = 1; END */",
            "CREATE DEFINER = CURRENT_USER() FUNCTION f(begin INT) RETURNS INT RETURN IF(begin, 1, CASE 1 WHEN 1 THEN 2 END)",
            "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO l: LOOP SELECT 1; LEAVE l; END LOOP l",
            "ALTER EVENT e DO BEGIN SELECT 1; SELECT 2; END",
            "BEGIN",
            "INSERT INTO t VALUES (1)",
            "CREATE TABLE t (a INT)",
            "COMMIT",
            "CREATE PROCEDURE p() BEGIN SELECT 1; WRONG; END; SELECT 1",
        ];
        assert_eq!(split_statements(&programs.join(" ; "), LexMode::default()), programs);
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
