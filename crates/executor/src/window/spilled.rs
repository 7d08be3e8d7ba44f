//! Rows of a partition that do not fit into memory, on their way to a file. Aggregates of the whole partition are computed as the
//! rows come; the other calls read the complete file.

use super::calls::{Computation, arguments};
use super::chunk::{Chunk, FileChunk};
use super::inputs::Inputs;
use crate::ExecutionContext;
use crate::spill::SpillWriter;
use leafline_expr::aggregate::{AggregateCall, GroupedAccumulator, Groups};
use leafline_planner::plan;
use leafline_planner::window::{WindowCall, WindowFunction};
use leafline_types::column::value_at;
use leafline_types::memory::Held;
use leafline_types::{Batch, MysqlError, Value};

/// The rows of such a partition as they come.
pub(super) struct Spilled {
    rows: SpillWriter,
    /// The first row continues a partition.
    goes_on: bool,
    /// Number of rows, and number of rows after the first that begin a peer group.
    count: u64,
    different: u64,
    /// For each call over the whole partition, its accumulator.
    aggregates: Vec<Option<GroupedAccumulator>>,
    /// The bytes that the accumulators hold.
    held: Held,
}

/// Returns the aggregate of a call over the whole partition.
fn of_whole(call: &WindowCall) -> Option<&AggregateCall> {
    match &call.function {
        WindowFunction::Aggregate(aggregate) if call.frame.is_whole() => Some(aggregate),
        _ => None,
    }
}

impl Spilled {
    pub fn new(plan: &plan::WindowSpec, goes_on: bool) -> Spilled {
        let aggregates = plan.calls.iter().map(|call| of_whole(call).map(GroupedAccumulator::new));
        Spilled {
            rows: SpillWriter::default(),
            goes_on,
            count: 0,
            different: 0,
            aggregates: aggregates.collect(),
            held: Held::default(),
        }
    }

    /// Adds rows of the input, with the starts of peer groups among them.
    pub fn push(
        &mut self,
        batch: Batch,
        peers: &[bool],
        inputs: &Inputs,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<(), MysqlError> {
        if batch.rows == 0 {
            return Ok(());
        }
        cx.eval.cancel.check()?;
        let batch = inputs.of(batch, cx)?;
        for (columns, accumulator) in inputs.calls.iter().zip(&mut self.aggregates) {
            if let Some(accumulator) = accumulator {
                let args = arguments(columns, &batch.columns)?;
                accumulator.update(Groups::One, 1, batch.rows, &args, &mut cx.eval)?;
            }
        }
        let bytes = self.aggregates.iter().flatten().map(GroupedAccumulator::memory).sum();
        if !self.held.fits(bytes, cx.memory) {
            return Err(cx.memory.exhausted(cx.memory.used()));
        }
        for row in 0..batch.rows {
            let starts = peers.get(row).copied().unwrap_or(true);
            self.different += u64::from(starts && self.count > 0);
            self.count += 1;
            self.rows.push_marked(starts, &batch, row, cx)?;
        }
        Ok(())
    }

    /// Ends the partition.
    pub fn end(
        mut self,
        plan: &plan::WindowSpec,
        inputs: &Inputs,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<Computation, MysqlError> {
        let mut known: Vec<Option<Value>> = Vec::with_capacity(plan.calls.len());
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
        let all_peers = self.different == 0;
        let chunk = FileChunk::new(self.rows.finish(&inputs.types)?, self.goes_on, all_peers, cx);
        Computation::new(Chunk::File(chunk), &plan.calls, inputs, known, cx)
    }
}
