//! An aggregate over a range of rows whose ends move forward: the frame of a window function.
//!
//! Rows that enter the frame are added. Rows that leave it are subtracted if that gives the same result as adding the
//! others: for counts, exact sums, and sums of small whole doubles. MIN and MAX keep, in order, the rows that can
//! still become the best; if there are too many, they keep the first ones, and read the frame again when none is
//! left. All else (variances, bits, sums of other doubles) is computed anew from the rows of the frame when a row
//! leaves, as MySQL does.
//!
//! Rows are read by their numbers from a [`FrameSource`], which returns them in runs and may keep them anywhere.

use std::collections::VecDeque;
use std::ops::Range;

use arrow_array::{Array, ArrayRef};

use super::{AggregateCall, AggregateFunction, EncodedKeys, GroupedAccumulator, Groups, KeyEncoder, State};
use crate::aggregate::sum::DoubleSum;
use crate::{Datum, EvalContext};
use leafline_types::column::value_at;
use leafline_types::error::MysqlError;
use leafline_types::value::{SqlType, Value};

/// Consecutive rows, with the values of the arguments.
#[derive(Debug, Clone)]
pub struct FrameRows {
    /// The numbers of the rows.
    pub rows: Range<usize>,
    /// A column for each argument.
    pub args: Vec<ArrayRef>,
}

/// The source of a frame's rows.
pub trait FrameSource {
    /// Returns the run of rows that are kept together with `row`.
    fn around(&mut self, row: usize) -> Result<FrameRows, MysqlError>;
}

/// The aggregate of a range of rows.
#[derive(Debug)]
pub struct SlidingAggregate {
    method: Method,
    /// Whether no row ever leaves.
    grows: bool,
    /// The rows that the state includes.
    rows: Range<usize>,
    state: GroupedAccumulator,
    /// The result for these rows, once computed.
    value: Option<Value>,
    entering: Entering,
    leaving: Option<FrameRows>,
}

/// The way in which rows leave.
#[derive(Debug)]
enum Method {
    /// They are subtracted.
    Retract,
    /// The rows that can become the best are known.
    Best(Box<Best>),
    /// The remaining rows are aggregated anew.
    Anew,
}

/// The rows that enter.
#[derive(Debug)]
struct Entering {
    near: Option<FrameRows>,
    /// For a sum of doubles, the sum of the values' magnitudes, as long as sums are exact.
    exact: Option<f64>,
}

/// The rows that are better than all behind them, to the end of the frame.
#[derive(Debug)]
struct Best {
    ty: SqlType,
    encoder: KeyEncoder,
    /// The keys of the rows that enter.
    keys: EncodedKeys,
    greatest: bool,
    candidates: VecDeque<(usize, Vec<u8>)>,
    /// The memory of the candidates in bytes, and its limit.
    bytes: usize,
    most_bytes: usize,
    /// Whether rows behind the candidates were left out; none of those is better than the last candidate.
    truncated: bool,
    /// The first row that was not examined.
    next: usize,
    /// Key buffers for reuse.
    free: Vec<Vec<u8>>,
    /// The run of rows that contains the best row.
    near: Option<FrameRows>,
}

/// Whether the run contains a row.
fn has(near: &Option<FrameRows>, row: usize) -> bool {
    near.as_ref().is_some_and(|near| near.rows.contains(&row))
}

impl FrameRows {
    /// Returns the arguments of some of the rows.
    fn slice(&self, rows: &Range<usize>) -> Vec<Datum> {
        let from = rows.start - self.rows.start;
        self.args.iter().map(|array| Datum::Array(array.slice(from, rows.len()))).collect()
    }
}

impl SlidingAggregate {
    /// Makes an aggregate over no rows. `grows` says that no row ever leaves. `most_bytes` limits the memory for
    /// candidates.
    pub fn new(call: &AggregateCall, grows: bool, most_bytes: usize) -> Self {
        let state = GroupedAccumulator::new(call);
        let method = match &state.state {
            State::Extreme(_) if !grows => Method::Best(Box::new(Best::new(call, most_bytes))),
            _ => Method::Anew,
        };
        SlidingAggregate {
            method,
            grows,
            rows: 0..0,
            state,
            value: None,
            entering: Entering { near: None, exact: Some(0.0) },
            leaving: None,
        }
    }

