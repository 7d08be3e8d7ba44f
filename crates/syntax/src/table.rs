//! CREATE TABLE: columns, keys, options.

use super::ast::{
    ColumnDefinition, CreateTable, CreateTableLike, DefaultValue, Expr, ExprKind, Ident, KeyDefinition,
    KeyKind, KeyOptions, KeyPartDefinition, KeyPartValue, Literal, PackKeys, StatementKind, TableName,
    TableOptions, TableSource, UnaryOp,
};
use super::cursor::{Parsed, Parser};
use super::lexer::{Symbol, TokenKind};
use leafline_types::MysqlError;

/// Table options that matter only to other storage engines.
const OPTIONS_WITHOUT_EFFECT: &[&str] = &[
    "AUTOEXTEND_SIZE",
    "AVG_ROW_LENGTH",
    "CHECKSUM",
    "DELAY_KEY_WRITE",
    "INSERT_METHOD",
    "KEY_BLOCK_SIZE",
    "MAX_ROWS",
    "MIN_ROWS",
    "STATS_AUTO_RECALC",
    "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES",
];

/// Table options that would change where or how rows are stored, and are refused.
const REFUSED_OPTIONS: &[&str] =
    &["COMPRESSION", "CONNECTION", "DATA", "PASSWORD", "SECONDARY_ENGINE", "TABLESPACE", "UNION"];

