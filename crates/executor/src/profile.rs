//! Figures for each plan node: rows, calls, time, and the work of the access paths.

use super::{BoxedOperator, ExecutionContext, Operator};
use leafline_types::{Batch, MysqlError};
use std::time::Instant;

/// Wraps an operator and records its figures.
pub(super) struct Profiled {
    id: usize,
    operator: BoxedOperator,
    /// The operator was asked for rows.
    begun: bool,
}

impl Profiled {
    pub fn new(id: usize, operator: BoxedOperator) -> Profiled {
        Profiled { id, operator, begun: false }
    }
}

impl Operator for Profiled {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        let started = Instant::now();
        let counters = *cx.counters;
        let pages = cx.pages();
        let result = self.operator.next(cx);
        let after = cx.pages();
        let counted = cx.counters.since(&counters);
        if let Some(node) = cx.profile.as_mut().and_then(|profile| profile.node_mut(self.id)) {
            node.loops += u64::from(!std::mem::replace(&mut self.begun, true));
            let rows = result.as_ref().map_or(0, |batch| batch.as_ref().map_or(0, |batch| batch.rows));
            node.add(started.elapsed(), counted, pages, after, rows);
        }
        result
    }
    fn reset(&mut self) -> bool {
        self.begun = false;
        self.operator.reset()
    }
}
