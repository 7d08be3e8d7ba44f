//! Computes one window function for the rows of a chunk, block by block.

use super::chunk::{Block, Chunk, Cursor, PartitionAndPeers};
use super::frame::{Frames, whole};
use super::inputs::{CallInputs, Inputs};
use crate::ExecutionContext;
use crate::params::FRAME_PART;
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, UInt64Array};
use arrow_select::concat::concat;
use arrow_select::take::take;
use arrow_select::zip::zip;
use leafline_expr::aggregate::{
    AggregateCall, FrameRows, FrameSource, GroupedAccumulator, Groups, SlidingAggregate,
};
use leafline_expr::{Datum, Expr, evaluate_scalar};
use leafline_planner::window::{FrameBound, FrameRow, WindowCall, WindowFunction};
use leafline_types::column::nulls;
use leafline_types::{Batch, ColumnBuilder, ExprType, MysqlError, Value};
use std::ops::Range;
use std::sync::Arc;

/// The state of a call after the rows of a partition in earlier chunks.
#[derive(Default)]
pub(super) struct CallState {
    /// Number of these rows.
    rows: u64,
    /// The number of the first peer of the last row.
    rank: u64,
    /// Number of peer groups.
    dense_rank: u64,
    accumulator: Option<GroupedAccumulator>,
}

/// A call over a chunk.
pub(super) enum Work {
    /// One value for all rows.
    Known(Value),
    Ranks(fn(&CallState) -> u64),
    /// A share that depends on the sizes of a row's partition and peer group.
    Shares(fn(&Range<usize>, &Range<usize>) -> f64, PartitionAndPeers),
    Tiles(u64, PartitionAndPeers),
    /// LAG and LEAD: rows at a distance before or after.
    Shifted {
        distance: usize,
        ahead: bool,
        around: PartitionAndPeers,
        source: Cursor,
    },
    /// A row of each frame: its last one, or the one at a distance after the first.
    Framed {
        nth: Option<usize>,
        frames: Box<Frames>,
        source: Cursor,
    },
    /// An aggregate of whole partitions that are in memory.
    Whole,
    Sliding {
        frames: Box<Frames>,
        sliding: Box<SlidingAggregate>,
    },
}

/// Computes PERCENT_RANK for a row, from its partition and its peers.
fn percent_rank(partition: &Range<usize>, peers: &Range<usize>) -> f64 {
    let others = partition.len().saturating_sub(1);
    if others == 0 { 0.0 } else { (peers.start - partition.start) as f64 / others as f64 }
}

fn cume_dist(partition: &Range<usize>, peers: &Range<usize>) -> f64 {
    (peers.end - partition.start) as f64 / partition.len() as f64
}

