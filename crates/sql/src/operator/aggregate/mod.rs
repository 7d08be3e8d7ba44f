//! One row per group: grouping by hash of the encoded keys; without keys, one row in all.
//!
//! When memory is used up, the groups there are go on, and rows of others go to files by their keys; then these are grouped, one after
//! the other. What is kept of DISTINCT values goes to files as well ([`repeats`]).

mod repeats;

use super::gather::batch_bytes;
use super::limit::slice;
use super::memory::Held;
use super::spill::{Partitions, SpillFile, picked};
use super::{BATCH_ROWS, BoxedOperator, ExecutionContext, Operator};
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_select::concat::concat;
use arrow_select::take::take;
use leafline_types::aggregate::{
    AggregateCall, EncodedKeys, GroupedAccumulator, Groups, KeyEncoder, KeyTable,
};
use leafline_types::expr::{Expr, evaluate};
use leafline_types::{Batch, ExprType, MysqlError};
use repeats::Repeats;
use std::sync::Arc;

pub(super) struct Aggregate {
    input: BoxedOperator,
    types: Arc<[ExprType]>,
    keys: Arc<[Expr]>,
    grouping: usize,
    aggregates: Arc<[AggregateCall]>,
    result: Option<(Batch, usize)>,
    /// Files with rows of further groups.
    waiting: Vec<SpillFile>,
    /// The input was read to its end, and replaced by a file.
    reads_files: bool,
    held: Held,
}

impl Aggregate {
    pub fn new(
        input: BoxedOperator,
        types: &Arc<[ExprType]>,
        keys: Arc<[Expr]>,
        grouping: usize,
        aggregates: Arc<[AggregateCall]>,
    ) -> Aggregate {
        let (types, waiting, held) = (types.clone(), Vec::new(), Held::default());
        Aggregate {
            input,
            types,
            keys,
            grouping,
            aggregates,
            result: None,
            waiting,
            reads_files: false,
            held,
        }
    }

    fn run(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Batch, MysqlError> {
        let mut grouping = Grouping::new(&self.keys, self.grouping);
        let mut states: Vec<State> = self.aggregates.iter().map(State::new).collect();
        let mut others: Option<Partitions> = None;
        // Once memory is used up: what the groups there may grow to.
        let mut most = None;
        while let Some(mut batch) = self.input.next(cx)? {
            match &mut others {
                None => grouping.number(&self.keys, &batch, cx)?,
                Some(others) => {
                    cx.eval.cancel.check()?;
                    batch = grouping.number_known(&self.keys, &batch, others, cx)?;
                    if batch.rows == 0 {
                        continue;
                    }
                }
            }
            for (call, state) in self.aggregates.iter().zip(&mut states) {
                state.update(call, &grouping, &batch, cx)?;
            }
            let accumulated: usize = states.iter().map(|state| state.accumulator.memory()).sum();
            let bytes = accumulated + grouping.memory_bytes();
            if self.held.fits(bytes, cx.memory) {
                continue;
            }
            match most {
                None => {
                    let calls = self.aggregates.iter().zip(&mut states);
                    let closed =
                        calls.map(|(call, state)| state.close(call)).filter(|closed| *closed).count();
                    if grouping.keyed {
                        others = Some(Partitions::new(&self.types));
                    } else if closed == 0 {
                        return Err(cx.memory.exhausted(bytes));
                    }
                    most = Some(2 * bytes.max(cx.memory.limit()));
                }
                Some(most) if bytes > most => return Err(cx.memory.exhausted(bytes)),
                Some(_) => {}
            }
        }
        if let Some(others) = others {
            self.waiting.extend(others.finish()?.into_iter().filter(|file| !file.is_empty()));
        }
        self.finish(grouping, states, cx)
    }

    fn finish(
        &mut self,
        grouping: Grouping,
        mut states: Vec<State>,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<Batch, MysqlError> {
        let rows = grouping.count();
        // Rows that were left out have other values than those known.
        for state in states.iter_mut().filter(|state| state.repeats.is_some()) {
            state.accumulator.forget_arguments();
        }
        for at in 0..states.len() {
            let Some(repeats) = states.get_mut(at).and_then(|state| state.repeats.take()) else { continue };
            let accumulated: usize = states.iter().map(|state| state.accumulator.memory()).sum();
            let Some(State { accumulator, .. }) = states.get_mut(at) else { break };
            let besides = accumulated + grouping.memory_bytes() - accumulator.memory();
            repeats.finish(accumulator, rows, besides, &mut self.held, cx)?;
        }
        let mut columns = grouping.finish(&self.keys)?;
        for state in &mut states {
            columns.push(state.accumulator.finish(rows, &mut cx.eval)?);
        }
        Ok(Batch { columns, rows })
    }
}

/// The state of one aggregate.
struct State {
    accumulator: GroupedAccumulator,
    /// Rows with values that there was no room for.
    repeats: Option<Repeats>,
}

impl State {
    fn new(call: &AggregateCall) -> State {
        State { accumulator: GroupedAccumulator::new(call), repeats: None }
    }

    /// Takes in the rows of a batch.
    fn update(
        &mut self,
        call: &AggregateCall,
        grouping: &Grouping,
        batch: &Batch,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<(), MysqlError> {
        let mut args = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            args.push(evaluate(arg, batch, &mut cx.eval)?);
        }
        let groups = grouping.groups();
        self.accumulator.update(groups, grouping.count(), batch.rows, &args, &mut cx.eval)?;
        match &mut self.repeats {
            Some(repeats) => repeats.write(&self.accumulator, groups, batch.rows, args, cx),
            None => Ok(()),
        }
    }

    /// Lets it keep no more values; false if it keeps none.
    fn close(&mut self, call: &AggregateCall) -> bool {
        self.repeats = Repeats::begin(call, &mut self.accumulator);
        self.repeats.is_some()
    }
}

impl Operator for Aggregate {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        loop {
            if self.result.is_none() {
                self.result = Some((self.run(cx)?, 0));
            }
            let Some((result, delivered)) = &mut self.result else { return Ok(None) };
            let rows = (result.rows - *delivered).min(BATCH_ROWS);
            if rows > 0 {
                let batch = slice(result, *delivered, rows);
                *delivered += rows;
                return Ok(Some(batch));
            }
            let Some(file) = self.waiting.pop() else { return Ok(None) };
            self.input = file.read();
            self.reads_files = true;
            self.held.set(0, cx.memory)?;
            self.result = None;
        }
    }

    fn reset(&mut self) -> bool {
        self.result = None;
        self.held = Held::default();
        self.waiting.clear();
        !self.reads_files && self.input.reset()
    }
}

/// The numbers of the groups of a batch's rows, and the keys of all groups.
struct Grouping {
    encoder: KeyEncoder,
    encoded: EncodedKeys,
    /// How many of the keys tell groups apart.
    grouping: usize,
    table: KeyTable,
    ids: Vec<u32>,
    /// Key columns of the groups, in the order of their numbers: a piece for each batch that had new ones.
    pieces: Vec<Vec<ArrayRef>>,
    piece_bytes: usize,
    keyed: bool,
}

impl Grouping {
    fn new(keys: &[Expr], grouping: usize) -> Grouping {
        Grouping {
            encoder: KeyEncoder::new(keys.iter().take(grouping).map(|key| &key.ty)),
            encoded: EncodedKeys::default(),
            grouping,
            table: KeyTable::default(),
            ids: Vec::new(),
            pieces: Vec::new(),
            piece_bytes: 0,
            keyed: !keys.is_empty(),
        }
    }

