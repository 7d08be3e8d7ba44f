//! A lookup join that becomes a hash join if its lookups exceed the estimate.
//!
//! Between two batches of outer rows the operator checks the cost of the lookups so far. Once they have cost as much as reading and
//! hashing the table will, the outer rows that were not looked up become the probe side of a hash join. Each outer row is joined
//! by one of the two methods, so that delivered rows stay valid.

use super::hash_join::HashJoin;
use super::lookup_join::LookupJoin;
use super::{BoxedOperator, Build, Builder, ExecutionContext, Operator, build};
use leafline_planner::plan::{self, HashFallback, Node};
use leafline_types::{Batch, ExprType, MysqlError};
use std::sync::Arc;

pub(super) struct AdaptiveJoin {
    lookups: Option<LookupJoin>,
    hashed: Option<HashJoin>,
    fallback: HashFallback,
    outer_types: Arc<[ExprType]>,
    profiled: bool,
}

impl AdaptiveJoin {
    pub fn new(
        lookups: LookupJoin,
        fallback: &HashFallback,
        outer_types: &Arc<[ExprType]>,
        profiled: bool,
    ) -> AdaptiveJoin {
        let (fallback, outer_types) = (fallback.clone(), outer_types.clone());
        AdaptiveJoin { lookups: Some(lookups), hashed: None, fallback, outer_types, profiled }
    }
}

impl Build for plan::LookupJoin {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        let outer = builder.build(&self.outer);
        let join = LookupJoin::new(outer, &self.inner, self.join_type, self.keep_order, builder.filters);
        match &self.fallback {
            Some(fallback) => {
                Box::new(AdaptiveJoin::new(join, fallback, &self.outer.types, builder.profiled))
            }
            None => Box::new(join),
        }
    }
}

impl Operator for AdaptiveJoin {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        if let Some(lookups) = &mut self.lookups {
            let found = lookups.next_within(self.fallback.after, cx)?;
            if found.is_some() || !lookups.is_over(self.fallback.after) {
                return Ok(found);
            }
            cx.counters.leafline_plans_switched += 1;
        }
        if let Some(lookups) = self.lookups.take() {
            let (rows, keep_order) = lookups.kind();
            let types = (self.outer_types.clone(), rows, keep_order);
            let build = build(&self.fallback.build, self.profiled);
            let rest = Box::new(lookups.rest(cx)?);
            self.hashed = Some(HashJoin::going_on(rest, build, &self.fallback, types));
        }
        let Some(hashed) = &mut self.hashed else { return Ok(None) };
        let Some(batch) = hashed.next(cx)? else { return Ok(None) };
        let columns = self.fallback.columns.iter().filter_map(|column| batch.columns.get(*column).cloned());
        Ok(Some(Batch { columns: columns.collect(), rows: batch.rows }))
    }

    fn reset(&mut self) -> bool {
        self.lookups.as_mut().is_some_and(Operator::reset)
    }
}
