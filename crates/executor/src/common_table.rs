//! Common tables, computed once for all their references, and recursion.

use super::known_rows::SeenRows;
use super::stored_rows::{RowsToStore, StoredReader, StoredRows};
use super::subplans::{Part, within};
use super::{BoxedOperator, Build, Builder, ExecutionContext, Operator, build};
use leafline_access::Budget;
use leafline_planner::plan::{self, Node};
use leafline_types::{Batch, ExprType, MysqlError};
use std::sync::Arc;

/// Reads a common table. The first reader computes its rows.
pub(super) struct CommonTableScan {
    number: usize,
    rows: Option<StoredReader>,
}

impl CommonTableScan {
    pub fn new(number: usize) -> CommonTableScan {
        CommonTableScan { number, rows: None }
    }
}

impl Build for plan::CommonTableScan {
    fn build(&self, _node: &Node, _builder: &Builder<'_>) -> BoxedOperator {
        Box::new(CommonTableScan::new(self.number))
    }
}

impl Build for plan::WorkTableScan {
    fn build(&self, _node: &Node, _builder: &Builder<'_>) -> BoxedOperator {
        Box::new(WorkTableScan::new(self.number))
    }
}

impl Build for Arc<plan::RecursiveUnion> {
    fn build(&self, node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        Box::new(RecursiveUnion::new(self, &node.types, builder.profiled))
    }
}

impl Operator for CommonTableScan {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        let rows = match &mut self.rows {
            Some(rows) => rows,
            None => {
                let rows = common_rows(self.number, cx)?;
                self.rows.insert(StoredReader::new(rows))
            }
        };
        rows.next(cx)
    }
}

fn common_rows(number: usize, cx: &mut ExecutionContext<'_>) -> Result<Arc<StoredRows>, MysqlError> {
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
        piece: None,
        budget: Budget::default(),
    };
    let made = all_rows(&mut root, &plan.plan.root.types, &mut inner);
    cx.eval.state = std::mem::take(&mut inner.eval.state);
    subplans.put_profile(Part::Common(number), profile);
    let rows = Arc::new(made?);
    subplans.keep_common(number, outer, rows.clone(), cx.memory);
    Ok(rows)
}

/// Reads all rows of an operator.
fn all_rows(
    root: &mut BoxedOperator,
    types: &Arc<[ExprType]>,
    cx: &mut ExecutionContext<'_>,
) -> Result<StoredRows, MysqlError> {
    let mut rows = RowsToStore::new(types);
    while let Some(batch) = root.next(cx)? {
        rows.push(&batch, cx)?;
    }
    rows.take()
}

/// Reads the work table of a recursive common table: the rows that the preceding round added.
pub(super) struct WorkTableScan {
    number: usize,
    rows: Option<StoredReader>,
}

impl WorkTableScan {
    pub fn new(number: usize) -> WorkTableScan {
        WorkTableScan { number, rows: None }
    }
}

impl Operator for WorkTableScan {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        let rows = self.rows.get_or_insert_with(|| StoredReader::new(cx.subplans.work_table(self.number)));
        rows.next(cx)
    }
}

/// Computes a recursive common table: the rows of its first part, then, round after round, the rows that the recursive steps make
/// of the rows added by the preceding round.
pub(super) struct RecursiveUnion {
    union: Arc<plan::RecursiveUnion>,
    seed: Option<BoxedOperator>,
    /// With UNION DISTINCT: the rows so far.
    seen: Option<SeenRows>,
    added: RowsToStore,
    step: Option<BoxedOperator>,
    /// The next step of this round.
    next_step: usize,
    rounds: u64,
    profiled: bool,
}

impl RecursiveUnion {
    pub fn new(union: &Arc<plan::RecursiveUnion>, types: &Arc<[ExprType]>, profiled: bool) -> RecursiveUnion {
        RecursiveUnion {
            seed: Some(build(&union.seed, profiled)),
            seen: union.distinct.then(|| SeenRows::new(types)),
            added: RowsToStore::new(types),
            step: None,
            next_step: union.steps.len(),
            rounds: 0,
            profiled,
            union: union.clone(),
        }
    }

    /// Returns the operator to read next; `None` when a round has added nothing.
    fn current(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<&mut BoxedOperator>, MysqlError> {
        if self.seed.is_some() {
            return Ok(self.seed.as_mut());
        }
        if self.step.is_none() {
            if self.next_step == self.union.steps.len() {
                if self.added.is_empty() {
                    cx.subplans.set_work_table(self.union.number, StoredRows::default(), cx.memory);
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
                cx.subplans.set_work_table(self.union.number, self.added.take()?, cx.memory);
            }
            let step: Option<&Node> = self.union.steps.get(self.next_step);
            self.step = step.map(|step| build(step, self.profiled));
            self.next_step += 1;
        }
        Ok(self.step.as_mut())
    }
}

impl Operator for RecursiveUnion {
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
                let selection = seen.add(&batch, cx)?;
                if selection.count() == 0 {
                    continue;
                }
                batch = selection.apply(&batch)?;
            }
            self.added.push(&batch, cx)?;
            return Ok(Some(batch));
        }
    }
}
