//! Rows of a statement, one by one.

use super::error::{Error, Result};
use super::value::FromValue;
use leafline_sql::{Chunk, ChunkValues, ColumnMeta, Outcome, RowStream, Session};
use leafline_types::column::{text_at, value_at};
use leafline_types::{Value, ValueRef, convert};
use std::fmt;
use std::sync::Arc;

/// Iterates over the rows of a statement, computed as they are read. Ends after an error.
///
/// CALL has a result for each query of the procedure, and the procedure waits at that query until
/// [`next_result`](Self::next_result) goes on. Dropping the rows ends the statement at once: the statements of a
/// procedure behind the query do not run. [`Connection::execute`](crate::Connection::execute) runs a procedure to its
/// end, and so does `next_result` until it returns false.
///
/// ```
/// # fn main() -> leafline::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let database = leafline::Database::open(directory.path().join("db"))?;
/// # let mut connection = database.connect()?;
/// # connection.execute("CREATE DATABASE d", ())?;
/// # connection.execute("USE d", ())?;
/// connection.execute("CREATE PROCEDURE p(a INT) BEGIN SELECT a; SELECT a + 1, 'x'; SET @done = 1; END", ())?;
/// let mut rows = connection.query("CALL p(?)", (7,))?;
/// assert_eq!(rows.next().unwrap()?.get::<i64>(0)?, 7);
/// assert!(rows.next_result()?);
/// assert_eq!((rows.columns().len(), rows.next().unwrap()?.get::<i64>(0)?), (2, 8));
/// assert!(!rows.next_result()?);
/// drop(rows);
/// assert_eq!(connection.query("SELECT @done", ())?.next().unwrap()?.get::<i64>(0)?, 1);
/// # Ok(())
/// # }
/// ```
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
        let mut rows = Rows { session, columns: Arc::from([]), stream: None, chunk: None, row: 0 };
        rows.begin(Some(outcome));
        rows
    }

    /// Takes a result of the statement; returns whether it may have rows.
    fn begin(&mut self, outcome: Option<Outcome>) -> bool {
        (self.columns, self.stream) = match outcome {
            Some(Outcome::Rows(stream)) => (stream.columns().clone(), Some(stream)),
            Some(Outcome::Done(_)) | None => (Arc::from([]), None),
        };
        (self.chunk, self.row) = (None, 0);
        self.stream.is_some()
    }

    /// Goes on to the next result of CALL, and drops the rest of this one. Returns false once the procedure has run to
    /// its end, and for statements other than CALL; there are no rows and no columns then.
    ///
    /// # Errors
    /// MySQL's; an error ends the results.
    pub fn next_result(&mut self) -> Result<bool> {
        self.begin(None);
        let next = self.session.next_result()?;
        Ok(self.begin(next))
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
            if next.is_err() {
                self.session.give_up_results();
            }
            self.chunk = next?.map(|chunk| {
                let rows = chunk.rows();
                (chunk, rows)
            });
            self.row = 0;
        }
    }
}

impl Drop for Rows<'_> {
    fn drop(&mut self) {
        self.stream = None;
        self.session.give_up_results();
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
    /// Returns the first row of a result.
    pub(crate) fn first(mut rows: RowStream, session: &mut Session) -> Result<Option<Row>> {
        Ok(rows.next_chunk(session)?.filter(|chunk| chunk.rows() > 0).map(|chunk| Row { chunk, row: 0 }))
    }

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
