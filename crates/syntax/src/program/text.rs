//! The text of a program that the catalog keeps.

use super::super::ast::{CreateProgram, ProgramKind};
use super::super::lex_mode::LexMode;
use super::super::lexer::{Token, TokenKind, tokenize};

impl CreateProgram {
    /// The text that the catalog keeps, for [`crate::parse_program`]: the kind's word, the name, and the text after it
    /// as it was written. `sql` is the statement that this tree was parsed from under `mode`.
    ///
    /// Version comments may begin before the text and end in it. If so, their marks are not part of the program, and
    /// single blanks separate its tokens.
    pub fn stored_text(&self, sql: &str, mode: LexMode) -> String {
        let word = match self.kind() {
            ProgramKind::Procedure => "PROCEDURE",
            ProgramKind::Function => "FUNCTION",
            ProgramKind::Trigger => "TRIGGER",
            ProgramKind::Event => "EVENT",
        };
        let (start, end) = (self.name.span().start, self.span.end);
        let text = sql.get(start as usize..end as usize).unwrap_or("");
        let within = |token: &Token| token.span.start >= start && token.kind != TokenKind::End;
        let whole: Vec<Token> = match memchr::memmem::find(sql.as_bytes(), b"/*!") {
            Some(_) => tokenize(sql, mode).into_iter().filter(within).filter(|t| t.span.end <= end).collect(),
            None => return format!("{word} {text}"),
        };
        let alone = tokenize(text, mode);
        let same = alone.len() == whole.len() + 1
            && whole
                .iter()
                .zip(&alone)
                .all(|(a, b)| a.span.start - start == b.span.start && a.kind == b.kind);
        if same {
            return format!("{word} {text}");
        }
        let parts: Vec<&str> = whole.iter().map(|token| token.span.text(sql)).collect();
        format!("{word} {}", parts.join(" "))
    }
}
