//! JSON_TABLE in FROM.

use super::ast::{JsonTable, JsonTableColumn, JsonTableLevel, JsonTableSource, TableReference};
use super::cursor::{Parsed, Parser};
use super::lexer::{Symbol, TokenKind};

impl Parser<'_> {
    /// `JSON_TABLE(document, path COLUMNS (..)) [AS] alias`.
    pub(super) fn json_table(&mut self) -> Parsed<TableReference> {
        self.expect_word("JSON_TABLE")?;
        self.expect_symbol(Symbol::LeftParen)?;
        let document = self.expression()?;
        self.expect_symbol(Symbol::Comma)?;
        let level = self.nested(Self::json_table_level)?;
        self.expect_symbol(Symbol::RightParen)?;
        let alias = self.table_alias()?;
        Ok(TableReference::JsonTable(Box::new(JsonTable { document, level, alias })))
    }

    /// `path COLUMNS (column, ..)`.
    fn json_table_level(&mut self) -> Parsed<JsonTableLevel> {
        let path = self.string()?;
        self.expect_word("COLUMNS")?;
        let columns = self.parenthesised_list(Self::json_table_column)?;
        Ok(JsonTableLevel { path, columns })
    }

    /// `name FOR ORDINALITY`, `name type PATH path ..`, `name type EXISTS PATH path`, `NESTED [PATH] path COLUMNS (..)`.
    fn json_table_column(&mut self) -> Parsed<JsonTableColumn> {
        if self.at_word("NESTED") && (self.is_word_at(1, "PATH") || self.token(1).kind == TokenKind::String) {
            self.advance();
            self.accept_word("PATH");
            return Ok(JsonTableColumn::Nested(self.nested(Self::json_table_level)?));
        }
        let name = self.ident()?;
        if self.accept_word("FOR") {
            self.expect_word("ORDINALITY")?;
            return Ok(JsonTableColumn::Ordinality(name));
        }
        let data_type = Box::new(self.data_type()?);
        let exists = self.accept_word("EXISTS");
        self.expect_word("PATH")?;
        let path = self.string()?;
        let source = match exists {
            true => JsonTableSource::Exists,
            false => {
                let (on_empty, on_error) = self.json_responses()?;
                JsonTableSource::Part { on_empty: Box::new(on_empty), on_error: Box::new(on_error) }
            }
        };
        Ok(JsonTableColumn::Value { name, data_type, path, source })
    }
}
