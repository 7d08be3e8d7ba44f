//! The set of rows that a recursive common table has: the latest keys in memory and, when memory runs out, the others in files
//! ([`leafline_table::run::KeySet`]).

use super::ExecutionContext;
use crate::params::KNOWN_ROWS_PART;
use arrow_buffer::BooleanBuffer;
use leafline_expr::aggregate::{EncodedKeys, KeyEncoder, KeyTable};
use leafline_expr::{Datum, Selection};
use leafline_table::run::KeySet;
use leafline_types::memory::Held;
use leafline_types::{Batch, ExprType, MysqlError};

pub(super) struct SeenRows {
    encoder: KeyEncoder,
    keys: EncodedKeys,
    latest: KeyTable,
    /// Keys in files; none of them is among the latest.
    others: Option<KeySet>,
    held: Held,
}

impl SeenRows {
    pub fn new(types: &[ExprType]) -> SeenRows {
        SeenRows {
            encoder: KeyEncoder::new(types.iter()),
            keys: EncodedKeys::default(),
            latest: KeyTable::default(),
            others: None,
            held: Held::default(),
        }
    }

    /// Returns the first of equal unknown rows, and adds them to the set.
    pub fn add(&mut self, batch: &Batch, cx: &mut ExecutionContext<'_>) -> Result<Selection, MysqlError> {
        let columns: Vec<Datum> = batch.columns.iter().cloned().map(Datum::Array).collect();
        self.encoder.encode(&columns, batch.rows, &mut self.keys)?;
        let in_files = self.in_files(batch.rows, cx)?;
        let new = BooleanBuffer::collect_bool(batch.rows, |row| {
            let known = self.latest.len();
            !in_files.get(row).is_some_and(|known| *known)
                && self.latest.find_or_insert(self.keys.get(row)) as usize == known
        });
        let files = self.others.as_ref().map_or(0, |others| others.memory_bytes() as usize);
        let fits = self.held.fits(self.latest.memory_bytes() + files, cx.memory);
        if !fits && self.latest.memory_bytes() > cx.memory.limit() / KNOWN_ROWS_PART {
            self.move_to_file(cx)?;
        }
        Ok(Selection::from_bits(new))
    }

    /// Returns for each row of the batch whether its key is in a file; empty if there is no file.
    fn in_files(&self, rows: usize, cx: &ExecutionContext<'_>) -> Result<Vec<bool>, MysqlError> {
        let Some(others) = &self.others else { return Ok(Vec::new()) };
        let mut unknown: Vec<usize> =
            (0..rows).filter(|row| self.latest.find(self.keys.get(*row)).is_none()).collect();
        unknown.sort_unstable_by_key(|row| self.keys.get(*row));
        let mut known = vec![false; rows];
        for row in unknown {
            cx.eval.cancel.check()?;
            if let Some(known) = known.get_mut(row) {
                *known = others.contains(self.keys.get(row))?;
            }
        }
        Ok(known)
    }

    fn move_to_file(&mut self, cx: &mut ExecutionContext<'_>) -> Result<(), MysqlError> {
        let keys = self.latest.take_keys();
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_unstable_by_key(|key| keys.get(*key));
        cx.counters.created_tmp_files += 1;
        let others = self.others.get_or_insert_with(|| cx.view.core().key_set());
        others.add(order.iter().map(|key| keys.get(*key)), keys.len(), cx.eval.cancel)?;
        self.held.fits(others.memory_bytes() as usize, cx.memory);
        Ok(())
    }
}