    fn number(
        &mut self,
        keys: &[Expr],
        batch: &Batch,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<(), MysqlError> {
        if !self.keyed {
            return Ok(());
        }
        let mut columns = Vec::with_capacity(keys.len());
        for key in keys.iter().take(self.grouping) {
            columns.push(evaluate(key, batch, &mut cx.eval)?);
        }
        self.encoder.encode(&columns, batch.rows, &mut self.encoded)?;
        self.ids.clear();
        let mut opened = Vec::new();
        for row in 0..batch.rows {
            let known = self.table.len();
            let id = self.table.find_or_insert(self.encoded.get(row));
            if id as usize == known {
                opened.push(row as u32);
            }
            self.ids.push(id);
        }
        if !opened.is_empty() {
            let opened = UInt32Array::from(opened);
            for key in keys.iter().skip(self.grouping) {
                columns.push(evaluate(key, batch, &mut cx.eval)?);
            }
            let mut piece = Vec::with_capacity(columns.len());
            for (column, key) in columns.into_iter().zip(keys) {
                let column = column.into_array(&key.ty.sql, batch.rows)?;
                piece.push(take(&column, &opened, None).map_err(MysqlError::internal)?);
            }
            self.piece_bytes += batch_bytes(&Batch { columns: piece.clone(), rows: opened.len() });
            self.pieces.push(piece);
        }
        Ok(())
    }

    /// Numbers the rows whose groups are there, and gives these rows; the others are written to files.
    fn number_known(
        &mut self,
        keys: &[Expr],
        batch: &Batch,
        others: &mut Partitions,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<Batch, MysqlError> {
        let mut columns = Vec::with_capacity(self.grouping);
        for key in keys.iter().take(self.grouping) {
            columns.push(evaluate(key, batch, &mut cx.eval)?);
        }
        self.encoder.encode(&columns, batch.rows, &mut self.encoded)?;
        self.ids.clear();
        let mut known = Vec::new();
        for row in 0..batch.rows {
            match self.table.find(self.encoded.get(row)) {
                Some(id) => {
                    self.ids.push(id);
                    known.push(row as u32);
                }
                None => others.push(self.encoded.get(row), batch, row, cx)?,
            }
        }
        picked(batch, &known)
    }

    fn groups(&self) -> Groups<'_> {
        if self.keyed { Groups::Ids(&self.ids) } else { Groups::One }
    }

    fn count(&self) -> usize {
        if self.keyed { self.table.len() } else { 1 }
    }

    fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() + self.piece_bytes
    }

    fn finish(self, keys: &[Expr]) -> Result<Vec<ArrayRef>, MysqlError> {
        if self.pieces.is_empty() {
            let empty = |key: &Expr| leafline_types::ColumnBuilder::for_type(&key.ty.sql).finish();
            return Ok(keys.iter().map(empty).collect());
        }
        (0..keys.len())
            .map(|column| {
                let pieces: Vec<&dyn Array> =
                    self.pieces.iter().filter_map(|piece| piece.get(column).map(AsRef::as_ref)).collect();
                concat(&pieces).map_err(MysqlError::internal)
            })
            .collect()
    }
}
