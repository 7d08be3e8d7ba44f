//! The lookup of an UPDATE or DELETE that names its row by the primary key.

use leafline_access::AccessPath;
use leafline_expr::{Expr, ExprKind};
use leafline_planner::bound::{BoundSelect, ChangedTable};
use leafline_planner::plan::{self, LockedTable, Operator, Plan};
use leafline_table::{LockStrength, LockWait};
use std::sync::Arc;

/// The lookup of the row.
pub(crate) struct ByKey {
    pub(crate) path: Arc<AccessPath>,
    /// Further conditions on the row.
    pub(crate) conditions: Vec<Expr>,
}

impl ByKey {
    /// The lookup of a statement that changes a row of one table, if `plan` finds the row by its primary key
    /// and delivers all of its columns.
    pub(crate) fn of(plan: &Plan, rows: &BoundSelect, targets: &[ChangedTable]) -> Option<ByKey> {
        let [ChangedTable { table, first: 0, .. }] = targets else { return None };
        let (node, outputs) = match &plan.root.operator {
            Operator::Project(plan::Project { input, expressions }) => {
                let column = |expression: &Expr| match expression.kind {
                    ExprKind::Column(at) => Some(at),
                    _ => None,
                };
                (&**input, expressions.iter().map(column).collect::<Option<Vec<usize>>>()?)
            }
            _ => (&plan.root, (0..plan.root.types.len()).collect()),
        };
        let Operator::LockRows(locking) = &node.operator else { return None };
        let [LockedTable { lock, .. }] = &locking.tables[..] else { return None };
        let Operator::Scan(scan) = &locking.input.operator else { return None };
        let path = &scan.path;
        let delivered = &path.columns[..path.delivered];
        // The locator comes last.
        let (_, outputs) = outputs.split_last()?;
        let in_order = outputs.iter().map(|at| delivered.get(*at).copied()).eq((0..outputs.len()).map(Some));
        let is_known = |value: &Expr| matches!(value.kind, ExprKind::Literal(_) | ExprKind::Parameter(_));
        let is_simple = in_order
            && outputs.len() == table.columns.len()
            && rows.output.len() == outputs.len()
            && locking.limit.is_none()
            && (lock.strength, lock.wait) == (LockStrength::Update, LockWait::Wait)
            && path.is_clustered()
            && path.is_unique_lookup()
            && path.source.locators().is_none()
            && path.first_of().is_none()
            && !path.constraint.has_key_filter()
            && path.constraint.used_parts() == path.index.key_parts.len()
            && path.constraint.values().iter().all(is_known)
            && path.index_conditions.iter().all(|condition| condition.implied)
            && !table.is_partitioned();
        let conditions = path.residual_filter.iter().filter(|condition| !condition.implied);
        let conditions = conditions.map(|condition| condition.expr.clone()).collect();
        is_simple.then(|| ByKey { path: path.clone(), conditions })
    }
}
