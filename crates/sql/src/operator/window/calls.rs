//! The values of one window function for the rows of a chunk.

use super::chunk::Chunk;
use super::frame::{frames, whole};
use crate::operator::ExecutionContext;
use crate::window::{FrameRow, WindowCall, WindowFunction};
use arrow_array::{ArrayRef, Float64Array, UInt64Array};
use arrow_select::interleave::interleave;
use arrow_select::take::take;
use leafline_types::aggregate::{AggregateCall, GroupedAccumulator, Groups, SlidingAggregate};
use leafline_types::column::nulls;
use leafline_types::expr::{Datum, Expr, evaluate, evaluate_scalar};
use leafline_types::{ColumnBuilder, MysqlError, Value};
use std::ops::Range;
use std::sync::Arc;

/// What a call keeps of the rows of a partition that went before.
#[derive(Default)]
pub(super) struct CallState {
    /// How many rows there were.
    rows: u64,
    /// The number of the first row that equals the last one.
    rank: u64,
    /// How many different rows there were.
    dense_rank: u64,
    accumulator: Option<GroupedAccumulator>,
}

/// The values of a call for a chunk.
pub(super) fn values(
    call: &WindowCall,
    state: &mut CallState,
    chunk: &Chunk,
    cx: &mut ExecutionContext<'_>,
) -> Result<ArrayRef, MysqlError> {
    match &call.function {
        WindowFunction::RowNumber => Ok(ranks(state, chunk, |state| state.rows)),
        WindowFunction::Rank => Ok(ranks(state, chunk, |state| state.rank)),
        WindowFunction::DenseRank => Ok(ranks(state, chunk, |state| state.dense_rank)),
        WindowFunction::PercentRank => Ok(shares(chunk, |partition, peers| {
            let others = partition.len().saturating_sub(1);
            if others == 0 { 0.0 } else { (peers.start - partition.start) as f64 / others as f64 }
        })),
        WindowFunction::CumeDist => Ok(shares(chunk, |partition, peers| {
            (peers.end - partition.start) as f64 / partition.len() as f64
        })),
        WindowFunction::Ntile(parts) => ntile(parts, chunk, cx),
        WindowFunction::Shifted { value, rows, ahead, default } => {
            shifted(call, chunk, (value, rows, *ahead, default.as_ref()), cx)
        }
        WindowFunction::Framed { value, row } => framed(call, value, row, chunk, cx),
        WindowFunction::Aggregate(aggregate) if call.frame.is_whole() => {
            whole_partitions(aggregate, chunk, cx)
        }
        WindowFunction::Aggregate(aggregate) => over_frames(call, aggregate, state, chunk, cx),
    }
}

fn ranks(state: &mut CallState, chunk: &Chunk, of: impl Fn(&CallState) -> u64) -> ArrayRef {
    let mut ranks = Vec::with_capacity(chunk.rows());
    for row in 0..chunk.rows() {
        if chunk.starts_partition(row) {
            *state = CallState::default();
        }
        state.rows += 1;
        if chunk.starts_peers(row) {
            state.rank = state.rows;
            state.dense_rank += 1;
        }
        ranks.push(of(state));
    }
    Arc::new(UInt64Array::from(ranks))
}

fn shares(chunk: &Chunk, of: impl Fn(&Range<usize>, &Range<usize>) -> f64) -> ArrayRef {
    let mut shares = Vec::with_capacity(chunk.rows());
    for partition in chunk.partitions() {
        for peers in chunk.peers(partition.clone()) {
            shares.resize(shares.len() + peers.len(), of(&partition, &peers));
        }
    }
    Arc::new(Float64Array::from(shares))
}

fn ntile(parts: &Expr, chunk: &Chunk, cx: &mut ExecutionContext<'_>) -> Result<ArrayRef, MysqlError> {
    let parts = match evaluate_scalar(parts, &mut cx.eval)? {
        Value::Null => return Ok(Arc::new(UInt64Array::new_null(chunk.rows()))),
        value => whole(&value).filter(|parts| *parts > 0),
    };
    let parts = parts.ok_or_else(|| MysqlError::wrong_arguments("ntile"))? as u64;
    let mut tiles = Vec::with_capacity(chunk.rows());
    for partition in chunk.partitions() {
        // The first `larger` parts have a row more than the others.
        let rows = partition.len() as u64;
        let (size, larger) = (rows / parts, rows % parts);
        tiles.extend((0..rows).map(|row| {
            let in_larger = larger * (size + 1);
            if row < in_larger { row / (size + 1) + 1 } else { larger + (row - in_larger) / size.max(1) + 1 }
        }));
    }
    Ok(Arc::new(UInt64Array::from(tiles)))
}

/// The values of an expression for the rows of a chunk.
fn column(expr: &Expr, chunk: &Chunk, cx: &mut ExecutionContext<'_>) -> Result<ArrayRef, MysqlError> {
    evaluate(expr, &chunk.batch, &mut cx.eval)?.into_array(&expr.ty.sql, chunk.rows())
}

