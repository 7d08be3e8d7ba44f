//! Frames: runs of rows of a partition.

use super::chunk::{Block, Chunk, Cursor, PartitionAndPeers};
use super::inputs::CallInputs;
use super::place::Place;
use crate::ExecutionContext;
use leafline_expr::evaluate_scalar;
use leafline_planner::binder::is_no_distance;
use leafline_planner::window::{Frame, FrameBound, FrameUnit};
use leafline_types::{ExprType, MysqlError, SqlType, Value};
use std::cmp::Ordering;
use std::ops::Range;

/// Finds the frames of the rows of a chunk, one after another.
pub(super) struct Frames {
    start: Bound,
    end: Bound,
    /// The frame is in ROWS: a row does not stand for its peers.
    is_rows: bool,
    order: Option<Order>,
    around: PartitionAndPeers,
}

impl Frames {
    pub fn new(
        frame: &Frame,
        inputs: &CallInputs,
        types: &[ExprType],
        cx: &mut ExecutionContext<'_>,
    ) -> Result<Frames, MysqlError> {
        let column = |column: Option<usize>| {
            column.and_then(|column| Some(Column { column, ty: types.get(column)?.sql.clone() }))
        };
        let order = match &frame.unit {
            FrameUnit::Range { descending, .. } => column(inputs.key).map(|key| Order::new(key, *descending)),
            FrameUnit::Rows => None,
        };
        let is_rows = frame.unit == FrameUnit::Rows;
        Ok(Frames {
            start: Bound::new(&frame.start, is_rows, column(inputs.start), cx)?,
            end: Bound::new(&frame.end, is_rows, column(inputs.end), cx)?,
            is_rows,
            order,
            around: PartitionAndPeers::default(),
        })
    }

    /// Returns the frame of each row of a block. A frame without rows is an empty range.
    pub fn of(&mut self, block: &Block, chunk: &mut Chunk) -> Result<Vec<Range<usize>>, MysqlError> {
        let mut frames = Vec::with_capacity(block.rows().len());
        for row in block.rows() {
            let partition = self.around.partition(row, chunk)?;
            let peers = match self.is_rows {
                true => row..row + 1,
                false => self.around.peers(row, chunk)?,
            };
            let mut is_null = false;
            if let Some(order) = &mut self.order {
                order.enter(&partition, chunk)?;
                is_null = !order.values.contains(&peers.start);
            }
            let start = match (&self.start, &mut self.order) {
                (Bound::Unbounded, _) => partition.start,
                (Bound::Rows(0), _) if !self.is_rows => peers.start,
                (Bound::Rows(distance), _) => moved(row, *distance, &partition),
                (Bound::Limits(limits), Some(order)) if !is_null => order.start(block, row, limits, chunk)?,
                (Bound::Limits(_), _) => peers.start,
            };
            let end = match (&self.end, &mut self.order) {
                (Bound::Unbounded, _) => partition.end,
                (Bound::Rows(0), _) if !self.is_rows => peers.end,
                (Bound::Rows(distance), _) => moved(row, distance.saturating_add(1), &partition),
                (Bound::Limits(limits), Some(order)) if !is_null => order.end(block, row, limits, chunk)?,
                (Bound::Limits(_), _) => peers.end,
            };
            frames.push(start..end.max(start));
        }
        Ok(frames)
    }
}

/// Returns the row at a distance after another, limited to the partition.
fn moved(row: usize, distance: i64, partition: &Range<usize>) -> usize {
    let by = usize::try_from(distance.unsigned_abs()).unwrap_or(usize::MAX);
    let moved = if distance < 0 { row.saturating_sub(by) } else { row.saturating_add(by) };
    moved.clamp(partition.start, partition.end)
}

/// A bound with the values of an execution.
enum Bound {
    Unbounded,
    /// Number of rows after the current one; 0 is the current row and, with RANGE, its peers.
    Rows(i64),
    /// The column with the limit of each row.
    Limits(Column),
}

/// A column with values on the scale of the order.
struct Column {
    column: usize,
    ty: SqlType,
}

impl Column {
    fn of<'b>(&self, block: &'b Block) -> Result<&'b [Option<Place>], MysqlError> {
        block.places(self.column, &self.ty)
    }
}

