//! Imports the files that `leafline dump --output` has written into a directory: definitions first, then rows, then
//! what needs both.
//!
//! Rows of CSV and Parquet go to the table that their file is named after ([`file_name`]), in the database that the
//! definitions name, otherwise in the one asked for, otherwise in the one of the file's name. A dump is consistent,
//! so foreign keys are not checked.

use super::super::args::ImportOptions;
use super::{Kind, server, use_database};
use crate::dump::target::{file_name, unescaped};
use crate::failure::Failure;
use leafline::{Connection, Database};
use leafline_table::TableDef;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The state of a directory's import.
pub struct Folder {
    has_schema: bool,
    /// Whether the definitions have selected a database.
    pub says_database: bool,
    pub connection: Connection,
}

/// Sorts the files of a directory into the order of their import.
pub fn sort(files: &mut [(PathBuf, Kind)]) {
    files.sort_by_cached_key(|(path, kind)| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let step = match (name.as_str(), kind) {
            ("schema.sql", _) => 0,
            ("views.sql", _) => 3,
            (_, Kind::Sql) => 1,
            _ => 2,
        };
        (step, name)
    });
}

impl Folder {
    /// Opens a connection for the import.
    ///
    /// # Errors
    /// 1040.
    pub fn new(files: &[(PathBuf, Kind)], database: &Database) -> Result<Folder, Failure> {
        let is_schema =
            |(path, _): &(PathBuf, Kind)| path.file_name().is_some_and(|name| name == "schema.sql");
        let has_schema = files.iter().any(is_schema);
        Ok(Folder { has_schema, says_database: false, connection: server::session(database)? })
    }

    /// Makes the database for a file's rows current, and returns the options for them, which name the table.
    ///
    /// # Errors
    /// The file is not named after a table, or after a table that does not exist.
    pub fn place(&mut self, options: &ImportOptions, path: &Path) -> Result<ImportOptions, Failure> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let asked = options.database.as_deref().filter(|_| !self.says_database);
        let catalog = self.connection.session().instance().engine().catalog();
        let (stem, number, extension) = parts(&name);
        let (of, rest) = stem.split_once('.').unwrap_or_default();
        let database = asked.map(str::to_owned).or_else(|| unescaped(of)).unwrap_or_default();
        let found = match (unescaped(of), number) {
            (Some(of), Some(number)) => {
                // The name is cut: finds the table whose file would have this name.
                let wanted = format!("{stem}~{number}.{extension}");
                let fits = |table: &&Arc<TableDef>| file_name(&of, &table.name, number, extension) == wanted;
                let mut fitting = catalog.tables(&database).filter(fits);
                fitting.next().filter(|_| fitting.next().is_none()).map(|table| table.name.clone())
            }
            (Some(_), None) => {
                let is_there = |table: &String| catalog.table(&database, table).is_some();
                unescaped(rest).filter(|table| !self.has_schema || is_there(table))
            }
            (None, _) => None,
        };
        let table = found.ok_or_else(|| {
            Failure::Message(format!(
                "{}: its name matches no single table of the definitions in this folder; import it by itself, with --database and --table",
                path.display()
            ))
        })?;
        use_database(&mut self.connection, Some(&database))?;
        Ok(ImportOptions { table: vec![table], ..options.clone() })
    }
}

/// Splits a file name into the names in it, the number if these are cut, and the extension.
fn parts(name: &str) -> (&str, Option<usize>, &str) {
    let name = [".gz", ".zst"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    match stem.rsplit_once('~') {
        Some((cut, number)) if number.parse::<usize>().is_ok() => (cut, number.parse().ok(), extension),
        _ => (stem, None, extension),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_in_an_order_that_works_and_named_after_tables() {
        let names = ["d.a.csv", "views.sql", "d.z.sql", "schema.sql"];
        let kind = |name: &str| if name.ends_with("sql") { Kind::Sql } else { Kind::Csv };
        let mut files = names.map(|name| (PathBuf::from(name), kind(name)));
        sort(&mut files);
        let sorted = files.map(|(path, _)| path.display().to_string());
        assert_eq!(sorted, ["schema.sql", "d.z.sql", "d.a.csv", "views.sql"]);
        assert_eq!(parts("a.b%2E.csv.zst"), ("a.b%2E", None, "csv"));
        assert_eq!(parts("a.b~12.parquet"), ("a.b", Some(12), "parquet"));
        assert_eq!(parts("README"), ("README", None, ""));
    }
}
