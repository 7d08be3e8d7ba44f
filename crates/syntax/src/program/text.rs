//! The text of a program that the catalog keeps.

use super::super::ast::{AlterEvent, CreateProgram, ProgramKind, Span};
use super::super::lex_mode::LexMode;
use super::super::lexer::{Token, TokenKind, tokenize};
use super::super::quoted::quoted;

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
        let span = Span { start: self.name.span().start, end: self.span.end };
        format!("{word} {}", text_alone(sql, mode, span))
    }
}

impl AlterEvent {
    /// The text that the catalog keeps after the statement; `None` without a new body. Any schedule makes it
    /// parse; the event's definition keeps the schedule that counts.
    pub fn stored_text(&self, sql: &str, mode: LexMode) -> Option<String> {
        let body = text_alone(sql, mode, self.body.as_ref()?.span);
        let name = quoted(&self.name.name.value);
        Some(format!("EVENT {name} ON SCHEDULE EVERY 1 DAY DO {body}"))
    }
}

/// The text in `span`, such that it has the tokens alone that it has within the whole text.
fn text_alone(sql: &str, mode: LexMode, span: Span) -> String {
    let text = span.text(sql);
    if memchr::memmem::find(sql.as_bytes(), b"/*!").is_none() {
        return text.to_owned();
    }
    let within = |token: &Token| {
        token.kind != TokenKind::End && token.span.start >= span.start && token.span.end <= span.end
    };
    let whole: Vec<Token> = tokenize(sql, mode).into_iter().filter(within).collect();
    let alone = tokenize(text, mode);
    let agree = |(a, b): (&Token, &Token)| a.span.start - span.start == b.span.start && a.kind == b.kind;
    if alone.len() == whole.len() + 1 && whole.iter().zip(&alone).all(agree) {
        return text.to_owned();
    }
    whole.iter().map(|token| token.span.text(sql)).collect::<Vec<_>>().join(" ")
}
