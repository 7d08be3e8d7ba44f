//! Rows of a statement, one by one.

use super::connection::Connection;
use super::error::{Error, Result};
use super::value::FromValue;
use leafline_sql::{ColumnMeta, Outcome, RowStream};
use leafline_types::column::{Batch, value_at};
use leafline_types::{Value, convert};
use std::fmt;
use std::sync::Arc;

/// The rows of a statement, computed as they are read. After an error there are no more. Dropping them ends the
/// statement.
pub struct Rows<'c> {
    connection: &'c mut Connection,
    columns: Arc<[ColumnMeta]>,
    stream: Option<RowStream>,
    batch: Option<Arc<Batch>>,
    row: usize,
}

impl<'c> Rows<'c> {
    pub(crate) fn new(connection: &'c mut Connection, outcome: Outcome) -> Rows<'c> {
        let (columns, stream) = match outcome {
            Outcome::Rows(stream) => (stream.columns().clone(), Some(stream)),
            Outcome::Done(_) => (Arc::from([]), None),
        };
        Rows { connection, columns, stream, batch: None, row: 0 }
    }

    /// The columns.
    pub fn columns(&self) -> &[ColumnMeta] {
        &self.columns
    }

    fn next_row(&mut self) -> Result<Option<Row>> {
        loop {
            if let Some(batch) = self.batch.as_ref().filter(|batch| self.row < batch.rows) {
                let row = Row { columns: self.columns.clone(), batch: batch.clone(), row: self.row };
                self.row += 1;
                return Ok(Some(row));
            }
            let Some(stream) = &mut self.stream else { return Ok(None) };
            let next = stream.next_batch(&mut self.connection.session);
            if !matches!(next, Ok(Some(_))) {
                self.stream = None;
            }
            self.batch = next?.map(Arc::new);
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

/// Says which column: its position from 0, or its name, whose case does not matter.
pub trait ColumnIndex {
    /// The position.
    fn position(&self, columns: &[ColumnMeta]) -> Option<usize>;
    /// As it was given, for messages.
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

/// One row. It stays as it is when the next one is read.
#[derive(Clone)]
pub struct Row {
    columns: Arc<[ColumnMeta]>,
    batch: Arc<Batch>,
    row: usize,
}

impl Row {
    /// The value of a column.
    ///
    /// # Errors
    /// [`Error::NoSuchColumn`]; [`Error::WrongType`] if the value is not a `T`, or NULL and `T` not an `Option`.
    pub fn get<T: FromValue>(&self, index: impl ColumnIndex) -> Result<T> {
        let position = self.position(&index)?;
        let column = self.columns.get(position).ok_or_else(|| Error::NoSuchColumn(index.describe()))?;
        T::from_value(self.value(position), &column.value_type()).ok_or_else(|| {
            let text = convert::to_text(&self.value(position), &column.value_type());
            let found = text.map_or_else(|| "NULL".to_owned(), |text| format!("'{text}'"));
            Error::WrongType { column: column.name.clone(), found, wanted: T::WANTED }
        })
    }

    /// The columns.
    pub fn columns(&self) -> &[ColumnMeta] {
        &self.columns
    }

    /// All values.
    pub fn values(&self) -> Vec<Value> {
        (0..self.columns.len()).map(|position| self.value(position)).collect()
    }

    fn position(&self, index: &impl ColumnIndex) -> Result<usize> {
        index.position(&self.columns).ok_or_else(|| Error::NoSuchColumn(index.describe()))
    }

    fn value(&self, position: usize) -> Value {
        match (self.batch.columns.get(position), self.columns.get(position)) {
            (Some(array), Some(column)) => value_at(array, self.row, &column.value_type()),
            _ => Value::Null,
        }
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.columns.iter().map(|column| &column.name).zip(self.values())).finish()
    }
}
