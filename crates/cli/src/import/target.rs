//! The table that the rows of a file go to: one that is there, or one that is made for them.

use super::options::ImportOptions;
use super::report::Report;
use crate::failure::Failure;
use crate::link::quoted;
use leafline::Connection;
use leafline_sql::RowSource;
use leafline_table::TableDef;
use std::path::Path;
use std::sync::Arc;

/// A column of a file, and the type that a column is given that is made for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    pub name: String,
    pub ty: String,
    pub not_null: bool,
}

/// Where rows go.
pub struct Target {
    pub database: String,
    pub table: String,
    /// What a table that is there is.
    pub definition: Option<Arc<TableDef>>,
}

impl Target {
    /// The table that options name, or one named after the file.
    ///
    /// # Errors
    /// No database is named.
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

    /// Makes the table, unless it is there.
    ///
    /// # Errors
    /// MySQL's, such as 1072 for a primary key of columns that are not there.
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

    /// The table as it is.
    ///
    /// # Errors
    /// 1146 if it is not there any more.
    pub fn table(&self, connection: &mut Connection) -> Result<Arc<TableDef>, Failure> {
        let table = connection.session().instance().engine().table(&self.database, &self.table);
        table.map_err(|error| Failure::Sql(error.into()))
    }

    /// Loads rows. `place` says where the row at hand stands.
    ///
    /// # Errors
    /// What is wrong with them, and where. None was loaded then; a table that was made for them is dropped.
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
