//! Rows of a statement, one by one.

use super::error::{Error, Result};
use super::value::FromValue;
use leafline_sql::{Chunk, ChunkValues, ColumnMeta, Outcome, RowStream, Session};
use leafline_types::column::{text_at, value_at};
use leafline_types::{Value, ValueRef, convert};
use std::fmt;
use std::sync::Arc;

/// Iterates over the rows of a statement, computed as they are read. Ends after an error. Dropping it ends the
/// statement.
pub struct Rows<'c> {
    session: &'c mut Session,
    columns: Arc<[ColumnMeta]>,
    stream: Option<RowStream>,
    /// The current chunk of rows, and its number of rows.
    chunk: Option<(Arc<Chunk>, usize)>,
    row: usize,
}

impl<'c> Rows<'c> {
    pub(crate) fn new(session: &'c mut Session, outcome: Outcome) -> Rows<'c> {
        let (columns, stream) = match outcome {
            Outcome::Rows(stream) => (stream.columns().clone(), Some(stream)),
            Outcome::Done(_) => (Arc::from([]), None),
        };
        Rows { session, columns, stream, chunk: None, row: 0 }
    }

    /// Returns the columns.
    pub fn columns(&self) -> &[ColumnMeta] {
        &self.columns
    }

    fn next_row(&mut self) -> Result<Option<Row>> {
        loop {
            if let Some((chunk, _)) = self.chunk.as_ref().filter(|(_, rows)| self.row < *rows) {
                let row = Row { chunk: chunk.clone(), row: self.row };
                self.row += 1;
                return Ok(Some(row));
            }
            let Some(stream) = &mut self.stream else { return Ok(None) };
            let next = stream.next_chunk(self.session);
            if !matches!(next, Ok(Some(_))) {
                self.stream = None;
            }
            self.chunk = next?.map(|chunk| {
                let rows = chunk.rows();
                (chunk, rows)
            });
            self.row = 0;
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        self.next_row().transpose()
    }
}

impl fmt::Debug for Rows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("columns", &self.columns).finish_non_exhaustive()
    }
}

/// Identifies a column: by its position from 0, or by its name in any case.
pub trait ColumnIndex {
    /// Returns the position.
    fn position(&self, columns: &[ColumnMeta]) -> Option<usize>;
    /// Returns the index as it was given, for messages.
    fn describe(&self) -> String;
}

impl ColumnIndex for usize {
    fn position(&self, columns: &[ColumnMeta]) -> Option<usize> {
        (*self < columns.len()).then_some(*self)
    }

    fn describe(&self) -> String {
        format!("number {self}")
    }
}

impl ColumnIndex for &str {
    fn position(&self, columns: &[ColumnMeta]) -> Option<usize> {
        columns.iter().position(|column| column.name.eq_ignore_ascii_case(self))
    }

    fn describe(&self) -> String {
        format!("'{self}'")
    }
}

/// One row. It stays valid when the next one is read.
#[derive(Clone)]
pub struct Row {
    chunk: Arc<Chunk>,
    row: usize,
}

impl Row {
    /// Returns the value of a column.
    ///
    /// # Errors
    /// [`Error::NoSuchColumn`]; [`Error::WrongType`] if the value is not a `T`, or is NULL and `T` is not an
    /// `Option`.
    pub fn get<T: FromValue>(&self, index: impl ColumnIndex) -> Result<T> {
        let position = self.position(&index)?;
        let column = self.columns().get(position).ok_or_else(|| Error::NoSuchColumn(index.describe()))?;
        let plain = column.ty.plain();
        let ty = plain.as_ref().unwrap_or(&column.ty);
        let value = match &self.chunk.values {
            ChunkValues::Rows(rows) => T::from_value(rows.get(self.row, position), ty),
            ChunkValues::Columns(_) => T::from_value(self.value(position).borrowed(), ty),
        };
        value.ok_or_else(|| self.wrong_type(position, T::WANTED))
    }

    /// Returns the text of a string column without a copy; `None` for NULL.
    ///
    /// # Errors
    /// [`Error::NoSuchColumn`]; [`Error::WrongType`] if the value is not a string.
    pub fn get_str(&self, index: impl ColumnIndex) -> Result<Option<&str>> {
        let position = self.position(&index)?;
        let text = match &self.chunk.values {
            ChunkValues::Rows(rows) => match rows.get(self.row, position) {
                ValueRef::Null => Some(None),
                value => value.as_str().map(Some),
            },
            ChunkValues::Columns(batch) => {
                batch.columns.get(position).and_then(|array| text_at(array, self.row))
            }
        };
        text.ok_or_else(|| self.wrong_type(position, "&str"))
    }

    #[cold]
    fn wrong_type(&self, position: usize, wanted: &'static str) -> Error {
        let Some(column) = self.columns().get(position) else {
            return Error::NoSuchColumn(position.describe());
        };
        let text = convert::to_text(&self.value(position), &column.value_type());
        let found = text.map_or_else(|| "NULL".to_owned(), |text| format!("'{text}'"));
        Error::WrongType { column: column.name.clone(), found, wanted }
    }

    /// Returns the columns.
    pub fn columns(&self) -> &[ColumnMeta] {
        &self.chunk.columns
    }

    /// Returns all values.
    pub fn values(&self) -> Vec<Value> {
        (0..self.columns().len()).map(|position| self.value(position)).collect()
    }

    fn position(&self, index: &impl ColumnIndex) -> Result<usize> {
        index.position(self.columns()).ok_or_else(|| Error::NoSuchColumn(index.describe()))
    }

    fn value(&self, position: usize) -> Value {
        match (&self.chunk.values, self.columns().get(position)) {
            (ChunkValues::Rows(rows), _) => rows.get(self.row, position).to_value(),
            (ChunkValues::Columns(batch), Some(column)) => match batch.columns.get(position) {
                Some(array) => value_at(array, self.row, &column.value_type()),
                None => Value::Null,
            },
            _ => Value::Null,
        }
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.columns().iter().map(|column| &column.name).zip(self.values())).finish()
    }
}
