//! Returns rows of a statement as Arrow record batches.

use super::error::Result;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, Date32Array, RecordBatch, RecordBatchOptions, TimestampMicrosecondArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use leafline_sql::{Chunk, ChunkValues, ColumnFlags, ColumnMeta, Outcome, RowStream, Session};
use leafline_types::column::{Batch, arrow_type};
use leafline_types::{Date, DateTime, MysqlError, SqlType};
use std::fmt;
use std::sync::Arc;

/// Iterates over the rows of a statement as record batches, computed as they are read, with the types that
/// [`ArrowLayout`] gives. Ends after an error. Dropping it ends the statement at once, as dropping
/// [`Rows`](crate::Rows) does.
pub struct ArrowBatches<'c> {
    session: &'c mut Session,
    layout: ArrowLayout,
    stream: Option<RowStream>,
}

impl<'c> ArrowBatches<'c> {
    pub(crate) fn new(session: &'c mut Session, outcome: Outcome) -> ArrowBatches<'c> {
        let mut batches = ArrowBatches { session, layout: ArrowLayout::new(&[]), stream: None };
        batches.begin(Some(outcome));
        batches
    }

    /// Takes a result of the statement; returns whether it may have rows.
    fn begin(&mut self, outcome: Option<Outcome>) -> bool {
        self.stream = match outcome {
            Some(Outcome::Rows(stream)) => Some(stream),
            Some(Outcome::Done(_)) | None => None,
        };
        self.layout = ArrowLayout::new(self.stream.as_ref().map_or(&[][..], |stream| stream.columns()));
        self.stream.is_some()
    }

    /// Goes on to the next result of CALL, like [`Rows::next_result`](crate::Rows::next_result).
    ///
    /// # Errors
    /// MySQL's; an error ends the results.
    pub fn next_result(&mut self) -> Result<bool> {
        self.begin(None);
        let next = self.session.next_result()?;
        Ok(self.begin(next))
    }

    /// Returns names and types of the columns.
    pub fn schema(&self) -> SchemaRef {
        self.layout.schema()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(stream) = &mut self.stream else { return Ok(None) };
        match stream.next_batch(self.session)? {
            Some(batch) => Ok(Some(self.layout.batch(batch)?)),
            None => Ok(None),
        }
    }
}

/// The Arrow types of a result's columns, for bindings to other languages, which read rows from
/// [`Connection::session`](crate::Connection::session) themselves.
///
/// Integers are Int64 or UInt64 whatever their width, DECIMAL is Decimal128 up to 38 digits and Decimal256 beyond,
/// DATE is Date32, DATETIME a Timestamp in microseconds without a time zone, TIME a Duration in microseconds. Dates
/// that do not exist (`0000-00-00`, `2024-02-30`) are NULL.
#[derive(Clone, Debug)]
pub struct ArrowLayout {
    schema: SchemaRef,
    types: Arc<[SqlType]>,
}

impl ArrowLayout {
    /// Makes the layout of these columns.
    pub fn new(columns: &[ColumnMeta]) -> ArrowLayout {
        ArrowLayout {
            schema: Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>())),
            types: columns.iter().map(ColumnMeta::value_type).collect(),
        }
    }

    /// Returns names and types of the columns.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Converts some rows to a record batch.
    ///
    /// # Errors
    /// The rows have other columns, which is a bug.
    pub fn record_batch(&self, chunk: &Chunk) -> Result<RecordBatch> {
        let batch = match &chunk.values {
            ChunkValues::Columns(batch) => batch.clone(),
            ChunkValues::Rows(rows) => rows.to_batch(&self.types).map_err(MysqlError::unknown_error)?,
        };
        Ok(self.batch(batch)?)
    }

    fn batch(&self, mut batch: Batch) -> Result<RecordBatch, MysqlError> {
        batch.columns.iter_mut().for_each(|column| *column = since_epoch(column));
        let options = RecordBatchOptions::new().with_row_count(Some(batch.rows));
        RecordBatch::try_new_with_options(self.schema.clone(), batch.columns, &options)
            .map_err(MysqlError::unknown_error)
    }
}

fn field(column: &ColumnMeta) -> Field {
    let ty = column.value_type();
    let nullable = ty.has_date() || !column.flags.has(ColumnFlags::NOT_NULL);
    Field::new(&column.name, arrow_type(&ty), nullable)
}

/// Converts dates and datetimes from Leafline's numbers to Arrow's.
fn since_epoch(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Date32 => {
            let days = |ordinal| Date::from_ordinal(ordinal).filter(is_day).and_then(Date::epoch_days);
            let days: Date32Array = column.as_primitive::<Date32Type>().unary_opt(days);
            Arc::new(days)
        }
        DataType::Timestamp(..) => {
            let day = |time: &DateTime| is_day(&time.date());
            let micros =
                |ordinal| DateTime::from_ordinal(ordinal).filter(day).and_then(DateTime::epoch_micros);
            let micros: TimestampMicrosecondArray =
                column.as_primitive::<TimestampMicrosecondType>().unary_opt(micros);
            Arc::new(micros)
        }
        _ => column.clone(),
    }
}

/// Whether the day exists: a 30th of February has a day number, but it is that of another day.
fn is_day(date: &Date) -> bool {
    date.civil().exists()
}

impl Iterator for ArrowBatches<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let next = self.next_batch().transpose();
        if !matches!(next, Some(Ok(_))) {
            self.stream = None;
        }
        if matches!(next, Some(Err(_))) {
            self.session.give_up_results();
        }
        next
    }
}

impl Drop for ArrowBatches<'_> {
    fn drop(&mut self) {
        self.stream = None;
        self.session.give_up_results();
    }
}

impl fmt::Debug for ArrowBatches<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrowBatches").field("layout", &self.layout).finish_non_exhaustive()
    }
}
