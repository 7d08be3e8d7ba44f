//! Rows picked from many batches: sorted rows, the build side of a join.

use super::BATCH_ROWS;
use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_select::interleave::interleave;
use leafline_types::column::arrow_type;
use leafline_types::{Batch, ExprType, MysqlError};

/// A row in a list of batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowRef {
    pub batch: u32,
    pub row: u32,
}

/// Batches that are kept to pick rows from.
#[derive(Default)]
pub(super) struct RowStore {
    batches: Vec<Batch>,
    rows: usize,
}

impl RowStore {
    /// Keeps a batch; gives its number.
    pub fn push(&mut self, batch: Batch) -> u32 {
        self.rows += batch.rows;
        self.batches.push(batch);
        (self.batches.len() - 1) as u32
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The batches, by their numbers.
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// Adds a batch of one row of NULLs; gives the row.
    pub fn push_null_row(&mut self, types: &[ExprType]) -> RowRef {
        let columns = types.iter().map(|ty| new_null_array(&arrow_type(&ty.sql), 1)).collect();
        self.batches.push(Batch { columns, rows: 1 });
        RowRef { batch: (self.batches.len() - 1) as u32, row: 0 }
    }

    /// The rows, in the order given, as columns.
    pub fn gather(&self, rows: &[RowRef]) -> Result<Vec<ArrayRef>, MysqlError> {
        let Some(first) = self.batches.first() else { return Ok(Vec::new()) };
        if let [only] = self.batches.as_slice() {
            let indices = arrow_array::UInt32Array::from_iter_values(rows.iter().map(|row| row.row));
            return only
                .columns
                .iter()
                .map(|column| arrow_select::take::take(column, &indices, None).map_err(MysqlError::internal))
                .collect();
        }
        let picks: Vec<(usize, usize)> =
            rows.iter().map(|row| (row.batch as usize, row.row as usize)).collect();
        (0..first.columns.len())
            .map(|column| {
                let sources: Vec<&dyn Array> = self
                    .batches
                    .iter()
                    .filter_map(|batch| batch.columns.get(column).map(AsRef::as_ref))
                    .collect();
                interleave(&sources, &picks).map_err(MysqlError::internal)
            })
            .collect()
    }
}

/// Bytes of memory that a batch holds.
pub(crate) fn batch_bytes(batch: &Batch) -> usize {
    batch.columns.iter().map(|column| column.get_array_memory_size()).sum()
}

/// Delivers picked rows a batch at a time.
pub(super) struct Delivery {
    store: RowStore,
    rows: Vec<RowRef>,
    next: usize,
}

impl Delivery {
    pub fn new(store: RowStore, rows: Vec<RowRef>) -> Delivery {
        Delivery { store, rows, next: 0 }
    }

    pub fn next(&mut self) -> Result<Option<Batch>, MysqlError> {
        let end = self.rows.len().min(self.next + BATCH_ROWS);
        let Some(rows) = self.rows.get(self.next..end).filter(|rows| !rows.is_empty()) else {
            return Ok(None);
        };
        self.next = end;
        Ok(Some(Batch { columns: self.store.gather(rows)?, rows: rows.len() }))
    }
}
