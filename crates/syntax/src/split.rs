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

/// Whether the semicolon at the end of `text` belongs to a stored program that `text` begins, so that more of it
/// follows. For readers who get a script in pieces; others call [`split_statements`]. `part` is the place behind the
/// program's semicolon before, or 0. A program that cannot be parsed ends where its BEGINs and CASEs have their ENDs.
pub fn is_open_program(text: &str, part: usize, mode: LexMode) -> bool {
    let mut lexer = Lexer::new(text, mode);
    let first = lexer.next_token();
    if !(Programs { sql: text, mode, tokens: Vec::new() }).is_program(first, lexer) {
        return false;
    }
    // Only a list of statements has semicolons, and behind the last there is an END, or UNTIL and END.
    let last = text.get(part..).unwrap_or_default();
    let begins = Lexer::new(last, mode).next_token().span.text(last);
    if part > 0 && !["END", "UNTIL"].iter().any(|word| begins.eq_ignore_ascii_case(word)) {
        return true;
    }
    let tokens = tokenize(text, mode);
    let at = tokens.partition_point(|token| token.span.start < first.span.start);
    let mut parser = Parser::at(text, mode, ParseLimits::default(), (tokens, at));
    let ends = parser.program_end().is_ok();
    if ends || parser.at_end() {
        return !ends;
    }
    has_open_block(text, &parser.into_tokens())
}

/// Whether a text has more BEGINs and CASEs than ENDs of them.
fn has_open_block(text: &str, tokens: &[Token]) -> bool {
    let (mut open, mut is_end) = (0_i64, false);
    for token in tokens.iter().filter(|token| token.kind == TokenKind::Word) {
        let is = |word: &str| token.span.text(text).eq_ignore_ascii_case(word);
        // `END CASE` closes a CASE; END with another word closes a statement that is not counted.
        if std::mem::replace(&mut is_end, is("END")) {
            open += i64::from(["IF", "LOOP", "REPEAT", "WHILE"].into_iter().any(is));
        } else {
            open += i64::from(is("BEGIN") || is("CASE"));
        }
        open -= i64::from(is_end);
    }
    open > 0
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
    fn a_program_in_pieces_is_open_until_its_end() {
        let pieces = |script: &str| {
            let (mut text, mut part) = (String::new(), 0);
            let open = |piece: &str| {
                text.push_str(piece);
                text.push(';');
                let open = is_open_program(&text, part, LexMode::default());
                part = text.len();
                open
            };
            script.split(';').map(open).collect::<Vec<_>>()
        };
        for script in [
            "CREATE PROCEDURE p() BEGIN SELECT 1; IF 1 THEN SELECT 2; END IF; END",
            "CREATE DEFINER = CURRENT_USER PROCEDURE p() l: BEGIN BEGIN END; END l",
            "CREATE FUNCTION f(begin INT) RETURNS INT RETURN IF(begin, 1, CASE 1 WHEN 1 THEN 2 END)",
            "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO REPEAT SELECT 1; UNTIL 1 END REPEAT",
            "CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW IF 1 THEN SET NEW.a = 1; ELSE SET NEW.a = 2; END IF",
            "CREATE PROCEDURE p() BEGIN WRONG 1; CASE 1 WHEN 1 THEN SELECT 1; END CASE; IF 1 THEN x; END IF; END",
            "CREATE PROCEDURE p() SELEC 1",
            "CREATE PROCEDURE p()",
            "CREATE TABLE t (a INT)",
            "SELECT 1",
            "BEGIN",
        ] {
            let open = pieces(script);
            let last = open.len() - 1;
            assert!(open.iter().enumerate().all(|(at, open)| *open == (at < last)), "{script}: {open:?}");
        }
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
