//! Window functions over rows that come partition by partition, in the order of the window.
//!
//! Rows are held until the values of all calls are known for them: not at all where every call needs the rows before it only
//! (numbers, ranks, running ROWS frames), to the end of rows that are equal in the order, or to the end of the partition
//! ([`Reach`]). What is known is computed a chunk at a time, which may hold many partitions. What a call has computed of the rows of a
//! partition that went before is kept in its state.
//!
//! A partition that does not fit into memory is [`spilled`], if its calls allow that.

mod calls;
mod chunk;
mod frame;
mod spilled;

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
use leafline_types::expr::Datum;
use leafline_types::{Batch, MysqlError, Value};
use spilled::{SecondReading, Spilled};
use std::sync::Arc;

/// How often rows are there while values are computed of them: as they came, put together, and with the values.
const COPIES: usize = 3;

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
    /// Results that hold for all rows, of calls over whole partitions, where a partition is read for the second time.
    known: Vec<Option<Value>>,
    /// The partition at hand, if it did not fit.
    spilled: Option<Spilled>,
    /// Such a partition, whole, to be read before anything else.
    again: Option<SecondReading>,
}

impl Window {
    pub fn new(input: BoxedOperator, plan: &Arc<plan::Window>) -> Window {
        Window::over(input, plan, vec![None; plan.calls.len()])
    }

    /// Where some results are known.
    fn over(input: BoxedOperator, plan: &Arc<plan::Window>, known: Vec<Option<Value>>) -> Window {
        let open = plan.calls.iter().zip(&known).filter(|(_, known)| known.is_none());
        Window {
            input,
            reach: open.map(|(call, _)| call.reach()).max().unwrap_or(Reach::Row),
            partitions: Boundaries::new(&plan.partition),
            peers: Boundaries::new(&plan.order),
            pending: Vec::new(),
            starts: chunk::Starts::default(),
            states: plan.calls.iter().map(|_| CallState::default()).collect(),
            plan: plan.clone(),
            ready: None,
            ended: false,
            held: Held::default(),
            known,
            spilled: None,
            again: None,
        }
    }

    /// Takes rows in until values of some are known, and computes these.
    fn advance(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        loop {
            if let Some(again) = &mut self.again {
                if let Some(batch) = again.next(cx)? {
                    return Ok(Some(batch));
                }
                self.again = None;
            }
            let ready = if self.ended { self.starts.len() } else { self.starts.known(self.reach) };
            if ready > 0 {
                return self.computed(ready, cx).map(Some);
            }
            if self.ended {
                return Ok(None);
            }
            match self.input.next(cx)? {
                Some(batch) => self.take_in(batch, cx)?,
                None => {
                    self.ended = true;
                    self.end_spilled(cx)?;
                }
            }
        }
    }

    /// The first of the pending rows, with their values.
    fn computed(&mut self, rows: usize, cx: &mut ExecutionContext<'_>) -> Result<Batch, MysqlError> {
        let chunk = Chunk { batch: self.cut(rows)?, starts: self.starts.take_first(rows) };
        let mut columns = chunk.batch.columns.clone();
        for ((call, known), state) in self.plan.calls.iter().zip(&self.known).zip(&mut self.states) {
            columns.push(match known {
                Some(value) => Datum::Scalar(value.clone()).into_array(&call.ty.sql, rows)?,
                None => calls::values(call, state, &chunk, cx)?,
            });
        }
        let computed = Batch { columns, rows };
        self.hold(Some(&computed), cx)?;
        Ok(computed)
    }

    fn take_in(&mut self, batch: Batch, cx: &mut ExecutionContext<'_>) -> Result<(), MysqlError> {
        let partitions = self.partitions.of(&batch, cx)?;
        let peers = self.peers.of(&batch, cx)?;
        // Of several partitions all but the last are computed by now.
        if self.reach == Reach::Partition && Spilled::can_take(&self.plan) && !self.has_room(&batch, cx) {
            self.spill(cx)?;
        }
        let mut first = 0;
        if let Some(spilled) = &mut self.spilled {
            first = partitions.iter().position(|starts| *starts).unwrap_or(batch.rows);
            spilled.push(&slice(&batch, 0, first), &self.plan, cx)?;
            if first == batch.rows {
                return Ok(());
            }
            self.end_spilled(cx)?;
        }
        let rest = |starts: &[bool]| starts.get(first..).unwrap_or_default().to_vec();
        self.starts.add(&rest(&partitions), &rest(&peers));
        self.pending.push(slice(&batch, first, batch.rows - first));
        self.hold(None, cx)
    }

    /// Whether the pending rows and these, and what is made of them, fit into memory.
    fn has_room(&mut self, more: &Batch, cx: &mut ExecutionContext<'_>) -> bool {
        if self.pending.is_empty() {
            return true;
        }
        let pending: usize = self.pending.iter().map(batch_bytes).sum();
        let all = COPIES * (pending + batch_bytes(more)) + self.starts.memory_bytes();
        let room = self.held.fits(all, cx.memory);
        self.held.fits(pending, cx.memory) && room
    }

    /// The pending rows, which are the beginning of a partition, go where the others of it follow.
    fn spill(&mut self, cx: &mut ExecutionContext<'_>) -> Result<(), MysqlError> {
        let mut spilled = Spilled::new(&self.plan);
        for batch in self.pending.drain(..) {
            spilled.push(&batch, &self.plan, cx)?;
        }
        self.starts = chunk::Starts::default();
        self.spilled = Some(spilled);
        self.hold(None, cx)
    }

    /// There are no more rows of the partition that did not fit.
    fn end_spilled(&mut self, cx: &mut ExecutionContext<'_>) -> Result<(), MysqlError> {
        if let Some(spilled) = self.spilled.take() {
            self.again = Some(spilled.second_reading(&self.plan, cx)?);
        }
        Ok(())
    }

    /// The pending rows are there, and perhaps some that were computed. No more than a batch of them is nothing that is kept.
    fn hold(&mut self, computed: Option<&Batch>, cx: &mut ExecutionContext<'_>) -> Result<(), MysqlError> {
        let pending: usize = self.pending.iter().map(batch_bytes).sum();
        let bytes = pending + computed.map_or(0, batch_bytes) + self.starts.memory_bytes();
        let in_passing = self.starts.len() + computed.map_or(0, |batch| batch.rows) <= BATCH_ROWS;
        match self.held.fits(if in_passing { 0 } else { bytes }, cx.memory) {
            true => Ok(()),
            false => Err(cx.memory.exhausted(cx.memory.used())),
        }
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
