//! Computes window functions over rows that come partition by partition, in the order of the window.
//!
//! Rows are held until the values of all calls are known for them ([`Reach`]): not at all where every call needs only preceding
//! rows (numbers, ranks, running ROWS frames), to the end of the peer group, or to the end of the partition. Rows are computed a
//! [`chunk`] at a time, which may hold many partitions. The state of a call keeps its results for earlier rows of a partition.
//!
//! Rows that must be held and do not fit into memory are [`spilled`]: they are one chunk in a file, computed in the same way.

mod calls;
mod chunk;
mod frame;
mod inputs;
mod place;
mod spilled;
#[cfg(test)]
mod tests;

use super::batch_size::copy_failed;
use super::gather::batch_bytes;
use super::limit::slice;
use super::sort::encode_rows;
use super::{BATCH_ROWS, BoxedOperator, Build, Builder, ExecutionContext, Operator};
use crate::params::BATCH_BYTES;
use arrow_array::Array;
use arrow_select::concat::concat;
use calls::{CallState, Computation};
use chunk::{Block, Chunk};
use inputs::Inputs;
use leafline_expr::aggregate::{EncodedKeys, KeyEncoder};
use leafline_planner::plan::{self, Node};
use leafline_planner::window::Reach;
use leafline_types::memory::Held;
use leafline_types::{Batch, MysqlError};
use spilled::Spilled;
use std::sync::Arc;

/// Number of copies of the rows during a computation: as they came, concatenated, and with the values.
const COPIES: usize = 3;

pub(super) struct Window {
    input: BoxedOperator,
    plan: Arc<plan::WindowSpec>,
    inputs: Inputs,
    reach: Reach,
    partitions: Boundaries,
    peers: Boundaries,
    /// Rows whose values are not all known, and the partitions and peer groups that begin at them.
    pending: Vec<Batch>,
    starts: chunk::Starts,
    states: Vec<CallState>,
    ready: Option<(Batch, usize)>,
    ended: bool,
    held: Held,
    /// Rows held together that did not fit into memory, while more of them may come.
    spilled: Option<Spilled>,
    /// The computation whose rows are delivered next.
    computation: Option<Computation>,
}

impl Window {
    pub fn new(input: BoxedOperator, plan: &Arc<plan::WindowSpec>) -> Window {
        let (inputs, input) = Inputs::new(plan, input);
        Window {
            input,
            inputs,
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
            spilled: None,
            computation: None,
        }
    }

