//! The first rows by a plan that was chosen on an estimate, with another plan at hand should that have been wrong.
//!
//! A LIMIT through an index that gives the order is cheap if rows that pass are spread evenly, and as bad as can be if they all lie at the end. Rows
//! are held until the plan has all it was asked for, so that it can be given up without having shown any; it is when it has examined as many
//! entries as the other plan would have cost. What is done is then at most about twice what the better one of both needs.

use super::limit::resolve;
use super::{BoxedOperator, ExecutionContext, Operator};
use leafline_access::Budget;
use leafline_planner::plan::RowLimit;
use leafline_types::{Batch, MysqlError};
use std::collections::VecDeque;

/// Most rows that are held.
const MOST_ROWS: u64 = 1_000;

pub(super) struct Guarded {
    first: BoxedOperator,
    instead: BoxedOperator,
    entries: u64,
    limit: RowLimit,
    running: Running,
}

/// Which plan delivers.
enum Running {
    /// None yet.
    Neither,
    /// Nobody guards the first one.
    First,
    /// The first one has delivered all.
    Held(VecDeque<Batch>),
    /// The other one.
    Other,
}

impl Guarded {
    pub fn new(first: BoxedOperator, instead: BoxedOperator, entries: u64, limit: RowLimit) -> Guarded {
        Guarded { first, instead, entries, limit, running: Running::Neither }
    }

    /// Runs the first plan to its end, if that is not too far.
    fn begin(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Running, MysqlError> {
        let (_, rows) = resolve(&self.limit, cx.eval.parameters)?;
        // Inside another that is guarded, that one decides.
        if rows > MOST_ROWS || cx.budget.most.is_some() {
            return Ok(Running::First);
        }
        let warnings = cx.eval.warnings.clone();
        let most = cx.counters.leafline_entries_examined.saturating_add(self.entries);
        cx.budget = Budget { most: Some(most), exceeded: false };
        let mut held = VecDeque::new();
        let result = loop {
            match self.first.next(cx) {
                Ok(Some(batch)) => held.push_back(batch),
                Ok(None) => break Ok(Running::Held(held)),
                Err(error) => break Err(error),
            }
        };
        let exceeded = std::mem::take(&mut cx.budget).exceeded;
        if result.is_err() && exceeded {
            self.first.reset();
            cx.eval.warnings.forget_after(&warnings);
            cx.counters.leafline_plans_switched += 1;
            return Ok(Running::Other);
        }
        result
    }
}

impl Operator for Guarded {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        if matches!(self.running, Running::Neither) {
            self.running = self.begin(cx)?;
        }
        match &mut self.running {
            Running::Held(rows) => Ok(rows.pop_front()),
            Running::Other => self.instead.next(cx),
            Running::Neither | Running::First => self.first.next(cx),
        }
    }

    fn reset(&mut self) -> bool {
        self.running = Running::Neither;
        self.first.reset() && self.instead.reset()
    }
}
