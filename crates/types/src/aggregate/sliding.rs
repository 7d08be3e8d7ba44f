//! An aggregate over a run of rows whose ends move forward: the frame of a window function.
//!
//! Rows that come in are added. Rows that go out are taken out again where that gives what adding the others would: counts, exact
//! sums, sums of small whole doubles. MIN and MAX keep the rows that can still become the best, in order. What is left, variances,
//! bits and sums of other doubles, is computed anew from the rows of the frame, as MySQL does, when a row goes out.

use std::collections::VecDeque;
use std::ops::Range;

use arrow_array::{Array, ArrayRef};

use super::{AggregateCall, AggregateFunction, EncodedKeys, GroupedAccumulator, Groups, KeyEncoder, State};
use crate::aggregate::sum::DoubleSum;
use crate::column::value_at;
use crate::error::MysqlError;
use crate::expr::{Datum, EvalContext};
use crate::value::Value;

/// The aggregate of a run of rows.
#[derive(Debug)]
pub struct SlidingAggregate<'a> {
    call: &'a AggregateCall,
    /// The values of the arguments, by row.
    args: &'a [ArrayRef],
    method: Method,
    /// The rows that are in it.
    rows: Range<usize>,
    state: GroupedAccumulator,
    /// The aggregate of these.
    value: Option<Value>,
}

/// How rows go out.
#[derive(Debug)]
enum Method {
    /// They are taken out.
    Retract,
    /// Rows with the keys of their values, each better than those behind it.
    Best(Box<Best>),
    /// The others are added anew.
    Anew,
}

#[derive(Debug)]
struct Best {
    keys: EncodedKeys,
    greatest: bool,
    candidates: VecDeque<usize>,
}

impl<'a> SlidingAggregate<'a> {
    /// Over no rows yet; the first is `first`. `grows` says that no row ever goes out. `state` is what earlier rows have left.
    pub fn new(
        call: &'a AggregateCall,
        args: &'a [ArrayRef],
        first: usize,
        grows: bool,
        state: Option<GroupedAccumulator>,
    ) -> Result<Self, MysqlError> {
        let mut state = state.unwrap_or_else(|| GroupedAccumulator::new(call));
        state.state.grow(1);
        let method = match (&state.state, args.first()) {
            _ if grows => Method::Retract,
            (State::Count(_) | State::Decimal(_), _) => Method::Retract,
            (State::Double(_), Some(array)) if DoubleSum::is_exact(array) => Method::Retract,
            (State::Extreme(_), Some(array)) => Method::Best(Box::new(Best::new(call, array)?)),
            _ => Method::Anew,
        };
        Ok(SlidingAggregate { call, args, method, rows: first..first, state, value: None })
    }

    /// The state, to go on with rows that are not there yet.
    pub fn into_state(self) -> GroupedAccumulator {
        self.state
    }

    /// The aggregate of `rows`. Neither end lies before that of the call before.
    pub fn value(&mut self, rows: Range<usize>, cx: &mut EvalContext<'_>) -> Result<Value, MysqlError> {
        if let (true, Some(value)) = (self.rows == rows, &self.value) {
            return Ok(value.clone());
        }
        let value = match &mut self.method {
            Method::Best(best) => {
                let row = best.slide(self.rows.end..rows.end, rows.start);
                match (row, self.args.first()) {
                    (Some(row), Some(array)) => value_at(array.as_ref(), row, &self.state.arg_type),
                    _ => Value::Null,
                }
            }
            Method::Retract if rows.start < self.rows.end => {
                let (out, new) = (self.rows.start..rows.start, self.rows.end..rows.end);
                self.retract(out, cx)?;
                self.add(new, cx)?;
                self.state.value(cx)?
            }
            Method::Retract | Method::Anew => {
                if rows.start > self.rows.start {
                    self.state = GroupedAccumulator::new(self.call);
                    self.state.state.grow(1);
                    self.add(rows.clone(), cx)?;
                } else {
                    self.add(self.rows.end..rows.end, cx)?;
                }
                self.state.value(cx)?
            }
        };
        self.rows = rows;
        self.value = Some(value.clone());
        Ok(value)
    }

    fn add(&mut self, rows: Range<usize>, cx: &mut EvalContext<'_>) -> Result<(), MysqlError> {
        if rows.is_empty() {
            return Ok(());
        }
        let args: Vec<Datum> =
            self.args.iter().map(|array| Datum::Array(array.slice(rows.start, rows.len()))).collect();
        self.state.update(Groups::One, 1, rows.len(), &args, cx)
    }

    fn retract(&mut self, rows: Range<usize>, cx: &mut EvalContext<'_>) -> Result<(), MysqlError> {
        if rows.is_empty() {
            return Ok(());
        }
        let array = self.args.first().map(|array| array.slice(rows.start, rows.len()));
        match (&mut self.state.state, array) {
            (State::Count(counts), array) => {
                let nulls =
                    array.and_then(|array| array.logical_nulls()).map_or(0, |nulls| nulls.null_count());
                counts.iter_mut().for_each(|count| *count -= (rows.len() - nulls) as i64);
                Ok(())
            }
            (State::Decimal(sum), Some(array)) => sum.retract(&array, &self.state.arg_type, cx),
            (State::Double(sum), Some(array)) => {
                sum.retract(&array);
                Ok(())
            }
            _ => Err(MysqlError::internal("a row cannot be taken out of this aggregate")),
        }
    }
}

impl GroupedAccumulator {
    /// The result of the only group by now.
    fn value(&self, cx: &mut EvalContext<'_>) -> Result<Value, MysqlError> {
        cx.cancel.check()?;
        Ok(match &self.state {
            State::Count(counts) => Value::Int(counts.first().copied().unwrap_or(0)),
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
    fn new(call: &AggregateCall, array: &ArrayRef) -> Result<Best, MysqlError> {
        let mut keys = EncodedKeys::default();
        let encoder = KeyEncoder::new(call.args.iter().map(|arg| &arg.ty));
        encoder.encode(&[Datum::Array(array.clone())], array.len(), &mut keys)?;
        let greatest = call.function == AggregateFunction::Max;
        Ok(Best { keys, greatest, candidates: VecDeque::new() })
    }

    /// Lets `new` rows in and those before `start` out. The best row: of equal ones the first.
    fn slide(&mut self, new: Range<usize>, start: usize) -> Option<usize> {
        for row in new.filter(|row| *row >= start) {
            if self.keys.has_null(row) {
                continue;
            }
            while let Some(last) = self.candidates.back() {
                let order = self.keys.get(row).cmp(self.keys.get(*last));
                let better = if self.greatest { order.is_gt() } else { order.is_lt() };
                if !better {
                    break;
                }
                self.candidates.pop_back();
            }
            self.candidates.push_back(row);
        }
        while self.candidates.front().is_some_and(|row| *row < start) {
            self.candidates.pop_front();
        }
        self.candidates.front().copied()
    }
}
