//! Completes words at Tab: keywords, and the names of databases, tables and columns.
//!
//! After `name.` it offers the columns of that table, or the tables of that database; elsewhere everything that
//! begins with the typed letters. Names come from the current catalog.

use leafline_sql::Instance;
use leafline_table::{Catalog, TableDef};
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Keywords of statements.
const KEYWORDS: &[&str] = &[
    "ADD",
    "ALTER",
    "ANALYZE",
    "AND",
    "AS",
    "ASC",
    "AUTO_INCREMENT",
    "AVG",
    "BEGIN",
    "BETWEEN",
    "BIGINT",
    "BY",
    "CASE",
    "CAST",
    "CHAR",
    "CHECK",
    "COLLATE",
    "COLUMN",
    "COLUMNS",
    "COMMIT",
    "COUNT",
    "CREATE",
    "CROSS",
    "DATABASE",
    "DATABASES",
    "DATE",
    "DATETIME",
    "DECIMAL",
    "DEFAULT",
    "DELETE",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DOUBLE",
    "DROP",
    "ELSE",
    "END",
    "EXISTS",
    "EXPLAIN",
    "FLUSH",
    "FORCE",
    "FROM",
    "GLOBAL",
    "GROUP",
    "HAVING",
    "IGNORE",
    "INDEX",
    "INNER",
    "INSERT",
    "INT",
    "INTERVAL",
    "INTO",
    "IS",
    "JOIN",
    "KEY",
    "LEFT",
    "LIKE",
    "LIMIT",
    "MAX",
    "MIN",
    "NOT",
    "NULL",
    "OFFSET",
    "ORDER",
    "PRIMARY",
    "REPLACE",
    "RIGHT",
    "ROLLBACK",
    "SAVEPOINT",
    "SELECT",
    "SESSION",
    "SET",
    "SHOW",
    "START",
    "STATUS",
    "STRAIGHT_JOIN",
    "SUM",
    "TABLE",
    "TABLES",
    "TEXT",
    "THEN",
    "TRANSACTION",
    "TRUNCATE",
    "UNION",
    "UNIQUE",
    "UNSIGNED",
    "UPDATE",
    "USE",
    "USING",
    "VALUES",
    "VARBINARY",
    "VARCHAR",
    "VARIABLES",
    "WARNINGS",
    "WHEN",
    "WHERE",
    "WITH",
];

/// The completer that the line editor asks.
pub struct Completion {
    instance: Arc<Instance>,
    database: Option<String>,
}

impl Completion {
    /// Makes a completer with names from the catalog of `instance`.
    pub fn new(instance: Arc<Instance>) -> Completion {
        Completion { instance, database: None }
    }

    /// Sets the current database.
    pub fn set_database(&mut self, name: Option<&str>) {
        self.database = name.map(str::to_owned);
    }
}

/// Returns where the word before the cursor begins, the name before its dot if it has one, and the typed part of the
/// word.
fn word_at(line: &str) -> (usize, Option<&str>, &str) {
    let start = start_of_word(line);
    let qualifier = line[..start].strip_suffix('.').map(|before| {
        let before = before.strip_suffix('`').unwrap_or(before);
        &before[start_of_word(before)..]
    });
    (start, qualifier, &line[start..])
}

fn start_of_word(line: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    line.char_indices().rev().take_while(|(_, c)| is_part(*c)).last().map_or(line.len(), |(at, _)| at)
}

fn tables<'c>(catalog: &'c Catalog, database: Option<&str>) -> Vec<&'c TableDef> {
    database.map_or_else(Vec::new, |name| catalog.tables(name).map(|table| &**table).collect())
}

/// Returns the completions of `word`, sorted.
fn candidates(catalog: &Catalog, database: Option<&str>, qualifier: Option<&str>, word: &str) -> Vec<String> {
    let mut names = BTreeSet::new();
    match qualifier {
        Some(name) => {
            names.extend(tables(catalog, Some(name)).iter().map(|table| table.name.clone()));
            let mut of = tables(catalog, database);
            if !names.is_empty() || of.iter().any(|table| table.name.eq_ignore_ascii_case(name)) {
                of.retain(|table| table.name.eq_ignore_ascii_case(name));
            }
            // A name that is neither a table nor a database is an alias, of any table.
            names.extend(
                of.iter().flat_map(|table| table.named_columns().map(|(_, column)| column.name.clone())),
            );
        }
        None => {
            let lower = word.chars().next().is_some_and(char::is_lowercase);
            names.extend(
                KEYWORDS.iter().map(|word| if lower { word.to_lowercase() } else { (*word).to_owned() }),
            );
            names.extend(catalog.databases().map(|database| database.name.clone()));
            for table in tables(catalog, database) {
                names.insert(table.name.clone());
                names.extend(table.named_columns().map(|(_, column)| column.name.clone()));
            }
        }
    }
    let begins = |name: &String| name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    names.into_iter().filter(begins).collect()
}

impl Completer for Completion {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let (start, qualifier, word) = word_at(line.get(..pos).unwrap_or(line));
        if word.is_empty() && qualifier.is_none() {
            return Ok((start, Vec::new()));
        }
        let catalog = self.instance.engine().catalog();
        Ok((start, candidates(&catalog, self.database.as_deref(), qualifier, word)))
    }
}

impl Hinter for Completion {
    type Hint = String;
}

impl Highlighter for Completion {}
impl Validator for Completion {}
impl Helper for Completion {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_before_the_cursor_is_found() {
        assert_eq!(word_at("SELECT l_par"), (7, None, "l_par"));
        assert_eq!(word_at("SELECT é.na"), (10, Some("é"), "na"));
        assert_eq!(word_at("x=`line item`.l"), (14, Some("item"), "l"));
        assert_eq!(word_at("SELECT "), (7, None, ""));
        assert_eq!(word_at("t."), (2, Some("t"), ""));
        assert_eq!(word_at(""), (0, None, ""));
    }

    #[test]
    fn names_are_those_of_the_catalog() {
        let holder = tempfile::tempdir().unwrap();
        let database = leafline::Database::open(holder.path().join("db")).unwrap();
        let mut connection = database.connect().unwrap();
        for sql in [
            "CREATE DATABASE shop",
            "CREATE TABLE shop.item (id INT, price INT)",
            "CREATE TABLE shop.offer (id INT)",
        ] {
            connection.execute(sql, ()).unwrap();
        }
        let catalog = database.instance().engine().catalog();
        let found = |database, qualifier, word| candidates(&catalog, database, qualifier, word);
        assert_eq!(found(None, None, "sho"), ["shop", "show"]);
        assert_eq!(found(None, None, "SEL"), ["SELECT"]);
        assert_eq!(found(None, Some("shop"), ""), ["item", "offer"]);
        assert_eq!(found(Some("shop"), Some("ITEM"), "p"), ["price"]);
        assert_eq!(found(Some("shop"), Some("offer"), "p"), [""; 0]);
        assert_eq!(found(Some("shop"), Some("alias"), "p"), ["price"]);
        assert_eq!(found(Some("shop"), None, "it"), ["item"]);
        assert_eq!(found(None, None, "it"), [""; 0], "no database is current");
    }

    #[test]
    fn keywords_are_sorted() {
        assert!(KEYWORDS.is_sorted());
    }
}
