//! Operators: pull-based, one batch of columns at a time.
//!
//! An operator tree is built from a [`Plan`](leafline_planner::plan::Plan) for one execution and owns its state. State that it
//! shares with the rest of the execution comes with each call in the [`ExecutionContext`]. The first batches are small and grow,
//! so that a LIMIT reads little and a point query starts at once.

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
mod known_searches;
mod lateral_join;
mod limit;
mod lock_rows;
mod lookup_join;
mod members;
mod memo_key;
mod parallel;
mod params;
#[cfg(test)]
mod plan_tests;
mod point;
mod profile;
mod project;
mod rollup;
mod row_keys;
mod runtime_filters;
mod scan;
mod searches;
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

pub use gather::batch_bytes;
pub use leafline_planner::{NodeProfile, Profile};
pub use limit::{RowWindow, resolve as resolve_limit};
pub use parallel::scan_of;
pub use params::{BATCH_ROWS, EXECUTIONS_BY_OPERATORS};
pub use point::{LockedRow, PointAnswer, PointReader, lock_point};
pub use subplans::{Part, Runner, Subplans};

use leafline_access::{Budget, Counters, ScanPiece};
use leafline_expr::EvalContext;
use leafline_planner::plan::{self, Node};
use leafline_table::{ReadView, RowLocker};
use leafline_types::memory::MemoryBudget;
use leafline_types::{Batch, MysqlError};
use runtime_filters::RuntimeFilters;
use std::sync::Arc;

/// The row locks of a statement.
#[derive(Clone, Debug)]
pub struct StatementLocks {
    /// Takes locks for the statement's transaction.
    pub locker: RowLocker,
    /// The statement can run again after a conflict.
    pub restartable: bool,
}

/// The state of one execution outside its operators. The context is made anew for each call; the objects that it refers to last
/// longer.
pub struct ExecutionContext<'a> {
    /// Parameters, time, session facts, warnings, cancellation.
    pub eval: EvalContext<'a>,
    /// The snapshot, and the transaction's writes before the statement.
    pub view: &'a ReadView,
    /// The session's counters.
    pub counters: &'a mut Counters,
    /// For statements that lock rows.
    pub locks: Option<&'a StatementLocks>,
    /// The memory that the operators may hold.
    pub memory: &'a MemoryBudget,
    /// The queries that the statement's expressions run.
    pub subplans: &'a Subplans,
    /// Figures for each plan node, for EXPLAIN ANALYZE.
    pub profile: Option<&'a mut Profile>,
    /// The piece of its table that the bottom scan reads, in a thread that shares a scan with others; the scan takes it.
    pub piece: Option<ScanPiece>,
    /// The number of entries that may be examined before an adaptive plan is given up.
    pub budget: Budget,
}

/// One running operator.
pub trait Operator: Send {
    /// Returns the next rows; `None` when there are no more. A batch is never empty.
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError>;

    /// Prepares the operator for another run in the same execution, after rows or an error. The caller gives
    /// back the memory that the operator held. False if the operator must be built again.
    fn reset(&mut self) -> bool {
        false
    }
}

/// An operator with its inputs, ready to run.
pub type BoxedOperator = Box<dyn Operator>;

/// Builds the operator of a plan node. Each operator's file implements this trait for its node.
trait Build {
    /// Builds the operator with the operators of its inputs. `node` is the node that has `self` as its operator.
    fn build(&self, node: &Node, builder: &Builder<'_>) -> BoxedOperator;
}

/// Builds operators of plan nodes.
struct Builder<'b> {
    /// Each operator records figures in the context's profile.
    profiled: bool,
    /// The runtime filters of scans.
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

/// A derived table has the rows of its input.
impl Build for plan::DerivedTable {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        builder.build(&self.input)
    }
}

/// Builds the operators of a plan. With `profiled`, each operator records figures in the context's profile.
pub fn build(node: &Node, profiled: bool) -> BoxedOperator {
    Builder { profiled, filters: &Arc::default() }.build(node)
}
