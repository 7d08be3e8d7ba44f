//! CREATE, DROP and ALTER, save the inside of CREATE TABLE.

use super::ast::{
    AlterAction, AlterTable, CreateDatabase, CreateIndex, DropDatabase, DropIndex, DropTable, Ident,
    KeyDefinition, KeyKind, Span, StatementKind,
};
use super::cursor::{Parsed, Parser};
use super::lexer::Symbol;

/// What else can be created, altered and dropped in MySQL.
const OTHER_OBJECTS: &[&str] = &[
    "AGGREGATE",
    "ALGORITHM",
    "DEFINER",
    "EVENT",
    "FUNCTION",
    "FULLTEXT",
    "INSTANCE",
    "LOGFILE",
    "LIBRARY",
    "OR",
    "PREPARE",
    "PROCEDURE",
    "RESOURCE",
    "ROLE",
    "SERVER",
    "SPATIAL",
    "SQL",
    "TABLESPACE",
    "TEMPORARY",
    "TRIGGER",
    "UNDO",
    "VIEW",
];

impl Parser<'_> {
    pub(super) fn create(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.accept_any_word(&["DATABASE", "SCHEMA"]) {
            return self.create_database();
        }
        if self.accept_word("TABLE") {
            return self.create_table();
        }
        if self.at_word("INDEX") || self.at_words(&["UNIQUE", "INDEX"]) {
            return self.create_index();
        }
        if self.accept_word("USER") {
            return self.create_user();
        }
        self.other_object("CREATE")
    }

    pub(super) fn drop_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.accept_any_word(&["DATABASE", "SCHEMA"]) {
            let if_exists = self.if_exists()?;
            return Ok(StatementKind::DropDatabase(DropDatabase { name: self.ident()?, if_exists }));
        }
        if self.accept_any_word(&["TABLE", "TABLES"]) {
            let if_exists = self.if_exists()?;
            let tables = self.table_names()?;
            self.accept_any_word(&["RESTRICT", "CASCADE"]); // mean nothing in MySQL either
            return Ok(StatementKind::DropTable(DropTable { tables, if_exists }));
        }
        if self.accept_word("INDEX") {
            let name = self.index_name()?;
            self.expect_word("ON")?;
            let table = self.table_name()?;
            self.algorithm_and_lock(false)?;
            return Ok(StatementKind::DropIndex(DropIndex { table, name }));
        }
        if self.accept_word("USER") {
            return self.drop_user();
        }
        self.other_object("DROP")
    }

    pub(super) fn alter(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.accept_word("TABLE") {
            return self.alter_table();
        }
        if self.accept_word("USER") {
            return self.alter_user();
        }
        if self.at_any_word(&["DATABASE", "SCHEMA"]) {
            return self.refuse("ALTER DATABASE");
        }
        self.other_object("ALTER")
    }

    fn other_object(&mut self, verb: &str) -> Parsed<StatementKind> {
        if !self.at_any_word(OTHER_OBJECTS) {
            return Err(self.syntax_error());
        }
        let word = self.any_word()?.value.to_ascii_uppercase();
        match word.as_str() {
            "ALGORITHM" | "DEFINER" | "OR" | "SQL" => {
                self.refuse(&format!("{verb} VIEW, TRIGGER or routine"))
            }
            "TEMPORARY" => self.refuse(&format!("{verb} TEMPORARY TABLE")),
            "RESOURCE" => self.refuse(&format!("{verb} RESOURCE GROUP")),
            "PREPARE" => {
                let name = self.ident()?;
                Ok(StatementKind::Deallocate(name)) // DROP PREPARE
            }
            _ => self.refuse(&format!("{verb} {word}")),
        }
    }

    fn create_database(&mut self) -> Parsed<StatementKind> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.ident()?;
        let mut database = CreateDatabase { name, if_not_exists, charset: None, collation: None };
        loop {
            let default = self.accept_word("DEFAULT");
            if self.accept_charset() {
                self.accept_symbol(Symbol::Eq);
                database.charset = Some(self.charset_or_collation_name()?);
            } else if self.accept_word("COLLATE") {
                self.accept_symbol(Symbol::Eq);
                database.collation = Some(self.charset_or_collation_name()?);
            } else if self.at_word("ENCRYPTION") {
                return self.refuse("ENCRYPTION");
            } else if default {
                return Err(self.syntax_error());
            } else {
                return Ok(StatementKind::CreateDatabase(database));
            }
        }
    }

    fn create_index(&mut self) -> Parsed<StatementKind> {
        let kind = if self.accept_word("UNIQUE") { KeyKind::Unique } else { KeyKind::Index };
        self.expect_word("INDEX")?;
        let name = Some(self.ident()?);
        if self.accept_word("USING") {
            self.expect_word("BTREE")?;
        }
        self.expect_word("ON")?;
        let table = self.table_name()?;
        let parts = self.key_parts()?;
        let comment = self.index_options()?;
        self.algorithm_and_lock(false)?;
        let key = KeyDefinition { kind, name, parts, comment };
        Ok(StatementKind::CreateIndex(Box::new(CreateIndex { table, key })))
    }

    /// `ALGORITHM = DEFAULT`, `LOCK = DEFAULT` and the like: only what is done anyway is taken.
    fn algorithm_and_lock(&mut self, after_comma: bool) -> Parsed<bool> {
        let mut any = false;
        while self.at_any_word(&["ALGORITHM", "LOCK"]) {
            any = true;
            let option = self.any_word()?.value.to_ascii_uppercase();
            self.accept_symbol(Symbol::Eq);
            let value = self.any_word()?.value.to_ascii_uppercase();
            let done_anyway = matches!(
                (option.as_str(), value.as_str()),
                ("ALGORITHM", "DEFAULT" | "COPY" | "INPLACE") | ("LOCK", "DEFAULT" | "SHARED" | "EXCLUSIVE")
            );
            if !done_anyway {
                return self.refuse(&format!("{option}={value}"));
            }
            if after_comma {
                break;
            }
        }
        Ok(any)
    }

    fn alter_table(&mut self) -> Parsed<StatementKind> {
        let table = self.table_name()?;
        let mut actions = Vec::new();
        loop {
            if !self.algorithm_and_lock(true)? {
                actions.push(self.alter_action()?);
            }
            if !self.accept_symbol(Symbol::Comma) {
                break;
            }
        }
        if actions.is_empty() {
            return self.refuse("ALTER TABLE without an action");
        }
        Ok(StatementKind::AlterTable(Box::new(AlterTable { table, actions })))
    }

    fn alter_action(&mut self) -> Parsed<AlterAction> {
        if self.accept_word("ADD") {
            if self.at_foreign_key() {
                return self.refuse("ALTER TABLE ... ADD FOREIGN KEY");
            }
            if self.at_table_key() {
                return Ok(AlterAction::AddKey(self.table_key()?));
            }
            return self.refuse(if self.at_word("PARTITION") {
                "ALTER TABLE ... ADD PARTITION"
            } else {
                "ALTER TABLE ... ADD COLUMN"
            });
        }
        if self.accept_word("DROP") {
            if self.at_words(&["PRIMARY", "KEY"]) {
                let name = primary(self.span());
                self.advance();
                self.advance();
                return Ok(AlterAction::DropKey(name));
            }
            if self.accept_any_word(&["INDEX", "KEY"]) {
                return Ok(AlterAction::DropKey(self.index_name()?));
            }
            return self.refuse("ALTER TABLE ... DROP");
        }
        let known = [
            "ALTER",
            "ANALYZE",
            "AUTO_INCREMENT",
            "CHANGE",
            "CHARACTER",
            "CHARSET",
            "CHECK",
            "COALESCE",
            "COLLATE",
            "COMMENT",
            "CONVERT",
            "DEFAULT",
            "DISABLE",
            "DISCARD",
            "ENABLE",
            "ENGINE",
            "EXCHANGE",
            "FORCE",
            "IMPORT",
            "MODIFY",
            "OPTIMIZE",
            "ORDER",
            "PARTITION",
            "REBUILD",
            "REMOVE",
            "RENAME",
            "REORGANIZE",
            "REPAIR",
            "ROW_FORMAT",
            "STATS_PERSISTENT",
            "TRUNCATE",
            "WITH",
            "WITHOUT",
        ];
        if self.at_any_word(&known) {
            let word = self.any_word()?.value.to_ascii_uppercase();
            return self.refuse(&format!("ALTER TABLE ... {word}"));
        }
        Err(self.syntax_error())
    }
}

fn primary(span: Span) -> Ident {
    Ident { value: "PRIMARY".to_owned(), span }
}
