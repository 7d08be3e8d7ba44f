//! Imports Apache Parquet into a table.
//!
//! Columns whose values are lists, maps or groups do not fit in a table; `--skip-unsupported` leaves them out.

mod column;

use super::super::args::ImportOptions;
use super::report::Report;
use super::target::{Column, Target};
use crate::failure::Failure;
use crate::progress::Progress;
use column::{Meaning, read};
use leafline::Connection;
use leafline_sql::RowSource;
use leafline_types::{MysqlError, Value};
use parquet::column::reader::ColumnReader;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// Rows that are read of each column at once.
const BATCH: usize = 4096;

/// Imports a file.
pub fn run(
    options: &ImportOptions,
    path: &Path,
    bar: &Arc<Progress>,
    connection: &mut Connection,
    report: &mut Report,
) -> Result<(), Failure> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| Failure::io(format!("cannot read {name}"), error))?;
    let wrong = |error: String| Failure::Message(format!("{name}: {error}"));
    let reader = guarded(|| SerializedFileReader::new(file)).map_err(wrong)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let mut columns = Vec::new();
    for (at, column) in schema.columns().iter().enumerate() {
        match Meaning::of(column) {
            Some(meaning) => {
                let optional = column.max_def_level() > 0;
                columns.push(OfFile { at, name: column.name().to_owned(), meaning, optional });
            }
            None => {
                let what = format!("{name}: column {}", column.path().string());
                report.leave_out(what, "its type has no place in a table")?;
            }
        }
    }
    if columns.is_empty() {
        return Err(wrong("it has no columns".into()));
    }
    // Moments are loaded in UTC.
    connection.execute("SET SESSION time_zone = '+00:00'", ())?;
    let mut target = Target::new(options, path, connection)?;
    let keys: Vec<&str> =
        options.primary_key.iter().flat_map(|keys| keys.split(',')).map(str::trim).collect();
    let made = |column: &OfFile| {
        let key = keys.iter().any(|key| key.eq_ignore_ascii_case(&column.name));
        Column { name: column.name.clone(), ty: column.meaning.ty(key), not_null: !column.optional }
    };
    target.make(options, &columns.iter().map(made).collect::<Vec<_>>(), connection)?;
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let groups = reader.num_row_groups();
    let length = std::fs::metadata(path).map_or(0, |file| file.len());
    let mut rows = Rows {
        reader,
        columns,
        group: 0,
        left: 0,
        readers: Vec::new(),
        batch: Vec::new(),
        at: 0,
        row: 0,
        bar: bar.clone(),
        of_group: length / (groups as u64).max(1),
    };
    target.load(&names, &mut rows, |rows| format!("{name}, row {}", rows.row), connection, report)
}

/// A column of the file that is imported.
struct OfFile {
    at: usize,
    name: String,
    meaning: Meaning,
    optional: bool,
}

/// The rows of a file.
struct Rows {
    reader: SerializedFileReader<File>,
    columns: Vec<OfFile>,
    /// The row group that is read next.
    group: usize,
    /// Rows of the current group that are not read yet.
    left: usize,
    readers: Vec<ColumnReader>,
    /// Values by columns.
    batch: Vec<Vec<Option<Value>>>,
    at: usize,
    /// The number of the current row, from 1.
    row: u64,
    bar: Arc<Progress>,
    /// About how many bytes a group takes.
    of_group: u64,
}

impl Rows {
    /// Reads the next rows; returns false if there are none.
    fn next_batch(&mut self) -> Result<bool, String> {
        while self.left == 0 {
            if self.group == self.reader.num_row_groups() {
                return Ok(false);
            }
            let (reader, group, columns) = (&self.reader, self.group, &self.columns);
            (self.left, self.readers) = guarded(|| {
                let group = reader.get_row_group(group)?;
                let rows = usize::try_from(group.metadata().num_rows())?;
                let readers = columns.iter().map(|column| group.get_column_reader(column.at));
                Ok((rows, readers.collect::<Result<Vec<_>, _>>()?))
            })?;
            self.group += 1;
            self.bar.add(self.of_group);
        }
        let rows = self.left.min(BATCH);
        let readers = self.readers.iter_mut().zip(&self.columns);
        self.batch = guarded(|| {
            readers.map(|(reader, column)| read(reader, column.meaning, rows, column.optional)).collect()
        })?;
        self.left -= rows;
        self.at = 0;
        Ok(true)
    }
}

impl RowSource for Rows {
    fn next_row(&mut self, row: &mut Vec<Value>) -> Result<bool, MysqlError> {
        let is_over = self.batch.first().is_none_or(|column| column.len() == self.at);
        if is_over && !self.next_batch().map_err(MysqlError::unknown_error)? {
            return Ok(false);
        }
        self.row += 1;
        for (values, column) in self.batch.iter_mut().zip(&self.columns) {
            let value = values.get_mut(self.at).and_then(Option::take);
            row.push(value.ok_or_else(|| {
                MysqlError::unknown_error(format!("column {} has a value that SQL has not", column.name))
            })?);
        }
        self.at += 1;
        Ok(true)
    }
}

/// Calls the library, which may panic on a damaged file.
fn guarded<T>(f: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(done) => done.map_err(|error| format!("the file cannot be read: {error}")),
        Err(_) => Err("the file is damaged".into()),
    }
}
