//! Picks rows from many batches: sorted rows, the build side of a join.

use super::BATCH_ROWS;
use super::batch_size::{RowBytes, copy_failed};
use crate::params::BATCH_BYTES;
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

/// Batches that are kept so that rows can be picked from them.
#[derive(Default)]
pub(super) struct RowStore {
    batches: Vec<Batch>,
    rows: usize,
    /// The sizes of rows for each batch; empty while no batch has long rows.
    row_bytes: Vec<RowBytes>,
}

impl RowStore {
    /// Keeps a batch and returns its number.
    pub fn push(&mut self, batch: Batch) -> u32 {
        self.rows += batch.rows;
        let bytes = RowBytes::of(&batch);
        if bytes.has_long() || !self.row_bytes.is_empty() {
            self.row_bytes.resize(self.batches.len(), RowBytes::default());
            self.row_bytes.push(bytes);
        }
        self.batches.push(batch);
        (self.batches.len() - 1) as u32
    }

    /// Whether some rows are long.
    pub fn has_long(&self) -> bool {
        !self.row_bytes.is_empty()
    }

    /// Returns the bytes of a row; 0 if no row of its batch is long.
    pub fn row_bytes(&self, row: RowRef) -> usize {
        self.row_bytes.get(row.batch as usize).map_or(0, |bytes| bytes.get(row.row as usize))
    }

    /// Returns how many of the first of `rows` make a batch: at least one.
    fn first_of(&self, rows: &[RowRef]) -> usize {
        if !self.has_long() {
            return rows.len().min(BATCH_ROWS);
        }
        let mut bytes = 0;
        let enough = rows.iter().take(BATCH_ROWS).take_while(|row| {
            let begins = bytes == 0;
            bytes += self.row_bytes(**row).max(1);
            begins || bytes <= BATCH_BYTES
        });
        enough.count()
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the batches in the order of their numbers.
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// Adds a batch of one row of NULLs and returns that row.
    pub fn push_null_row(&mut self, types: &[ExprType]) -> RowRef {
        let columns = types.iter().map(|ty| new_null_array(&arrow_type(&ty.sql), 1)).collect();
        self.batches.push(Batch { columns, rows: 1 });
        RowRef { batch: (self.batches.len() - 1) as u32, row: 0 }
    }

    /// Returns the rows as columns, in the order given.
    pub fn gather(&self, rows: &[RowRef]) -> Result<Vec<ArrayRef>, MysqlError> {
        let Some(first) = self.batches.first() else { return Ok(Vec::new()) };
        if let [only] = self.batches.as_slice() {
            let indices = arrow_array::UInt32Array::from_iter_values(rows.iter().map(|row| row.row));
            return only
                .columns
                .iter()
                .map(|column| arrow_select::take::take(column, &indices, None).map_err(copy_failed))
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
                interleave(&sources, &picks).map_err(copy_failed)
            })
            .collect()
    }
}

/// Returns the bytes of memory that a batch holds.
pub fn batch_bytes(batch: &Batch) -> usize {
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
        let rest = &self.rows[self.next..];
        let rows = rest.get(..self.store.first_of(rest)).unwrap_or(rest);
        if rows.is_empty() {
            return Ok(None);
        }
        self.next += rows.len();
        Ok(Some(Batch { columns: self.store.gather(rows)?, rows: rows.len() }))
    }
}
