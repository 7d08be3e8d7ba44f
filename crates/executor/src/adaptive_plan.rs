//! The first rows of a plan that was chosen by an estimate, with a fallback for the case that the estimate is wrong.
//!
//! A LIMIT through an index that provides the order is cheap if passing rows are spread evenly, and very expensive if all lie at
//! the end. Rows are held until the primary plan is complete, so that it can be given up before any row is shown. That happens
//! once it has examined as many entries as the fallback would cost. The total is then at most about twice the price of the better
//! plan.

use super::limit::resolve;
use super::{BoxedOperator, Build, Builder, ExecutionContext, Operator};
use crate::params::MAX_HELD_ROWS;
use leafline_access::Budget;
use leafline_planner::plan::{self, Node, RowLimit};
use leafline_types::{Batch, MysqlError};
use std::collections::VecDeque;

pub(super) struct AdaptivePlan {
    primary: BoxedOperator,
    fallback: BoxedOperator,
    entry_budget: u64,
    limit: RowLimit,
    delivering: Delivering,
}

/// The plan that delivers rows.
enum Delivering {
    /// Neither plan has run yet.
    Undecided,
    /// The primary plan, without a budget.
    Primary,
    /// The rows of the completed primary plan.
    Held(VecDeque<Batch>),
    /// The fallback.
    Fallback,
}

impl AdaptivePlan {
    pub fn new(
        (primary, fallback): (BoxedOperator, BoxedOperator),
        entry_budget: u64,
        limit: RowLimit,
    ) -> AdaptivePlan {
        AdaptivePlan { primary, fallback, entry_budget, limit, delivering: Delivering::Undecided }
    }

    /// Runs the primary plan to its end within its budget.
    fn begin(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Delivering, MysqlError> {
        let (_, rows) = resolve(&self.limit, cx.eval.parameters)?;
        // The budget of a surrounding adaptive plan decides.
        if rows > MAX_HELD_ROWS || cx.budget.most.is_some() {
            return Ok(Delivering::Primary);
        }
        let warnings = cx.eval.warnings.clone();
        let most = cx.counters.leafline_entries_examined.saturating_add(self.entry_budget);
        cx.budget = Budget { most: Some(most), exceeded: false };
        let mut held = VecDeque::new();
        let result = loop {
            match self.primary.next(cx) {
                Ok(Some(batch)) => held.push_back(batch),
                Ok(None) => break Ok(Delivering::Held(held)),
                Err(error) => break Err(error),
            }
        };
        let exceeded = std::mem::take(&mut cx.budget).exceeded;
        if result.is_err() && exceeded {
            self.primary.reset();
            cx.eval.warnings.truncate_to(&warnings);
            cx.counters.leafline_plans_switched += 1;
            return Ok(Delivering::Fallback);
        }
        result
    }
}

impl Build for plan::AdaptivePlan {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        let plans = (builder.build(&self.primary), builder.build(&self.fallback));
        Box::new(AdaptivePlan::new(plans, self.entry_budget, self.limit.clone()))
    }
}

impl Operator for AdaptivePlan {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        if matches!(self.delivering, Delivering::Undecided) {
            self.delivering = self.begin(cx)?;
        }
        match &mut self.delivering {
            Delivering::Held(rows) => Ok(rows.pop_front()),
            Delivering::Fallback => self.fallback.next(cx),
            Delivering::Undecided | Delivering::Primary => self.primary.next(cx),
        }
    }

    fn reset(&mut self) -> bool {
        self.delivering = Delivering::Undecided;
        self.primary.reset() && self.fallback.reset()
    }
}
