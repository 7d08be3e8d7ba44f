//! Expressions that are kept in the catalog as text: of defaults, generated columns and CHECK constraints.
//!
//! The text is the same under every `sql_mode`: names are in backquotes, or bare, and strings in single quotes with a backslash
//! before a backslash.

use super::ast::{CheckDefinition, GeneratedDefinition};
use super::cursor::{Parsed, Parser};
use super::lexer::{LexMode, Symbol, Token, TokenKind, tokenize};
use super::literal::unquote;

impl Parser<'_> {
    /// `(expression)`, as text.
    pub(super) fn stored_expression(&mut self) -> Parsed<String> {
        self.expect_symbol(Symbol::LeftParen)?;
        let start = self.span();
        self.expression()?;
        let source = self.span_from(start).text(self.sql);
        let text = canonical(source, self.mode, false);
        self.expect_symbol(Symbol::RightParen)?;
        if has_pipes(source, self.mode) {
            return self.refuse("|| for CONCAT in expressions of a table");
        }
        match text {
            Some(text) => Ok(text),
            None => self.refuse("subqueries, parameters and variables in expressions of a table"),
        }
    }

    /// `[GENERATED ALWAYS] AS (expression) [VIRTUAL | STORED]`.
    pub(super) fn generated_column(&mut self) -> Parsed<GeneratedDefinition> {
        if self.accept_word("GENERATED") {
            self.expect_word("ALWAYS")?;
        }
        self.expect_word("AS")?;
        let expression = self.stored_expression()?;
        let stored = self.accept_word("STORED");
        if !stored {
            self.accept_word("VIRTUAL");
        }
        Ok(GeneratedDefinition { expression, stored })
    }

    /// Whether a CHECK constraint stands next.
    pub(super) fn at_check(&self) -> bool {
        self.at_word("CHECK")
            || (self.at_word("CONSTRAINT") && (self.is_word_at(1, "CHECK") || self.is_word_at(2, "CHECK")))
    }

    /// `[CONSTRAINT [name]] CHECK (expression) [[NOT] ENFORCED]`.
    pub(super) fn check(&mut self) -> Parsed<CheckDefinition> {
        let mut name = None;
        if self.accept_word("CONSTRAINT") && !self.at_word("CHECK") {
            name = Some(self.ident()?);
        }
        self.expect_word("CHECK")?;
        let expression = self.stored_expression()?;
        let enforced = !self.accept_words(&["NOT", "ENFORCED"]);
        if enforced {
            self.accept_word("ENFORCED");
        }
        Ok(CheckDefinition { name, expression, enforced })
    }
}

/// Whether there is a `||` that means something else where the text is read again: it puts strings together under PIPES_AS_CONCAT only.
pub(super) fn has_pipes(text: &str, mode: LexMode) -> bool {
    let is_pipes = |token: &Token| token.kind == TokenKind::Symbol(Symbol::OrOr);
    mode.pipes_as_concat && tokenize(text, mode).iter().any(is_pipes)
}

/// The text of an expression, or query, under no `sql_mode`; `None` if there is something in it that rows do not determine.
pub(super) fn canonical(text: &str, mode: LexMode, is_query: bool) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for token in tokenize(text, mode) {
        if out.is_empty() || token.span.start > end {
            out.push_str(if out.is_empty() { "" } else { " " });
        }
        end = token.span.end;
        let source = token.span.text(text);
        match token.kind {
            TokenKind::End => break,
            TokenKind::Parameter | TokenKind::UserVariable => return None,
            TokenKind::Word if !is_query && source.eq_ignore_ascii_case("SELECT") => return None,
            TokenKind::QuotedIdent => {
                out.push_str(&format!("`{}`", unquote(source, mode).replace('`', "``")));
            }
            TokenKind::String => {
                let value = unquote(source, mode).replace('\\', "\\\\").replace('\'', "''");
                // `\%` and `\_` were kept as they are, for LIKE.
                let value = value.replace("\\\\%", "\\%").replace("\\\\_", "\\_");
                out.push_str(&format!("'{value}'"));
            }
            _ => out.push_str(source),
        }
    }
    Some(out.trim_end().to_owned())
}
