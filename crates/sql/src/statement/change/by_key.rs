//! The row of an UPDATE or DELETE that names it by its primary key: locked and read without operators.
//!
//! The key is locked before the row is read, so that nothing that a snapshot sees has to be read again under the lock. What the statement finds, locks and counts is
//! what the plan's operators would; they are run where it is not so simple: for a row that has changed since the snapshot, and for keys that are none.

use super::ChangeContext;
use crate::plans::ByKey;
use leafline_expr::{evaluate_row, truth};
use leafline_table::LookedUp;
use leafline_types::{MysqlError, Value};

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
    /// Locks the row and reads it.
    pub(super) fn find(&self, cx: &mut ChangeContext<'_, '_>) -> Result<Found, MysqlError> {
        let locker = cx.transaction.row_locker();
        // A row that does not meet them would not be locked.
        if !self.conditions.is_empty() && !locker.locks_absent() {
            return Ok(Found::Unknown);
        }
        let constraint = &self.path.constraint;
        let values: Option<Vec<Value>> =
            constraint.values().iter().map(|value| cx.known(value).cloned()).collect();
        let mut key = Vec::new();
        match values.and_then(|values| constraint.equal_key(&values, &mut key)) {
            Some(true) => {}
            // With what they compare, the key is none of the column's values.
            Some(false) | None => return Ok(Found::Unknown),
        }
        cx.exec.eval.cancel.check()?;
        let row = match locker.look_up(&self.path.table, &key)? {
            LookedUp::Row(row) => row,
            LookedUp::Nothing => {
                cx.exec.counters.handler_read_key += 1;
                return Ok(Found::Nothing);
            }
            LookedUp::Changed => return Ok(Found::Unknown),
        };
        let counters = &mut cx.exec.counters;
        counters.handler_read_key += 1;
        counters.leafline_entries_examined += 1;
        if !self.conditions.is_empty() {
            let columns = self.path.columns.iter();
            let row_values: Vec<Value> = columns.map(|column| row[*column].clone()).collect();
            for condition in &self.conditions {
                let value = evaluate_row(condition, &row_values, &mut cx.exec.eval)?;
                if truth(&value, &mut cx.exec.eval)? != Some(true) {
                    return Ok(Found::Nothing);
                }
            }
        }
        Ok(Found::Row(key, row))
    }
}
