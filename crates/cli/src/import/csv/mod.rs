//! Imports comma-separated values into a table.
//!
//! A table that does not exist is created with column types that fit all values of the file, which is then read
//! twice. In an existing table, values are treated like texts in an INSERT under the current `sql_mode`.

mod reader;
mod sniff;

use super::super::args::ImportOptions;
use super::input;
use super::report::Report;
use super::target::{Column, Target};
use crate::failure::Failure;
use crate::progress::Progress;
use leafline::Connection;
use leafline_sql::RowSource;
use leafline_types::{MysqlError, SqlType, Value};
use reader::{Record, Records};
use sniff::{Sniffed, is_bytes};
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

type Input = BufReader<Box<dyn Read>>;

/// Imports a file.
pub fn run(
    options: &ImportOptions,
    path: &Path,
    bar: &Arc<Progress>,
    connection: &mut Connection,
    report: &mut Report,
) -> Result<(), Failure> {
    let mut target = Target::new(options, path, connection)?;
    let names = match (&target.definition, options.no_header) {
        (Some(table), true) => {
            let columns = table.named_columns().map(|(_, column)| column);
            columns.filter(|column| column.generated.is_none()).map(|column| column.name.clone()).collect()
        }
        _ => names(options, path, bar)?,
    };
    if target.definition.is_none() {
        let columns = sniffed(options, path, bar, &names)?;
        target.make(options, &columns, connection)?;
    }
    let table = target.table(connection)?;
    let form = |name: &String| match table
        .column(name)
        .and_then(|at| table.columns.get(at))
        .map(|column| &column.ty)
    {
        Some(SqlType::Bit { .. }) => Form::Number,
        Some(ty) if ty.is_bytes() => Form::Bytes,
        _ => Form::Text,
    };
    let forms = names.iter().map(form).collect();
    let mut rows = Rows { records: open(options, path, bar)?, record: Record::default(), forms };
    let place = |rows: &Rows| format!("{}, line {}", path.display(), rows.records.line);
    if !options.no_header {
        rows.records.read(&mut rows.record).map_err(|error| Failure::io(place(&rows), error))?;
    }
    target.load(&names, &mut rows, place, connection, report)
}

fn open(options: &ImportOptions, path: &Path, bar: &Arc<Progress>) -> Result<Records<Input>, Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let is_tabs = name.trim_end_matches(".gz").trim_end_matches(".zst").ends_with(".tsv");
    let separator = options.separator.unwrap_or(if is_tabs { b'\t' } else { b',' });
    Ok(Records::new(BufReader::with_capacity(256 << 10, input::open(path, bar)?), separator))
}

/// Returns the names of the columns: those in the first line, or generated ones.
fn names(options: &ImportOptions, path: &Path, bar: &Arc<Progress>) -> Result<Vec<String>, Failure> {
    let mut records = open(options, path, bar)?;
    let mut record = Record::default();
    let there = records.read(&mut record).map_err(|error| failed(path, 1, error))?;
    if !there {
        return Err(Failure::Message(format!("{} is empty", path.display())));
    }
    let name = |(at, field): (usize, Option<&[u8]>)| match field.filter(|_| !options.no_header) {
        Some(name) => std::str::from_utf8(name).map(str::to_owned).map_err(|_| not_text(path, 1)),
        None if options.no_header => Ok(format!("c{}", at + 1)),
        None => Err(Failure::Message(format!("{}, line 1: column {} has no name", path.display(), at + 1))),
    };
    let names = record.fields().enumerate().map(name).collect();
    bar.set(0);
    names
}

/// Returns columns that fit all values of the file.
fn sniffed(
    options: &ImportOptions,
    path: &Path,
    bar: &Arc<Progress>,
    names: &[String],
) -> Result<Vec<Column>, Failure> {
    let mut records = open(options, path, bar)?;
    let mut record = Record::default();
    let mut columns = vec![Sniffed::new(); names.len()];
    let mut is_head = !options.no_header;
    while records.read(&mut record).map_err(|error| failed(path, records.line, error))? {
        if std::mem::take(&mut is_head) {
            continue;
        }
        if record.len() != names.len() {
            let error = io::Error::new(io::ErrorKind::InvalidData, wrong_length(record.len(), names.len()));
            return Err(failed(path, records.line, error));
        }
        for (column, field) in columns.iter_mut().zip(record.fields()) {
            if let Some(field) = field {
                column.add(std::str::from_utf8(field).map_err(|_| not_text(path, records.line))?);
            }
        }
    }
    bar.set(0);
    let keys: Vec<&str> =
        options.primary_key.iter().flat_map(|keys| keys.split(',')).map(str::trim).collect();
    let column = |(name, column): (&String, &Sniffed)| {
        let is_key = keys.iter().any(|key| key.eq_ignore_ascii_case(name));
        Column { name: name.clone(), ty: column.ty(is_key), not_null: false }
    };
    Ok(names.iter().zip(&columns).map(column).collect())
}

fn wrong_length(found: usize, expected: usize) -> String {
    format!("{found} values where there are {expected} columns")
}

fn failed(path: &Path, line: u64, error: io::Error) -> Failure {
    let place = format!("{}, line {line}", path.display());
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            Failure::Message(format!("{place}: the file ends within quotes: it was cut off"))
        }
        _ => Failure::io(place, error),
    }
}

fn not_text(path: &Path, line: u64) -> Failure {
    Failure::Message(format!("{}, line {line}: this is not UTF-8", path.display()))
}

/// The rows of a file.
struct Rows {
    records: Records<Input>,
    record: Record,
    forms: Vec<Form>,
}

/// The form of a column's values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    /// Bytes as `0x..`.
    Bytes,
    /// A BIT, whose text would be taken for its bytes.
    Number,
}

impl RowSource for Rows {
    fn next_row(&mut self, row: &mut Vec<Value>) -> Result<bool, MysqlError> {
        let read = self.records.read(&mut self.record).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                MysqlError::unknown_error("the file ends within quotes: it was cut off")
            }
            _ => MysqlError::unknown_error(error),
        });
        if !read? {
            return Ok(false);
        }
        if self.record.len() != self.forms.len() {
            return Err(MysqlError::unknown_error(wrong_length(self.record.len(), self.forms.len())));
        }
        for (field, form) in self.record.fields().zip(&self.forms) {
            row.push(match field.map(std::str::from_utf8) {
                None => Value::Null,
                Some(Ok(text)) if *form == Form::Bytes && is_bytes(text) => Value::bytes(digits(text)),
                Some(Ok(text)) => match text.parse().ok().filter(|_| *form == Form::Number) {
                    Some(number) => Value::UInt(number),
                    None => Value::string(text),
                },
                Some(Err(_)) => return Err(MysqlError::unknown_error("this is not UTF-8")),
            });
        }
        Ok(true)
    }
}

/// Returns the bytes of `0x..`.
fn digits(text: &str) -> Vec<u8> {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16)).unwrap_or(0) as u8;
    let digits = text.as_bytes().get(2..).unwrap_or_default();
    digits.chunks_exact(2).map(|pair| digit(pair.first()) << 4 | digit(pair.get(1))).collect()
}
