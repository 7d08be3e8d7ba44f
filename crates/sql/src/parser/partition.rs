//! PARTITION BY of CREATE TABLE.

use super::ast::{
    PartitionBound, PartitionBy, PartitionDefinition, PartitionItem, PartitionKey, PartitionMethod,
    PartitionValues,
};
use super::cursor::{Parsed, Parser};
use super::lexer::Symbol;

impl Parser<'_> {
    /// `PARTITION BY ..`, or nothing.
    pub(super) fn partition_by(&mut self) -> Parsed<Option<PartitionBy>> {
        if !self.accept_word("PARTITION") {
            return Ok(None);
        }
        self.expect_word("BY")?;
        let method = self.partition_method()?;
        let count = if self.accept_word("PARTITIONS") { Some(self.integer()?) } else { None };
        if self.at_words(&["SUBPARTITION", "BY"]) {
            return self.refuse("SUBPARTITION BY");
        }
        let mut partitions = Vec::new();
        if self.at_symbol(Symbol::LeftParen) && self.is_word_at(1, "PARTITION") {
            partitions = self.parenthesised_list(Self::partition_definition)?;
        }
        Ok(Some(PartitionBy { method, count, partitions }))
    }

    fn partition_method(&mut self) -> Parsed<PartitionMethod> {
        let linear = self.accept_word("LINEAR");
        if self.accept_word("HASH") {
            return Ok(PartitionMethod::Hash { expression: self.stored_expression()? });
        }
        if self.accept_word("KEY") {
            if self.accept_word("ALGORITHM") {
                self.expect_symbol(Symbol::Eq)?;
                if !(1..=2).contains(&self.integer()?) {
                    return Err(self.syntax_error());
                }
            }
            let none = self.at_symbol(Symbol::LeftParen) && self.is_symbol_at(1, Symbol::RightParen);
            if none {
                self.advance();
                self.advance();
                return Ok(PartitionMethod::Key { columns: Vec::new() });
            }
            return Ok(PartitionMethod::Key { columns: self.parenthesised_list(Self::ident)? });
        }
        if linear {
            return Err(self.syntax_error());
        }
        if self.accept_word("RANGE") {
            return self.partition_key().map(PartitionMethod::Range);
        }
        self.expect_word("LIST")?;
        self.partition_key().map(PartitionMethod::List)
    }

    /// `(expression)` or `COLUMNS (column, ..)`.
    fn partition_key(&mut self) -> Parsed<PartitionKey> {
        if self.accept_word("COLUMNS") {
            return self.parenthesised_list(Self::ident).map(PartitionKey::Columns);
        }
        self.stored_expression().map(PartitionKey::Expression)
    }

    /// `PARTITION name [VALUES ..] [option ..]`.
    fn partition_definition(&mut self) -> Parsed<PartitionDefinition> {
        self.expect_word("PARTITION")?;
        let name = self.ident()?;
        let mut values = PartitionValues::None;
        if self.accept_word("VALUES") {
            values = self.partition_values()?;
        }
        self.partition_options()?;
        if self.at_symbol(Symbol::LeftParen) {
            return self.refuse("SUBPARTITION");
        }
        Ok(PartitionDefinition { name, values })
    }

    fn partition_values(&mut self) -> Parsed<PartitionValues> {
        if self.accept_words(&["LESS", "THAN"]) {
            if self.accept_word("MAXVALUE") {
                return Ok(PartitionValues::LessThan(vec![PartitionBound::MaxValue]));
            }
            return self.parenthesised_list(Self::partition_bound).map(PartitionValues::LessThan);
        }
        self.expect_word("IN")?;
        let items = self.parenthesised_list(|p| match p.at_symbol(Symbol::LeftParen) {
            true => p.parenthesised_list(Self::partition_bound).map(PartitionItem::Row),
            false => p.partition_bound().map(PartitionItem::Value),
        })?;
        Ok(PartitionValues::In(items))
    }

    fn partition_bound(&mut self) -> Parsed<PartitionBound> {
        if self.accept_word("MAXVALUE") {
            return Ok(PartitionBound::MaxValue);
        }
        self.stored_text().map(PartitionBound::Value)
    }

    /// The options of a partition. Only those that change nothing are taken.
    fn partition_options(&mut self) -> Parsed<()> {
        loop {
            let storage = self.accept_word("STORAGE");
            if self.accept_word("ENGINE") {
                self.accept_symbol(Symbol::Eq);
                self.ident_or_string()?;
            } else if storage {
                return Err(self.syntax_error());
            } else if self.accept_word("COMMENT") {
                self.accept_symbol(Symbol::Eq);
                self.string()?;
            } else if self.accept_any_word(&["MAX_ROWS", "MIN_ROWS"]) {
                self.accept_symbol(Symbol::Eq);
                self.integer()?;
            } else if self.at_any_word(&["DATA", "INDEX", "TABLESPACE", "NODEGROUP"]) {
                return self.refuse("where a partition is stored");
            } else {
                return Ok(());
            }
        }
    }
}
