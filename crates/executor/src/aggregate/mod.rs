//! Grouping: one row per group, found by hash of the encoded keys; without keys, a single row.
//!
//! When memory runs out, groups in memory continue, and rows of other groups go to files by their keys; then these files are
//! grouped one after another. DISTINCT values beyond memory go to files as well ([`repeats`]), and so do values that GROUP_CONCAT
//! and JSON aggregates collect ([`gathered`]).

mod gathered;
mod repeats;
mod results;
#[cfg(test)]
mod tests;

use super::batch_size::copy_failed;
use super::gather::batch_bytes;
use super::project::{may_be_long, with_values};
use super::spill::{Partitions, SpillFile, picked};
use super::{BoxedOperator, Build, Builder, ExecutionContext, Operator};
use crate::params::BATCH_BYTES;
use crate::params::LONG_RESULT_BYTES;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_select::concat::concat;
use arrow_select::take::take;
use gathered::Gathered;
use leafline_expr::aggregate::{
    AggregateCall, EncodedKeys, GroupedAccumulator, Groups, KeyEncoder, KeyTable,
};
use leafline_expr::{Expr, build, evaluate};
use leafline_planner::plan::{self, Node};
use leafline_types::memory::Held;
use leafline_types::{Batch, ExprType, MysqlError};
use repeats::SpilledDistinct;
use results::{Column, GroupByGroup, Results};
use std::sync::Arc;

pub(super) struct Aggregate {
    input: BoxedOperator,
    types: Arc<[ExprType]>,
    keys: Arc<[Expr]>,
    grouping: usize,
    aggregates: Arc<[AggregateCall]>,
    results: Option<Results>,
    /// Files with rows of further groups.
    waiting: Vec<SpillFile>,
    /// The input was read to its end, and a file has replaced it.
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
        let (waiting, held) = (Vec::new(), Held::default());
        let types = types.clone();
        let (results, reads_files) = (None, false);
        Aggregate { input, types, keys, grouping, aggregates, results, waiting, reads_files, held }
            .with_long_values_below()
    }

    /// Adds a projection below that computes keys and arguments that may be long. The projection delivers small batches where
    /// values are long.
    fn with_long_values_below(self) -> Aggregate {
        let mut all = self.keys.iter().chain(self.aggregates.iter().flat_map(|call| &call.args));
        if !all.any(may_be_long) {
            return self;
        }
        let mut exprs = Vec::new();
        let mut wider = self.types.to_vec();
        let mut moved = |expr: &Expr| match may_be_long(expr) {
            false => expr.clone(),
            true => {
                exprs.push(expr.clone());
                wider.push(expr.ty.clone());
                build::column(wider.len() - 1, expr.ty.clone())
            }
        };
        let keys = self.keys.iter().map(&mut moved).collect();
        let mut aggregates = self.aggregates.to_vec();
        aggregates.iter_mut().flat_map(|call| &mut call.args).for_each(|arg| *arg = moved(arg));
        let input = with_values(self.input, &self.types, exprs);
        Aggregate { input, types: wider.into(), keys, aggregates: aggregates.into(), ..self }
    }

    fn aggregated(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Results, MysqlError> {
        let mut grouping = Grouping::new(&self.keys, self.grouping);
        let mut states: Vec<State> = self.aggregates.iter().map(State::new).collect();
        let mut others: Option<Partitions> = None;
        // Once memory has run out: the size that the groups in memory may grow to.
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
                        calls.map(|(call, state)| state.close(call, cx)).filter(|closed| *closed).count();
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
    ) -> Result<Results, MysqlError> {
        let rows = grouping.count();
        // Rows that were left out have values that the accumulators do not know.
        for state in
            states.iter_mut().filter(|state| matches!(state.beyond, Some(AggregateSpill::SpilledDistinct(_))))
        {
            state.accumulator.forget_arguments();
        }
        for at in 0..states.len() {
            let accumulated: usize = states.iter().map(|state| state.accumulator.memory()).sum();
            let state = &mut states[at];
            let Some(AggregateSpill::SpilledDistinct(repeats)) =
                state.beyond.take_if(|beyond| matches!(beyond, AggregateSpill::SpilledDistinct(_)))
            else {
                continue;
            };
            let besides = accumulated + grouping.memory_bytes() - state.accumulator.memory();
            repeats.finish(&mut state.accumulator, rows, besides, &mut self.held, cx)?;
        }
        let keys = grouping.finish(&self.keys)?;
        let mut columns: Vec<Column> = keys;
        for (call, State { mut accumulator, beyond }) in self.aggregates.iter().zip(states) {
            columns.push(match beyond {
                Some(AggregateSpill::Gathered(gathered)) => {
                    let (entries, ty) = (Some(gathered.finish(cx)?), call.ty.sql.clone());
                    Column::Gathered(Box::new(GroupByGroup { accumulator, entries, ty }))
                }
                _ if accumulator.memory() > LONG_RESULT_BYTES && accumulator.has_values() => {
                    let ty = call.ty.sql.clone();
                    Column::Gathered(Box::new(GroupByGroup { accumulator, entries: None, ty }))
                }
                _ => Column::Ready(accumulator.finish(rows, &mut cx.eval)?),
            });
        }
        Ok(Results::new(columns, rows))
    }
}

