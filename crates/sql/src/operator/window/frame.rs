//! The frames of rows: runs of their partition.

use super::chunk::Chunk;
use crate::binder::is_no_distance;
use crate::operator::ExecutionContext;
use crate::window::{Distance, Frame, FrameBound, FrameUnit};
use arrow_array::ArrayRef;
use leafline_types::expr::{Expr, evaluate, evaluate_scalar};
use leafline_types::{Decimal, MysqlError, SqlType, Value, value_at};
use std::cmp::Ordering;
use std::ops::Range;

/// The frame of each row of a chunk, as positions in the chunk. A frame without rows is empty, wherever it would be.
pub(super) fn frames(
    frame: &Frame,
    chunk: &Chunk,
    cx: &mut ExecutionContext<'_>,
) -> Result<Vec<Range<usize>>, MysqlError> {
    let start = Bound::new(&frame.start, frame, chunk, cx)?;
    let end = Bound::new(&frame.end, frame, chunk, cx)?;
    let order = match &frame.unit {
        FrameUnit::Range { key: Some(key), descending } => Some(Order::new(key, *descending, chunk, cx)?),
        _ => None,
    };
    let mut frames = Vec::with_capacity(chunk.rows());
    for partition in chunk.partitions() {
        let values = order.as_ref().map_or(0..0, |order| order.values(&partition));
        let (mut first, mut last) = (values.start, values.start);
        for peers in chunk.peers(partition.clone()) {
            let is_null =
                order.as_ref().is_some_and(|order| !values.contains(&peers.start) && order.has(peers.start));
            for row in peers.clone() {
                let start = match &start {
                    Bound::Unbounded => partition.start,
                    Bound::Rows(0) if !frame.is_rows() => peers.start,
                    Bound::Rows(distance) => moved(row, *distance, &partition),
                    Bound::Limits(_) if is_null => peers.start,
                    Bound::Limits(limits) => {
                        let within =
                            |at: usize| order.as_ref().is_none_or(|order| !order.is_before(at, limits, row));
                        first = (first..values.end).find(|at| within(*at)).unwrap_or(values.end);
                        first
                    }
                };
                let end = match &end {
                    Bound::Unbounded => partition.end,
                    Bound::Rows(0) if !frame.is_rows() => peers.end,
                    Bound::Rows(distance) => moved(row, distance.saturating_add(1), &partition),
                    Bound::Limits(_) if is_null => peers.end,
                    Bound::Limits(limits) => {
                        let beyond =
                            |at: usize| order.as_ref().is_some_and(|order| order.is_behind(at, limits, row));
                        last = (last..values.end).find(|at| beyond(*at)).unwrap_or(values.end);
                        last
                    }
                };
                frames.push(start..end.max(start));
            }
        }
    }
    Ok(frames)
}

/// The row so many behind another, but not out of the partition.
fn moved(row: usize, distance: i64, partition: &Range<usize>) -> usize {
    let by = usize::try_from(distance.unsigned_abs()).unwrap_or(usize::MAX);
    let moved = if distance < 0 { row.saturating_sub(by) } else { row.saturating_add(by) };
    moved.clamp(partition.start, partition.end)
}

/// A bound in an execution.
enum Bound {
    Unbounded,
    /// So many rows behind the current one; 0 is the current row, and all that equal it where RANGE says so.
    Rows(i64),
    /// The limit of each row.
    Limits(Vec<Option<Place>>),
}

