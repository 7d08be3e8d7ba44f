//! Operators: pull-based, a batch of columns at a time.
//!
//! An operator tree is built from a [`Plan`](leafline_planner::plan::Plan) for one execution and owns its state; everything it shares
//! with the rest of the execution comes with each call in the [`ExecutionContext`]. The first batches are small and
//! grow, so that a LIMIT reads little and a point query starts at once.

mod adaptive_join;
mod aggregate;
mod batch_size;
mod common_table;
mod context;
mod distinct;
#[cfg(test)]
mod explain_tests;
mod filter;
mod gather;
mod guarded;
mod hash_join;
mod json_table;
mod known_rows;
mod lateral_join;
mod limit;
mod lock_rows;
mod lookup_join;
mod members;
mod parallel;
#[cfg(test)]
mod plan_tests;
mod profile;
mod project;
mod rollup;
mod runtime_filters;
mod scan;
mod set_operation;
mod sort;
mod spill;
#[cfg(test)]
mod spill_tests;
mod stored_rows;
mod subplans;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod top_n;
#[cfg(test)]
#[path = "../../planner/src/binder/tests/tpch_queries.rs"]
mod tpch;
mod values;
mod window;

pub use context::{ExecutionContext, StatementLocks};
pub use gather::batch_bytes;
pub use leafline_planner::{NodeProfile, Profile};
pub use limit::{RowWindow, resolve as resolve_limit};
pub use parallel::scan_of;
pub use subplans::{Part, Runner, Subplans};

use leafline_planner::plan::{self, Node};
use leafline_types::{Batch, MysqlError};
use runtime_filters::RuntimeFilters;
use std::sync::Arc;

/// Most rows in a batch that an operator makes.
pub const BATCH_ROWS: usize = 8192;

/// One running operator.
pub trait Operator: Send {
    /// The next rows; `None` when there are no more. A batch is never empty.
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError>;

    /// Makes it ready for another run in the same execution, after rows or an error; whatever memory it held was given back. False if
    /// it has to be built again.
    fn reset(&mut self) -> bool {
        false
    }
}

/// An operator with its inputs, ready to run.
pub type BoxedOperator = Box<dyn Operator>;

/// Builds the operators of a plan. With `profiled`, each keeps figures in the context's profile.
pub fn build(node: &Node, profiled: bool) -> BoxedOperator {
    build_part(node, profiled, &Arc::default())
}

/// Builds the operators of a part of a plan, in which scans are told of these filters.
fn build_part(node: &Node, profiled: bool, filters: &Arc<RuntimeFilters>) -> BoxedOperator {
    let input = |input: &Node| build_part(input, profiled, filters);
    let operator: BoxedOperator = match &node.operator {
        plan::Operator::Values(rows) => Box::new(values::Values::new(rows.clone(), node.types.clone())),
        plan::Operator::JsonTable(table) => {
            Box::new(json_table::JsonTable::new(table.clone(), node.types.clone()))
        }
        plan::Operator::Empty(_) => Box::new(values::Empty),
        plan::Operator::Scan(scan) => Box::new(scan::Scan::new(scan, filters)),
        plan::Operator::Parallel { input, share } => {
            Box::new(parallel::Parallel::new(input, *share, profiled, filters))
        }
        plan::Operator::Filter { input: from, conditions } => {
            Box::new(filter::Filter::new(input(from), conditions.clone()))
        }
        plan::Operator::Project { input: from, expressions } => {
            Box::new(project::Project::new(input(from), expressions.clone()))
        }
        plan::Operator::LookupJoin { outer, inner, rows, keep_order, instead } => {
            let join = lookup_join::LookupJoin::new(input(outer), inner, *rows, *keep_order, filters);
            match instead {
                Some(instead) => {
                    Box::new(adaptive_join::AdaptiveJoin::new(join, instead, &outer.types, profiled))
                }
                None => Box::new(join),
            }
        }
        plan::Operator::LateralJoin(join) => {
            Box::new(lateral_join::LateralJoin::new(input(&join.outer), join, profiled))
        }
        plan::Operator::HashJoin(join) => {
            Box::new(hash_join::HashJoin::new(input(&join.probe), input(&join.build), join, filters))
        }
        plan::Operator::Aggregate { input: from, keys, grouping, aggregates } => Box::new(
            aggregate::Aggregate::new(input(from), &from.types, keys.clone(), *grouping, aggregates.clone()),
        ),
        plan::Operator::Sort { input: from, keys } => {
            Box::new(sort::Sort::new(input(from), &from.types, keys.clone()))
        }
        plan::Operator::TopN { input: from, keys, presorted, limit } => {
            let keys = (keys.clone(), *presorted);
            Box::new(top_n::TopN::new(input(from), &from.types, keys, limit.clone()))
        }
        plan::Operator::Limit { input: from, limit } => {
            Box::new(limit::Limit::new(input(from), limit.clone()))
        }
        plan::Operator::Guarded { first, instead, entries, limit } => {
            Box::new(guarded::Guarded::new(input(first), input(instead), *entries, limit.clone()))
        }
        plan::Operator::LockRows(locking) => Box::new(lock_rows::LockRows::new(locking, profiled)),
        plan::Operator::Distinct { input: from } => {
            Box::new(distinct::Distinct::new(input(from), &from.types))
        }
        plan::Operator::Rollup { input: from, keys, rollup } => {
            Box::new(rollup::Rollup::new(input(from), keys.clone(), rollup.clone()))
        }
        plan::Operator::Window { input: from, window } => Box::new(window::Window::new(input(from), window)),
        plan::Operator::Append { inputs } => Box::new(set_operation::Append::new(inputs.iter().map(input))),
        plan::Operator::Matched { left, right, kept, all } => {
            let (left, right) = (input(left), input(right));
            Box::new(set_operation::Matched::new(left, right, *kept, *all, &node.types))
        }
        plan::Operator::Common { number, .. } => Box::new(common_table::Common::new(*number)),
        plan::Operator::Working { number, .. } => Box::new(common_table::Working::new(*number)),
        plan::Operator::Recursive(union) => {
            Box::new(common_table::Recursive::new(union, &node.types, profiled))
        }
        plan::Operator::Derived { input: from, .. } => return input(from),
    };
    if profiled { Box::new(profile::Profiled::new(node.id, operator)) } else { operator }
}
