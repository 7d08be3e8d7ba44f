//! The table that receives the rows of a file: an existing one, or one that is created for them.

use super::super::args::ImportOptions;
use super::report::Report;
use crate::failure::Failure;
use crate::link::quoted;
use leafline::Connection;
use leafline_sql::RowSource;
use leafline_table::TableDef;
use std::path::Path;
use std::sync::Arc;

/// A column of a file, and its type in a table created for the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    pub name: String,
    pub ty: String,
    pub not_null: bool,
}

/// The table that receives rows.
pub struct Target {
    pub database: String,
    pub table: String,
    /// The definition of an existing table.
    pub definition: Option<Arc<TableDef>>,
}

impl Target {
    /// Returns the table that the options name, or one named after the file.
    ///
    /// # Errors
    /// No database is selected.
    pub fn new(options: &ImportOptions, path: &Path, connection: &mut Connection) -> Result<Target, Failure> {
        let session = connection.session();
        let database = session.database().map(str::to_owned);
        let database = database.ok_or_else(|| {
            Failure::Message(format!(
                "{}: name the database that it goes to: --database NAME",
                path.display()
            ))
        })?;
        let table = match &options.table[..] {
            [] => {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                name.split('.').next().unwrap_or_default().to_owned()
            }
            [table] => table.clone(),
            _ => return Err(Failure::Message("a file of rows goes to one table; name --table once".into())),
        };
        let definition = session.instance().engine().table(&database, &table).ok();
        Ok(Target { database, table, definition })
    }

    /// Creates the table unless it exists.
    ///
    /// # Errors
    /// MySQL's, such as 1072 for a primary key of columns that do not exist.
    pub fn make(
        &mut self,
        options: &ImportOptions,
        columns: &[Column],
        connection: &mut Connection,
    ) -> Result<(), Failure> {
        if self.definition.is_some() {
            return Ok(());
        }
        let keys: Vec<&str> =
            options.primary_key.iter().flat_map(|keys| keys.split(',')).map(str::trim).collect();
        let is_key = |name: &str| keys.iter().any(|key| key.eq_ignore_ascii_case(name));
        let mut lines: Vec<String> = columns
            .iter()
            .map(|column| {
                let not_null = if column.not_null || is_key(&column.name) { " NOT NULL" } else { "" };
                format!("{} {}{not_null}", quoted(&column.name), column.ty)
            })
            .collect();
        if !keys.is_empty() {
            let keys: Vec<String> = keys.iter().map(|key| quoted(key)).collect();
            lines.push(format!("PRIMARY KEY ({})", keys.join(", ")));
        }
        let name = format!("{}.{}", quoted(&self.database), quoted(&self.table));
        connection.execute(&format!("CREATE TABLE {name} ({})", lines.join(", ")), ())?;
        Ok(())
    }

    /// Returns the current definition of the table.
    ///
    /// # Errors
    /// 1146 if it does not exist any more.
    pub fn table(&self, connection: &mut Connection) -> Result<Arc<TableDef>, Failure> {
        let table = connection.session().instance().engine().table(&self.database, &self.table);
        table.map_err(|error| Failure::Sql(error.into()))
    }

    /// Loads rows. `place` describes where the current row stands.
    ///
    /// # Errors
    /// A row is wrong; the message says where. No row was loaded then, and a table created for them is dropped.
    pub fn load<S: RowSource>(
        &self,
        columns: &[String],
        rows: &mut S,
        place: impl Fn(&S) -> String,
        connection: &mut Connection,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let session = connection.session();
        match session.load_values((&self.database, &self.table), columns, rows) {
            Ok(done) => {
                report.loaded(&self.database, &self.table, done.affected);
                Ok(())
            }
            Err(error) => {
                let what = format!("{}: table {}.{}: {error}", place(rows), self.database, self.table);
                if self.definition.is_none() {
                    let name = format!("{}.{}", quoted(&self.database), quoted(&self.table));
                    connection.execute(&format!("DROP TABLE {name}"), ())?;
                }
                Err(Failure::Message(format!("{what}\nno row was loaded")))
            }
        }
    }
}
