//! Imports databases of SQLite: tables with their keys and rows, and views that mean the same in MySQL's dialect.
//!
//! Texts are compared as in SQLite: byte by byte (`utf8mb4_0900_bin`), or without regard to case (NOCASE:
//! `utf8mb4_0900_as_ci`). An INTEGER PRIMARY KEY becomes a BIGINT with AUTO_INCREMENT. Foreign keys are added after
//! all rows are loaded. Triggers, virtual tables, CHECKs, partial indexes and those of expressions have no
//! counterpart, or are not translated.
//!
//! The import checks everything that it can refuse before it loads rows. An import that fails drops the tables and
//! views that it has created.
//!
//! | module | does |
//! |---|---|
//! | `schema` | reads which tables, indexes and views there are |
//! | `types` | chooses types for values |

mod schema;
mod types;

use super::super::args::ImportOptions;
use super::report::Report;
use crate::failure::Failure;
use crate::link::{literal, quoted};
use crate::progress::Progress;
use leafline::Connection;
use leafline_sql::RowSource;
use leafline_types::{MysqlError, Value};
use rusqlite::types::ValueRef;
use rusqlite::{Connection as Sqlite, OpenFlags};
use schema::{Column, ForeignKey, Table, rows};
use std::path::Path;
use std::sync::Arc;

/// The number of characters of a long text that a key on it holds.
const PREFIX: usize = 255;

/// Imports a file.
pub fn run(
    options: &ImportOptions,
    path: &Path,
    bar: &Arc<Progress>,
    connection: &mut Connection,
    report: &mut Report,
) -> Result<(), Failure> {
    let name = path.display().to_string();
    let wrong = |error: rusqlite::Error| Failure::Message(format!("{name}: {error}"));
    let Some(database) = connection.session().database().map(str::to_owned) else {
        return Err(Failure::Message(format!("{name}: name the database that it goes to: --database NAME")));
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sqlite = Sqlite::open_with_flags(path, flags).map_err(wrong)?;
    // All is read at one snapshot.
    sqlite.execute_batch("BEGIN").map_err(wrong)?;
    connection.execute(
        "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO', time_zone = '+00:00'",
        (),
    )?;
    let listed = "SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
    let listed = rows(&sqlite, listed, |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
        .map_err(wrong)?;
    let is_wanted = |table: &String| options.table.is_empty() || options.table.contains(table);
    let mut tables = Vec::new();
    for (table, kind) in listed.iter().filter(|(table, _)| is_wanted(table)) {
        match kind.as_str() {
            "table" => tables.push(schema::table(&sqlite, table).map_err(wrong)?),
            "virtual" => report.leave_out(format!("{name}: table {table}"), "it is a virtual table")?,
            _ => {}
        }
    }
    if let Some(missing) = options.table.iter().find(|table| !listed.iter().any(|(name, _)| name == *table)) {
        return Err(Failure::Message(format!("{name}: there is no table {missing}")));
    }
    let triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid";
    if options.table.is_empty() {
        for trigger in rows(&sqlite, triggers, |row| row.get::<_, String>(0)).map_err(wrong)? {
            report.leave_out(format!("{name}: trigger {trigger}"), "triggers are not supported")?;
        }
    }
    let part = std::fs::metadata(path).map_or(0, |file| file.len()) / (tables.len() as u64).max(1);
    let mut made = Made::default();
    let import = Import { sqlite: &sqlite, database: &database, file: &name, tables: &tables, part };
    let done = import.run(options.table.is_empty(), bar, connection, report, &mut made);
    done.map_err(|failure| {
        let left = match made.drop_all(connection) {
            Ok(()) => format!("nothing of {name} was imported"),
            Err(error) => format!("what was made of it stays: {error}"),
        };
        Failure::Message(format!("{failure}\n{left}"))
    })
}

/// The state of an import.
struct Import<'i> {
    sqlite: &'i Sqlite,
    database: &'i str,
    file: &'i str,
    tables: &'i [Table],
    /// Bytes of the file for each table, an estimate for the bar.
    part: u64,
}

impl Import<'_> {
    fn run(
        &self,
        has_views: bool,
        bar: &Arc<Progress>,
        connection: &mut Connection,
        report: &mut Report,
        made: &mut Made,
    ) -> Result<(), Failure> {
        for table in self.tables {
            make(table, self.file, connection, report)?;
            made.tables.push(table.name.clone());
        }
        if has_views {
            views(self.sqlite, self.file, connection, report, made)?;
        }
        for table in self.tables {
            load(self.sqlite, table, (self.database, self.file), connection, report)?;
            bar.add(self.part);
        }
        for table in self.tables {
            for key in &table.foreign_keys {
                add_foreign_key(table, key, self.tables, self.file, connection, report)?;
            }
        }
        Ok(())
    }
}

/// The tables and views that an import has created so far.
#[derive(Default)]
struct Made {
    tables: Vec<String>,
    views: Vec<String>,
}