impl Bound {
    fn new(
        bound: &FrameBound,
        frame: &Frame,
        chunk: &Chunk,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<Bound, MysqlError> {
        let (distance, is_following) = match bound {
            FrameBound::Unbounded => return Ok(Bound::Unbounded),
            FrameBound::CurrentRow => return Ok(Bound::Rows(0)),
            FrameBound::Preceding(distance) => (distance, false),
            FrameBound::Following(distance) => (distance, true),
        };
        let amount = evaluate_scalar(&distance.amount, &mut cx.eval)?;
        if is_no_distance(&amount) {
            return Err(MysqlError::illegal_frame("<unnamed window>"));
        }
        if frame.is_rows() {
            let Some(rows) = whole(&amount) else {
                return Err(MysqlError::illegal_frame("<unnamed window>"));
            };
            return Ok(Bound::Rows(if is_following { rows } else { -rows }));
        }
        let Distance { limit: Some(limit), .. } = distance else {
            return Err(MysqlError::internal("a distance without its limit"));
        };
        Ok(Bound::Limits(places(limit, chunk, cx)?))
    }
}

impl Frame {
    fn is_rows(&self) -> bool {
        self.unit == FrameUnit::Rows
    }
}

/// A number of rows; of a parameter that was sent as text, too.
pub(super) fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Int(rows) => Some(*rows),
        Value::UInt(rows) => Some(i64::try_from(*rows).unwrap_or(i64::MAX)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// The key of the order, by which limits find rows.
struct Order {
    keys: Vec<Option<Place>>,
    descending: bool,
}

impl Order {
    fn new(
        key: &Expr,
        descending: bool,
        chunk: &Chunk,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<Order, MysqlError> {
        Ok(Order { keys: places(key, chunk, cx)?, descending })
    }

    fn has(&self, row: usize) -> bool {
        row < self.keys.len()
    }

    /// The rows of a partition that have a key: NULLs are all at one of its ends.
    fn values(&self, partition: &Range<usize>) -> Range<usize> {
        let has_key = |row: &usize| self.keys.get(*row).is_some_and(Option::is_some);
        let start = partition.clone().find(has_key).unwrap_or(partition.end);
        let end = (start..partition.end).rev().find(has_key).map_or(start, |row| row + 1);
        start..end
    }

    /// Does a row come before the limit of another?
    fn is_before(&self, at: usize, limits: &[Option<Place>], row: usize) -> bool {
        self.order(at, limits, row).is_some_and(Ordering::is_lt)
    }

    /// Does a row come behind the limit of another?
    fn is_behind(&self, at: usize, limits: &[Option<Place>], row: usize) -> bool {
        self.order(at, limits, row).is_some_and(Ordering::is_gt)
    }

    fn order(&self, at: usize, limits: &[Option<Place>], row: usize) -> Option<Ordering> {
        let (key, limit) = (self.keys.get(at)?.as_ref()?, limits.get(row)?.as_ref()?);
        let order = key.compare(limit)?;
        Some(if self.descending { order.reverse() } else { order })
    }
}

/// A value on the scale of its order.
enum Place {
    Exact(Decimal),
    Double(f64),
    /// Microseconds of a TIME; what a date or datetime is kept as.
    Time(i64),
}

impl Place {
    fn of(value: Value) -> Option<Place> {
        Some(match value {
            Value::Int(number) => Place::Exact(Decimal::from_i64(number)),
            Value::UInt(number) => Place::Exact(Decimal::from_u64(number)),
            Value::Decimal(number) => Place::Exact(number),
            Value::Double(number) => Place::Double(number),
            Value::Date(date) => Place::Time(date.to_datetime().ordinal()),
            Value::DateTime(time) => Place::Time(time.ordinal()),
            Value::Time(time) => Place::Time(time.micros()),
            Value::Null | Value::String(_) | Value::Bytes(_) | Value::Json(_) => return None,
        })
    }

    fn compare(&self, other: &Place) -> Option<Ordering> {
        match (self, other) {
            (Place::Exact(a), Place::Exact(b)) => Some(a.cmp(b)),
            (Place::Time(a), Place::Time(b)) => Some(a.cmp(b)),
            (a, b) => a.to_f64().partial_cmp(&b.to_f64()),
        }
    }

    fn to_f64(&self) -> f64 {
        match self {
            Place::Exact(number) => number.to_f64(),
            Place::Double(number) => *number,
            Place::Time(micros) => *micros as f64,
        }
    }
}

fn places(
    expr: &Expr,
    chunk: &Chunk,
    cx: &mut ExecutionContext<'_>,
) -> Result<Vec<Option<Place>>, MysqlError> {
    let column: ArrayRef =
        evaluate(expr, &chunk.batch, &mut cx.eval)?.into_array(&expr.ty.sql, chunk.rows())?;
    let ty: &SqlType = &expr.ty.sql;
    let place = |row: usize| match ty {
        SqlType::Null => None,
        ty => Place::of(value_at(column.as_ref(), row, ty)),
    };
    Ok((0..chunk.rows()).map(place).collect())
}
