//! ALTER TABLE, CREATE INDEX, DROP INDEX, RENAME TABLE.

use super::ast::{
    AlterAction, AlterAlgorithm, AlterLock, AlterTable, ColumnPosition, DefaultValue, Ident, KeyDefinition,
    KeyKind, RenameTable, Span, StatementKind, TableName, TableOptions,
};
use super::cursor::{Parsed, Parser};
use super::lexer::Symbol;

/// The first words of actions on partitions, on tablespaces or for other storage engines, which are refused.
const OTHER_ACTIONS: &[&str] = &[
    "ANALYZE",
    "CHECK",
    "DISCARD",
    "IMPORT",
    "OPTIMIZE",
    "REPAIR",
    "SECONDARY_LOAD",
    "SECONDARY_UNLOAD",
    "WITH",
    "WITHOUT",
];

impl Parser<'_> {
    /// Parses CREATE INDEX from UNIQUE or INDEX on.
    pub(super) fn create_index(&mut self) -> Parsed<StatementKind> {
        let kind = match () {
            () if self.accept_word("UNIQUE") => KeyKind::Unique,
            () if self.accept_word("FULLTEXT") => KeyKind::Fulltext,
            () => KeyKind::Index,
        };
        let of_words = kind == KeyKind::Fulltext;
        self.expect_word("INDEX")?;
        let name = Some(self.ident()?);
        let hash = !of_words && self.index_type()?;
        self.expect_word("ON")?;
        let table = self.table_name()?;
        self.define(&table);
        let parts = self.key_parts()?;
        let options = self.index_options(hash, of_words)?;
        let key = KeyDefinition { kind, name, parts, options };
        if self.accept_word("HYPOTHETICAL") {
            return Ok(StatementKind::CreateHypotheticalIndex(table, Box::new(key)));
        }
        let alter = self.index_statement(table, AlterAction::AddKey(key))?;
        Ok(StatementKind::CreateIndex(Box::new(alter)))
    }

    /// Parses DROP INDEX from the index's name on.
    pub(super) fn drop_index(&mut self) -> Parsed<StatementKind> {
        let name = self.index_name()?;
        self.expect_word("ON")?;
        let table = self.table_name()?;
        let alter = self.index_statement(table, AlterAction::DropKey(name))?;
        Ok(StatementKind::DropIndex(Box::new(alter)))
    }

    fn index_statement(&mut self, table: TableName, action: AlterAction) -> Parsed<AlterTable> {
        let mut alter = AlterTable {
            table,
            actions: vec![action],
            algorithm: AlterAlgorithm::Default,
            lock: AlterLock::Default,
        };
        while self.algorithm_or_lock(&mut alter)? {}
        Ok(alter)
    }

    /// Takes `ALGORITHM = ..` or `LOCK = ..`; returns false if neither comes next.
    fn algorithm_or_lock(&mut self, alter: &mut AlterTable) -> Parsed<bool> {
        if self.accept_word("ALGORITHM") {
            self.accept_symbol(Symbol::Eq);
            let value = self.any_word()?;
            alter.algorithm = match value.value.to_ascii_uppercase().as_str() {
                "DEFAULT" => AlterAlgorithm::Default,
                "INSTANT" => AlterAlgorithm::Instant,
                "INPLACE" => AlterAlgorithm::Inplace,
                "COPY" => AlterAlgorithm::Copy,
                _ => return Err(leafline_types::MysqlError::unknown_alter_algorithm(value.value)),
            };
            return Ok(true);
        }
        if self.accept_word("LOCK") {
            self.accept_symbol(Symbol::Eq);
            let value = self.any_word()?;
            alter.lock = match value.value.to_ascii_uppercase().as_str() {
                "DEFAULT" => AlterLock::Default,
                "NONE" => AlterLock::None,
                "SHARED" => AlterLock::Shared,
                "EXCLUSIVE" => AlterLock::Exclusive,
                _ => return Err(leafline_types::MysqlError::unknown_alter_lock(value.value)),
            };
            return Ok(true);
        }
        Ok(false)
    }

    /// Parses ALTER TABLE from the table's name on.
    pub(super) fn alter_table(&mut self) -> Parsed<StatementKind> {
        let mut alter = AlterTable {
            table: self.table_name()?,
            actions: Vec::new(),
            algorithm: AlterAlgorithm::Default,
            lock: AlterLock::Default,
        };
        self.define(&alter.table);
        if self.at_end() || self.at_symbol(Symbol::Semicolon) {
            return Ok(StatementKind::AlterTable(Box::new(alter)));
        }
        if let Some(maintenance) = self.partition_maintenance(&alter.table)? {
            return Ok(maintenance);
        }
        loop {
            if !self.algorithm_or_lock(&mut alter)? {
                self.alter_action(&mut alter.actions)?;
            }
            // PARTITION BY and REMOVE PARTITIONING follow the other actions without a comma.
            let divides = self.at_words(&["PARTITION", "BY"]) || self.at_words(&["REMOVE", "PARTITIONING"]);
            if !self.accept_symbol(Symbol::Comma) && !divides {
                return Ok(StatementKind::AlterTable(Box::new(alter)));
            }
        }
    }

    fn alter_action(&mut self, actions: &mut Vec<AlterAction>) -> Parsed<()> {
        if let Some(action) = self.partition_action()? {
            actions.push(AlterAction::Partitions(Box::new(action)));
            return Ok(());
        }
        if self.accept_word("ADD") {
            return self.add_action(actions);
        }
        let action = if self.accept_word("DROP") {
            self.drop_action()?
        } else if self.accept_word("MODIFY") {
            self.accept_word("COLUMN");
            let column = Box::new(self.column_definition()?);
            let position = self.column_position()?;
            AlterAction::ChangeColumn { name: column.name.clone(), column, position }
        } else if self.accept_word("CHANGE") {
            self.accept_word("COLUMN");
            let name = self.ident()?;
            let column = Box::new(self.column_definition()?);
            AlterAction::ChangeColumn { name, column, position: self.column_position()? }
        } else if self.accept_word("ALTER") {
            self.alter_part()?
        } else if self.accept_word("RENAME") {
            self.rename_action()?
        } else if self.accept_words(&["CONVERT", "TO"]) {
            if !self.accept_charset() {
                return Err(self.syntax_error());
            }
            let charset = match self.accept_word("DEFAULT") {
                true => None,
                false => Some(self.charset_or_collation_name()?),
            };
            let collation = match self.accept_word("COLLATE") {
                true => Some(self.charset_or_collation_name()?),
                false => None,
            };
            AlterAction::Convert { charset, collation }
        } else if self.accept_words(&["ORDER", "BY"]) {
            AlterAction::OrderBy(self.comma_list(|p| {
                let column = p.column_name()?.column;
                let descending = p.accept_word("DESC");
                if !descending {
                    p.accept_word("ASC");
                }
                Ok((column, descending))
            })?)
        } else if self.accept_word("FORCE") {
            AlterAction::Force
        } else if self.accept_words(&["ENABLE", "KEYS"]) {
            AlterAction::EnableKeys(true)
        } else if self.accept_words(&["DISABLE", "KEYS"]) {
            AlterAction::EnableKeys(false)
        } else if self.at_any_word(OTHER_ACTIONS) {
            let word = self.any_word()?.value.to_ascii_uppercase();
            return self.refuse(&format!("ALTER TABLE ... {word}"));
        } else {
            let start = self.span();
            let mut options = TableOptions::default();
            // Options need no commas between them; a comma ends them, and any action may follow it.
            while self.table_option(&mut options)? {}
            if self.span() == start {
                return Err(self.syntax_error());
            }
            AlterAction::Options(options)
        };
        actions.push(action);
        Ok(())
    }

    fn add_action(&mut self, actions: &mut Vec<AlterAction>) -> Parsed<()> {
        if self.at_check() {
            actions.push(AlterAction::AddCheck(self.check()?));
            return Ok(());
        }
        if self.at_foreign_key() {
            actions.push(AlterAction::AddForeignKey(Box::new(self.foreign_key()?)));
            return Ok(());
        }
        if self.at_table_key() {
            actions.push(AlterAction::AddKey(self.table_key()?));
            return Ok(());
        }
        self.accept_word("COLUMN");
        if !self.at_symbol(Symbol::LeftParen) {
            let column = Box::new(self.column_definition()?);
            actions.push(AlterAction::AddColumn(column, self.column_position()?));
            return Ok(());
        }
        let added = self.parenthesised_list(|p| {
            Ok(if p.at_foreign_key() {
                AlterAction::AddForeignKey(Box::new(p.foreign_key()?))
            } else if p.at_check() {
                AlterAction::AddCheck(p.check()?)
            } else if p.at_table_key() {
                AlterAction::AddKey(p.table_key()?)
            } else {
                AlterAction::AddColumn(Box::new(p.column_definition()?), None)
            })
        })?;
        actions.extend(added);
        Ok(())
    }

    fn column_position(&mut self) -> Parsed<Option<ColumnPosition>> {
        if self.accept_word("FIRST") {
            return Ok(Some(ColumnPosition::First));
        }
        if self.accept_word("AFTER") {
            return Ok(Some(ColumnPosition::After(self.ident()?)));
        }
        Ok(None)
    }

    fn drop_action(&mut self) -> Parsed<AlterAction> {
        if self.at_words(&["PRIMARY", "KEY"]) {
            let name = primary(self.span());
            self.advance();
            self.advance();
            return Ok(AlterAction::DropKey(name));
        }
        if self.accept_any_word(&["INDEX", "KEY"]) {
            return Ok(AlterAction::DropKey(self.index_name()?));
        }
        if self.accept_word("CHECK") {
            return Ok(AlterAction::DropCheck(self.ident()?));
        }
        if self.accept_word("CONSTRAINT") {
            return Ok(AlterAction::DropConstraint(self.index_name()?));
        }
        if self.accept_words(&["FOREIGN", "KEY"]) {
            return Ok(AlterAction::DropForeignKey(self.ident()?));
        }
        self.accept_word("COLUMN");
        let column = self.ident()?;
        self.accept_any_word(&["RESTRICT", "CASCADE"]); // MySQL ignores them, too
        Ok(AlterAction::DropColumn(column))
    }

    /// Parses the rest of an action that begins with ALTER.
    fn alter_part(&mut self) -> Parsed<AlterAction> {
        if self.accept_word("INDEX") {
            let index = self.index_name()?;
            if let Some(packed) = self.packing()? {
                return Ok(AlterAction::SetKeyPacked(index, packed));
            }
            let visible = self.at_word("VISIBLE");
            self.expect_any_word(&["VISIBLE", "INVISIBLE"])?;
            return Ok(AlterAction::SetKeyVisible(index, visible));
        }
        if self.at_any_word(&["CHECK", "CONSTRAINT"]) {
            let check = self.accept_word("CHECK");
            if !check {
                self.advance();
            }
            let name = self.ident()?;
            let enforced = !self.accept_word("NOT");
            self.expect_word("ENFORCED")?;
            return Ok(match check {
                true => AlterAction::EnforceCheck(name, enforced),
                false => AlterAction::EnforceConstraint(name, enforced),
            });
        }
        self.accept_word("COLUMN");
        let column = self.ident()?;
        if self.accept_words(&["DROP", "DEFAULT"]) {
            return Ok(AlterAction::SetDefault(column, None));
        }
        self.expect_word("SET")?;
        if self.accept_word("DEFAULT") {
            let start = self.span();
            let default = self.column_default()?;
            // SET DEFAULT requires parentheses around a function.
            return match default {
                DefaultValue::CurrentTimestamp { .. } => Err(self.syntax_error_at(start)),
                default => Ok(AlterAction::SetDefault(column, Some(default))),
            };
        }
        let visible = self.at_word("VISIBLE");
        self.expect_any_word(&["VISIBLE", "INVISIBLE"])?;
        Ok(AlterAction::SetVisible(column, visible))
    }

    fn rename_action(&mut self) -> Parsed<AlterAction> {
        if self.accept_word("COLUMN") {
            let name = self.ident()?;
            self.expect_word("TO")?;
            return Ok(AlterAction::RenameColumn { name, to: self.ident()? });
        }
        if self.accept_any_word(&["INDEX", "KEY"]) {
            let name = self.index_name()?;
            self.expect_word("TO")?;
            return Ok(AlterAction::RenameKey { name, to: self.index_name()? });
        }
        if !self.accept_any_word(&["TO", "AS"]) {
            self.accept_symbol(Symbol::Eq);
        }
        Ok(AlterAction::Rename(self.table_name()?))
    }

    /// Parses RENAME TABLE from the first name on.
    pub(super) fn rename_table(&mut self) -> Parsed<StatementKind> {
        let tables = self.comma_list(|p| {
            let from = p.table_name()?;
            p.expect_word("TO")?;
            Ok((from, p.table_name()?))
        })?;
        Ok(StatementKind::RenameTable(RenameTable { tables }))
    }
}

fn primary(span: Span) -> Ident {
    Ident { value: "PRIMARY".to_owned(), span }
}
