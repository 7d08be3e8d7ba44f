//! Set operations: appended rows, rows in both inputs, rows in only one.

use super::gather::batch_bytes;
use super::spill::{Partitions, SpillFile};
use super::{BoxedOperator, Build, Builder, ExecutionContext, Operator};
use arrow_buffer::BooleanBufferBuilder;
use leafline_expr::aggregate::KeyTable;
use leafline_expr::aggregate::{EncodedKeys, KeyEncoder};
use leafline_expr::{Datum, Selection};
use leafline_planner::plan::{self, Node, SetOperationKind};
use leafline_types::memory::Held;
use leafline_types::{Batch, ExprType, MysqlError};
use std::collections::VecDeque;
use std::sync::Arc;

/// Delivers the rows of all inputs, one input after another.
pub(super) struct Append {
    inputs: VecDeque<BoxedOperator>,
}

impl Append {
    pub fn new(inputs: impl IntoIterator<Item = BoxedOperator>) -> Append {
        Append { inputs: inputs.into_iter().collect() }
    }
}

impl Build for plan::Append {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        Box::new(Append::new(self.inputs.iter().map(|input| builder.build(input))))
    }
}

impl Build for plan::SetOp {
    fn build(&self, node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        let (left, right) = (builder.build(&self.left), builder.build(&self.right));
        Box::new(SetOp::new(left, right, self.kept, self.all, &node.types))
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

/// INTERSECT and EXCEPT: counts the right rows, then streams the left rows past them.
///
/// When memory runs out, known rows stay in memory, and other rows of both sides go to files by their keys; then these pairs of
/// files are processed one after another.
pub(super) struct SetOp {
    left: BoxedOperator,
    right: Option<BoxedOperator>,
    kept: SetOperationKind,
    all: bool,
    types: Arc<[ExprType]>,
    encoder: KeyEncoder,
    keys: EncodedKeys,
    table: KeyTable,
    /// For each key, how many right rows no left row has met. `GONE` marks a left row that was delivered and must not be
    /// delivered again.
    counts: Vec<u64>,
    /// Files for rows that are not in the table, once nothing is added to it.
    others: Option<SpilledSides>,
    /// Pairs of files, left and right, that are not processed yet.
    waiting: Vec<(SpillFile, SpillFile)>,
    held: Held,
}

/// Rows of both sides, spread over files in the same way.
struct SpilledSides {
    left: Partitions,
    right: Partitions,
}

/// Marks a row that was delivered and must not be delivered again.
const GONE: u64 = u64::MAX;

impl SetOp {
    pub fn new(
        left: BoxedOperator,
        right: BoxedOperator,
        kept: SetOperationKind,
        all: bool,
        types: &Arc<[ExprType]>,
    ) -> SetOp {
        SetOp {
            left,
            right: Some(right),
            kept,
            all,
            encoder: KeyEncoder::new(types.iter()),
            types: types.clone(),
            keys: EncodedKeys::default(),
            table: KeyTable::default(),
            counts: Vec::new(),
            others: None,
            waiting: Vec::new(),
            held: Held::default(),
        }
    }

    fn encode(&mut self, batch: &Batch) -> Result<(), MysqlError> {
        let columns: Vec<Datum> = batch.columns.iter().cloned().map(Datum::Array).collect();
        self.encoder.encode(&columns, batch.rows, &mut self.keys)
    }

    /// Returns the count of a row's key. An unknown key is added if `may_be_new`.
    fn count(&mut self, row: usize, may_be_new: bool) -> Option<&mut u64> {
        let key = self.keys.get(row);
        let number = match may_be_new && self.others.is_none() {
            true => self.table.find_or_insert(key),
            false => self.table.find(key)?,
        } as usize;
        if number >= self.counts.len() {
            self.counts.resize(number + 1, 0);
        }
        self.counts.get_mut(number)
    }

    fn count_right(&mut self, cx: &mut ExecutionContext<'_>) -> Result<(), MysqlError> {
        let Some(mut right) = self.right.take() else { return Ok(()) };
        while let Some(batch) = right.next(cx)? {
            cx.eval.cancel.check()?;
            self.encode(&batch)?;
            for row in 0..batch.rows {
                if let Some(count) = self.count(row, true) {
                    *count += 1;
                } else if let Some(others) = &mut self.others {
                    others.right.push(self.keys.get(row), &batch, row, cx)?;
                }
            }
            self.hold(0, cx);
        }
        Ok(())
    }

    /// Whether a left row is delivered now; a row that was written to a file is not.
    fn keeps(
        &mut self,
        row: usize,
        batch: &Batch,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<bool, MysqlError> {
        let (kept, all) = (self.kept, self.all);
        let only_left = matches!(kept, SetOperationKind::OnlyLeft);
        // A left row without right row is remembered only to prevent a second delivery.
        let Some(count) = self.count(row, only_left && !all) else {
            return match &mut self.others {
                Some(others) => others.left.push(self.keys.get(row), batch, row, cx).map(|()| false),
                None => Ok(only_left),
            };
        };
        if *count == GONE {
            return Ok(false);
        }
        let matched = *count > 0;
        let keeps = matched != only_left;
        match all {
            true => *count -= u64::from(matched),
            false if keeps => *count = GONE,
            false => {}
        }
        Ok(keeps)
    }

    /// Accounts for the memory of the table and `more`. Starts to spill when it does not fit.
    fn hold(&mut self, more: usize, cx: &mut ExecutionContext<'_>) {
        let bytes = self.table.memory_bytes() + self.counts.capacity() * size_of::<u64>();
        if !self.held.fits(bytes + more, cx.memory) && self.others.is_none() {
            let right = Partitions::new(&self.types);
            self.others = Some(SpilledSides { left: Partitions::like(&right, &self.types), right });
        }
    }

    fn next_of_inputs(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        self.count_right(cx)?;
        while let Some(batch) = self.left.next(cx)? {
            cx.eval.cancel.check()?;
            self.encode(&batch)?;
            let mut kept = BooleanBufferBuilder::new(batch.rows);
            for row in 0..batch.rows {
                kept.append(self.keeps(row, &batch, cx)?);
            }
            self.hold(batch_bytes(&batch), cx);
            let selection = Selection::from_bits(kept.finish());
            if selection.count() > 0 {
                return selection.apply(&batch).map(Some);
            }
        }
        Ok(None)
    }
}

impl Operator for SetOp {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        loop {
            if let Some(batch) = self.next_of_inputs(cx)? {
                return Ok(Some(batch));
            }
            if let Some(SpilledSides { left, right }) = self.others.take() {
                let pairs = left.finish()?.into_iter().zip(right.finish()?);
                self.waiting.extend(pairs.filter(|(left, _)| !left.is_empty()));
            }
            let Some((left, right)) = self.waiting.pop() else { return Ok(None) };
            self.table = KeyTable::default();
            self.counts = Vec::new();
            self.held.set(0, cx.memory)?;
            self.left = left.read();
            self.right = Some(right.read());
        }
    }
}
