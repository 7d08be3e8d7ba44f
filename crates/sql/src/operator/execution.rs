//! One execution of a plan: its operators and what they hold, from the first batch to the last.

use super::{BoxedOperator, ExecutionContext, MemoryBudget, Profile, build};
use crate::plan::Plan;
use leafline_access::Counters;
use leafline_table::ReadView;
use leafline_types::expr::EvalContext;
use leafline_types::{Batch, MysqlError};
use std::sync::Arc;

/// A running plan. It owns all state of the execution but the session's, which comes with each call.
pub struct Execution {
    root: BoxedOperator,
    memory: MemoryBudget,
    profile: Option<Profile>,
    plan: Arc<Plan>,
}

impl Execution {
    /// Prepares a run that may hold `memory_limit` bytes; nothing is read yet. With `profiled`, figures are kept for
    /// EXPLAIN ANALYZE.
    pub fn new(plan: &Arc<Plan>, memory_limit: usize, profiled: bool) -> Execution {
        Execution {
            root: build(&plan.root, profiled),
            memory: MemoryBudget::new(memory_limit),
            profile: profiled.then(|| Profile::new(plan.node_count)),
            plan: plan.clone(),
        }
    }

    /// The next rows of the result; `None` when there are no more. After an error the execution is over.
    pub fn next(
        &mut self,
        eval: EvalContext<'_>,
        view: &ReadView,
        counters: &mut Counters,
    ) -> Result<Option<Batch>, MysqlError> {
        let Execution { root, memory, profile, .. } = self;
        let mut cx = ExecutionContext { eval, view, counters, memory, profile: profile.as_mut() };
        cx.eval.cancel.check()?;
        root.next(&mut cx)
    }

    /// The plan that runs.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The figures, if they are kept.
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// The most memory that was held at one time, bytes.
    pub fn peak_memory(&self) -> usize {
        self.memory.peak()
    }
}
