//! INSERT, REPLACE, UPDATE and DELETE: values converted for their columns, rows into the transaction's write set.
//!
//! The rows to change come from a plan that reads at the statement's start; what the statement writes is not seen by
//! it, so nothing is changed twice. Where a row meets another of the same key, or is met a second time in a join, its newest
//! state counts.
//!
//! | module | runs |
//! |---|---|
//! | `insert` | INSERT, REPLACE |
//! | `update` | UPDATE |
//! | `delete` | DELETE |

mod delete;
mod insert;
mod update;

pub(super) use delete::delete;
pub(super) use insert::insert;
pub(super) use update::update;

use super::execution::Execution;
use crate::bound::{ChangedTable, NewValue};
use crate::session::Session;
use arrow_array::Array;
use arrow_array::cast::AsArray;
use leafline_table::{ColumnDef, DefaultValue, TableDef};
use leafline_types::column::{Batch, value_at};
use leafline_types::expr::evaluate_row;
use leafline_types::{ExprType, MysqlError, SqlType, Value};
use std::collections::HashSet;

/// The value a column gets when none is given.
fn default_of(column: &ColumnDef, execution: &Execution, session: &mut Session) -> Result<Value, MysqlError> {
    match &column.default {
        Some(DefaultValue::Constant(value)) => Ok(value.clone()),
        Some(DefaultValue::CurrentTimestamp) => current_timestamp(column, execution, session),
        None if column.nullable || column.auto_increment => Ok(Value::Null),
        None => execution.missing_value(session, column),
    }
}

fn current_timestamp(
    column: &ColumnDef,
    execution: &Execution,
    session: &mut Session,
) -> Result<Value, MysqlError> {
    let now = Value::DateTime(execution.now());
    // Cut to the column's precision, not rounded: NOW(fsp) does the same.
    match column.ty {
        SqlType::DateTime { fsp } => Ok(Value::DateTime(execution.now().truncate(fsp))),
        _ => execution.store(session, &now, &SqlType::DateTime { fsp: 6 }, column, 1),
    }
}

/// A value for `column`, computed from `values` and converted; `row` counts from 1, for messages.
fn new_value(
    value: &NewValue,
    values: &[Value],
    column: &ColumnDef,
    row: u64,
    execution: &mut Execution,
    session: &mut Session,
) -> Result<Value, MysqlError> {
    match value {
        NewValue::Default => default_of(column, execution, session),
        NewValue::Expr(expr) => {
            let value = execution.with(session, |cx| evaluate_row(expr, values, &mut cx.eval))?;
            execution.store(session, &value, &expr.ty.sql, column, row)
        }
    }
}

/// Gives the columns with ON UPDATE CURRENT_TIMESTAMP that were not assigned to their new value.
fn touch(
    table: &TableDef,
    row: &mut [Value],
    is_assigned: impl Fn(usize) -> bool,
    execution: &Execution,
    session: &mut Session,
) -> Result<(), MysqlError> {
    for (at, column) in table.columns.iter().enumerate().filter(|(_, column)| column.on_update_now) {
        if !is_assigned(at)
            && let Some(slot) = row.get_mut(at)
        {
            *slot = current_timestamp(column, execution, session)?;
        }
    }
    Ok(())
}

/// The rows that a plan has found, and where they are.
struct FoundRows {
    batch: Batch,
    /// Number of outputs; locators follow, one for each target.
    outputs: usize,
}

impl FoundRows {
    fn new(batch: Batch, targets: usize) -> Result<FoundRows, MysqlError> {
        match batch.columns.len().checked_sub(targets) {
            Some(outputs) => Ok(FoundRows { batch, outputs }),
            None => Err(MysqlError::internal("a plan for changing rows that does not deliver locators")),
        }
    }

    /// The outputs of a row.
    fn values(&self, row: usize, types: &[ExprType]) -> Vec<Value> {
        let outputs = self.batch.columns.iter().zip(types).take(self.outputs);
        outputs.map(|(array, ty)| value_at(array, row, &ty.sql)).collect()
    }

    /// Where the row of a target is; `None` if an outer join found none.
    fn locator(&self, target: usize, row: usize) -> Result<Option<&[u8]>, MysqlError> {
        let locators = self.batch.columns.get(self.outputs + target).and_then(|c| c.as_binary_opt::<i32>());
        let locators =
            locators.ok_or_else(|| MysqlError::internal("a plan that does not deliver locators"))?;
        Ok((!locators.is_null(row)).then(|| locators.value(row)))
    }
}

/// Which rows of the targets have been met: a join may deliver a row many times, and it is changed once.
struct Met(Option<Vec<HashSet<Box<[u8]>>>>);

impl Met {
    /// For a plan over `relations` relations. A single table delivers each row once.
    fn new(targets: &[ChangedTable], relations: usize) -> Met {
        Met((relations > 1).then(|| vec![HashSet::new(); targets.len()]))
    }

    /// Notes a row. False if it was met before.
    fn is_new(
        &mut self,
        target: usize,
        locator: &[u8],
        execution: &mut Execution,
        session: &mut Session,
    ) -> Result<bool, MysqlError> {
        /// Of a set's entry, besides the locator.
        const ENTRY_BYTES: usize = 48;
        let Some(met) = self.0.as_mut().and_then(|sets| sets.get_mut(target)) else { return Ok(true) };
        if met.contains(locator) {
            return Ok(false);
        }
        execution.with(session, |cx| cx.memory.take(locator.len() + ENTRY_BYTES))?;
        Ok(met.insert(locator.into()))
    }
}

/// Whether a table is the target at more than one place: its rows may have been changed by this statement.
fn is_changed_twice(targets: &[ChangedTable], table: &TableDef) -> bool {
    targets.iter().filter(|target| target.table.id == table.id).count() > 1
}
