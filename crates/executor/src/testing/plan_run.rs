//! Runs a plan without a session: owns its operators and their memory from the first batch to the last.

use crate::{BoxedOperator, ExecutionContext, Profile, Runner, StatementLocks, Subplans, build};
use leafline_access::{Budget, Counters};
use leafline_expr::EvalContext;
use leafline_planner::plan::{Plan, PlanParts};
use leafline_table::{ReadView, Transaction};
use leafline_types::memory::MemoryBudget;
use leafline_types::{Batch, MysqlError};
use std::sync::Arc;

/// A running plan. The run owns all state of the execution except the session's, which comes with each call.
pub(crate) struct PlanRun {
    root: BoxedOperator,
    memory: MemoryBudget,
    locks: Option<StatementLocks>,
    profile: Option<Profile>,
    subplans: Subplans,
}

impl PlanRun {
    /// Prepares a run that may hold `memory_limit` bytes, without reading anything. With `profiled`, it records figures for
    /// EXPLAIN ANALYZE.
    pub fn new(plan: &Arc<Plan>, parts: &Arc<PlanParts>, memory_limit: usize, profiled: bool) -> PlanRun {
        PlanRun {
            root: build(&plan.root, profiled),
            memory: MemoryBudget::new(memory_limit),
            locks: None,
            profile: profiled.then(|| Profile::new(plan.node_count)),
            subplans: Subplans::new(parts, 1000),
        }
    }

    /// Locks rows for a transaction.
    pub fn locking(mut self, transaction: &mut Transaction) -> PlanRun {
        self.locks = Some(StatementLocks { locker: transaction.row_locker(), restartable: false });
        self
    }

    /// Returns the next rows of the result; `None` when there are no more. An error ends the execution.
    pub fn next(
        &mut self,
        eval: EvalContext<'_>,
        view: &ReadView,
        counters: &mut Counters,
    ) -> Result<Option<Batch>, MysqlError> {
        let PlanRun { root, memory, locks, profile, subplans } = self;
        let (locks, profile) = (locks.as_ref(), profile.as_mut());
        let runner = Runner { subplans, view, locks, memory };
        let eval = EvalContext { subqueries: Some(&runner), memory, ..eval };
        let mut cx = ExecutionContext {
            eval,
            view,
            counters,
            memory,
            subplans,
            locks,
            profile,
            piece: None,
            budget: Budget::default(),
        };
        cx.eval.cancel.check()?;
        root.next(&mut cx)
    }

    /// Returns the figures, if they are recorded.
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }
}
