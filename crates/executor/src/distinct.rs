//! Delivers each distinct row once, the first of equal ones.
//!
//! When memory runs out, the known rows stay in memory, and unknown rows go to files by their keys; then these files are made
//! distinct, one after another.

use super::gather::batch_bytes;
use super::spill::{Partitions, SpillFile};
use super::{BoxedOperator, Build, Builder, ExecutionContext, Operator};
use arrow_buffer::BooleanBuffer;
use leafline_expr::aggregate::KeyTable;
use leafline_expr::aggregate::{EncodedKeys, KeyEncoder};
use leafline_expr::{Datum, Selection};
use leafline_planner::plan::{self, Node};
use leafline_types::memory::Held;
use leafline_types::{Batch, ExprType, MysqlError};
use std::sync::Arc;

pub(super) struct Distinct {
    input: BoxedOperator,
    types: Arc<[ExprType]>,
    encoder: KeyEncoder,
    keys: EncodedKeys,
    seen: KeyTable,
    /// Files for rows that are not in `seen`, once nothing is added to it.
    unknown: Option<Partitions>,
    /// Files whose rows are still to be made distinct; no row in them equals a delivered one.
    waiting: Vec<SpillFile>,
    /// The input was read to its end, and a file has replaced it.
    reads_files: bool,
    held: Held,
}

impl Distinct {
    pub fn new(input: BoxedOperator, types: &Arc<[ExprType]>) -> Distinct {
        Distinct {
            input,
            types: types.clone(),
            encoder: KeyEncoder::new(types.iter()),
            keys: EncodedKeys::default(),
            seen: KeyTable::default(),
            unknown: None,
            waiting: Vec::new(),
            reads_files: false,
            held: Held::default(),
        }
    }

    fn next_of_input(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        while let Some(batch) = self.input.next(cx)? {
            let columns: Vec<Datum> = batch.columns.iter().cloned().map(Datum::Array).collect();
            self.encoder.encode(&columns, batch.rows, &mut self.keys)?;
            if let Some(unknown) = &mut self.unknown {
                cx.eval.cancel.check()?;
                for row in 0..batch.rows {
                    if self.seen.find(self.keys.get(row)).is_none() {
                        unknown.push(self.keys.get(row), &batch, row, cx)?;
                    }
                }
                continue;
            }
            let new = BooleanBuffer::collect_bool(batch.rows, |row| {
                let known = self.seen.len();
                self.seen.find_or_insert(self.keys.get(row)) as usize == known
            });
            if !self.held.fits(self.seen.memory_bytes() + batch_bytes(&batch), cx.memory) {
                self.unknown = Some(Partitions::new(&self.types));
            }
            let selection = Selection::from_bits(new);
            if selection.count() > 0 {
                return selection.apply(&batch).map(Some);
            }
        }
        Ok(None)
    }
}

impl Build for plan::Distinct {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        Box::new(Distinct::new(builder.build(&self.input), &self.input.types))
    }
}

impl Operator for Distinct {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        loop {
            if let Some(batch) = self.next_of_input(cx)? {
                return Ok(Some(batch));
            }
            if let Some(unknown) = self.unknown.take() {
                self.waiting.extend(unknown.finish()?.into_iter().filter(|file| !file.is_empty()));
            }
            let Some(file) = self.waiting.pop() else { return Ok(None) };
            self.seen = KeyTable::default();
            self.held.set(0, cx.memory)?;
            self.input = file.read();
            self.reads_files = true;
        }
    }

    fn reset(&mut self) -> bool {
        self.seen = KeyTable::default();
        self.unknown = None;
        self.waiting.clear();
        self.held = Held::default();
        !self.reads_files && self.input.reset()
    }
}
