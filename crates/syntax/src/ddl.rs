//! CREATE, DROP and ALTER, except for the inside of CREATE TABLE and ALTER TABLE.

use super::ast::{
    AlterDatabase, CreateDatabase, DatabaseOptions, DropDatabase, DropProgram, DropTable, StatementKind,
};
use super::cursor::{Parsed, Parser};
use super::lexer::Symbol;

/// Objects of MySQL that this version cannot create, alter or drop.
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
    "SERVER",
    "SPATIAL",
    "SQL",
    "TABLESPACE",
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
            return self.create_table(false);
        }
        if self.at_words(&["TEMPORARY", "TABLE"]) {
            self.advance();
            self.advance();
            return self.create_table(true);
        }
        let is_index = |words: &[&str]| self.at_words(words);
        if is_index(&["INDEX"]) || is_index(&["UNIQUE", "INDEX"]) || is_index(&["FULLTEXT", "INDEX"]) {
            return self.create_index();
        }
        if self.at_program() {
            return self.create_program();
        }
        if self.at_view() {
            return self.create_view(false);
        }
        if self.accept_word("USER") {
            return self.create_user();
        }
        if self.accept_word("ROLE") {
            return self.create_role();
        }
        if self.at_resource_group() {
            return self.create_resource_group();
        }
        self.other_object("CREATE")
    }

    pub(super) fn drop_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.accept_any_word(&["DATABASE", "SCHEMA"]) {
            let if_exists = self.if_exists()?;
            return Ok(StatementKind::DropDatabase(DropDatabase { name: self.database_name()?, if_exists }));
        }
        let temporary = self.accept_word("TEMPORARY");
        if temporary && !self.at_any_word(&["TABLE", "TABLES"]) {
            return Err(self.syntax_error());
        }
        if self.accept_any_word(&["TABLE", "TABLES"]) {
            let if_exists = self.if_exists()?;
            let tables = self.table_names()?;
            self.accept_any_word(&["RESTRICT", "CASCADE"]); // MySQL ignores them, too
            return Ok(StatementKind::DropTable(DropTable { temporary, tables, if_exists }));
        }
        if self.accept_word("INDEX") {
            return self.drop_index();
        }
        if self.accept_word("VIEW") {
            return self.drop_view();
        }
        if self.accept_word("USER") {
            return self.drop_user();
        }
        if self.accept_word("ROLE") {
            return self.drop_role();
        }
        if self.at_resource_group() {
            return self.drop_resource_group();
        }
        if let Some(kind) = self.program_word() {
            let if_exists = self.if_exists()?;
            let name = self.program_name()?;
            return Ok(StatementKind::DropProgram(DropProgram { kind, name, if_exists }));
        }
        self.other_object("DROP")
    }

    pub(super) fn alter(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.accept_word("TABLE") {
            return self.alter_table();
        }
        if self.at_any_word(&["PROCEDURE", "FUNCTION"]) {
            return self.alter_routine();
        }
        if self.at_program() {
            return self.alter_event();
        }
        if self.at_view() {
            return self.create_view(true);
        }
        if self.accept_word("USER") {
            return self.alter_user();
        }
        if self.at_resource_group() {
            return self.alter_resource_group();
        }
        if self.accept_any_word(&["DATABASE", "SCHEMA"]) {
            return self.alter_database();
        }
        self.other_object("ALTER")
    }

    fn other_object(&mut self, verb: &str) -> Parsed<StatementKind> {
        if !self.at_any_word(OTHER_OBJECTS) {
            return Err(self.syntax_error());
        }
        if self.accept_word("OR") {
            // MariaDB allows OR REPLACE for more objects.
            self.expect_word("REPLACE")?;
            if !self.at_any_word(&["DEFINER", "SPATIAL", "SQL"]) {
                return Err(self.syntax_error());
            }
        }
        let word = self.any_word()?.value.to_ascii_uppercase();
        match word.as_str() {
            "ALGORITHM" | "DEFINER" | "SQL" => self.refuse(&format!("{verb} VIEW, TRIGGER or routine")),
            "PREPARE" => {
                let name = self.ident()?;
                Ok(StatementKind::Deallocate(name)) // DROP PREPARE
            }
            _ => self.refuse(&format!("{verb} {word}")),
        }
    }

    fn create_database(&mut self) -> Parsed<StatementKind> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.database_name()?;
        let options = self.database_options()?;
        Ok(StatementKind::CreateDatabase(CreateDatabase { name, if_not_exists, options }))
    }

    /// Parses ALTER DATABASE from the optional name on.
    fn alter_database(&mut self) -> Parsed<StatementKind> {
        let at_option = self.at_charset() || self.at_any_word(&["DEFAULT", "COLLATE", "ENCRYPTION", "READ"]);
        let name = if at_option { None } else { Some(self.database_name()?) };
        let start = self.span();
        let options = self.database_options()?;
        if self.at_word("READ") {
            return self.refuse("READ ONLY databases");
        }
        match self.span() == start {
            true => Err(self.syntax_error()),
            false => Ok(StatementKind::AlterDatabase(AlterDatabase { name, options })),
        }
    }

    fn database_options(&mut self) -> Parsed<DatabaseOptions> {
        let mut database = DatabaseOptions::default();
        loop {
            let default = self.accept_word("DEFAULT");
            if self.accept_charset() {
                self.accept_symbol(Symbol::Eq);
                self.further_charset(&mut database.charset)?;
            } else if self.accept_word("COLLATE") {
                self.accept_symbol(Symbol::Eq);
                database.collation = Some(self.charset_or_collation_name()?);
            } else if self.accept_word("ENCRYPTION") {
                self.no_encryption()?;
            } else if default {
                return Err(self.syntax_error());
            } else {
                return Ok(database);
            }
        }
    }
}
