//! Locks rows for the transaction.
//!
//! The operator locks a row and then reads it again, because it may have changed since it was read. With only one table, the
//! newest version replaces the version that was read if it still meets the condition (READ COMMITTED, and InnoDB's REPEATABLE
//! READ). Otherwise the statement meets a conflict and must run again. If it can, the remaining rows are locked first, so that
//! the next run finds them locked.

use super::limit::{resolve, slice};
use super::{BoxedOperator, Build, Builder, ExecutionContext, Operator, build};
use arrow_array::cast::AsArray;
use arrow_array::{Array, UInt32Array};
use arrow_select::take::take;
use leafline_access::AccessPath;
use leafline_expr::{Expr, evaluate_row, truth};
use leafline_planner::plan::{self, LockRows as Locking, LockedTable, Node};
use leafline_table::{LockedRow, RowLocker, TableError};
use leafline_types::column::value_at;
use leafline_types::{Batch, ColumnBuilder, MysqlError, Value};
use std::sync::Arc;

pub(super) struct LockRows {
    input: BoxedOperator,
    locking: Locking,
    /// Remaining rows to skip and to deliver, once the parameters are known.
    left: Option<(u64, u64)>,
    /// The lookup that delivers the rows, if there is one and its keys are not locked yet.
    lookup: Option<Arc<AccessPath>>,
    /// A row had changed since it was read.
    conflict: bool,
}

/// The decision about a row.
enum LockOutcome {
    Keep,
    /// Keep the row, with these values for the table's columns.
    Replace(Vec<Value>),
    Drop,
}

impl LockRows {
    pub fn new(locking: &Locking, profiled: bool) -> LockRows {
        let input = build(&locking.input, profiled);
        let lookup = match (&locking.tables[..], &locking.limit) {
            ([_], None) => lookup(&locking.input).cloned(),
            _ => None,
        };
        LockRows { input, locking: locking.clone(), left: None, lookup, conflict: false }
    }

    /// Locks the keys that are looked up, whether such rows exist or not, so that no other transaction inserts them.
    fn lock_keys(&mut self, locker: &RowLocker, cx: &mut ExecutionContext<'_>) -> Result<(), MysqlError> {
        let (Some(path), [table]) = (self.lookup.take(), &self.locking.tables[..]) else { return Ok(()) };
        if !locker.locks_absent() {
            return Ok(());
        }
        let Some(keys) = path.looked_up(&mut cx.eval)? else { return Ok(()) };
        for key in keys {
            cx.eval.cancel.check()?;
            locker.lock_key(&table.table, &key, table.lock.strength, table.lock.wait)?;
        }
        Ok(())
    }

