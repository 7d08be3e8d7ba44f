//! Plans under construction: cheap to make and to compare, still in the numbering of the query block.

use super::graph::Relations;
use crate::plan::Node;
use leafline_access::{Candidate, JoinType};
use leafline_expr::{CompareDomain, Expr};
use std::rc::Rc;

/// A shared partial plan.
pub(super) type JoinPlanRef = Rc<Partial>;

/// A way to get the joined rows of some relations.
#[derive(Clone, Debug)]
pub(super) struct Partial {
    pub step: Step,
    pub relations: Relations,
    /// Rows delivered.
    pub rows: f64,
    /// Until the last row, microseconds.
    pub cost_us: f64,
    /// Until the first row.
    pub startup_us: f64,
    /// There are no rows, whatever the parameters.
    pub empty: bool,
}

/// The last operator of a partial plan. Expressions are over column numbers of the block.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A stored table.
    Access { relation: usize, candidate: Candidate },
    /// A derived table.
    Derived { relation: usize, node: Node },
    /// Rows for which the conditions are true.
    Filter { input: JoinPlanRef, conditions: Vec<Expr> },
    /// A table looked up by the columns of the left rows; the outer columns of its path are column numbers.
    Lookup {
        left: JoinPlanRef,
        relation: usize,
        candidate: Candidate,
        join_type: JoinType,
        keep_order: bool,
        /// The hash join that it goes on with if there are many more left rows than were expected.
        fallback: Option<FallbackJoin>,
    },
    /// A lateral query, run for each left row.
    Lateral { left: JoinPlanRef, relation: usize, node: Node, conditions: Vec<Expr>, join_type: JoinType },
    /// Left and right rows by hash.
    Hash {
        left: JoinPlanRef,
        right: JoinPlanRef,
        keys: Vec<HashKey>,
        conditions: Vec<Expr>,
        join_type: JoinType,
        /// The rows come in the order of the left rows.
        keep_order: bool,
        /// The left rows are held in memory, the right ones stream.
        build_left: bool,
    },
}

/// The hash join that a lookup join goes on with.
#[derive(Clone, Debug)]
pub(super) struct FallbackJoin {
    /// Left rows that are looked up, and entries examined for them, at most, together.
    pub after: f64,
    pub right: JoinPlanRef,
    pub keys: Vec<HashKey>,
    pub conditions: Vec<Expr>,
}

/// Equal expressions over the left and over the right rows.
#[derive(Clone, Debug)]
pub(super) struct HashKey {
    pub left: Expr,
    pub right: Expr,
    pub null_safe: bool,
    /// The domain that both are converted to.
    pub domain: CompareDomain,
}
