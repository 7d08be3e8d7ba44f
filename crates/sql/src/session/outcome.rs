//! The result of a statement: rows to pull, or counts.

use super::{Session, StatementUses};
use crate::result::{ColumnMeta, Done, RowSet};
use crate::session::Execution;
use leafline_executor::{BoxedOperator, RowWindow};
use leafline_types::column::{Batch, ColumnBuilder, value_at};
use leafline_types::convert::{local, to_text};
use leafline_types::temporal::Zone;
use leafline_types::{MysqlError, RowBlock, SqlType, Value};
use std::collections::VecDeque;
use std::sync::Arc;

/// The outcome of a statement.
pub enum Outcome {
    /// Rows, to be pulled from the session.
    Rows(RowStream),
    /// Counts of a statement without rows.
    Done(Done),
}

/// The rows of a statement. Dropping them ends the statement.
pub struct RowStream {
    columns: Arc<[ColumnMeta]>,
    source: Source,
    /// True if values are delivered as stored.
    is_kept: bool,
}

/// Some rows of a result.
#[derive(Debug)]
pub struct Chunk {
    /// Description of the columns.
    pub columns: Arc<[ColumnMeta]>,
    /// The values in their client form.
    pub values: ChunkValues,
}

/// The values of a chunk.
#[derive(Debug)]
pub enum ChunkValues {
    /// Column by column.
    Columns(Batch),
    /// Value by value, for few rows.
    Rows(RowBlock),
}

impl Chunk {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match &self.values {
            ChunkValues::Columns(batch) => batch.rows,
            ChunkValues::Rows(rows) => rows.rows(),
        }
    }
}

/// The client form of a value: the text of an ENUM, a TIMESTAMP in the session's time zone.
pub(crate) fn shown_value(kept: Value, ty: &SqlType, zone: &Zone) -> Value {
    match kept {
        Value::DateTime(t) => local(t, zone),
        kept => to_text(&kept, ty).map_or(Value::Null, Value::String),
    }
}

/// Converts stored values to their client form.
fn shown(columns: &[ColumnMeta], mut batch: Batch, zone: &Zone) -> Result<Batch, MysqlError> {
    for (column, array) in columns.iter().zip(&mut batch.columns) {
        let Some(plain) = column.ty.plain() else { continue };
        let mut out = ColumnBuilder::with_capacity(&plain, batch.rows);
        for row in 0..batch.rows {
            out.push_value(&shown_value(value_at(array, row, &column.ty), &column.ty, zone))?;
        }
        *array = out.finish();
    }
    Ok(batch)
}

enum Source {
    /// A running plan.
    OpenResult(Box<OpenResult>),
    /// Collected rows, and their number in total.
    Ready(VecDeque<Batch>, u64),
    /// All rows in one chunk; the statement has ended.
    Whole(Arc<Chunk>),
    /// All rows were pulled, or the statement failed.
    Ended,
}

struct OpenResult {
    root: BoxedOperator,
    execution: Execution,
    rows: u64,
    /// With SQL_CALC_FOUND_ROWS: the rows to deliver.
    window: Option<RowWindow>,
    /// Keeps others from changing the tables until the statement ends or is given up.
    _uses: Option<StatementUses>,
}

impl RowStream {
    /// Delivers values as stored, in the types of their columns, for a caller that stores them.
    pub(crate) fn kept(self) -> RowStream {
        RowStream { is_kept: true, ..self }
    }

    fn delivered(&self, batch: Batch, session: &Session) -> Result<Batch, MysqlError> {
        match self.is_kept {
            true => Ok(batch),
            false => shown(&self.columns, batch, session.settings.time_zone.zone()),
        }
    }

    pub(crate) fn running(
        columns: Arc<[ColumnMeta]>,
        root: BoxedOperator,
        execution: Execution,
        window: Option<RowWindow>,
        uses: Option<StatementUses>,
    ) -> RowStream {
        let running = OpenResult { root, execution, rows: 0, window, _uses: uses };
        RowStream { columns, source: Source::OpenResult(Box::new(running)), is_kept: false }
    }

    pub(crate) fn ready(rows: RowSet) -> Result<RowStream, MysqlError> {
        let batch = rows.batch()?;
        let batches = if batch.rows > 0 { vec![batch] } else { Vec::new() };
        Ok(RowStream::collected(rows.columns.into(), batches, None))
    }

    /// A stream of collected rows, of which `window` is delivered.
    pub(crate) fn collected(
        columns: Arc<[ColumnMeta]>,
        mut batches: Vec<Batch>,
        window: Option<RowWindow>,
    ) -> RowStream {
        let rows = batches.iter().map(|batch| batch.rows as u64).sum();
        if let Some(mut window) = window {
            batches = batches.into_iter().filter_map(|batch| window.cut(batch)).collect();
        }
        RowStream { columns, source: Source::Ready(batches.into(), rows), is_kept: false }
    }

    /// A stream of one chunk in client form.
    pub(crate) fn whole(rows: Arc<Chunk>) -> RowStream {
        RowStream { columns: rows.columns.clone(), source: Source::Whole(rows), is_kept: false }
    }

    /// Number of rows if the statement has ended with one chunk, otherwise 0.
    pub(crate) fn whole_rows(&self) -> u64 {
        match &self.source {
            Source::Whole(rows) => rows.rows() as u64,
            _ => 0,
        }
    }