    fn lock(
        &mut self,
        batch: &Batch,
        row: usize,
        locker: &RowLocker,
        restartable: bool,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<LockOutcome, MysqlError> {
        let mut verdict = LockOutcome::Keep;
        for table in self.locking.tables.iter() {
            let locators = batch.columns.get(table.locator).and_then(|column| column.as_binary_opt::<i32>());
            let locators = locators.ok_or_else(|| MysqlError::internal("rows to lock without locators"))?;
            if locators.is_null(row) {
                continue;
            }
            let locked =
                match locker.lock(&table.table, locators.value(row), table.lock.strength, table.lock.wait) {
                    Err(TableError::WriteConflict) if restartable => {
                        self.conflict = true;
                        continue;
                    }
                    result => result?,
                };
            match (&locked.row, &self.locking.recheck) {
                (LockedRow::AsSeen, _) => {}
                (LockedRow::Skipped, _) => return Ok(LockOutcome::Drop),
                (LockedRow::Newer(values), Some(conditions)) if meets(conditions, values, cx)? => {
                    verdict = LockOutcome::Replace(values.clone());
                }
                (_, Some(_)) => {
                    locker.unlock(locked);
                    return Ok(LockOutcome::Drop);
                }
                (_, None) if restartable => self.conflict = true,
                (_, None) => return Err(TableError::WriteConflict.into()),
            }
        }
        Ok(verdict)
    }

    /// Makes a batch of the kept rows, some of them with newer values: `newer` has an element for each kept row.
    fn delivered(
        &self,
        batch: &Batch,
        kept: Vec<u32>,
        newer: &[Option<Vec<Value>>],
    ) -> Result<Batch, MysqlError> {
        let rows = kept.len();
        let replaces = newer.iter().any(Option::is_some);
        if rows == batch.rows && !replaces {
            return Ok(slice(batch, 0, rows));
        }
        let wanted = UInt32Array::from(kept);
        let taken =
            batch.columns.iter().map(|column| take(column, &wanted, None).map_err(MysqlError::internal));
        let mut columns = taken.collect::<Result<Vec<_>, _>>()?;
        let [LockedTable { table, columns: of_table, .. }] = &self.locking.tables[..] else {
            return Ok(Batch { columns, rows });
        };
        for &(position, ordinal) in of_table.iter().filter(|_| replaces) {
            let (old, column) = (&mut columns[position], &table.columns[ordinal]);
            let mut builder = ColumnBuilder::with_capacity(&column.ty, rows);
            for (row, newer) in newer.iter().enumerate() {
                let newer = newer.as_ref().map(|values| values[ordinal].clone());
                let value = newer.unwrap_or_else(|| value_at(&**old, row, &column.ty));
                builder.push_value(&value).map_err(MysqlError::unknown_error)?;
            }
            *old = builder.finish();
        }
        Ok(Batch { columns, rows })
    }
}

/// Returns the lookup that delivers the rows, if they come from one.
fn lookup(node: &Node) -> Option<&Arc<AccessPath>> {
    match &node.operator {
        plan::Operator::Scan(scan) if scan.path.is_clustered() && scan.path.is_unique_lookup() => {
            Some(&scan.path)
        }
        plan::Operator::Filter(plan::Filter { input, .. }) => lookup(input),
        _ => None,
    }
}

fn meets(conditions: &[Expr], row: &[Value], cx: &mut ExecutionContext<'_>) -> Result<bool, MysqlError> {
    for condition in conditions {
        let value = evaluate_row(condition, row, &mut cx.eval)?;
        if truth(&value, &mut cx.eval)? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Build for plan::LockRows {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        Box::new(LockRows::new(self, builder.profiled))
    }
}

impl Operator for LockRows {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        let Some(locks) = cx.locks else {
            return Err(MysqlError::internal("rows to lock, but no transaction to lock them for"));
        };
        self.lock_keys(&locks.locker, cx)?;
        let (mut skip, mut deliver) = match (self.left, &self.locking.limit) {
            (Some(left), _) => left,
            (None, Some(limit)) => resolve(limit, cx.eval.parameters)?,
            (None, None) => (0, u64::MAX),
        };
        while deliver > 0 {
            let Some(batch) = self.input.next(cx)? else { break };
            let (mut kept, mut newer) = (Vec::new(), Vec::new());
            for row in 0..batch.rows {
                cx.eval.cancel.check()?;
                let verdict = self.lock(&batch, row, &locks.locker, locks.restartable, cx)?;
                if matches!(verdict, LockOutcome::Drop) {
                    continue;
                }
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                newer.push(match verdict {
                    LockOutcome::Replace(values) => Some(values),
                    LockOutcome::Keep | LockOutcome::Drop => None,
                });
                kept.push(row as u32);
                deliver -= 1;
                if deliver == 0 {
                    break;
                }
            }
            self.left = Some((skip, deliver));
            if !kept.is_empty() && !self.conflict {
                return self.delivered(&batch, kept, &newer).map(Some);
            }
        }
        self.left = Some((skip, 0));
        if self.conflict { Err(TableError::WriteConflict.into()) } else { Ok(None) }
    }
}
