//! Window functions over rows that come partition by partition, in the order of the window.
//!
//! Rows are held until the values of all calls are known for them: not at all where every call needs the rows before it only
//! (numbers, ranks, running ROWS frames), to the end of rows that are equal in the order, or to the end of the partition
//! ([`Reach`]). What is known is computed a chunk at a time, which may hold many partitions. What a call has computed of the rows of a
//! partition that went before is kept in its state.

mod calls;
mod chunk;
mod frame;

use super::gather::batch_bytes;
use super::limit::slice;
use super::memory::Held;
use super::sort::RowKeys;
use super::{BATCH_ROWS, BoxedOperator, ExecutionContext, Operator};
use crate::plan;
use crate::window::Reach;
use arrow_array::Array;
use arrow_select::concat::concat;
use calls::CallState;
use chunk::Chunk;
use leafline_types::{Batch, MysqlError};
use std::sync::Arc;

pub(super) struct Window {
    input: BoxedOperator,
    plan: Arc<plan::Window>,
    reach: Reach,
    partitions: Boundaries,
    peers: Boundaries,
    /// Rows whose values are not all known, and what begins at each.
    pending: Vec<Batch>,
    starts: chunk::Starts,
    states: Vec<CallState>,
    ready: Option<(Batch, usize)>,
    ended: bool,
    held: Held,
}

impl Window {
    pub fn new(input: BoxedOperator, plan: &Arc<plan::Window>) -> Window {
        Window {
            input,
            reach: plan.reach(),
            partitions: Boundaries::new(&plan.partition),
            peers: Boundaries::new(&plan.order),
            pending: Vec::new(),
            starts: chunk::Starts::default(),
            states: plan.calls.iter().map(|_| CallState::default()).collect(),
            plan: plan.clone(),
            ready: None,
            ended: false,
            held: Held::default(),
        }
    }

    /// Takes rows in until values of some are known, and computes these.
    fn advance(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        while !self.ended {
            let rows = match self.input.next(cx)? {
                Some(batch) => {
                    self.take_in(batch, cx)?;
                    self.starts.known(self.reach)
                }
                None => {
                    self.ended = true;
                    self.starts.len()
                }
            };
            if rows == 0 {
                continue;
            }
            let chunk = Chunk { batch: self.cut(rows)?, starts: self.starts.take_first(rows) };
            let mut columns = chunk.batch.columns.clone();
            for (call, state) in self.plan.calls.iter().zip(&mut self.states) {
                columns.push(calls::values(call, state, &chunk, cx)?);
            }
            let known = Batch { columns, rows };
            self.hold(batch_bytes(&known), cx)?;
            return Ok(Some(known));
        }
        Ok(None)
    }

    fn take_in(&mut self, batch: Batch, cx: &mut ExecutionContext<'_>) -> Result<(), MysqlError> {
        let partitions = self.partitions.of(&batch, cx)?;
        let peers = self.peers.of(&batch, cx)?;
        self.starts.add(&partitions, &peers);
        self.pending.push(batch);
        self.hold(0, cx)
    }

    fn hold(&mut self, more: usize, cx: &mut ExecutionContext<'_>) -> Result<(), MysqlError> {
        let pending: usize = self.pending.iter().map(batch_bytes).sum();
        self.held.set(pending + more + self.starts.memory_bytes(), cx.memory)
    }

    /// The first of the pending rows.
    fn cut(&mut self, rows: usize) -> Result<Batch, MysqlError> {
        let (mut cut, mut wanted) = (Vec::new(), rows);
        let mut left = Vec::new();
        for batch in self.pending.drain(..) {
            let taken = batch.rows.min(wanted);
            wanted -= taken;
            if taken > 0 {
                cut.push(slice(&batch, 0, taken));
            }
            if taken < batch.rows {
                left.push(slice(&batch, taken, batch.rows - taken));
            }
        }
        self.pending = left;
        if let [only] = cut.as_slice() {
            return Ok(only.clone());
        }
        let width = cut.first().map_or(0, |batch| batch.columns.len());
        let columns = (0..width).map(|column| {
            let pieces: Vec<&dyn Array> =
                cut.iter().filter_map(|batch| batch.columns.get(column).map(AsRef::as_ref)).collect();
            concat(&pieces).map_err(MysqlError::internal)
        });
        Ok(Batch { columns: columns.collect::<Result<_, _>>()?, rows })
    }
}

impl Operator for Window {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        loop {
            if let Some((batch, delivered)) = &mut self.ready {
                let rows = (batch.rows - *delivered).min(BATCH_ROWS);
                if rows > 0 {
                    let next = slice(batch, *delivered, rows);
                    *delivered += rows;
                    return Ok(Some(next));
                }
                self.ready = None;
            }
            match self.advance(cx)? {
                Some(batch) => self.ready = Some((batch, 0)),
                None => return Ok(None),
            }
        }
    }
}

/// Finds the rows whose keys are not those of the row before.
struct Boundaries {
    keys: Option<RowKeys>,
    /// The key of the last row; none before the first.
    last: Option<Vec<u8>>,
}

impl Boundaries {
    fn new(keys: &Arc<[plan::SortKey]>) -> Boundaries {
        Boundaries { keys: (!keys.is_empty()).then(|| RowKeys::new(keys)), last: None }
    }

    fn of(&mut self, batch: &Batch, cx: &mut ExecutionContext<'_>) -> Result<Vec<bool>, MysqlError> {
        let Some(keys) = &mut self.keys else {
            let is_first = self.last.replace(Vec::new()).is_none();
            return Ok((0..batch.rows).map(|row| row == 0 && is_first).collect());
        };
        let encoded = keys.encode(batch, cx)?;
        let mut starts = Vec::with_capacity(batch.rows);
        for row in 0..batch.rows {
            let known = match row.checked_sub(1) {
                Some(before) => Some(encoded.get(before)),
                None => self.last.as_deref(),
            };
            starts.push(known != Some(encoded.get(row)));
        }
        if let Some(last) = batch.rows.checked_sub(1) {
            self.last = Some(encoded.get(last).to_vec());
        }
        Ok(starts)
    }
}
