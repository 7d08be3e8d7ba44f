//! Each row once, the first of its equals.

use super::gather::batch_bytes;
use super::key_table::KeyTable;
use super::memory::Held;
use super::{BoxedOperator, ExecutionContext, Operator};
use arrow_buffer::BooleanBuffer;
use leafline_types::aggregate::{EncodedKeys, KeyEncoder};
use leafline_types::expr::{Datum, Selection};
use leafline_types::{Batch, ExprType, MysqlError};

pub(super) struct Distinct {
    input: BoxedOperator,
    encoder: KeyEncoder,
    keys: EncodedKeys,
    seen: KeyTable,
    held: Held,
}

impl Distinct {
    pub fn new(input: BoxedOperator, types: &[ExprType]) -> Distinct {
        Distinct {
            input,
            encoder: KeyEncoder::new(types),
            keys: EncodedKeys::default(),
            seen: KeyTable::default(),
            held: Held::default(),
        }
    }
}

impl Operator for Distinct {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        while let Some(batch) = self.input.next(cx)? {
            let columns: Vec<Datum> = batch.columns.iter().cloned().map(Datum::Array).collect();
            self.encoder.encode(&columns, batch.rows, &mut self.keys)?;
            let new = BooleanBuffer::collect_bool(batch.rows, |row| {
                let known = self.seen.len();
                self.seen.find_or_insert(self.keys.get(row)) as usize == known
            });
            self.held.set(self.seen.memory_bytes() + batch_bytes(&batch), cx.memory)?;
            let selection = Selection::from_bits(new);
            if selection.count() > 0 {
                return selection.apply(&batch).map(Some);
            }
        }
        Ok(None)
    }
}
