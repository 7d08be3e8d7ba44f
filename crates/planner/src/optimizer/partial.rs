//! Plans under construction: cheap to make and to compare, with the column numbers of the query block.

use super::graph::Relations;
use crate::plan::Node;
use leafline_access::{Candidate, JoinType};
use leafline_expr::{CompareDomain, Expr};
use std::rc::Rc;

/// A shared partial plan.
pub(super) type JoinPlanRef = Rc<Partial>;

/// A plan for the joined rows of some relations.
#[derive(Clone, Debug)]
pub(super) struct Partial {
    pub step: Step,
    pub relations: Relations,
    /// Rows delivered.
    pub rows: f64,
    /// Time until the last row, microseconds.
    pub cost_us: f64,
    /// Time until the first row, microseconds.
    pub startup_us: f64,
    /// The plan has no rows, whatever the parameters.
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
    /// A lookup join: a table looked up by columns of the left rows. The outer columns of its path are column numbers.
    Lookup {
        left: JoinPlanRef,
        relation: usize,
        candidate: Candidate,
        join_type: JoinType,
        keep_order: bool,
        /// The hash join that replaces the lookups if there are many more left rows than expected.
        fallback: Option<FallbackJoin>,
    },
    /// A lateral query that runs for each left row.
    Lateral { left: JoinPlanRef, relation: usize, node: Node, conditions: Vec<Expr>, join_type: JoinType },
    /// A hash join of left and right rows.
    Hash {
        left: JoinPlanRef,
        right: JoinPlanRef,
        keys: Vec<HashKey>,
        conditions: Vec<Expr>,
        join_type: JoinType,
        /// Deliver rows in the order of the left rows.
        keep_order: bool,
        /// The left side is the build side; the right rows stream.
        build_left: bool,
    },
}

/// The hash join that a lookup join falls back to.
#[derive(Clone, Debug)]
pub(super) struct FallbackJoin {
    /// Maximum number of looked-up left rows and of entries examined for them, together.
    pub after: f64,
    pub right: JoinPlanRef,
    pub keys: Vec<HashKey>,
    pub conditions: Vec<Expr>,
}

/// Expressions over the left and over the right rows that must be equal.
#[derive(Clone, Debug)]
pub(super) struct HashKey {
    pub left: Expr,
    pub right: Expr,
    pub null_safe: bool,
    /// The domain that both sides are converted to.
    pub domain: CompareDomain,
}