impl Work {
    /// Makes the computation for a chunk. `known`: the value for the whole partition, if the chunk is one.
    pub fn new(
        call: &WindowCall,
        inputs: &CallInputs,
        types: &[ExprType],
        known: Option<Value>,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<Work, MysqlError> {
        if let Some(known) = known {
            return Ok(Work::Known(known));
        }
        let around = PartitionAndPeers::default();
        Ok(match &call.function {
            WindowFunction::RowNumber => Work::Ranks(|state| state.rows),
            WindowFunction::Rank => Work::Ranks(|state| state.rank),
            WindowFunction::DenseRank => Work::Ranks(|state| state.dense_rank),
            WindowFunction::PercentRank => Work::Shares(percent_rank, around),
            WindowFunction::CumeDist => Work::Shares(cume_dist, around),
            WindowFunction::Ntile(parts) => match number(call, parts, 1, cx)? {
                Some(parts) => Work::Tiles(parts as u64, around),
                None => Work::Known(Value::Null),
            },
            WindowFunction::Shifted { rows, ahead, .. } => match number(call, rows, 0, cx)? {
                Some(distance) => {
                    Work::Shifted { distance, ahead: *ahead, around, source: Cursor::default() }
                }
                None => Work::Known(Value::Null),
            },
            WindowFunction::Framed { row, .. } => {
                let nth = match row {
                    FrameRow::First => Some(0),
                    FrameRow::Last => None,
                    FrameRow::Nth(nth) => match number(call, nth, 1, cx)? {
                        Some(nth) => Some(nth - 1),
                        None => return Ok(Work::Known(Value::Null)),
                    },
                };
                let frames = Box::new(Frames::new(&call.frame, inputs, types, cx)?);
                Work::Framed { nth, frames, source: Cursor::default() }
            }
            WindowFunction::Aggregate(_) if call.frame.is_whole() => Work::Whole,
            WindowFunction::Aggregate(aggregate) => {
                let frames = Box::new(Frames::new(&call.frame, inputs, types, cx)?);
                let grows = call.frame.start == FrameBound::Unbounded;
                let most = cx.memory.limit() / FRAME_PART;
                Work::Sliding { frames, sliding: Box::new(SlidingAggregate::new(aggregate, grows, most)) }
            }
        })
    }

    /// Computes the values for the next block of the chunk.
    pub fn values(
        &mut self,
        (call, inputs): (&WindowCall, &CallInputs),
        state: &mut CallState,
        block: &Block,
        chunk: &mut Chunk,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<ArrayRef, MysqlError> {
        let rows = block.rows();
        match self {
            Work::Known(value) => Datum::Scalar(value.clone()).into_array(&call.ty.sql, rows.len()),
            Work::Ranks(of) => Ok(ranks(state, block, *of)),
            Work::Shares(of, around) => {
                let mut shares = Vec::with_capacity(rows.len());
                for row in rows {
                    let (partition, peers) = (around.partition(row, chunk)?, around.peers(row, chunk)?);
                    shares.push(of(&partition, &peers));
                }
                Ok(Arc::new(Float64Array::from(shares)))
            }
            Work::Tiles(parts, around) => {
                let mut tiles = Vec::with_capacity(rows.len());
                for row in rows {
                    let partition = around.partition(row, chunk)?;
                    tiles.push(tile((row - partition.start) as u64, partition.len() as u64, *parts));
                }
                Ok(Arc::new(UInt64Array::from(tiles)))
            }
            Work::Shifted { distance, ahead, around, source } => {
                let mut sources = Vec::with_capacity(rows.len());
                for row in rows {
                    let shifted =
                        if *ahead { row.checked_add(*distance) } else { row.checked_sub(*distance) };
                    let partition = around.partition(row, chunk)?;
                    sources.push(shifted.filter(|row| partition.contains(row)));
                }
                let values = picked(call, inputs, &sources, source, chunk)?;
                let Some(default) = inputs.default else { return Ok(values) };
                let is_there = BooleanArray::from_iter(sources.iter().map(|row| Some(row.is_some())));
                zip(&is_there, &values, block.column(default)?).map_err(MysqlError::internal)
            }
            Work::Framed { nth, frames, source } => {
                let row_of = |frame: &Range<usize>| match nth {
                    Some(nth) => frame.start.checked_add(*nth).filter(|row| *row < frame.end),
                    None => frame.end.checked_sub(1).filter(|row| *row >= frame.start),
                };
                let rows: Vec<Option<usize>> = frames.of(block, chunk)?.iter().map(row_of).collect();
                picked(call, inputs, &rows, source, chunk)
            }
            Work::Whole => match &call.function {
                WindowFunction::Aggregate(aggregate) => whole_partitions(aggregate, inputs, block, cx),
                _ => Err(MysqlError::internal("no aggregate")),
            },
            Work::Sliding { frames, sliding } => match &call.function {
                WindowFunction::Aggregate(aggregate) => {
                    let frames = frames.of(block, chunk)?;
                    let mut out = ColumnBuilder::with_capacity(&call.ty.sql, frames.len());
                    let mut source = Arguments { chunk, columns: &inputs.args };
                    for (row, frame) in rows.zip(frames) {
                        if row == 0 || block.starts_partition(row) {
                            let goes_on = !block.starts_partition(row);
                            let before = state.accumulator.take().filter(|_| goes_on);
                            sliding.begin(aggregate, row, before);
                        }
                        out.push_value(&sliding.value(aggregate, frame, &mut source, &mut cx.eval)?)?;
                    }
                    Ok(out.finish())
                }
                _ => Err(MysqlError::internal("no aggregate")),
            },
        }
    }

    /// Ends the chunk; its last partition may continue in the next one.
    pub fn end(self, state: &mut CallState) {
        if let Work::Sliding { sliding, .. } = self {
            state.accumulator = Some(sliding.into_state());
        }
    }
}

/// Returns a constant argument that is at least `least`; none if it is NULL.
fn number(
    call: &WindowCall,
    argument: &Expr,
    least: usize,
    cx: &mut ExecutionContext<'_>,
) -> Result<Option<usize>, MysqlError> {
    let value = match evaluate_scalar(argument, &mut cx.eval)? {
        Value::Null => return Ok(None),
        value => whole(&value).and_then(|number| usize::try_from(number).ok()),
    };
    let number = value.filter(|number| *number >= least);
    number.map(Some).ok_or_else(|| MysqlError::wrong_arguments(call.name()))
}

fn ranks(state: &mut CallState, block: &Block, of: fn(&CallState) -> u64) -> ArrayRef {
    let ranks = block.rows().map(|row| {
        if block.starts_partition(row) {
            *state = CallState::default();
        }
        state.rows += 1;
        if block.starts_peers(row) {
            state.rank = state.rows;
            state.dense_rank += 1;
        }
        of(state)
    });
    Arc::new(UInt64Array::from_iter_values(ranks))
}

/// Returns the bucket of a row, from 1, when `rows` rows are cut into `parts` buckets.
fn tile(row: u64, rows: u64, parts: u64) -> u64 {
    // The first `larger` buckets have one row more than the others.
    let (size, larger) = (rows / parts, rows % parts);
    let in_larger = larger * (size + 1);
    if row < in_larger { row / (size + 1) + 1 } else { larger + (row - in_larger) / size.max(1) + 1 }
}

/// Picks the values of the argument in rows, which are searched from `source` on; NULL where there is no row.
fn picked(
    call: &WindowCall,
    inputs: &CallInputs,
    rows: &[Option<usize>],
    source: &mut Cursor,
    chunk: &mut Chunk,
) -> Result<ArrayRef, MysqlError> {
    let column = *inputs.args.first().ok_or_else(|| MysqlError::internal("a window function of nothing"))?;
    let mut pieces: Vec<ArrayRef> = Vec::new();
    let mut rest = rows;
    while let Some(next) = rest.iter().flatten().next() {
        let block = source.at(*next, chunk)?;
        let here = block.rows();
        let is_elsewhere = |row: &Option<usize>| row.is_some_and(|row| !here.contains(&row));
        let (these, others) = rest.split_at(rest.iter().position(is_elsewhere).unwrap_or(rest.len()));
        let places = these.iter().map(|row| row.map(|row| (row - here.start) as u64));
        let values = block.column(column)?;
        pieces.push(take(values, &UInt64Array::from_iter(places), None).map_err(MysqlError::internal)?);
        rest = others;
    }
    if pieces.is_empty() {
        return Ok(nulls(&call.ty.sql, rows.len()));
    }
    match pieces.as_slice() {
        [only] => Ok(only.clone()),
        pieces => {
            let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
            concat(&pieces).map_err(MysqlError::internal)
        }
    }
}

/// Columns of a chunk, for an aggregate.
struct Arguments<'a> {
    chunk: &'a mut Chunk,
    columns: &'a [usize],
}

impl FrameSource for Arguments<'_> {
    fn around(&mut self, row: usize) -> Result<FrameRows, MysqlError> {
        let block = self.chunk.block(row)?;
        let args = self.columns.iter().map(|column| block.column(*column).cloned());
        Ok(FrameRows { rows: block.rows(), args: args.collect::<Result<_, _>>()? })
    }
}

