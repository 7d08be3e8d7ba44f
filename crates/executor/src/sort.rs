//! Sorts all rows by encoded keys: in memory, or on disk if they do not fit.

use super::gather::{Delivery, RowRef, RowStore, batch_bytes};
use super::limit::slice;
use super::row_keys::RowKeys;
use super::spill::{DiskSort, DiskSorted};
use super::{BoxedOperator, Build, Builder, ExecutionContext, Operator};
use leafline_expr::aggregate::KeyBuffer;
use leafline_expr::aggregate::{EncodedKeys, KeyEncoder};
use leafline_expr::{Expr, evaluate_first};
use leafline_planner::plan::{self, Node, SortKey};
use leafline_types::memory::Held;
use leafline_types::{Batch, ExprType, MysqlError};
use std::cmp::Ordering;
use std::sync::Arc;

pub(super) struct Sort {
    input: BoxedOperator,
    types: Arc<[ExprType]>,
    keys: Arc<[SortKey]>,
    result: Option<Sorted>,
    held: Held,
}

/// Sorted rows, in memory or on disk.
pub(super) enum Sorted {
    Memory(Delivery),
    Disk(Box<DiskSorted>),
}

impl Sorted {
    pub fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        match self {
            Sorted::Memory(rows) => rows.next(),
            Sorted::Disk(rows) => rows.next(cx),
        }
    }
}

impl Sort {
    pub fn new(input: BoxedOperator, types: &Arc<[ExprType]>, keys: Arc<[SortKey]>) -> Sort {
        Sort { input, types: types.clone(), keys, result: None, held: Held::default() }
    }

    fn sorted(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Sorted, MysqlError> {
        let mut encoder = RowKeys::new(&self.keys);
        let mut store = RowStore::default();
        let mut rows = SortedRows::default();
        let mut stored = 0;
        while let Some((batch, keys)) = encoder.next(&mut self.input, cx)? {
            let number = store.rows();
            debug_assert!(u32::try_from(number + batch.rows).is_ok());
            let rows_in_batch = batch.rows;
            stored += batch_bytes(&batch);
            let batch = store.push(batch);
            for row in 0..rows_in_batch {
                rows.push(keys.get(row), RowRef { batch, row: row as u32 });
            }
            if !self.held.fits(stored + rows.memory_bytes(), cx.memory) {
                let mut disk = DiskSort::new(&self.types, cx);
                rows.move_to(store, &mut disk)?;
                self.held.set(0, cx.memory)?;
                disk.push_rest(&mut self.input, &mut encoder, cx)?;
                return Ok(Sorted::Disk(Box::new(disk.finish(0, u64::MAX)?)));
            }
            cx.eval.cancel.check()?;
        }
        Ok(Sorted::Memory(Delivery::new(store, rows.into_sorted())))
    }
}

impl Build for plan::Sort {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        Box::new(Sort::new(builder.build(&self.input), &self.input.types, self.keys.clone()))
    }
}

impl Operator for Sort {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        if self.result.is_none() {
            self.result = Some(self.sorted(cx)?);
        }
        match &mut self.result {
            Some(result) => result.next(cx),
            None => Ok(None),
        }
    }

    fn reset(&mut self) -> bool {
        self.result = None;
        self.held = Held::default();
        self.input.reset()
    }
}

/// Encodes the keys of all rows of a batch, a piece at a time where their values are long. An encoder that keeps
/// digests of long values bounds the keys.
pub(super) fn encode_rows<'e>(
    exprs: impl Iterator<Item = &'e Expr> + Clone,
    encoder: &KeyEncoder,
    batch: &Batch,
    keys: &mut EncodedKeys,
    cx: &mut ExecutionContext<'_>,
) -> Result<(), MysqlError> {
    keys.clear();
    let mut done = 0;
    while done < batch.rows {
        let (columns, rows) =
            evaluate_first(exprs.clone(), &slice(batch, done, batch.rows - done), &mut cx.eval)?;
        encoder.append(&columns, rows, keys)?;
        done += rows;
    }
    Ok(())
}

/// Rows with their keys, to be sorted. The first bytes of a key stand next to the row, so that most comparisons need not read the
/// key.
#[derive(Default)]
pub(super) struct SortedRows {
    keys: KeyBuffer,
    rows: Vec<(u64, u32, RowRef)>,
}

impl SortedRows {
    pub fn push(&mut self, key: &[u8], row: RowRef) {
        let position = self.keys.len() as u32;
        self.keys.push(key);
        self.rows.push((head(key), position, row));
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn memory_bytes(&self) -> usize {
        self.keys.memory_bytes() + self.rows.capacity() * size_of::<(u64, u32, RowRef)>()
    }

    /// Keeps the first `count` rows in order and returns the key of the last of them, if there are that many.
    pub fn truncate(&mut self, count: usize) -> Option<&[u8]> {
        if count == 0 || self.rows.len() < count {
            return None;
        }
        let SortedRows { keys, rows } = self;
        let (_, last, _) = rows.select_nth_unstable_by(count - 1, |a, b| compare(keys, a, b));
        let last = last.1;
        rows.truncate(count);
        Some(self.keys.get(last as usize))
    }

    /// Takes the rows and their keys, in the order of their arrival.
    pub fn take(&mut self) -> (KeyBuffer, Vec<(u32, RowRef)>) {
        let mut rows: Vec<(u32, RowRef)> = self.rows.drain(..).map(|(_, key, row)| (key, row)).collect();
        rows.sort_unstable_by_key(|(key, _)| *key);
        (std::mem::take(&mut self.keys), rows)
    }

    /// Moves the rows, which are in `store`, to a sort on disk.
    pub fn move_to(mut self, store: RowStore, disk: &mut DiskSort) -> Result<(), MysqlError> {
        let (keys, rows) = self.take();
        for (key, row) in rows {
            let batch = store.batches().get(row.batch as usize);
            let batch = batch.ok_or_else(|| MysqlError::internal("a row of a batch that is not kept"))?;
            disk.push(keys.get(key as usize), batch, row.row as usize)?;
        }
        Ok(())
    }

    /// Returns the rows in order; equal rows in the order of their arrival.
    pub fn into_sorted(self) -> Vec<RowRef> {
        let SortedRows { keys, mut rows } = self;
        rows.sort_unstable_by(|a, b| compare(&keys, a, b));
        rows.into_iter().map(|(_, _, row)| row).collect()
    }
}

fn compare(keys: &KeyBuffer, a: &(u64, u32, RowRef), b: &(u64, u32, RowRef)) -> Ordering {
    let by_key = || keys.get(a.1 as usize).cmp(keys.get(b.1 as usize));
    a.0.cmp(&b.0).then_with(by_key).then(a.1.cmp(&b.1))
}

/// Returns the first eight bytes of a key as a number of the same order.
fn head(key: &[u8]) -> u64 {
    let mut head = [0; 8];
    let bytes = key.len().min(8);
    head[..bytes].copy_from_slice(&key[..bytes]);
    u64::from_be_bytes(head)
}
