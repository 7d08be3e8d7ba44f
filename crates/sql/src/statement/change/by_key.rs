//! Locks and reads, without operators, the row of an UPDATE or DELETE that names the row by its primary key.
//!
//! The key is locked before the row is read, so the row need not be read again under the lock. The statement finds, locks and
//! counts the same as the plan's operators. The operators run instead for a row that has changed since the snapshot, and for
//! values that are not exact keys.

use super::ChangeContext;
use crate::plans::ByKey;
use leafline_expr::{evaluate_row, truth};
use leafline_table::LookedUp;
use leafline_types::{MysqlError, Value};

/// The result of a search by key.
pub(super) enum Found {
    /// No row has the key.
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
        // Operators would not lock a row that does not meet the conditions.
        if !self.conditions.is_empty() && !locker.locks_absent() {
            return Ok(Found::Unknown);
        }
        let constraint = &self.path.constraint;
        let values: Option<Vec<Value>> =
            constraint.values().iter().map(|value| cx.known(value).cloned()).collect();
        let mut key = Vec::new();
        match values.and_then(|values| constraint.equal_key(&values, &mut key)) {
            Some(true) => {}
            // The compared value is no value of the key's column.
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
