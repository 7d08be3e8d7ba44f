//! A partition that does not fit into memory, read twice.
//!
//! The first time its rows go to a file, and the aggregates of the whole partition are computed. The second time these are known, and
//! all other calls need no more than the rows that equal the one at hand.

use super::super::memory::Held;
use super::super::stored_rows::{RowsToStore, StoredReader, StoredRows};
use super::{ExecutionContext, Operator, Window};
use crate::plan;
use crate::window::{Reach, WindowCall, WindowFunction};
use leafline_types::aggregate::{AggregateCall, GroupedAccumulator, Groups};
use leafline_types::column::value_at;
use leafline_types::expr::{Datum, evaluate};
use leafline_types::{Batch, MysqlError};
use std::sync::Arc;

/// The rows of such a partition as they come.
pub(super) struct Spilled {
    rows: RowsToStore,
    /// For each call, of those over the whole partition.
    aggregates: Vec<Option<GroupedAccumulator>>,
    /// What they hold.
    held: Held,
}

/// All of its rows, to be read with their values.
pub(super) struct SecondReading {
    window: Box<Window>,
    rows: Arc<StoredRows>,
}

/// The aggregate of a call that is one of the whole partition.
fn of_whole(call: &WindowCall) -> Option<&AggregateCall> {
    match &call.function {
        WindowFunction::Aggregate(aggregate) if call.frame.is_whole() => Some(aggregate),
        _ => None,
    }
}

impl Spilled {
    /// Whether partitions can be read twice for all the calls.
    pub fn can_take(plan: &plan::Window) -> bool {
        plan.calls.iter().all(|call| of_whole(call).is_some() || call.reach() != Reach::Partition)
    }

    pub fn new(plan: &plan::Window) -> Spilled {
        let aggregates = plan.calls.iter().map(|call| of_whole(call).map(GroupedAccumulator::new));
        Spilled {
            rows: RowsToStore::new(&plan.input),
            aggregates: aggregates.collect(),
            held: Held::default(),
        }
    }

    pub fn push(
        &mut self,
        batch: &Batch,
        plan: &plan::Window,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<(), MysqlError> {
        if batch.rows == 0 {
            return Ok(());
        }
        for (call, accumulator) in plan.calls.iter().zip(&mut self.aggregates) {
            if let (Some(call), Some(accumulator)) = (of_whole(call), accumulator) {
                let mut args: Vec<Datum> = Vec::with_capacity(call.args.len());
                for arg in &call.args {
                    args.push(evaluate(arg, batch, &mut cx.eval)?);
                }
                accumulator.update(Groups::One, 1, batch.rows, &args, &mut cx.eval)?;
            }
        }
        let bytes = self.aggregates.iter().flatten().map(GroupedAccumulator::memory).sum();
        if !self.held.fits(bytes, cx.memory) {
            return Err(cx.memory.exhausted(cx.memory.used()));
        }
        self.rows.push(batch, cx)
    }

    pub fn second_reading(
        mut self,
        plan: &Arc<plan::Window>,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<SecondReading, MysqlError> {
        let mut known = Vec::with_capacity(plan.calls.len());
        for (call, accumulator) in plan.calls.iter().zip(&mut self.aggregates) {
            known.push(match accumulator {
                Some(accumulator) => {
                    let results = accumulator.finish(1, &mut cx.eval)?;
                    Some(value_at(results.as_ref(), 0, &call.ty.sql))
                }
                None => None,
            });
        }
        self.held.set(0, cx.memory)?;
        let rows = Arc::new(self.rows.take()?);
        let reader = Box::new(StoredReader::new(rows.clone()));
        Ok(SecondReading { window: Box::new(Window::over(reader, plan, known)), rows })
    }
}

impl SecondReading {
    /// The next rows. Behind the last of them what was held is given back.
    pub fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        let next = self.window.next(cx)?;
        if next.is_none() {
            self.window.held.set(0, cx.memory)?;
            cx.memory.give_back(self.rows.bytes());
        }
        Ok(next)
    }
}
