//! Operators: pull-based, a batch of columns at a time.
//!
//! An operator tree is built from a [`Plan`](leafline_planner::plan::Plan) for one execution and owns its state; everything it shares
//! with the rest of the execution comes with each call in the [`ExecutionContext`]. The first batches are small and
//! grow, so that a LIMIT reads little and a point query starts at once.

mod adaptive_join;
mod adaptive_plan;
mod aggregate;
mod batch_size;
mod common_table;
mod context;
mod distinct;
#[cfg(test)]
mod explain_tests;
mod filter;
mod gather;
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

/// How to make the operator of a plan node. Each operator's file implements it for its node.
trait Build {
    /// The operator, with those of its inputs. `node` is the node that has this as its operator.
    fn build(&self, node: &Node, builder: &Builder<'_>) -> BoxedOperator;
}

/// Makes operators of plan nodes.
struct Builder<'b> {
    /// Each operator keeps figures in the context's profile.
    profiled: bool,
    /// The filters that scans are told of.
    filters: &'b Arc<RuntimeFilters>,
}

/// Dispatches to the [`Build`] of each kind of plan node.
macro_rules! define_dispatch {
    ($($(#[$doc:meta])* $name:ident($held:ty),)*) => {
        impl Builder<'_> {
            fn operator(&self, node: &Node) -> BoxedOperator {
                match &node.operator {
                    $(plan::Operator::$name(held) => held.build(node, self),)*
                }
            }
        }
    };
}

leafline_planner::nodes!(define_dispatch);

impl Builder<'_> {
    /// Builds the operators of a node and its inputs.
    fn build(&self, node: &Node) -> BoxedOperator {
        let operator = self.operator(node);
        if self.profiled && !node.operator.as_node().is_transparent() {
            return Box::new(profile::Profiled::new(node.id, operator));
        }
        operator
    }
}

/// The rows of a derived table are those of its input.
impl Build for plan::DerivedTable {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        builder.build(&self.input)
    }
}

/// Builds the operators of a plan. With `profiled`, each keeps figures in the context's profile.
pub fn build(node: &Node, profiled: bool) -> BoxedOperator {
    Builder { profiled, filters: &Arc::default() }.build(node)
}