    /// True if the statement has ended with one chunk.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.source, Source::Whole(_))
    }

    /// Names and types of the columns.
    pub fn columns(&self) -> &Arc<[ColumnMeta]> {
        &self.columns
    }

    /// Types of the columns in batches.
    pub fn types(&self) -> Vec<SqlType> {
        self.columns.iter().map(ColumnMeta::value_type).collect()
    }

    /// The next rows; `None` at the end. A batch has at least one row.
    ///
    /// # Errors
    /// MySQL's errors; an error ends the rows.
    pub fn next_batch(&mut self, session: &mut Session) -> Result<Option<Batch>, MysqlError> {
        match std::mem::replace(&mut self.source, Source::Ended) {
            Source::OpenResult(running) => session.contained(|session| self.next_running(running, session)),
            Source::Ready(mut batches, rows) => match batches.pop_front() {
                Some(batch) => {
                    let batch = self.delivered(batch, session)?;
                    session.counters.rows_sent += batch.rows as u64;
                    self.source = Source::Ready(batches, rows);
                    Ok(Some(batch))
                }
                None => {
                    session.facts.found_rows = rows;
                    session.facts.row_count = -1;
                    session.statement_ended();
                    Ok(None)
                }
            },
            Source::Whole(rows) if rows.rows() > 0 => Ok(Some(match &rows.values {
                ChunkValues::Columns(batch) => batch.clone(),
                ChunkValues::Rows(block) => block.to_batch(&self.types())?,
            })),
            Source::Whole(_) | Source::Ended => Ok(None),
        }
    }

    /// The next rows like [`next_batch`](Self::next_batch), for a statement that reads them itself and notes their error.
    ///
    /// # Errors
    /// The errors of `next_batch`.
    pub(crate) fn next_within(&mut self, session: &mut Session) -> Result<Option<Batch>, MysqlError> {
        let before = session.warnings.errors();
        let next = self.next_batch(session);
        if next.is_err() && session.warnings.errors() > before {
            session.warnings.take_last_error();
        }
        next
    }

    /// Reads the rows up to the second one. Returns the first one, and whether there are more.
    ///
    /// # Errors
    /// The errors of [`next_within`](Self::next_within).
    pub(crate) fn first_row(
        &mut self,
        session: &mut Session,
    ) -> Result<(Option<Vec<Value>>, bool), MysqlError> {
        if let Source::Whole(chunk) = &self.source
            && let ChunkValues::Rows(block) = &chunk.values
        {
            let row = || (0..self.columns.len()).map(|column| block.get(0, column).to_value()).collect();
            return Ok(((block.rows() > 0).then(row), block.rows() > 1));
        }
        let types = self.types();
        let (mut first, mut has_more): (Option<Vec<Value>>, bool) = (None, false);
        while let Some(batch) = self.next_within(session)?.filter(|_| !has_more) {
            has_more = batch.rows > 1 || first.is_some();
            first.get_or_insert_with(|| {
                batch.columns.iter().zip(&types).map(|(column, ty)| value_at(column, 0, ty)).collect()
            });
        }
        Ok((first, has_more))
    }

    /// The next rows like [`next_batch`](Self::next_batch), in whichever form they have.
    ///
    /// # Errors
    /// The errors of `next_batch`.
    pub fn next_chunk(&mut self, session: &mut Session) -> Result<Option<Arc<Chunk>>, MysqlError> {
        if !self.is_whole() {
            let batch = self.next_batch(session)?;
            let chunk = |batch| Chunk { columns: self.columns.clone(), values: ChunkValues::Columns(batch) };
            return Ok(batch.map(|batch| Arc::new(chunk(batch))));
        }
        match std::mem::replace(&mut self.source, Source::Ended) {
            Source::Whole(rows) if rows.rows() > 0 => Ok(Some(rows)),
            _ => Ok(None),
        }
    }

    fn next_running(
        &mut self,
        mut running: Box<OpenResult>,
        session: &mut Session,
    ) -> Result<Option<Batch>, MysqlError> {
        loop {
            let comes = session.take_thread();
            let next = running.execution.with(session, |cx| running.root.next(&mut cx.exec));
            if comes {
                session.leave_thread();
            }
            match next {
                Ok(Some(batch)) => {
                    running.rows += batch.rows as u64;
                    let batch = match &mut running.window {
                        Some(window) => window.cut(batch),
                        None => Some(batch),
                    };
                    let Some(batch) = batch else { continue };
                    let batch = self.delivered(batch, session)?;
                    session.counters.rows_sent += batch.rows as u64;
                    session.gave_rows();
                    self.source = Source::OpenResult(running);
                    return Ok(Some(batch));
                }
                Ok(None) => {
                    session.facts.found_rows = running.rows;
                    session.facts.row_count = -1;
                    session.statement_ended();
                    return Ok(None);
                }
                // The program that gave the rows goes on in its handler.
                Err(error) if session.suspended_takes(&error) => {
                    session.statement_ended();
                    return Ok(None);
                }
                Err(error) => {
                    session.note_error(&error);
                    session.statement_ended();
                    return Err(error);
                }
            }
        }
    }
}
