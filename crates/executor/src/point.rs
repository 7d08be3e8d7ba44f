//! Runs point plans: reads or locks the rows of one key without operators.
//!
//! The execution of a [`PointPlan`](leafline_planner::plan::PointPlan) may answer [`PointAnswer::NeedsOperators`]. The caller
//! then runs the operators of the plan within the same statement. Where executions follow each other, the vain attempt has cost
//! something, so operators run the next [`EXECUTIONS_BY_OPERATORS`] without another attempt.

use crate::params::EXECUTIONS_BY_OPERATORS;
use crate::{ExecutionContext, resolve_limit};
use leafline_access::{Counters, PointRead};
use leafline_expr::{evaluate_row, truth};
use leafline_planner::plan::{PointLock, PointRows, RowLimit};
use leafline_table::{LookedUp, ReadView, RowLocker};
use leafline_types::{CancelToken, MysqlError, RowBlock, Value};

/// The answer of a point plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PointAnswer<T> {
    /// The result.
    Found(T),
    /// The operators of the plan have to run. No row was given out or changed, and nothing was counted; the key may be locked.
    NeedsOperators,
}

/// Reads the rows of a kept plan again and again.
pub struct PointReader {
    read: PointRead,
    limit: Option<RowLimit>,
    /// Number of executions that operators are to run.
    resting: u32,
}

impl PointReader {
    /// Makes the reader of a plan.
    ///
    /// # Errors
    /// If the definition of the table is damaged.
    pub fn new(plan: &PointRows) -> Result<PointReader, MysqlError> {
        let read = PointRead::new(&plan.path, &plan.output)?;
        Ok(PointReader { read, limit: plan.limit.clone(), resting: 0 })
    }

    /// Counts an execution. False if the operators are to run it.
    pub fn is_ready(&mut self) -> bool {
        let is_ready = self.resting == 0;
        self.resting = self.resting.saturating_sub(1);
        is_ready
    }

    /// Reads the rows into `rows`, which the call empties first.
    ///
    /// # Errors
    /// 1210 for a bad value of LIMIT; errors of reading the table; 1317 and 3024 if the statement is to end.
    pub fn read(
        &mut self,
        parameters: &[Value],
        view: &ReadView,
        cancel: &CancelToken,
        counters: &mut Counters,
        rows: &mut RowBlock,
    ) -> Result<PointAnswer<()>, MysqlError> {
        let (skip, deliver) = match &self.limit {
            Some(limit) => resolve_limit(limit, parameters)?,
            None => (0, u64::MAX),
        };
        let most = usize::try_from(skip.saturating_add(deliver)).unwrap_or(usize::MAX);
        if !self.read.read(parameters, most, view, cancel, counters, rows)? {
            self.resting = EXECUTIONS_BY_OPERATORS;
            return Ok(PointAnswer::NeedsOperators);
        }
        if skip > 0 {
            rows.cut(usize::try_from(skip).unwrap_or(usize::MAX), usize::MAX);
        }
        Ok(PointAnswer::Found(()))
    }
}

/// A locked row: its clustered key and its columns.
pub type LockedRow = (Vec<u8>, Vec<Value>);

/// Locks the row of a plan and reads it; `None` if no row has the key and meets the conditions.
///
/// The key is locked before the row is read, so the row need not be read again under the lock. The operators run instead for a
/// row that has changed since the snapshot, and for values that are not exact keys.
///
/// # Errors
/// Errors of locking and reading; errors of the conditions; 1317 and 3024 if the statement is to end.
pub fn lock_point(
    plan: &PointLock,
    locker: &RowLocker,
    cx: &mut ExecutionContext<'_>,
) -> Result<PointAnswer<Option<LockedRow>>, MysqlError> {
    // Operators would not lock a row that does not meet the conditions.
    if !plan.filter.is_empty() && !locker.locks_absent() {
        return Ok(PointAnswer::NeedsOperators);
    }
    let path = &plan.path;
    let values = path.constraint.values().iter();
    let values: Option<Vec<Value>> = values.map(|value| value.known(cx.eval.parameters).cloned()).collect();
    let mut key = Vec::new();
    match values.and_then(|values| path.constraint.equal_key(&values, &mut key)) {
        Some(true) => {}
        // The compared value is no value of the key's column.
        Some(false) | None => return Ok(PointAnswer::NeedsOperators),
    }
    cx.eval.cancel.check()?;
    let row = match locker.look_up(&path.table, &key)? {
        LookedUp::Row(row) => row,
        LookedUp::Nothing => {
            cx.counters.handler_read_key += 1;
            return Ok(PointAnswer::Found(None));
        }
        LookedUp::Changed => return Ok(PointAnswer::NeedsOperators),
    };
    cx.counters.handler_read_key += 1;
    cx.counters.leafline_entries_examined += 1;
    if !plan.filter.is_empty() {
        let values: Vec<Value> = path.columns.iter().map(|column| row[*column].clone()).collect();
        for condition in &plan.filter {
            let value = evaluate_row(condition, &values, &mut cx.eval)?;
            if truth(&value, &mut cx.eval)? != Some(true) {
                return Ok(PointAnswer::Found(None));
            }
        }
    }
    Ok(PointAnswer::Found(Some((key, row))))
}
