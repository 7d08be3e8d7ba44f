//! The plan of a statement that reads or changes the rows of one key.

use super::RowLimit;
use leafline_access::AccessPath;
use leafline_expr::Expr;
use std::sync::Arc;

/// A plan that runs without operators. It stands beside the operators of its [`Plan`](super::Plan), which do the same: EXPLAIN
/// shows the operators, and they run wherever the point plan does not suffice.
///
/// *Falling back.* Before it gives out or changes a row, and before it raises a counter, the execution of a point plan may answer
/// that the operators have to run. They then run within the same statement. A lock that the point plan has taken stays.
#[derive(Clone, Debug)]
pub enum PointPlan {
    /// A SELECT of few rows along one access path.
    Rows(PointRows),
    /// The row of an UPDATE or DELETE that names it by its whole primary key.
    LockedRow(PointLock),
}

/// The rows of one access path, whose columns are delivered as they are stored.
#[derive(Clone, Debug)]
pub struct PointRows {
    /// The access path, which is [readable by points](AccessPath::is_point_readable).
    pub path: Arc<AccessPath>,
    /// Positions of the delivered columns among those of the path.
    pub output: Vec<usize>,
    /// LIMIT.
    pub limit: Option<RowLimit>,
}

/// One row with all of its columns, locked exclusively before it is read.
#[derive(Clone, Debug)]
pub struct PointLock {
    /// The access path; its bounds are literals and parameters for each part of the primary key.
    pub path: Arc<AccessPath>,
    /// Further conditions on the row, over the columns of the path.
    pub filter: Vec<Expr>,
}