/// Computes an aggregate with whole partitions as groups.
fn whole_partitions(
    call: &AggregateCall,
    inputs: &CallInputs,
    block: &Block,
    cx: &mut ExecutionContext<'_>,
) -> Result<ArrayRef, MysqlError> {
    let rows = block.rows().len();
    let mut groups: Vec<u32> = Vec::with_capacity(rows);
    let mut count = 0;
    for partition in block.partitions() {
        groups.resize(partition.end, count);
        count += 1;
    }
    let args = arguments(inputs, block.columns())?;
    let mut accumulator = GroupedAccumulator::new(call);
    accumulator.update(Groups::Ids(&groups), count as usize, rows, &args, &mut cx.eval)?;
    let results = accumulator.finish(count as usize, &mut cx.eval)?;
    take(&results, &arrow_array::UInt32Array::from(groups), None).map_err(MysqlError::internal)
}

/// Returns the arguments of an aggregate among the columns of rows.
pub(super) fn arguments(inputs: &CallInputs, columns: &[ArrayRef]) -> Result<Vec<Datum>, MysqlError> {
    let column = |column: &usize| columns.get(*column).cloned().map(Datum::Array);
    let args: Option<Vec<Datum>> = inputs.args.iter().map(column).collect();
    args.ok_or_else(|| MysqlError::internal("a column that a window does not have"))
}

/// The computation of all calls of a window over a chunk.
pub(super) struct Computation {
    chunk: Chunk,
    works: Vec<Work>,
    /// The first row that is not computed yet.
    next: usize,
}

impl Computation {
    pub fn new(
        chunk: Chunk,
        calls: &[WindowCall],
        inputs: &Inputs,
        mut known: Vec<Option<Value>>,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<Computation, MysqlError> {
        known.resize(calls.len(), None);
        let calls = calls.iter().zip(&inputs.calls).zip(known);
        let works = calls.map(|((call, columns), known)| Work::new(call, columns, &inputs.types, known, cx));
        Ok(Computation { works: works.collect::<Result<_, _>>()?, chunk, next: 0 })
    }

    /// Returns the columns of the input and the values, for the next block.
    pub fn next(
        &mut self,
        calls: &[WindowCall],
        inputs: &Inputs,
        states: &mut [CallState],
        cx: &mut ExecutionContext<'_>,
    ) -> Result<Option<Batch>, MysqlError> {
        if self.next >= self.chunk.rows() {
            return Ok(None);
        }
        let block = self.chunk.block(self.next)?;
        let mut columns: Vec<ArrayRef> = block.columns().iter().take(inputs.input).cloned().collect();
        for (((call, inputs), work), state) in
            calls.iter().zip(&inputs.calls).zip(&mut self.works).zip(states)
        {
            columns.push(work.values((call, inputs), state, &block, &mut self.chunk, cx)?);
        }
        let rows = block.rows();
        self.next = rows.end;
        Ok(Some(Batch { columns, rows: rows.len() }))
    }

    /// Returns the bytes held because the rows are in a file.
    pub fn file_memory(&self) -> usize {
        match &self.chunk {
            Chunk::Memory(_) => 0,
            Chunk::File(file) => file.memory_bytes(),
        }
    }

    /// Ends the computation after the last row.
    pub fn end(self, states: &mut [CallState]) {
        self.works.into_iter().zip(states).for_each(|(work, state)| work.end(state));
    }
}
