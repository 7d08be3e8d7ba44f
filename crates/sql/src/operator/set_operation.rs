//! Rows of several queries: one after the other, those in both, those in one and not the other.

use super::gather::batch_bytes;
use super::key_table::KeyTable;
use super::memory::Held;
use super::{BoxedOperator, ExecutionContext, Operator};
use crate::plan::KeptRows;
use arrow_buffer::BooleanBuffer;
use leafline_types::aggregate::{EncodedKeys, KeyEncoder};
use leafline_types::expr::{Datum, Selection};
use leafline_types::{Batch, ExprType, MysqlError};
use std::collections::VecDeque;

/// The rows of all inputs, one input after the other.
pub(super) struct Append {
    inputs: VecDeque<BoxedOperator>,
}

impl Append {
    pub fn new(inputs: impl IntoIterator<Item = BoxedOperator>) -> Append {
        Append { inputs: inputs.into_iter().collect() }
    }
}

impl Operator for Append {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        while let Some(input) = self.inputs.front_mut() {
            if let Some(batch) = input.next(cx)? {
                return Ok(Some(batch));
            }
            self.inputs.pop_front();
        }
        Ok(None)
    }
}

/// INTERSECT and EXCEPT: the right rows are counted, the left ones pass by.
pub(super) struct Matched {
    left: BoxedOperator,
    right: Option<BoxedOperator>,
    kept: KeptRows,
    all: bool,
    encoder: KeyEncoder,
    keys: EncodedKeys,
    table: KeyTable,
    /// Per key, how many right rows have it that no left row has met. Of left rows that were delivered and are not to be
    /// again, `GONE`.
    counts: Vec<u64>,
    held: Held,
}

/// A row that was delivered and is not to be again.
const GONE: u64 = u64::MAX;

impl Matched {
    pub fn new(
        left: BoxedOperator,
        right: BoxedOperator,
        kept: KeptRows,
        all: bool,
        types: &[ExprType],
    ) -> Matched {
        Matched {
            left,
            right: Some(right),
            kept,
            all,
            encoder: KeyEncoder::new(types),
            keys: EncodedKeys::default(),
            table: KeyTable::default(),
            counts: Vec::new(),
            held: Held::default(),
        }
    }

    fn encode(&mut self, batch: &Batch) -> Result<(), MysqlError> {
        let columns: Vec<Datum> = batch.columns.iter().cloned().map(Datum::Array).collect();
        self.encoder.encode(&columns, batch.rows, &mut self.keys)
    }

    /// The count of a row's key.
    fn count(&mut self, row: usize) -> &mut u64 {
        let number = self.table.find_or_insert(self.keys.get(row)) as usize;
        if number >= self.counts.len() {
            self.counts.resize(number + 1, 0);
        }
        &mut self.counts[number]
    }

    /// Whether a left row is delivered.
    fn keeps(&mut self, row: usize) -> bool {
        let (kept, all) = (self.kept, self.all);
        let count = self.count(row);
        if *count == GONE {
            return false;
        }
        let matched = *count > 0;
        let keeps = match kept {
            KeptRows::InBoth => matched,
            KeptRows::OnlyLeft => !matched,
        };
        match all {
            true => *count -= u64::from(matched),
            false if keeps => *count = GONE,
            false => {}
        }
        keeps
    }
}

impl Operator for Matched {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        if let Some(mut right) = self.right.take() {
            while let Some(batch) = right.next(cx)? {
                self.encode(&batch)?;
                (0..batch.rows).for_each(|row| *self.count(row) += 1);
                self.held.set(self.memory_bytes(), cx.memory)?;
            }
        }
        while let Some(batch) = self.left.next(cx)? {
            self.encode(&batch)?;
            let kept = BooleanBuffer::collect_bool(batch.rows, |row| self.keeps(row));
            self.held.set(self.memory_bytes() + batch_bytes(&batch), cx.memory)?;
            let selection = Selection::from_bits(kept);
            if selection.count() > 0 {
                return selection.apply(&batch).map(Some);
            }
        }
        Ok(None)
    }
}

impl Matched {
    fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() + self.counts.capacity() * size_of::<u64>()
    }
}
