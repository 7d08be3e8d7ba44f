//! HANDLER.

use super::ast::{Handler, HandlerRead, HandlerStart, KeyComparison, StatementKind};
use super::cursor::{Parsed, Parser};
use super::lexer::Symbol;

impl Parser<'_> {
    /// `HANDLER table OPEN`, `HANDLER name READ ..`, `HANDLER name CLOSE`.
    pub(super) fn handler(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let table = self.table_name()?;
        let handler = if self.accept_word("OPEN") {
            let has_alias = self.accept_word("AS") || self.is_ident_at(0);
            let alias = if has_alias { Some(self.ident()?) } else { None };
            Handler::Open { table, alias }
        } else if table.database.is_some() {
            // READ and CLOSE refer to a handler by a single name.
            return Err(self.syntax_error());
        } else if self.accept_word("CLOSE") {
            Handler::Close(table.name)
        } else {
            self.expect_word("READ")?;
            Handler::Read { name: table.name, read: Box::new(self.handler_read()?) }
        };
        Ok(StatementKind::Handler(handler))
    }

    fn handler_read(&mut self) -> Parsed<HandlerRead> {
        let ends = |parser: &Self, ahead: usize| {
            ["WHERE", "LIMIT"].iter().any(|word| parser.is_word_at(ahead, word))
                || parser.is_end_at(ahead)
                || parser.is_symbol_at(ahead, Symbol::Semicolon)
        };
        let in_stored_order = (self.at_word("FIRST") || self.at_word("NEXT")) && ends(self, 1);
        let index = if in_stored_order { None } else { Some(self.index_name()?) };
        let start = if self.accept_word("FIRST") {
            HandlerStart::First
        } else if self.accept_word("NEXT") {
            HandlerStart::Next
        } else if self.accept_word("PREV") {
            HandlerStart::Previous
        } else if self.accept_word("LAST") {
            HandlerStart::Last
        } else {
            let comparison = self.key_comparison()?;
            HandlerStart::Key(comparison, self.parenthesised_list(Self::expression)?)
        };
        let condition = if self.accept_word("WHERE") { Some(self.expression()?) } else { None };
        let limit = if self.at_word("LIMIT") { Some(self.limit()?) } else { None };
        Ok(HandlerRead { index, start, condition, limit })
    }

    fn key_comparison(&mut self) -> Parsed<KeyComparison> {
        let comparisons = [
            (Symbol::Eq, KeyComparison::Equal),
            (Symbol::Lt, KeyComparison::Less),
            (Symbol::Le, KeyComparison::LessOrEqual),
            (Symbol::Gt, KeyComparison::Greater),
            (Symbol::Ge, KeyComparison::GreaterOrEqual),
        ];
        let found = comparisons.into_iter().find(|(symbol, _)| self.accept_symbol(*symbol));
        found.map(|(_, comparison)| comparison).ok_or_else(|| self.syntax_error())
    }
}
