//! An aggregate over a run of rows whose ends move forward: the frame of a window function.
//!
//! Rows that come in are added. Rows that go out are taken out again where that gives what adding the others would: counts, exact
//! sums, sums of small whole doubles. MIN and MAX keep the rows that can still become the best, in order; when these are too many,
//! those that will be the first to count, and look at the frame again when none is left. What remains, variances, bits and sums of
//! other doubles, is computed anew from the rows of the frame, as MySQL does, when a row goes out.
//!
//! Rows are asked for by their numbers, and come as runs that may be kept anywhere ([`FrameSource`]).

use std::collections::VecDeque;
use std::ops::Range;

use arrow_array::{Array, ArrayRef};

use super::{AggregateCall, AggregateFunction, EncodedKeys, GroupedAccumulator, Groups, KeyEncoder, State};
use crate::aggregate::sum::DoubleSum;
use crate::{Datum, EvalContext};
use leafline_types::column::value_at;
use leafline_types::error::MysqlError;
use leafline_types::value::{SqlType, Value};

/// Rows one behind the other, with the values of the arguments.
#[derive(Debug, Clone)]
pub struct FrameRows {
    /// Their numbers.
    pub rows: Range<usize>,
    /// A column for each argument.
    pub args: Vec<ArrayRef>,
}

/// Where rows are found.
pub trait FrameSource {
    /// The rows that are kept together with a row.
    fn around(&mut self, row: usize) -> Result<FrameRows, MysqlError>;
}

/// The aggregate of a run of rows.
#[derive(Debug)]
pub struct SlidingAggregate {
    method: Method,
    /// No row ever goes out.
    grows: bool,
    /// The rows that are in it.
    rows: Range<usize>,
    state: GroupedAccumulator,
    /// The aggregate of these.
    value: Option<Value>,
    entering: Entering,
    leaving: Option<FrameRows>,
}

/// How rows go out.
#[derive(Debug)]
enum Method {
    /// They are taken out.
    Retract,
    /// What can become the best is known.
    Best(Box<Best>),
    /// The others are added anew.
    Anew,
}

/// The rows that come in.
#[derive(Debug)]
struct Entering {
    near: Option<FrameRows>,
    /// Of a sum of doubles: what the values have added up to, without their signs, as long as sums are exact.
    exact: Option<f64>,
}

/// Rows that are better than all behind them, to the end of the frame.
#[derive(Debug)]
struct Best {
    ty: SqlType,
    encoder: KeyEncoder,
    /// The keys of the rows that come in.
    keys: EncodedKeys,
    greatest: bool,
    candidates: VecDeque<(usize, Vec<u8>)>,
    /// Bytes of their keys, and the most there may be.
    bytes: usize,
    most_bytes: usize,
    /// Rows behind the candidates were left out, none of which is better than the last of them.
    truncated: bool,
    /// The first row that was not looked at.
    next: usize,
    /// Buffers of keys that are not needed any more.
    free: Vec<Vec<u8>>,
    /// What is kept together with the best row.
    near: Option<FrameRows>,
}

/// Whether a row is among rows.
fn has(near: &Option<FrameRows>, row: usize) -> bool {
    near.as_ref().is_some_and(|near| near.rows.contains(&row))
}

impl FrameRows {
    /// The arguments of some of the rows.
    fn slice(&self, rows: &Range<usize>) -> Vec<Datum> {
        let from = rows.start - self.rows.start;
        self.args.iter().map(|array| Datum::Array(array.slice(from, rows.len()))).collect()
    }
}

impl SlidingAggregate {
    /// Over no rows yet. `grows` says that no row ever goes out. `most_bytes`: what may be kept of rows.
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

    /// Begins with the rows of another partition, the first of which is `first`. `state` is what earlier ones of them have left.
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

    /// The state, to go on with rows that are not there yet.
    pub fn into_state(self) -> GroupedAccumulator {
        self.state
    }

    /// The aggregate of `rows`. Neither end lies before that of the call before.
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
    /// The rows kept together with a row.
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
    /// Takes rows out of the only group again.
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

    /// The result of the only group by now.
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
            State::Concat(_) => return Err(MysqlError::internal("GROUP_CONCAT over a window")),
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

    /// Lets the rows before `rows` out and the new ones of them in. The value of the best: of equal ones the first.
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

    /// A row, whose key is `at` among those of the rows that come in.
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
            // Those left out are not better than this one either.
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
