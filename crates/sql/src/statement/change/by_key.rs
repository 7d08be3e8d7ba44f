//! The row of an UPDATE or DELETE that names it by its primary key: locked and read without operators.
//!
//! The key is locked before the row is read, so that nothing that a snapshot sees has to be read again under the lock. What the statement finds, locks and counts is
//! what the plan's operators would; they are run where it is not so simple: for a row that has changed since the snapshot, and for keys that are none.

use crate::session::Session;
use crate::statement::execution::Execution;
use leafline_access::AccessPath;
use leafline_expr::{Expr, ExprKind, evaluate_row, truth};
use leafline_planner::bound::{BoundSelect, ChangedTable};
use leafline_planner::plan::{self, LockedTable, Operator, Plan};
use leafline_table::{LockStrength, LockWait, LookedUp, Transaction};
use leafline_types::{MysqlError, Value};
use std::sync::Arc;

/// How the row is found.
pub(crate) struct ByKey {
    path: Arc<AccessPath>,
    /// What it has to meet besides.
    conditions: Vec<Expr>,
}

/// What was found.
pub(super) enum Found {
    /// There is no such row.
    Nothing,
    /// A row, locked: its key and its columns.
    Row(Vec<u8>, Vec<Value>),
    /// The plan has to find it.
    Unknown,
}

impl ByKey {
    /// For statements that change a row of a single table, if `plan` looks it up by its primary key and delivers all of its columns.
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

    /// Locks the row and reads it.
    pub(super) fn find(
        &self,
        execution: &mut Execution,
        session: &mut Session,
        transaction: &mut Transaction,
    ) -> Result<Found, MysqlError> {
        let locker = transaction.row_locker();
        // A row that does not meet them would not be locked.
        if !self.conditions.is_empty() && !locker.locks_absent() {
            return Ok(Found::Unknown);
        }
        let constraint = &self.path.constraint;
        let values: Option<Vec<Value>> =
            constraint.values().iter().map(|value| execution.known(value).cloned()).collect();
        let mut key = Vec::new();
        match values.and_then(|values| constraint.equal_key(&values, &mut key)) {
            Some(true) => {}
            // With what they compare, the key is none of the column's values.
            Some(false) | None => return Ok(Found::Unknown),
        }
        session.cancel.check()?;
        let row = match locker.look_up(&self.path.table, &key)? {
            LookedUp::Row(row) => row,
            LookedUp::Nothing => {
                session.counters.access.handler_read_key += 1;
                return Ok(Found::Nothing);
            }
            LookedUp::Changed => return Ok(Found::Unknown),
        };
        let counters = &mut session.counters.access;
        counters.handler_read_key += 1;
        counters.leafline_entries_examined += 1;
        if !self.conditions.is_empty() {
            let columns = self.path.columns.iter();
            let working: Vec<Value> = columns.map(|column| row[*column].clone()).collect();
            let meets = execution.with(session, |cx| {
                for condition in &self.conditions {
                    let value = evaluate_row(condition, &working, &mut cx.eval)?;
                    if truth(&value, &mut cx.eval)? != Some(true) {
                        return Ok::<_, MysqlError>(false);
                    }
                }
                Ok(true)
            })?;
            if !meets {
                return Ok(Found::Nothing);
            }
        }
        Ok(Found::Row(key, row))
    }
}