    /// Reads rows until the values of some are known, and computes these.
    fn advance(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        loop {
            if let Some(mut computation) = self.computation.take() {
                let next = computation.next(&self.plan.calls, &self.inputs, &mut self.states, cx)?;
                match next {
                    Some(_) => self.computation = Some(computation),
                    None => computation.end(&mut self.states),
                }
                self.hold(next.as_ref(), cx);
                if next.is_some() {
                    return Ok(next);
                }
            }
            let ready = if self.ended { self.starts.len() } else { self.starts.known(self.reach) };
            if ready > 0 {
                let batch = self.cut(ready)?;
                let batch = self.inputs.of(batch, cx)?;
                let block = Block::new(0, batch, self.starts.take_first(ready));
                let chunk = Chunk::Memory(Arc::new(block));
                let calls = &self.plan.calls;
                self.computation = Some(Computation::new(chunk, calls, &self.inputs, Vec::new(), cx)?);
                continue;
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

    fn take_in(&mut self, batch: Batch, cx: &mut ExecutionContext<'_>) -> Result<(), MysqlError> {
        let partitions = self.partitions.of(&batch, cx)?;
        let peers = self.peers.of(&batch, cx)?;
        // Only the last run of rows held together is left; earlier ones are computed.
        if self.spilled.is_none() && self.reach != Reach::Row && !self.has_room(&batch, cx) {
            self.spill(cx)?;
        }
        let mut first = 0;
        if let Some(spilled) = &mut self.spilled {
            let reach = self.reach;
            let is_other = |row: usize| {
                let starts = |starts: &[bool]| starts.get(row).copied().unwrap_or(true);
                starts(&partitions) || (reach == Reach::Peers && starts(&peers))
            };
            first = (0..batch.rows).find(|row| is_other(*row)).unwrap_or(batch.rows);
            spilled.push(slice(&batch, 0, first), &peers, &self.inputs, cx)?;
            if first == batch.rows {
                return Ok(());
            }
            self.end_spilled(cx)?;
        }
        let rest = |starts: &[bool]| starts.get(first..).unwrap_or_default().to_vec();
        self.starts.add(&rest(&partitions), &rest(&peers));
        self.pending.push(slice(&batch, first, batch.rows - first));
        self.hold(None, cx);
        Ok(())
    }

    /// Whether the pending rows and `more`, with their results, fit into memory.
    fn has_room(&mut self, more: &Batch, cx: &mut ExecutionContext<'_>) -> bool {
        if self.pending.is_empty() {
            return true;
        }
        let pending: usize = self.pending.iter().map(batch_bytes).sum();
        let all = COPIES * (pending + batch_bytes(more)) + self.starts.memory_bytes();
        let room = self.held.fits(all, cx.memory);
        self.held.fits(pending, cx.memory) && room
    }

    /// Moves the pending rows, which belong together, to the file where later ones follow.
    fn spill(&mut self, cx: &mut ExecutionContext<'_>) -> Result<(), MysqlError> {
        let mut spilled = Spilled::new(&self.plan, self.starts.go_on());
        let starts = std::mem::take(&mut self.starts);
        let mut peers = starts.peers();
        for batch in self.pending.drain(..) {
            let (these, others) = peers.split_at(batch.rows.min(peers.len()));
            spilled.push(batch, these, &self.inputs, cx)?;
            peers = others;
        }
        self.spilled = Some(spilled);
        self.hold(None, cx);
        Ok(())
    }

    /// Ends the rows that did not fit into memory.
    fn end_spilled(&mut self, cx: &mut ExecutionContext<'_>) -> Result<(), MysqlError> {
        if let Some(spilled) = self.spilled.take() {
            self.computation = Some(spilled.end(&self.plan, &self.inputs, cx)?);
        }
        Ok(())
    }

    /// Accounts for the memory of pending rows, of computed rows and of a file. A single batch of rows is not counted. Rows that
    /// found no room are not included.
    fn hold(&mut self, computed: Option<&Batch>, cx: &ExecutionContext<'_>) {
        let pending: usize = self.pending.iter().map(batch_bytes).sum();
        let mut bytes = pending + computed.map_or(0, batch_bytes) + self.starts.memory_bytes();
        if self.starts.len() + computed.map_or(0, |batch| batch.rows) <= BATCH_ROWS && bytes <= BATCH_BYTES {
            bytes = 0;
        }
        bytes += self.computation.as_ref().map_or(0, Computation::file_memory);
        self.held.fits(bytes, cx.memory);
    }

    /// Takes the first `rows` pending rows.
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
            concat(&pieces).map_err(copy_failed)
        });
        Ok(Batch { columns: columns.collect::<Result<_, _>>()?, rows })
    }
}

impl Build for plan::Window {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        Box::new(Window::new(builder.build(&self.input), &self.spec))
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

/// Finds the rows whose keys differ from the preceding row's.
struct Boundaries {
    keys: Option<(Arc<[plan::SortKey]>, KeyEncoder)>,
    encoded: EncodedKeys,
    /// The key of the last row; none before the first.
    last: Option<Vec<u8>>,
}

impl Boundaries {
    fn new(keys: &Arc<[plan::SortKey]>) -> Boundaries {
        // The encoder only has to distinguish keys.
        let encoder = || KeyEncoder::new(keys.iter().map(|key| &key.expr.ty));
        Boundaries {
            keys: (!keys.is_empty()).then(|| (keys.clone(), encoder())),
            encoded: EncodedKeys::default(),
            last: None,
        }
    }

    fn of(&mut self, batch: &Batch, cx: &mut ExecutionContext<'_>) -> Result<Vec<bool>, MysqlError> {
        let Some((keys, encoder)) = &self.keys else {
            let is_first = self.last.replace(Vec::new()).is_none();
            return Ok((0..batch.rows).map(|row| row == 0 && is_first).collect());
        };
        encode_rows(keys.iter().map(|key| &key.expr), encoder, batch, &mut self.encoded, cx)?;
        let encoded = &self.encoded;
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
