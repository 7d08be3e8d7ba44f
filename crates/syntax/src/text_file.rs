//! LOAD DATA, and INTO after a query: variables, or a text file with its FIELDS and LINES.

use super::ast::{Into, Load, LoadField, LoadSource, StatementKind};
use super::cursor::{Parsed, Parser};
use super::lexer::Symbol;
use crate::TextFormat;
use leafline_types::MysqlError;

impl Parser<'_> {
    /// Parses LOAD DATA. Priorities of table locks mean nothing here, because readers see versions and do not block
    /// writers.
    pub(super) fn load_data(&mut self) -> Parsed<StatementKind> {
        self.expect_words(&["LOAD", "DATA"])?;
        self.accept_any_word(&["LOW_PRIORITY", "CONCURRENT"]);
        let local = self.accept_word("LOCAL");
        self.expect_word("INFILE")?;
        let path = self.string()?;
        let replace = self.accept_word("REPLACE");
        let ignore = !replace && self.accept_word("IGNORE");
        self.expect_words(&["INTO", "TABLE"])?;
        let table = self.table_name()?;
        let partitions = self.partition_selection()?;
        let charset = match self.accept_charset() {
            true => Some(self.charset_or_collation_name()?),
            false => None,
        };
        let format = self.text_format()?;
        let mut skip = 0;
        if self.accept_word("IGNORE") {
            skip = self.integer()?;
            self.expect_any_word(&["LINES", "ROWS"])?;
        }
        let mut fields = None;
        if self.accept_symbol(Symbol::LeftParen) && !self.accept_symbol(Symbol::RightParen) {
            fields = Some(self.comma_list(Self::load_field)?);
            self.expect_symbol(Symbol::RightParen)?;
        }
        let mut assignments = Vec::new();
        if self.accept_word("SET") {
            assignments = self.comma_list(Self::assignment)?;
        }
        let load = Load {
            local,
            path,
            source: LoadSource::Lines,
            replace,
            ignore,
            table,
            partitions,
            charset,
            format,
            skip,
            fields,
            assignments,
        };
        Ok(StatementKind::Load(Box::new(load)))
    }

    fn load_field(&mut self) -> Parsed<LoadField> {
        match self.is_ident_at(0) {
            true => Ok(LoadField::Column(self.column_name()?.column)),
            false => self.user_variable().map(LoadField::Variable),
        }
    }

    /// Parses INTO, or nothing. INTO is allowed once, and only in the statement's own query.
    pub(super) fn behind_into(&mut self) -> Parsed<()> {
        if !self.at_word("INTO") {
            return Ok(());
        }
        if self.into.is_some() || self.depth != self.statement_depth + 1 {
            return Err(self.syntax_error());
        }
        self.advance();
        let into = if self.accept_word("OUTFILE") {
            let path = self.string()?;
            let charset = match self.accept_charset() {
                true => Some(self.charset_or_collation_name()?.value),
                false => None,
            };
            Into::Lines { path, charset, format: self.text_format()? }
        } else if self.accept_word("DUMPFILE") {
            Into::Bytes(self.string()?)
        } else {
            Into::Variables(self.comma_list(Self::variable_target)?)
        };
        self.into = Some(into);
        Ok(())
    }

    /// Parses FIELDS and LINES. Returns error 1083 if several characters are written where one is required.
    fn text_format(&mut self) -> Parsed<TextFormat> {
        let mut format = TextFormat::default();
        if self.mode.no_backslash_escapes {
            format.escape = None;
        }
        let mut options = 0;
        if self.accept_any_word(&["FIELDS", "COLUMNS"]) {
            loop {
                if self.accept_words(&["TERMINATED", "BY"]) {
                    format.field_end = self.text_string()?.into_bytes();
                } else if self.at_words(&["OPTIONALLY", "ENCLOSED"]) || self.at_word("ENCLOSED") {
                    format.quotes_only_text = self.accept_word("OPTIONALLY");
                    self.expect_words(&["ENCLOSED", "BY"])?;
                    format.quote = one_byte(&self.text_string()?.into_bytes())?;
                } else if self.accept_words(&["ESCAPED", "BY"]) {
                    format.escape = one_byte(&self.text_string()?.into_bytes())?;
                } else {
                    break;
                }
                options += 1;
            }
            if options == 0 {
                return Err(self.syntax_error());
            }
        }
        options = 0;
        if self.accept_word("LINES") {
            loop {
                if self.accept_words(&["TERMINATED", "BY"]) {
                    format.line_end = self.text_string()?.into_bytes();
                } else if self.accept_words(&["STARTING", "BY"]) {
                    format.line_start = self.text_string()?.into_bytes();
                } else {
                    break;
                }
                options += 1;
            }
            if options == 0 {
                return Err(self.syntax_error());
            }
        }
        if format.field_end.is_empty() && format.quote.is_none() {
            return self.refuse("A text file of rows of fixed size (neither TERMINATED BY nor ENCLOSED BY)");
        }
        Ok(format)
    }
}

fn one_byte(text: &[u8]) -> Parsed<Option<u8>> {
    match text {
        [] => Ok(None),
        [byte] => Ok(Some(*byte)),
        _ => Err(MysqlError::wrong_field_terminators()),
    }
}