/// The rows of an array, NULL where there is none.
fn picked(values: &ArrayRef, rows: Vec<Option<u64>>) -> Result<ArrayRef, MysqlError> {
    take(values, &UInt64Array::from(rows), None).map_err(MysqlError::internal)
}

fn shifted(
    call: &WindowCall,
    chunk: &Chunk,
    (value, rows, ahead, default): (&Expr, &Expr, bool, Option<&Expr>),
    cx: &mut ExecutionContext<'_>,
) -> Result<ArrayRef, MysqlError> {
    let distance = match evaluate_scalar(rows, &mut cx.eval)? {
        Value::Null => return Ok(nulls(&call.ty.sql, chunk.rows())),
        value => whole(&value).and_then(|rows| usize::try_from(rows).ok()),
    };
    let distance = distance.ok_or_else(|| MysqlError::wrong_arguments(call.name()))?;
    let values = column(value, chunk, cx)?;
    let mut sources: Vec<Option<usize>> = Vec::with_capacity(chunk.rows());
    for partition in chunk.partitions() {
        sources.extend(partition.clone().map(|row| match ahead {
            true => row.checked_add(distance).filter(|row| partition.contains(row)),
            false => row.checked_sub(distance).filter(|row| partition.contains(row)),
        }));
    }
    let Some(default) = default else {
        return picked(&values, sources.into_iter().map(|row| row.map(|row| row as u64)).collect());
    };
    let default = column(default, chunk, cx)?;
    let picks: Vec<(usize, usize)> = sources
        .into_iter()
        .enumerate()
        .map(|(row, source)| source.map_or((1, row), |row| (0, row)))
        .collect();
    interleave(&[values.as_ref(), default.as_ref()], &picks).map_err(MysqlError::internal)
}

fn framed(
    call: &WindowCall,
    value: &Expr,
    row: &FrameRow,
    chunk: &Chunk,
    cx: &mut ExecutionContext<'_>,
) -> Result<ArrayRef, MysqlError> {
    let nth = match row {
        FrameRow::Nth(number) => match evaluate_scalar(number, &mut cx.eval)? {
            Value::Null => return Ok(nulls(&call.ty.sql, chunk.rows())),
            value => whole(&value).filter(|number| *number > 0).map(|number| number as usize - 1),
        },
        _ => Some(0),
    };
    let nth = nth.ok_or_else(|| MysqlError::wrong_arguments(call.name()))?;
    let values = column(value, chunk, cx)?;
    let row_of = |frame: Range<usize>| match row {
        FrameRow::First | FrameRow::Nth(_) => frame.start.checked_add(nth).filter(|row| *row < frame.end),
        FrameRow::Last => frame.end.checked_sub(1).filter(|row| *row >= frame.start),
    };
    let frames = frames(&call.frame, chunk, cx)?;
    picked(&values, frames.into_iter().map(|frame| row_of(frame).map(|row| row as u64)).collect())
}

/// An aggregate of whole partitions, which are groups.
fn whole_partitions(
    call: &AggregateCall,
    chunk: &Chunk,
    cx: &mut ExecutionContext<'_>,
) -> Result<ArrayRef, MysqlError> {
    let mut groups: Vec<u32> = Vec::with_capacity(chunk.rows());
    let mut count = 0;
    for partition in chunk.partitions() {
        groups.resize(partition.end, count);
        count += 1;
    }
    let mut args: Vec<Datum> = Vec::with_capacity(call.args.len());
    for arg in &call.args {
        args.push(evaluate(arg, &chunk.batch, &mut cx.eval)?);
    }
    let mut accumulator = GroupedAccumulator::new(call);
    accumulator.update(Groups::Ids(&groups), count as usize, chunk.rows(), &args, &mut cx.eval)?;
    let results = accumulator.finish(count as usize, &mut cx.eval)?;
    picked(&results, groups.into_iter().map(|group| Some(group.into())).collect())
}

fn over_frames(
    call: &WindowCall,
    aggregate: &AggregateCall,
    state: &mut CallState,
    chunk: &Chunk,
    cx: &mut ExecutionContext<'_>,
) -> Result<ArrayRef, MysqlError> {
    let frames = frames(&call.frame, chunk, cx)?;
    let mut args = Vec::with_capacity(aggregate.args.len());
    for arg in &aggregate.args {
        args.push(column(arg, chunk, cx)?);
    }
    let grows = call.frame.start == crate::window::FrameBound::Unbounded;
    let mut out = ColumnBuilder::with_capacity(&call.ty.sql, chunk.rows());
    for partition in chunk.partitions() {
        let before = match chunk.starts_partition(partition.start) {
            true => None,
            false => state.accumulator.take(),
        };
        let mut sliding = SlidingAggregate::new(aggregate, &args, partition.start, grows, before)?;
        for frame in frames.get(partition.clone()).unwrap_or_default() {
            out.push_value(&sliding.value(frame.clone(), &mut cx.eval)?)?;
        }
        if grows && partition.end == chunk.rows() {
            state.accumulator = Some(sliding.into_state());
        }
    }
    Ok(out.finish())
}