impl Made {
    fn drop_all(&self, connection: &mut Connection) -> Result<(), Failure> {
        connection.execute("SET SESSION foreign_key_checks = 0", ())?;
        let views = self.views.iter().map(|name| ("VIEW", name));
        for (kind, name) in views.chain(self.tables.iter().map(|name| ("TABLE", name))) {
            connection.execute(&format!("DROP {kind} {}", quoted(name)), ())?;
        }
        Ok(())
    }
}

/// Creates a table with its keys.
fn make(table: &Table, file: &str, connection: &mut Connection, report: &mut Report) -> Result<(), Failure> {
    let what = |what: &str| format!("{file}: table {}: {what}", table.name);
    let has_null = |at: &usize| {
        table.columns.get(*at).is_none_or(|Column { facts, .. }| {
            facts.integers + facts.reals + facts.texts + facts.blobs < facts.rows
        })
    };
    let mut key = &table.primary_key[..];
    let is_long = |at: &usize| table.columns.get(*at).is_some_and(|column| column.chosen.is_long);
    if key.iter().any(has_null) || key.iter().any(is_long) {
        report.leave_out(what("the primary key"), "it has NULLs, or long values")?;
        key = &[];
    }
    let counts = match key {
        [at] => table.columns.get(*at).filter(|column| column.declared.eq_ignore_ascii_case("INTEGER")),
        _ => None,
    };
    let mut lines = Vec::new();
    for (at, column) in table.columns.iter().enumerate() {
        let mut line = format!("{} {}", quoted(&column.name), column.chosen.ty);
        if column.no_case && is_text(column) {
            line.push_str(" COLLATE utf8mb4_0900_as_ci");
        }
        if column.not_null || key.contains(&at) {
            line.push_str(" NOT NULL");
        }
        if counts.is_some_and(|counts| std::ptr::eq(counts, column)) && column.chosen.ty == "BIGINT" {
            line.push_str(" AUTO_INCREMENT");
        } else if let Some(default) = &column.default {
            match translated_default(default, column) {
                Some(default) => line.push_str(&format!(" DEFAULT {default}")),
                None => report.leave_out(what(&format!("the default of {}", column.name)), default)?,
            }
        }
        if column.is_generated {
            report
                .leave_out(what(&format!("how {} is computed", column.name)), "it has the values it had")?;
        }
        lines.push(line);
    }
    if !key.is_empty() {
        let parts: Vec<String> =
            key.iter().filter_map(|at| table.columns.get(*at)).map(|c| quoted(&c.name)).collect();
        lines.push(format!("PRIMARY KEY ({})", parts.join(", ")));
    }
    for index in &table.indexes {
        let long = index.parts.iter().any(|(at, _)| is_long(at));
        if index.is_partial || (index.unique && long) {
            let why =
                if index.is_partial { "it is partial, or of expressions" } else { "its values are too long" };
            report.leave_out(what(&format!("index {}", index.name)), why)?;
            continue;
        }
        let part = |(at, descends): &(usize, bool)| {
            let column = table.columns.get(*at)?;
            let prefix = if column.chosen.is_long { format!("({PREFIX})") } else { String::new() };
            Some(format!("{}{prefix}{}", quoted(&column.name), if *descends { " DESC" } else { "" }))
        };
        let parts: Vec<String> = index.parts.iter().filter_map(part).collect();
        let unique = if index.unique { "UNIQUE " } else { "" };
        lines.push(format!("{unique}KEY {} ({})", quoted(&index.name), parts.join(", ")));
    }
    let text = table.sql.to_ascii_uppercase();
    if text.split(|c: char| !c.is_alphanumeric()).any(|word| word == "CHECK") {
        report.leave_out(what("CHECK constraints"), "they are not translated")?;
    }
    let create =
        format!("CREATE TABLE {} ({}) COLLATE utf8mb4_0900_bin", quoted(&table.name), lines.join(", "));
    connection
        .execute(&create, ())
        .map_err(|error| Failure::Message(format!("{}: {error}", what("it cannot be made"))))?;
    Ok(())
}

fn is_text(column: &Column) -> bool {
    column.chosen.ty.starts_with("VARCHAR") || column.chosen.ty == "LONGTEXT"
}

/// Translates a default to MySQL's dialect: a literal, or the current time.
fn translated_default(default: &str, column: &Column) -> Option<String> {
    let upper = default.to_ascii_uppercase();
    let is_number = default.parse::<f64>().is_ok_and(f64::is_finite);
    let is_string = default.len() >= 2 && default.starts_with('\'') && default.ends_with('\'');
    let value = match upper.as_str() {
        "NULL" if column.not_null => return None,
        "NULL" => return Some("NULL".into()),
        "TRUE" => "1".into(),
        "FALSE" => "0".into(),
        "CURRENT_TIMESTAMP" if column.chosen.ty == "DATETIME(6)" => {
            return Some("CURRENT_TIMESTAMP(6)".into());
        }
        _ if is_number => default.to_owned(),
        // Doubled quotes mean the same in both; backslashes have no meaning in SQLite.
        _ if is_string => default.replace('\\', "\\\\"),
        _ => return None,
    };
    Some(if column.chosen.is_long { format!("({value})") } else { value })
}