/// The state of one aggregate.
struct State {
    accumulator: GroupedAccumulator,
    /// The rows that found no room in memory.
    beyond: Option<AggregateSpill>,
}

/// The rows of an aggregate that are in files.
enum AggregateSpill {
    SpilledDistinct(SpilledDistinct),
    Gathered(Gathered),
}

impl State {
    fn new(call: &AggregateCall) -> State {
        State { accumulator: GroupedAccumulator::new(call), beyond: None }
    }

    /// Adds the rows of a batch.
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
        match &mut self.beyond {
            Some(AggregateSpill::Gathered(gathered)) => gathered.write(&self.accumulator),
            Some(AggregateSpill::SpilledDistinct(repeats)) => {
                repeats.write(&self.accumulator, groups, batch.rows, args, cx)
            }
            None => Ok(()),
        }
    }

    /// Stops the aggregate from keeping more values; false if it keeps none.
    fn close(&mut self, call: &AggregateCall, cx: &mut ExecutionContext<'_>) -> bool {
        let State { accumulator, beyond } = self;
        let repeats = SpilledDistinct::begin(call, accumulator).map(AggregateSpill::SpilledDistinct);
        *beyond = repeats.or_else(|| Gathered::begin(accumulator, cx).map(AggregateSpill::Gathered));
        beyond.is_some()
    }
}

impl Build for plan::Aggregate {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        let (input, types) = (builder.build(&self.input), &self.input.types);
        Box::new(Aggregate::new(input, types, self.keys.clone(), self.grouping, self.aggregates.clone()))
    }
}

impl Operator for Aggregate {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        loop {
            if self.results.is_none() {
                self.results = Some(self.aggregated(cx)?);
            }
            let Some(results) = &mut self.results else { return Ok(None) };
            if let Some(batch) = results.next(cx)? {
                // The reader of the batch accounts for its memory.
                if let Some(left) = results.bytes_of_pieces() {
                    self.held.set(left, cx.memory)?;
                }
                return Ok(Some(batch));
            }
            let Some(file) = self.waiting.pop() else { return Ok(None) };
            self.input = file.read();
            self.reads_files = true;
            self.held.set(0, cx.memory)?;
            self.results = None;
        }
    }

    fn reset(&mut self) -> bool {
        self.results = None;
        self.held = Held::default();
        self.waiting.clear();
        !self.reads_files && self.input.reset()
    }
}

/// The group numbers of a batch's rows, and the keys of all groups.
struct Grouping {
    encoder: KeyEncoder,
    encoded: EncodedKeys,
    /// Number of keys, from the first, that distinguish groups.
    grouping: usize,
    table: KeyTable,
    ids: Vec<u32>,
    /// Key columns of the groups, in the order of their numbers: one piece for each batch that had new groups.
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
                piece.push(take(&column, &opened, None).map_err(copy_failed)?);
            }
            self.piece_bytes += batch_bytes(&Batch { columns: piece.clone(), rows: opened.len() });
            self.pieces.push(piece);
        }
        Ok(())
    }

    /// Numbers the rows of known groups and returns them; writes the other rows to files.
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

    fn finish(self, keys: &[Expr]) -> Result<Vec<Column>, MysqlError> {
        if self.pieces.is_empty() {
            let empty = |key: &Expr| leafline_types::ColumnBuilder::for_type(&key.ty.sql).finish();
            return Ok(keys.iter().map(|key| Column::Ready(empty(key))).collect());
        }
        // Columns of this size stay in pieces.
        let most = if self.piece_bytes > LONG_RESULT_BYTES { BATCH_BYTES } else { usize::MAX };
        let mut runs: Vec<(usize, Vec<&Vec<ArrayRef>>)> = Vec::new();
        for piece in &self.pieces {
            let bytes: usize = piece.iter().map(|column| column.get_array_memory_size()).sum();
            match runs.last_mut().filter(|(before, _)| before.saturating_add(bytes) <= most) {
                Some((before, run)) => {
                    *before += bytes;
                    run.push(piece);
                }
                None => runs.push((bytes, vec![piece])),
            }
        }
        (0..keys.len())
            .map(|column| {
                let joined = runs.iter().map(|(_, run)| {
                    let pieces: Vec<&dyn Array> =
                        run.iter().filter_map(|piece| piece.get(column).map(AsRef::as_ref)).collect();
                    concat(&pieces).map_err(copy_failed)
                });
                let mut joined = joined.collect::<Result<Vec<ArrayRef>, _>>()?;
                Ok(match joined.len() {
                    1 => Column::Ready(joined.remove(0)),
                    _ => Column::Pieces(joined),
                })
            })
            .collect()
    }
}