    /// Begins with the rows of another partition, the first of which is `first`. `state` includes rows of that
    /// partition that are already aggregated.
    pub fn begin(&mut self, call: &AggregateCall, first: usize, state: Option<GroupedAccumulator>) {
        self.state = state.unwrap_or_else(|| GroupedAccumulator::new(call));
        self.state.state.grow(1);
        self.rows = first..first;
        self.value = None;
        match (&mut self.method, &self.state.state) {
            (Method::Best(best), _) => best.begin(first),
            (method, _) if self.grows => *method = Method::Retract,
            (method, State::Count(_) | State::Decimal(_)) => *method = Method::Retract,
            (method, State::Double(_)) if self.entering.exact.is_some() => *method = Method::Retract,
            (method, _) => *method = Method::Anew,
        }
    }

    /// Returns the state, to continue with rows that are not available yet.
    pub fn into_state(self) -> GroupedAccumulator {
        self.state
    }

    /// Returns the aggregate of `rows`. Neither end may be before that of the previous call.
    pub fn value(
        &mut self,
        call: &AggregateCall,
        rows: Range<usize>,
        source: &mut dyn FrameSource,
        cx: &mut EvalContext<'_>,
    ) -> Result<Value, MysqlError> {
        if let (true, Some(value)) = (self.rows == rows, &self.value) {
            return Ok(value.clone());
        }
        let value = match &mut self.method {
            Method::Best(best) => best.slide(&rows, &mut self.entering, source, cx)?,
            Method::Retract if rows.start < self.rows.end => {
                self.retract(self.rows.start..rows.start, source, cx)?;
                self.add(self.rows.end..rows.end, source, cx)?;
                self.state.value(cx)?
            }
            Method::Retract | Method::Anew => {
                if rows.start > self.rows.start {
                    self.state = GroupedAccumulator::new(call);
                    self.state.state.grow(1);
                    self.add(rows.clone(), source, cx)?;
                } else {
                    self.add(self.rows.end..rows.end, source, cx)?;
                }
                self.state.value(cx)?
            }
        };
        self.rows = rows;
        self.value = Some(value.clone());
        Ok(value)
    }

    fn add(
        &mut self,
        mut rows: Range<usize>,
        source: &mut dyn FrameSource,
        cx: &mut EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        while !rows.is_empty() {
            let near = self.entering.around(rows.start, source, cx)?;
            let piece = rows.start..rows.end.min(near.rows.end);
            self.state.update(Groups::One, 1, piece.len(), &near.slice(&piece), cx)?;
            rows.start = piece.end;
            if !self.grows && matches!(self.state.state, State::Double(_)) && self.entering.exact.is_none() {
                self.method = Method::Anew;
            }
        }
        Ok(())
    }

    fn retract(
        &mut self,
        mut rows: Range<usize>,
        source: &mut dyn FrameSource,
        cx: &mut EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        while !rows.is_empty() {
            if !has(&self.leaving, rows.start) {
                cx.cancel.check()?;
                self.leaving = Some(source.around(rows.start)?);
            }
            let Some(near) = &self.leaving else { break };
            let piece = rows.start..rows.end.min(near.rows.end);
            let from = piece.start - near.rows.start;
            let array = near.args.first().map(|array| array.slice(from, piece.len()));
            self.state.retract(piece.len(), array, cx)?;
            rows.start = piece.end;
        }
        Ok(())
    }
}

impl Entering {
    /// Returns the run of rows that contains a row.
    fn around(
        &mut self,
        row: usize,
        source: &mut dyn FrameSource,
        cx: &EvalContext<'_>,
    ) -> Result<&FrameRows, MysqlError> {
        let near = match self.near.take().filter(|near| near.rows.contains(&row)) {
            Some(near) => near,
            None => {
                cx.cancel.check()?;
                let near = source.around(row)?;
                if let (Some(total), Some(array)) = (self.exact, near.args.first()) {
                    self.exact = DoubleSum::exact_total(array, total);
                }
                near
            }
        };
        Ok(self.near.insert(near))
    }
}

impl GroupedAccumulator {
    /// Subtracts rows from the only group.
    fn retract(
        &mut self,
        rows: usize,
        array: Option<ArrayRef>,
        cx: &mut EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        match (&mut self.state, array) {
            (State::Count(counts), array) => {
                let nulls =
                    array.and_then(|array| array.logical_nulls()).map_or(0, |nulls| nulls.null_count());
                counts.iter_mut().for_each(|count| *count -= (rows - nulls) as i64);
                Ok(())
            }
            (State::Decimal(sum), Some(array)) => sum.retract(&array, &self.arg_type, cx),
            (State::Double(sum), Some(array)) => {
                sum.retract(&array);
                Ok(())
            }
            _ => Err(MysqlError::internal("a row cannot be taken out of this aggregate")),
        }
    }