impl Parser<'_> {
    /// Parses CREATE TABLE from IF NOT EXISTS or the table's name on.
    pub(super) fn create_table(&mut self, temporary: bool) -> Parsed<StatementKind> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.table_name()?;
        self.define(&name);
        if let Some(like) = self.table_like()? {
            let like = CreateTableLike { name, temporary, if_not_exists, like };
            return Ok(StatementKind::CreateTableLike(like));
        }
        let mut columns = Vec::new();
        let (mut keys, mut checks, mut foreign_keys) = (Vec::new(), Vec::new(), Vec::new());
        let element = |p: &mut Self| {
            if p.at_check() {
                checks.push(p.check()?);
            } else if p.at_foreign_key() {
                foreign_keys.push(p.foreign_key()?);
            } else if p.at_table_key() {
                keys.push(p.table_key()?);
            } else {
                columns.push(p.column_definition()?);
            }
            Ok(())
        };
        if self.at_symbol(Symbol::LeftParen) && !self.at_nested_query() {
            self.parenthesised_list(element)?;
        }
        let options = self.table_options()?;
        let partition_by = self.partition_by()?;
        let source = self.table_source()?;
        if source.is_none() && columns.is_empty() {
            let nothing = keys.is_empty() && checks.is_empty() && foreign_keys.is_empty();
            return Err(if nothing { self.syntax_error() } else { MysqlError::table_without_columns() });
        }
        Ok(StatementKind::CreateTable(Box::new(CreateTable {
            name,
            temporary,
            if_not_exists,
            columns,
            keys,
            checks,
            foreign_keys,
            options,
            partition_by,
            source,
        })))
    }

    /// `LIKE table` or `(LIKE table)`.
    fn table_like(&mut self) -> Parsed<Option<TableName>> {
        if self.accept_word("LIKE") {
            return self.table_name().map(Some);
        }
        if !self.at_symbol(Symbol::LeftParen) || !self.is_word_at(1, "LIKE") {
            return Ok(None);
        }
        self.advance();
        self.advance();
        let like = self.table_name()?;
        self.expect_symbol(Symbol::RightParen)?;
        Ok(Some(like))
    }

    /// Returns whether a query in parentheses comes next.
    fn at_nested_query(&self) -> bool {
        let mut ahead = 0;
        while self.is_symbol_at(ahead, Symbol::LeftParen) {
            ahead += 1;
        }
        ahead > 0 && self.starts_query(ahead)
    }

    /// `[IGNORE | REPLACE] [AS] query`, or nothing.
    fn table_source(&mut self) -> Parsed<Option<TableSource>> {
        let ignore = self.accept_word("IGNORE");
        let replace = !ignore && self.accept_word("REPLACE");
        let announced = self.accept_word("AS") || ignore || replace;
        if !self.starts_query(0) && !self.at_nested_query() {
            return if announced { Err(self.syntax_error()) } else { Ok(None) };
        }
        Ok(Some(TableSource { query: Box::new(self.query()?), ignore, replace }))
    }

    /// Returns whether a key, not a column, comes next.
    pub(super) fn at_table_key(&self) -> bool {
        self.at_any_word(&[
            "CONSTRAINT",
            "PRIMARY",
            "UNIQUE",
            "INDEX",
            "KEY",
            "FULLTEXT",
            "SPATIAL",
            "FOREIGN",
            "CHECK",
        ])
    }

    /// Parses a key that is not part of a column, as in CREATE TABLE and ALTER TABLE ADD.
    pub(super) fn table_key(&mut self) -> Parsed<KeyDefinition> {
        let mut symbol = None;
        if self.accept_word("CONSTRAINT") && !self.at_any_word(&["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"]) {
            symbol = Some(self.ident()?);
        }
        let kind = if self.accept_word("PRIMARY") {
            self.expect_word("KEY")?;
            KeyKind::Primary
        } else if self.accept_word("UNIQUE") {
            self.accept_any_word(&["INDEX", "KEY"]);
            KeyKind::Unique
        } else if self.at_word("CHECK") {
            return self.refuse("CHECK constraints");
        } else if symbol.is_none() && self.accept_word("FULLTEXT") {
            self.accept_any_word(&["INDEX", "KEY"]);
            KeyKind::Fulltext
        } else if self.at_word("SPATIAL") {
            return self.refuse("SPATIAL INDEX");
        } else if symbol.is_none() && self.accept_any_word(&["INDEX", "KEY"]) {
            KeyKind::Index
        } else {
            return Err(self.syntax_error());
        };
        let mut name = None;
        if self.is_ident_at(0) && !self.at_word("USING") && !self.at_word("TYPE") {
            name = Some(self.ident()?);
        }
        let hash = kind != KeyKind::Fulltext && self.index_type()?;
        let parts = self.key_parts()?;
        let options = self.index_options(hash, kind == KeyKind::Fulltext)?;
        let name = if kind == KeyKind::Primary { None } else { name.or(symbol) };
        Ok(KeyDefinition { kind, name, parts, options })
    }

    /// Parses `USING BTREE`, `USING HASH`, or nothing. Returns whether it was HASH.
    pub(super) fn index_type(&mut self) -> Parsed<bool> {
        if !self.accept_any_word(&["USING", "TYPE"]) {
            return Ok(false);
        }
        if self.at_word("RTREE") {
            return self.refuse("USING RTREE");
        }
        let hash = self.at_word("HASH");
        self.expect_any_word(&["BTREE", "HASH"])?;
        Ok(hash)
    }

    pub(super) fn key_parts(&mut self) -> Parsed<Vec<KeyPartDefinition>> {
        self.parenthesised_list(|p| {
            let value = match p.at_symbol(Symbol::LeftParen) {
                true => KeyPartValue::Expression(p.stored_expression()?),
                false => p.key_column()?,
            };
            let descending = p.accept_word("DESC");
            if !descending {
                p.accept_word("ASC");
            }
            Ok(KeyPartDefinition { value, descending })
        })
    }

    /// `column` or `column(10)`.
    fn key_column(&mut self) -> Parsed<KeyPartValue> {
        let name = self.ident()?;
        let mut prefix = None;
        if self.accept_symbol(Symbol::LeftParen) {
            prefix = Some(u32::try_from(self.integer()?).unwrap_or(u32::MAX));
            self.expect_symbol(Symbol::RightParen)?;
        }
        Ok(KeyPartValue::Column { name, prefix })
    }

    /// Parses the options after a key's parts. `hash` says whether USING HASH came before them. A key of words has a parser, but
    /// no index type and no packing.
    pub(super) fn index_options(&mut self, hash: bool, of_words: bool) -> Parsed<KeyOptions> {
        let mut options = KeyOptions { hash, ..KeyOptions::default() };
        loop {
            if self.accept_word("COMMENT") {
                options.comment = Some(self.string()?);
            } else if of_words && self.at_words(&["WITH", "PARSER"]) {
                self.advance();
                self.advance();
                options.parser = Some(self.ident()?);
            } else if of_words && self.at_any_word(&["USING", "TYPE", "PACKED", "NOT"]) {
                return Err(self.syntax_error());
            } else if self.at_any_word(&["USING", "TYPE"]) {
                options.hash = self.index_type()?;
            } else if self.at_any_word(&["VISIBLE", "INVISIBLE"]) {
                options.invisible = self.at_word("INVISIBLE");
                self.advance();
            } else if self.at_any_word(&["PACKED", "NOT"]) {
                let start = self.span();
                let packed = self.packing()?;
                if options.packed.is_some() {
                    return Err(self.syntax_error_at(start));
                }
                options.packed = packed;
            } else if self.accept_word("KEY_BLOCK_SIZE") {
                self.accept_symbol(Symbol::Eq);
                options.block_size = self.integer()? > 0;
            } else if self.at_any_word(&["WITH", "ENGINE_ATTRIBUTE", "SECONDARY_ENGINE_ATTRIBUTE"]) {
                let word = self.any_word()?;
                return self.refuse(&format!("index option {}", word.value.to_ascii_uppercase()));
            } else {
                return Ok(options);
            }
        }
    }

    /// Parses PACKED, NOT PACKED, or nothing.
    pub(super) fn packing(&mut self) -> Parsed<Option<bool>> {
        let packed = !self.accept_word("NOT");
        if !packed {
            self.expect_word("PACKED")?;
        } else if !self.accept_word("PACKED") {
            return Ok(None);
        }
        Ok(Some(packed))
    }

    pub(super) fn column_definition(&mut self) -> Parsed<ColumnDefinition> {
        let name = self.ident()?;
        // SERIAL means a type and three attributes.
        let serial = self.at_word("SERIAL");
        let data_type = self.data_type()?;
        let mut column = ColumnDefinition {
            name,
            data_type,
            nullable: serial.then_some(false),
            default: None,
            on_update: None,
            auto_increment: serial,
            generated: None,
            invisible: false,
            checks: Vec::new(),
            key: serial.then_some(KeyKind::Unique),
            comment: None,
        };
        while self.column_attribute(&mut column)? {}
        Ok(column)
    }

    /// Takes one attribute; returns false if none comes next.
    fn column_attribute(&mut self, column: &mut ColumnDefinition) -> Parsed<bool> {
        if self.accept_word("NOT") {
            self.expect_word("NULL")?;
            column.nullable = Some(false);
        } else if self.accept_word("NULL") {
            column.nullable = Some(true);
        } else if self.accept_word("DEFAULT") {
            column.default = Some(self.column_default()?);
        } else if self.accept_word("AUTO_INCREMENT") {
            column.auto_increment = true;
        } else if self.accept_word("UNIQUE") {
            self.accept_word("KEY");
            column.key = column.key.or(Some(KeyKind::Unique));
        } else if self.accept_word("PRIMARY") {
            self.expect_word("KEY")?;
            column.key = Some(KeyKind::Primary);
        } else if self.accept_word("KEY") {
            column.key = Some(KeyKind::Primary);
        } else if self.accept_word("COMMENT") {
            column.comment = Some(self.string()?);
        } else if self.accept_word("COLLATE") {
            column.data_type.collation = Some(self.charset_or_collation_name()?);
        } else if self.at_word("ON") {
            let start = self.span();
            self.advance();
            self.expect_word("UPDATE")?;
            self.current_timestamp()?;
            column.on_update = Some(self.span_from(start));
        } else if self.at_check() {
            column.checks.push(self.check()?);
        } else if self.at_word("REFERENCES") {
            self.ignored_references()?;
        } else if self.at_any_word(&["GENERATED", "AS"]) {
            column.generated = Some(self.generated_column()?);
        } else if self.at_any_word(&["VISIBLE", "INVISIBLE"]) {
            column.invisible = self.at_word("INVISIBLE");
            self.advance();
        } else if self.at_words(&["SERIAL", "DEFAULT", "VALUE"]) {
            for _ in 0..3 {
                self.advance();
            }
            (column.nullable, column.auto_increment) = (Some(false), true);
            column.key = column.key.or(Some(KeyKind::Unique));
        } else if self.at_any_word(&["COLUMN_FORMAT", "STORAGE", "SRID", "ENGINE_ATTRIBUTE"]) {
            let word = self.any_word()?;
            return self.refuse(&format!("column attribute {}", word.value.to_ascii_uppercase()));
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    pub(super) fn column_default(&mut self) -> Parsed<DefaultValue> {
        if self.at_symbol(Symbol::LeftParen) {
            return Ok(DefaultValue::Expression(self.stored_expression()?));
        }
        if self.at_any_word(&["CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"]) {
            let start = self.span();
            let fsp = self.current_timestamp()?;
            return Ok(DefaultValue::CurrentTimestamp { fsp, span: self.span_from(start) });
        }
        let start = self.span();
        let is_negative = self.token(0).kind == TokenKind::Symbol(Symbol::Minus);
        let is_signed = is_negative || self.token(0).kind == TokenKind::Symbol(Symbol::Plus);
        if is_signed {
            self.advance();
        }
        let literal = self.operand()?;
        let signable = matches!(
            literal.kind,
            ExprKind::Literal(Literal::Integer(_) | Literal::Decimal(_) | Literal::Float(_))
        );
        if !matches!(literal.kind, ExprKind::Literal(_)) || (is_signed && !signable) {
            return Err(self.syntax_error_at(start));
        }
        let span = self.span_from(start);
        let kind = match is_negative {
            true => ExprKind::Unary { op: UnaryOp::Minus, operand: Box::new(literal) },
            false => literal.kind,
        };
        Ok(DefaultValue::Literal(Expr { kind, span }))
    }

    /// Parses `CURRENT_TIMESTAMP`, `NOW()` or a relative. Returns the number of fractional digits.
    fn current_timestamp(&mut self) -> Parsed<u8> {
        let parentheses_required = self.at_word("NOW");
        self.expect_any_word(&["CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"])?;
        if !parentheses_required && !self.at_symbol(Symbol::LeftParen) {
            return Ok(0);
        }
        self.expect_symbol(Symbol::LeftParen)?;
        let mut fsp = 0;
        if !self.at_symbol(Symbol::RightParen) {
            let span = self.span();
            fsp = u8::try_from(self.integer()?)
                .ok()
                .filter(|&n| n <= 6)
                .ok_or_else(|| self.syntax_error_at(span))?;
        }
        self.expect_symbol(Symbol::RightParen)?;
        Ok(fsp)
    }

    pub(super) fn table_options(&mut self) -> Parsed<TableOptions> {
        let mut options = TableOptions::default();
        while self.table_option(&mut options)? {
            self.accept_symbol(Symbol::Comma);
        }
        Ok(options)
    }

    /// Takes one option; returns false if none comes next.
    pub(super) fn table_option(&mut self, options: &mut TableOptions) -> Parsed<bool> {
        if self.at_word("DEFAULT") {
            self.advance();
            if !self.at_charset() && !self.at_word("COLLATE") {
                return Err(self.syntax_error());
            }
        }
        if self.accept_charset() {
            self.accept_symbol(Symbol::Eq);
            self.further_charset(&mut options.charset)?;
        } else if self.accept_word("COLLATE") {
            self.accept_symbol(Symbol::Eq);
            options.collation = Some(self.charset_or_collation_name()?);
        } else if self.accept_word("ENGINE") {
            self.accept_symbol(Symbol::Eq);
            options.engine = Some(self.ident_or_string()?);
        } else if self.accept_word("COMMENT") {
            self.accept_symbol(Symbol::Eq);
            options.comment = Some(self.string()?);
        } else if self.accept_word("AUTO_INCREMENT") {
            self.accept_symbol(Symbol::Eq);
            options.auto_increment = Some(self.integer()?);
        } else if self.accept_word("PACK_KEYS") {
            self.accept_symbol(Symbol::Eq);
            options.pack_keys = Some(self.pack_keys()?);
        } else if self.accept_word("ROW_FORMAT") {
            self.accept_symbol(Symbol::Eq);
            options.row_format = Some(self.any_word()?);
        } else if self.at_any_word(OPTIONS_WITHOUT_EFFECT) {
            options.without_effect.push(self.option_without_effect()?);
        } else if self.accept_word("ENCRYPTION") {
            self.no_encryption()?;
        } else if self.accept_directory()? {
        } else if self.at_any_word(REFUSED_OPTIONS) {
            let word = self.any_word()?;
            return self.refuse(&format!("table option {}", word.value.to_ascii_uppercase()));
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Takes DATA DIRECTORY or INDEX DIRECTORY under NO_DIR_IN_CREATE, which ignores them. Without it they are
    /// refused, because a table's file is always in its database's directory.
    pub(super) fn accept_directory(&mut self) -> Parsed<bool> {
        if !self.at_any_word(&["DATA", "INDEX"]) || !self.is_word_at(1, "DIRECTORY") {
            return Ok(false);
        }
        let word = self.any_word()?;
        self.advance();
        self.accept_symbol(Symbol::Eq);
        self.string()?;
        match self.mode.no_directories {
            true => Ok(true),
            false => self.refuse(&format!("{} DIRECTORY", word.value.to_ascii_uppercase())),
        }
    }

    /// Parses the value of PACK_KEYS.
    fn pack_keys(&mut self) -> Parsed<PackKeys> {
        if self.accept_word("DEFAULT") {
            return Ok(PackKeys::Default);
        }
        let start = self.span();
        match self.integer()? {
            0 => Ok(PackKeys::Off),
            1 => Ok(PackKeys::On),
            _ => Err(self.syntax_error_at(start)),
        }
    }

    /// Parses the value of ENCRYPTION, which must be 'N', because there is no encryption.
    pub(super) fn no_encryption(&mut self) -> Parsed<()> {
        self.accept_symbol(Symbol::Eq);
        match self.string()?.as_str() {
            "N" | "n" => Ok(()),
            _ => self.refuse("ENCRYPTION"),
        }
    }

    fn option_without_effect(&mut self) -> Parsed<Ident> {
        let name = self.any_word()?;
        self.accept_symbol(Symbol::Eq);
        if self.token(0).kind == TokenKind::Integer {
            self.advance();
        } else {
            self.any_word()?;
        }
        Ok(Ident { value: name.value.to_ascii_uppercase(), span: name.span })
    }
}
