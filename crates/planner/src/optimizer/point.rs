//! The rule that gives a point plan to a finished plan: reads and changes of one key run without operators.

use crate::plan::{self, LockedTable, Node, Operator, PointLock, PointPlan, PointRows};
use leafline_expr::{Expr, ExprKind};
use leafline_table::{LockStrength, LockWait};

/// Returns the point plan of a query: `Limit`, `Project` of columns and `Scan`, where the scan finds the rows of one key range. A
/// scan of a whole index reads few rows only under a LIMIT.
pub(super) fn point_rows(root: &Node) -> Option<PointPlan> {
    let (node, limit) = match &root.operator {
        Operator::Limit(plan::Limit { input, limit }) => (&**input, Some(limit.clone())),
        _ => (root, None),
    };
    let (node, output) = projected_columns(node)?;
    let Operator::Scan(scan) = &node.operator else { return None };
    let path = &scan.path;
    let is_small = !path.constraint.is_unbounded() || limit.is_some();
    let is_point = is_small && !output.is_empty() && path.is_point_readable();
    is_point.then(|| PointPlan::Rows(PointRows { path: path.clone(), output, limit }))
}

/// Returns the point plan of rows to change: `Project` of columns, `LockRows` and `Scan`, where the scan finds a row by its whole
/// primary key and the plan delivers all columns of the row and then its locator.
pub(super) fn point_lock(root: &Node) -> Option<PointPlan> {
    let (node, output) = projected_columns(root)?;
    let Operator::LockRows(locking) = &node.operator else { return None };
    let [LockedTable { table, lock, .. }] = &locking.tables[..] else { return None };
    let Operator::Scan(scan) = &locking.input.operator else { return None };
    let path = &scan.path;
    let delivered = &path.columns[..path.delivered];
    let (_locator, columns) = output.split_last()?;
    let are_in_order = columns.iter().map(|at| delivered.get(*at).copied()).eq((0..columns.len()).map(Some));
    let is_point = are_in_order
        && columns.len() == table.columns.len()
        && locking.limit.is_none()
        && (lock.strength, lock.wait) == (LockStrength::Update, LockWait::Wait)
        && path.is_clustered()
        && path.is_unique_lookup()
        && path.source.locators().is_none()
        && path.first_of().is_none()
        && !path.constraint.has_key_filter()
        && path.constraint.used_parts() == path.index.key_parts.len()
        && path.constraint.has_known_values()
        && path.index_conditions.iter().all(|condition| condition.implied)
        && !table.is_partitioned();
    is_point.then(|| {
        let filter = path.residual_filter.iter().filter(|condition| !condition.implied);
        let filter = filter.map(|condition| condition.expr.clone()).collect();
        PointPlan::LockedRow(PointLock { path: path.clone(), filter })
    })
}

/// Returns the input of a projection, and the positions of the columns that the projection takes from it. `None` if it computes a
/// value. A node that is no projection delivers its own columns.
fn projected_columns(node: &Node) -> Option<(&Node, Vec<usize>)> {
    let Operator::Project(plan::Project { input, expressions }) = &node.operator else {
        return Some((node, (0..node.types.len()).collect()));
    };
    let column = |expression: &Expr| match expression.kind {
        ExprKind::Column(at) => Some(at),
        _ => None,
    };
    Some((input, expressions.iter().map(column).collect::<Option<Vec<usize>>>()?))
}