    /// Returns the current result of the only group.
    fn value(&self, cx: &mut EvalContext<'_>) -> Result<Value, MysqlError> {
        cx.cancel.check()?;
        Ok(match &self.state {
            State::Count(counts) => Value::Int(counts[0]),
            State::Decimal(sum) => sum.value(0)?,
            State::Double(sum) => sum.value(0)?,
            State::Extreme(extreme) => extreme.value(0),
            State::Moments(moments) => moments.value(0).map_or(Value::Null, Value::Double),
            State::Bits(bits) => bits.value(0),
            State::Documents(documents) => documents.value(0)?,
            State::Concat(_) | State::Matches(_) => {
                return Err(MysqlError::internal("an aggregate over a window that has no window form"));
            }
        })
    }
}

impl Best {
    fn new(call: &AggregateCall, most_bytes: usize) -> Best {
        Best {
            ty: call.args.first().map_or(SqlType::Null, |arg| arg.ty.sql.clone()),
            encoder: KeyEncoder::new(call.args.iter().map(|arg| &arg.ty)),
            keys: EncodedKeys::default(),
            greatest: call.function == AggregateFunction::Max,
            candidates: VecDeque::new(),
            bytes: 0,
            most_bytes,
            truncated: false,
            next: 0,
            free: Vec::new(),
            near: None,
        }
    }

    fn begin(&mut self, first: usize) {
        while let Some((_, key)) = self.candidates.pop_back() {
            self.forget(key);
        }
        (self.truncated, self.next) = (false, first);
    }

    fn forget(&mut self, key: Vec<u8>) {
        self.bytes -= key.len() + size_of::<(usize, Vec<u8>)>();
        self.free.push(key);
    }

    /// Drops the rows before `rows` and adds the new ones in them. Returns the best value; of equal ones the first.
    fn slide(
        &mut self,
        rows: &Range<usize>,
        entering: &mut Entering,
        source: &mut dyn FrameSource,
        cx: &EvalContext<'_>,
    ) -> Result<Value, MysqlError> {
        while self.candidates.front().is_some_and(|(row, _)| *row < rows.start) {
            if let Some((_, key)) = self.candidates.pop_front() {
                self.forget(key);
            }
        }
        if self.truncated && self.candidates.is_empty() {
            (self.truncated, self.next) = (false, rows.start);
        }
        self.next = self.next.max(rows.start);
        while self.next < rows.end {
            if !has(&entering.near, self.next) || self.keys.is_empty() {
                let near = entering.around(self.next, source, cx)?;
                let values = near.args.first().cloned().map(Datum::Array);
                self.encoder.encode(values.as_slice(), near.rows.len(), &mut self.keys)?;
            }
            let near = entering.around(self.next, source, cx)?.rows.clone();
            for row in self.next..rows.end.min(near.end) {
                self.offer(row, row - near.start);
            }
            self.next = rows.end.min(near.end);
        }
        let Some(row) = self.candidates.front().map(|(row, _)| *row) else { return Ok(Value::Null) };
        if !has(&self.near, row) {
            self.near = Some(source.around(row)?);
        }
        let array = self.near.as_ref().and_then(|near| Some((near.args.first()?, row - near.rows.start)));
        Ok(array.map_or(Value::Null, |(array, at)| value_at(array.as_ref(), at, &self.ty)))
    }

    /// Offers a row as a candidate; its key is number `at` of the entering rows' keys.
    fn offer(&mut self, row: usize, at: usize) {
        if self.keys.has_null(at) {
            return;
        }
        let key = self.keys.get(at);
        while let Some((_, last)) = self.candidates.back() {
            let order = key.cmp(last.as_slice());
            let better = if self.greatest { order.is_gt() } else { order.is_lt() };
            if !better {
                break;
            }
            // The rows left out are not better than this row either.
            self.truncated = false;
            if let Some((_, key)) = self.candidates.pop_back() {
                self.bytes -= key.len() + size_of::<(usize, Vec<u8>)>();
                self.free.push(key);
            }
        }
        let bytes = key.len() + size_of::<(usize, Vec<u8>)>();
        if self.truncated || (self.bytes + bytes > self.most_bytes && !self.candidates.is_empty()) {
            self.truncated = true;
            return;
        }
        let mut kept = self.free.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(key);
        self.bytes += bytes;
        self.candidates.push_back((row, kept));
    }
}
