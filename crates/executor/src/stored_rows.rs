//! Rows that are kept to be read more than once: the first in memory, the others in a file.

use super::gather::batch_bytes;
use super::spill::{SpillFile, SpillWriter};
use super::{BoxedOperator, ExecutionContext, Operator};
use crate::params::STORED_ROWS_PART;
use leafline_types::{Batch, ExprType, MysqlError};
use std::sync::Arc;

/// Stored rows.
#[derive(Default)]
pub(super) struct StoredRows {
    memory: Vec<Batch>,
    bytes: usize,
    file: Option<SpillFile>,
}

/// Collects rows to store.
pub(super) struct RowsToStore {
    types: Arc<[ExprType]>,
    rows: StoredRows,
    /// Writes the rows that memory has no room for.
    writer: Option<SpillWriter>,
}

/// Reads stored rows from the first to the last.
pub(super) struct StoredReader {
    rows: Arc<StoredRows>,
    next: usize,
    file: Option<BoxedOperator>,
}

impl StoredRows {
    /// Returns the bytes of the statement's memory that the rows hold. The owner gives them back to the budget when it drops the
    /// rows.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl RowsToStore {
    /// Starts with no rows.
    pub fn new(types: &Arc<[ExprType]>) -> RowsToStore {
        RowsToStore { types: types.clone(), rows: StoredRows::default(), writer: None }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.memory.is_empty() && self.writer.is_none()
    }

    pub fn push(&mut self, batch: &Batch, cx: &mut ExecutionContext<'_>) -> Result<(), MysqlError> {
        let bytes = batch_bytes(batch);
        let rows = &mut self.rows;
        let may_stay = self.writer.is_none() && rows.bytes + bytes <= cx.memory.limit() / STORED_ROWS_PART;
        if may_stay && cx.memory.take(bytes).is_ok() {
            rows.bytes += bytes;
            rows.memory.push(batch.clone());
            return Ok(());
        }
        cx.eval.cancel.check()?;
        let writer = self.writer.get_or_insert_default();
        (0..batch.rows).try_for_each(|row| writer.push(batch, row, cx))
    }

    /// Takes the rows and leaves none behind.
    pub fn take(&mut self) -> Result<StoredRows, MysqlError> {
        let mut rows = std::mem::take(&mut self.rows);
        rows.file = self.writer.take().map(|writer| writer.finish(&self.types)).transpose()?;
        Ok(rows)
    }
}

impl StoredReader {
    pub fn new(rows: Arc<StoredRows>) -> StoredReader {
        StoredReader { rows, next: 0, file: None }
    }
}

impl Operator for StoredReader {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        if let Some(batch) = self.rows.memory.get(self.next) {
            self.next += 1;
            return Ok(Some(batch.clone()));
        }
        let Some(file) = &self.rows.file else { return Ok(None) };
        self.file.get_or_insert_with(|| file.read()).next(cx)
    }
}
