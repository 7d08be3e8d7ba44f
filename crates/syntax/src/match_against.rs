//! MATCH .. AGAINST.

use super::ast::{Expr, ExprKind, MatchAgainst, SearchMode};
use super::cursor::{Parsed, Parser};
use super::expression::BIT_OR;
use super::lexer::Symbol;

impl Parser<'_> {
    /// Parses `MATCH (columns) AGAINST (query mode)`; the parentheses around the columns may be missing.
    pub(super) fn match_against(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.advance();
        let columns = match self.at_symbol(Symbol::LeftParen) {
            true => self.parenthesised_list(Self::column_name)?,
            false => self.comma_list(Self::column_name)?,
        };
        self.expect_word("AGAINST")?;
        self.expect_symbol(Symbol::LeftParen)?;
        let query = self.expression_from(BIT_OR)?;
        let mode = self.search_mode()?;
        self.expect_symbol(Symbol::RightParen)?;
        self.built(start, ExprKind::Match(Box::new(MatchAgainst { columns, query, mode })))
    }

    /// `IN BOOLEAN MODE`, or `IN NATURAL LANGUAGE MODE` and `WITH QUERY EXPANSION`, each of which may be missing.
    fn search_mode(&mut self) -> Parsed<SearchMode> {
        if self.accept_word("IN") {
            if self.accept_word("BOOLEAN") {
                self.expect_word("MODE")?;
                return Ok(SearchMode::Boolean);
            }
            self.expect_word("NATURAL")?;
            self.expect_word("LANGUAGE")?;
            self.expect_word("MODE")?;
        }
        if !self.accept_word("WITH") {
            return Ok(SearchMode::Natural);
        }
        self.expect_word("QUERY")?;
        self.expect_word("EXPANSION")?;
        Ok(SearchMode::Expanded)
    }
}
