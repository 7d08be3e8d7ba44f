//! Batches are limited by bytes as well as by rows.
//!
//! Operators that copy rows (sorts, joins, file readers) end a batch at [`BATCH_ROWS`] rows or at [`BATCH_BYTES`] bytes,
//! whichever comes first. Rows are measured one by one only where some are long: a row is long if [`BATCH_ROWS`] such rows take
//! many times [`BATCH_BYTES`].

use super::BATCH_ROWS;
use crate::params::{BATCH_BYTES, FIXED_VALUE_BYTES, LONG_ROW_BYTES};
use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_schema::{ArrowError, DataType};
use leafline_types::{Batch, MysqlError};
use std::sync::Arc;

/// The sizes of a batch's rows in bytes, if some rows are long.
#[derive(Clone, Default)]
pub(super) struct RowBytes(Option<Arc<[usize]>>);

impl RowBytes {
    /// Measures the rows of a batch.
    pub fn of(batch: &Batch) -> RowBytes {
        if batch.columns.iter().map(longest).sum::<usize>() <= LONG_ROW_BYTES {
            return RowBytes(None);
        }
        let bytes =
            (0..batch.rows).map(|row| batch.columns.iter().map(|column| value_bytes(column, row)).sum());
        RowBytes(Some(bytes.collect()))
    }

    /// Returns the bytes of a row; 0 if no row of its batch is long.
    pub fn get(&self, row: usize) -> usize {
        self.0.as_ref().map_or(0, |bytes| bytes[row])
    }

    /// Whether some rows are long.
    pub fn has_long(&self) -> bool {
        self.0.is_some()
    }

    /// Returns how many of the first of `rows` make a batch: at least one.
    pub fn first_of(&self, rows: impl ExactSizeIterator<Item = usize>) -> usize {
        let all = rows.len();
        if !self.has_long() {
            return all.min(BATCH_ROWS);
        }
        let mut bytes = 0;
        let enough = rows.take(BATCH_ROWS).take_while(|row| {
            let begins = bytes == 0;
            bytes += self.get(*row).max(1);
            begins || bytes <= BATCH_BYTES
        });
        enough.count()
    }
}

/// Returns the bytes of a column's longest value.
fn longest(column: &ArrayRef) -> usize {
    let of_offsets =
        |offsets: &[i32]| offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0);
    match column.data_type() {
        DataType::Utf8 => of_offsets(column.as_string::<i32>().value_offsets()),
        DataType::Binary => of_offsets(column.as_binary::<i32>().value_offsets()),
        _ => FIXED_VALUE_BYTES,
    }
}

fn value_bytes(column: &ArrayRef, row: usize) -> usize {
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value_length(row) as usize,
        DataType::Binary => column.as_binary::<i32>().value_length(row) as usize,
        _ => FIXED_VALUE_BYTES,
    }
}

/// Converts the error of copying rows: 1038 for strings that no batch has room for.
pub(super) fn copy_failed(error: ArrowError) -> MysqlError {
    match error {
        ArrowError::OffsetOverflowError(bytes) => MysqlError::with_message(
            leafline_types::error::errno::ER_OUT_OF_SORTMEMORY,
            format!("Out of memory: a batch in memory has no room for {bytes} bytes of strings"),
        ),
        other => MysqlError::internal(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::StringArray;

    fn batch(lengths: &[usize]) -> Batch {
        let texts = StringArray::from_iter_values(lengths.iter().map(|length| "x".repeat(*length)));
        Batch { rows: lengths.len(), columns: vec![Arc::new(texts)] }
    }

    #[test]
    fn long_rows_end_a_batch_early_and_short_ones_are_not_measured() {
        let short = RowBytes::of(&batch(&[1, 2, 3]));
        assert!(!short.has_long());
        assert_eq!(short.first_of(vec![0; 20_000].into_iter()), BATCH_ROWS);
        let long = RowBytes::of(&batch(&[10, 3 << 20, 12 << 20]));
        assert_eq!((long.get(0), long.get(1)), (10, 3 << 20));
        assert_eq!(long.first_of([1, 1, 1, 1].into_iter()), 2);
        assert_eq!(long.first_of([2, 0].into_iter()), 1, "one row at least");
        assert_eq!(long.first_of([0, 0, 1, 2].into_iter()), 3);
    }
}
