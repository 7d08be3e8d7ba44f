//! FOREIGN KEY, as in CREATE TABLE and ALTER TABLE ADD.

use super::ast::{ForeignKeyDefinition, Ident};
use super::cursor::{Parsed, Parser};
use super::lexer::Symbol;
use leafline_types::words::ReferentialAction;

impl Parser<'_> {
    /// Returns whether a foreign key comes next.
    pub(super) fn at_foreign_key(&self) -> bool {
        let after_symbol = if self.is_word_at(1, "FOREIGN") { 1 } else { 2 };
        self.at_word("FOREIGN") || (self.at_word("CONSTRAINT") && self.is_word_at(after_symbol, "FOREIGN"))
    }

    pub(super) fn foreign_key(&mut self) -> Parsed<ForeignKeyDefinition> {
        let mut name = None;
        if self.accept_word("CONSTRAINT") && !self.at_word("FOREIGN") {
            name = Some(self.ident()?);
        }
        self.expect_words(&["FOREIGN", "KEY"])?;
        let index_name = if self.is_ident_at(0) { Some(self.ident()?) } else { None };
        let columns = self.column_names()?;
        self.expect_word("REFERENCES")?;
        let parent = self.table_name()?;
        let parent_columns = self.column_names()?;
        if self.at_word("MATCH") {
            return self.refuse("MATCH");
        }
        let (on_delete, on_update) = self.referential_actions()?;
        Ok(ForeignKeyDefinition { name, index_name, columns, parent, parent_columns, on_delete, on_update })
    }

    /// Parses REFERENCES at a column, which MySQL accepts and ignores.
    pub(super) fn ignored_references(&mut self) -> Parsed<()> {
        self.expect_word("REFERENCES")?;
        self.table_name()?;
        if self.at_symbol(Symbol::LeftParen) {
            self.column_names()?;
        }
        if self.accept_word("MATCH") {
            self.expect_any_word(&["FULL", "PARTIAL", "SIMPLE"])?;
        }
        self.referential_actions().map(drop)
    }

    /// `ON DELETE action` and `ON UPDATE action`, in any order.
    fn referential_actions(&mut self) -> Parsed<(ReferentialAction, ReferentialAction)> {
        let (mut on_delete, mut on_update) = (None, None);
        while self.accept_word("ON") {
            let slot = match self.accept_word("DELETE") {
                true => &mut on_delete,
                false => {
                    self.expect_word("UPDATE")?;
                    &mut on_update
                }
            };
            if slot.is_some() {
                return Err(self.syntax_error());
            }
            *slot = Some(self.referential_action()?);
        }
        Ok((on_delete.unwrap_or_default(), on_update.unwrap_or_default()))
    }

    fn column_names(&mut self) -> Parsed<Vec<Ident>> {
        self.parenthesised_list(Self::ident)
    }

    fn referential_action(&mut self) -> Parsed<ReferentialAction> {
        if self.accept_word("RESTRICT") {
            return Ok(ReferentialAction::Restrict);
        }
        if self.accept_word("CASCADE") {
            return Ok(ReferentialAction::Cascade);
        }
        if self.accept_word("NO") {
            self.expect_word("ACTION")?;
            return Ok(ReferentialAction::NoAction);
        }
        self.expect_word("SET")?;
        if self.at_word("DEFAULT") {
            return self.refuse("SET DEFAULT of a foreign key");
        }
        self.expect_word("NULL")?;
        Ok(ReferentialAction::SetNull)
    }
}
