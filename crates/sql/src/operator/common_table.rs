//! Tables that a statement makes for itself: the queries of WITH, run once for all places that name them, and recursion.

use super::key_table::KeyTable;
use super::subplans::{Part, within};
use super::{BoxedOperator, ExecutionContext, Operator, build, gather::batch_bytes};
use crate::plan::{Node, RecursiveUnion};
use arrow_buffer::BooleanBuffer;
use leafline_types::aggregate::{EncodedKeys, KeyEncoder};
use leafline_types::expr::{Datum, Selection};
use leafline_types::{Batch, ExprType, MysqlError};
use std::sync::Arc;

/// The rows of a common table. Who asks for them first makes them.
pub(super) struct Common {
    number: usize,
    rows: Option<Arc<Vec<Batch>>>,
    next: usize,
}

impl Common {
    pub fn new(number: usize) -> Common {
        Common { number, rows: None, next: 0 }
    }
}

impl Operator for Common {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        let rows = match &self.rows {
            Some(rows) => rows,
            None => {
                let rows = common_rows(self.number, cx)?;
                self.rows.insert(rows)
            }
        };
        let batch = rows.get(self.next).cloned();
        self.next += 1;
        Ok(batch)
    }
}

fn common_rows(number: usize, cx: &mut ExecutionContext<'_>) -> Result<Arc<Vec<Batch>>, MysqlError> {
    let subplans = cx.subplans;
    let outer = cx.eval.outer;
    if let Some(known) = subplans.common(number, outer) {
        return Ok(known);
    }
    let Some(plan) = subplans.common_plan(number) else {
        return Err(MysqlError::internal(format_args!("common table {number} is not there")));
    };
    let mut profile = subplans.take_profile(Part::Common(number));
    let mut root = build(&plan.plan.root, profile.is_some());
    let mut inner = ExecutionContext {
        eval: within(&mut cx.eval, outer),
        view: cx.view,
        counters: &mut *cx.counters,
        locks: cx.locks,
        memory: cx.memory,
        subplans,
        profile: profile.as_mut(),
    };
    let made = all_rows(&mut root, &mut inner);
    cx.eval.state = std::mem::take(&mut inner.eval.state);
    subplans.put_profile(Part::Common(number), profile);
    let (rows, bytes) = made?;
    let rows = Arc::new(rows);
    subplans.keep_common(number, outer, rows.clone(), bytes, cx.memory);
    Ok(rows)
}

/// All rows of an operator, and the bytes that they hold.
fn all_rows(
    root: &mut BoxedOperator,
    cx: &mut ExecutionContext<'_>,
) -> Result<(Vec<Batch>, usize), MysqlError> {
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while let Some(batch) = root.next(cx)? {
        let more = batch_bytes(&batch);
        cx.memory.take(more)?;
        bytes += more;
        rows.push(batch);
    }
    Ok((rows, bytes))
}

/// The rows that the round before added to a recursive table.
pub(super) struct Working {
    number: usize,
    rows: Option<Arc<Vec<Batch>>>,
    next: usize,
}

impl Working {
    pub fn new(number: usize) -> Working {
        Working { number, rows: None, next: 0 }
    }
}

impl Operator for Working {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        let rows = self.rows.get_or_insert_with(|| cx.subplans.working(self.number));
        let batch = rows.get(self.next).cloned();
        self.next += 1;
        Ok(batch)
    }
}

/// The rows of a recursive table: those of its first part, then, round after round, what the others make of the rows that
/// were added by the round before.
pub(super) struct Recursive {
    union: Arc<RecursiveUnion>,
    seed: Option<BoxedOperator>,
    /// With UNION DISTINCT: the rows there are.
    seen: Option<Seen>,
    added: Vec<Batch>,
    step: Option<BoxedOperator>,
    /// The next of the steps in this round.
    next_step: usize,
    rounds: u64,
    profiled: bool,
}

struct Seen {
    encoder: KeyEncoder,
    keys: EncodedKeys,
    table: KeyTable,
}

impl Recursive {
    pub fn new(union: &Arc<RecursiveUnion>, types: &[ExprType], profiled: bool) -> Recursive {
        let seen = || Seen {
            encoder: KeyEncoder::new(types),
            keys: EncodedKeys::default(),
            table: KeyTable::default(),
        };
        Recursive {
            seed: Some(build(&union.seed, profiled)),
            seen: union.distinct.then(seen),
            added: Vec::new(),
            step: None,
            next_step: union.steps.len(),
            rounds: 0,
            profiled,
            union: union.clone(),
        }
    }

    /// The next operator to take rows from; `None` when a round has added nothing.
    fn current(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<&mut BoxedOperator>, MysqlError> {
        if self.seed.is_some() {
            return Ok(self.seed.as_mut());
        }
        if self.step.is_none() {
            if self.next_step == self.union.steps.len() {
                if self.added.is_empty() {
                    return Ok(None);
                }
                let most = cx.subplans.max_recursion();
                if self.rounds > most {
                    let text = format!(
                        "Recursive query aborted after {} iterations. Try increasing @@cte_max_recursion_depth to a \
                         larger value.",
                        self.rounds
                    );
                    return Err(MysqlError::with_message(3636, text));
                }
                cx.eval.cancel.check()?;
                self.rounds += 1;
                self.next_step = 0;
                cx.subplans.set_working(self.union.number, std::mem::take(&mut self.added));
            }
            let step: Option<&Node> = self.union.steps.get(self.next_step);
            self.step = step.map(|step| build(step, self.profiled));
            self.next_step += 1;
        }
        Ok(self.step.as_mut())
    }
}

impl Operator for Recursive {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        loop {
            let Some(current) = self.current(cx)? else { return Ok(None) };
            let Some(mut batch) = current.next(cx)? else {
                if self.seed.take().is_none() {
                    self.step = None;
                }
                continue;
            };
            if let Some(seen) = &mut self.seen {
                let selection = seen.new_rows(&batch)?;
                if selection.count() == 0 {
                    continue;
                }
                batch = selection.apply(&batch)?;
            }
            self.added.push(batch.clone());
            return Ok(Some(batch));
        }
    }
}

impl Seen {
    fn new_rows(&mut self, batch: &Batch) -> Result<Selection, MysqlError> {
        let columns: Vec<Datum> = batch.columns.iter().cloned().map(Datum::Array).collect();
        self.encoder.encode(&columns, batch.rows, &mut self.keys)?;
        Ok(Selection::from_bits(BooleanBuffer::collect_bool(batch.rows, |row| {
            let known = self.table.len();
            self.table.find_or_insert(self.keys.get(row)) as usize == known
        })))
    }
}