fn load(
    sqlite: &Sqlite,
    table: &Table,
    (database, file): (&str, &str),
    connection: &mut Connection,
    report: &mut Report,
) -> Result<(), Failure> {
    let wrong = |error: rusqlite::Error| Failure::Message(format!("{file}: table {}: {error}", table.name));
    let column = |column: &Column| match column.chosen.cast {
        Some(ty) => format!("CAST({} AS {ty})", schema::quoted(&column.name)),
        None => schema::quoted(&column.name),
    };
    let columns: Vec<String> = table.columns.iter().map(column).collect();
    let sql = format!("SELECT {} FROM {}", columns.join(", "), schema::quoted(&table.name));
    let mut statement = sqlite.prepare(&sql).map_err(wrong)?;
    let names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
    let mut source = Rows { rows: statement.query([]).map_err(wrong)?, columns: names.len(), number: 0 };
    let loaded = connection.session().load_values((database, &table.name), &names, &mut source);
    match loaded {
        Ok(done) => {
            report.loaded(database, &table.name, done.affected);
            Ok(())
        }
        Err(error) => {
            let number = source.number;
            Err(Failure::Message(format!("{file}: table {}, row {number}: {error}", table.name)))
        }
    }
}

fn add_foreign_key(
    table: &Table,
    key: &ForeignKey,
    tables: &[Table],
    file: &str,
    connection: &mut Connection,
    report: &mut Report,
) -> Result<(), Failure> {
    let what = format!("{file}: table {}: the foreign key to {}", table.name, key.parent);
    let Some(parent) = tables.iter().find(|parent| parent.name.eq_ignore_ascii_case(&key.parent)) else {
        return report.leave_out(what, "there is no such table");
    };
    let of_key =
        || parent.primary_key.iter().filter_map(|at| parent.columns.get(*at)).map(|c| c.name.clone());
    let referred: Vec<String> =
        if key.referred.is_empty() { of_key().collect() } else { key.referred.clone() };
    let names = |names: &[String]| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    let sql = format!(
        "ALTER TABLE {} ADD FOREIGN KEY ({}) REFERENCES {} ({}) ON UPDATE {} ON DELETE {}",
        quoted(&table.name),
        names(&key.columns),
        quoted(&parent.name),
        names(&referred),
        key.on_update,
        key.on_delete
    );
    match connection.execute(&sql, ()) {
        Ok(_) => Ok(()),
        Err(error) => report.leave_out(what, &error.to_string()),
    }
}

/// Creates views as they are written, if they are valid here.
fn views(
    sqlite: &Sqlite,
    file: &str,
    connection: &mut Connection,
    report: &mut Report,
    made: &mut Made,
) -> Result<(), Failure> {
    let listed =
        rows(sqlite, "SELECT name, sql FROM sqlite_master WHERE type = 'view' ORDER BY rowid", |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })
        .map_err(|error| Failure::Message(format!("{file}: {error}")))?;
    connection.execute("SET SESSION sql_mode = 'STRICT_ALL_TABLES,ANSI_QUOTES,PIPES_AS_CONCAT'", ())?;
    for (name, sql) in listed {
        let upper = sql.to_ascii_uppercase();
        let query = upper.find(" AS ").and_then(|at| sql.get(at + 4..)).unwrap_or_default();
        match connection.execute(&format!("CREATE VIEW {} AS {query}", quoted(&name)), ()) {
            Ok(_) => made.views.push(name),
            Err(error) => report.leave_out(format!("{file}: view {name}"), &error.to_string())?,
        }
    }
    let mode = literal("STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO");
    connection.execute(&format!("SET SESSION sql_mode = {mode}"), ())?;
    Ok(())
}

/// The rows of a table.
struct Rows<'s> {
    rows: rusqlite::Rows<'s>,
    columns: usize,
    number: u64,
}

impl RowSource for Rows<'_> {
    fn next_row(&mut self, row: &mut Vec<Value>) -> Result<bool, MysqlError> {
        let Some(found) = self.rows.next().map_err(MysqlError::unknown_error)? else { return Ok(false) };
        self.number += 1;
        for at in 0..self.columns {
            row.push(match found.get_ref(at).map_err(MysqlError::unknown_error)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => Value::Int(number),
                ValueRef::Real(number) if number.is_finite() => Value::Double(number),
                ValueRef::Real(number) => return Err(MysqlError::illegal_value_for_type("double", number)),
                ValueRef::Text(text) => match std::str::from_utf8(text) {
                    Ok(text) => Value::string(text),
                    Err(_) => return Err(MysqlError::unknown_error("a text is not UTF-8")),
                },
                ValueRef::Blob(bytes) => Value::bytes(bytes),
            });
        }
        Ok(true)
    }
}