impl Bound {
    fn new(
        bound: &FrameBound,
        is_rows: bool,
        limits: Option<Column>,
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
        if is_rows {
            let Some(rows) = whole(&amount) else {
                return Err(MysqlError::illegal_frame("<unnamed window>"));
            };
            return Ok(Bound::Rows(if is_following { rows } else { -rows }));
        }
        limits.map(Bound::Limits).ok_or_else(|| MysqlError::internal("a distance without its limit"))
    }
}

/// Returns a number of rows, also of a parameter that was sent as text.
pub(super) fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Int(rows) => Some(*rows),
        Value::UInt(rows) => Some(i64::try_from(*rows).unwrap_or(i64::MAX)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// The key of the order, in which limits find rows.
struct Order {
    key: Column,
    descending: bool,
    partition: Range<usize>,
    /// The rows of the partition whose key is not NULL: NULLs are all at one end.
    values: Range<usize>,
    /// The first of these rows within the last row's limit, and the first after it.
    first: (usize, Cursor),
    last: (usize, Cursor),
}

impl Order {
    fn new(key: Column, descending: bool) -> Order {
        Order {
            key,
            descending,
            partition: 0..0,
            values: 0..0,
            first: Default::default(),
            last: Default::default(),
        }
    }

    /// Enters a partition.
    fn enter(&mut self, partition: &Range<usize>, chunk: &mut Chunk) -> Result<(), MysqlError> {
        if self.partition == *partition {
            return Ok(());
        }
        self.partition = partition.clone();
        let begins_with_null = !self.has_key(partition.start, chunk)?;
        // Search for the boundary between NULL keys and others.
        let (mut low, mut high) = (partition.start, partition.end);
        while low < high {
            let middle = low.midpoint(high);
            match self.has_key(middle, chunk)? == begins_with_null {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        self.values = if begins_with_null { low..partition.end } else { partition.start..low };
        (self.first.0, self.last.0) = (self.values.start, self.values.start);
        Ok(())
    }

    fn has_key(&mut self, row: usize, chunk: &mut Chunk) -> Result<bool, MysqlError> {
        let block = self.first.1.at(row, chunk)?;
        let key = self.key.of(block)?.get(row - block.rows().start);
        Ok(key.is_some_and(Option::is_some))
    }

    /// Returns the first row that is not before a row's limit.
    fn start(
        &mut self,
        block: &Block,
        row: usize,
        limits: &Column,
        chunk: &mut Chunk,
    ) -> Result<usize, MysqlError> {
        let limit = limits.of(block)?.get(row - block.rows().start).and_then(Option::as_ref);
        let is_before = |order: Ordering| order.is_lt();
        let within = |key: &Option<Place>| !order_of(key, limit, self.descending).is_some_and(is_before);
        first_from(&mut self.first, &self.values, &self.key, within, chunk)
    }

    /// Returns the first row that is after a row's limit.
    fn end(
        &mut self,
        block: &Block,
        row: usize,
        limits: &Column,
        chunk: &mut Chunk,
    ) -> Result<usize, MysqlError> {
        let limit = limits.of(block)?.get(row - block.rows().start).and_then(Option::as_ref);
        let beyond =
            |key: &Option<Place>| order_of(key, limit, self.descending).is_some_and(|order| order.is_gt());
        first_from(&mut self.last, &self.values, &self.key, beyond, chunk)
    }
}

/// Compares a key with a limit in the order; none if one of them is NULL.
fn order_of(key: &Option<Place>, limit: Option<&Place>, descending: bool) -> Option<Ordering> {
    let order = key.as_ref()?.compare(limit?)?;
    Some(if descending { order.reverse() } else { order })
}

/// Moves forward to the first row of `values` whose key is wanted.
fn first_from(
    (at, cursor): &mut (usize, Cursor),
    values: &Range<usize>,
    key: &Column,
    is_wanted: impl Fn(&Option<Place>) -> bool,
    chunk: &mut Chunk,
) -> Result<usize, MysqlError> {
    while *at < values.end {
        let block = cursor.at(*at, chunk)?;
        let rows = block.rows();
        let end = values.end.min(rows.end);
        let keys = key.of(block)?.get(*at - rows.start..end - rows.start).unwrap_or_default();
        if let Some(found) = keys.iter().position(&is_wanted) {
            *at += found;
            break;
        }
        *at = end;
    }
    Ok(*at)
}
