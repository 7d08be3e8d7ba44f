//! INSERT, REPLACE, UPDATE and DELETE: convert values for their columns and put rows into the transaction's write set.
//!
//! A plan finds the rows to change. The plan reads as of the statement's start and does not see what the statement writes, so no
//! row is changed twice. Where a row meets another of the same key, or a join delivers it a second time, its newest state
//! counts.
//!
//! | module | runs |
//! |---|---|
//! | `insert` | INSERT, REPLACE, LOAD DATA |
//! | `bulk` | INSERT, REPLACE and LOAD DATA into an empty table |
//! | `update` | UPDATE |
//! | `delete` | DELETE |
//! | `found_rows` | UPDATE and DELETE of the rows that a plan finds |
//! | `many` | a change of one row, for one set of parameters after another |
//! | `foreign` | the checks and actions of foreign keys |
//! | `triggers` | the triggers of the changed tables |

mod bulk;
mod delete;
mod foreign;
mod found_rows;
mod insert;
mod many;
mod triggers;
mod update;

pub(super) use delete::Delete;
pub(super) use found_rows::{RowChange, change_rows};
pub(super) use insert::{LoadInput, insert};
pub(super) use update::Update;

use crate::session::{SessionView, StatementContext};
use leafline_expr::{Expr, evaluate_row, truth};
use leafline_planner::Authority;
use leafline_planner::bound::{ChangedTable, RowRules, ViewCheck};
use leafline_table::implicit_default;
use leafline_table::{ColumnDef, DefaultValue, TableDef, TableError, Transaction};
use leafline_types::error::errno;
use leafline_types::{MysqlError, SqlType, Value};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use triggers::Triggers;

/// The context of a statement that changes rows.
pub(super) struct ChangeContext<'c, 's> {
    pub(super) statement: &'c mut StatementContext<'s>,
    /// The transaction whose write set takes the rows.
    pub(super) transaction: &'c mut Transaction,
}

impl<'s> Deref for ChangeContext<'_, 's> {
    type Target = StatementContext<'s>;

    fn deref(&self) -> &StatementContext<'s> {
        self.statement
    }
}

impl<'s> DerefMut for ChangeContext<'_, 's> {
    fn deref_mut(&mut self) -> &mut StatementContext<'s> {
        self.statement
    }
}

/// Returns the default of the column at `at`. `row` has the values that are known of its row.
fn default_of(
    at: usize,
    column: &ColumnDef,
    rules: &RowRules,
    row: &[Value],
    cx: &mut StatementContext<'_>,
) -> Result<Value, MysqlError> {
    match &column.default {
        Some(DefaultValue::Constant(value)) => Ok(value.clone()),
        Some(DefaultValue::CurrentTimestamp) => current_timestamp(column, cx),
        Some(DefaultValue::Expression(_)) => match rules.defaults.iter().find(|(of, _)| *of == at) {
            Some((_, expr)) => computed(expr, row, column, 1, cx),
            None => Err(MysqlError::internal("a default that was not bound")),
        },
        None if column.nullable || column.auto_increment || column.generated.is_some() => Ok(Value::Null),
        None | Some(DefaultValue::Dropped) => cx.missing_value(column),
    }
}

/// Returns `value`, or the type's own default for a NULL in an AUTO_INCREMENT column that cannot be NULL: a changed row draws no
/// number.
fn number_or_zero(value: Value, column: &ColumnDef) -> Result<Value, MysqlError> {
    match value {
        Value::Null if column.auto_increment && !column.nullable => implicit_default(column),
        value => Ok(value),
    }
}

/// Evaluates `expr` over `values` and converts the result for `column`. Messages name the row by `number`.
fn computed(
    expr: &Expr,
    values: &[Value],
    column: &ColumnDef,
    number: u64,
    cx: &mut StatementContext<'_>,
) -> Result<Value, MysqlError> {
    if let Some(value) = cx.known(expr) {
        return cx.store(value, &expr.ty.sql, column, number);
    }
    let value = evaluate_row(expr, values, &mut cx.exec.eval)?;
    cx.store(&value, &expr.ty.sql, column, number)
}

/// Computes the generated columns of a row.
fn generate(
    table: &TableDef,
    rules: &RowRules,
    row: &mut [Value],
    number: u64,
    cx: &mut StatementContext<'_>,
) -> Result<(), MysqlError> {
    for (at, expr) in &rules.generated {
        let column = &table.columns[*at];
        let value = computed(expr, row, column, number, cx);
        let value =
            value.map_err(|error| match table.index_of_column(*at).filter(|_| column.is_hidden()) {
                Some(index) => of_functional_index(error, &index.name, number),
                None => error,
            })?;
        if let Some(slot) = row.get_mut(*at) {
            *slot = value;
        }
    }
    Ok(())
}

/// Decides about the NULLs of a row that waited for its BEFORE triggers, and computes its generated columns again.
fn settle(
    table: &TableDef,
    rules: &RowRules,
    row: &mut [Value],
    number: u64,
    cx: &mut StatementContext<'_>,
) -> Result<(), MysqlError> {
    for (slot, column) in row.iter_mut().zip(&table.columns).filter(|(_, column)| column.generated.is_none())
    {
        *slot = cx.settle_null(std::mem::replace(slot, Value::Null), column, number)?;
    }
    generate(table, rules, row, number, cx)
}

/// Returns a row again after its BEFORE triggers have run, because a cascade of theirs may have changed or deleted it. `new` then
/// takes over what the cascade has changed and the statement has not. `None` if the row is gone.
fn after_triggers<'o>(
    table: &Arc<TableDef>,
    locator: &[u8],
    (old, new): (&'o [Value], &mut [Value]),
    cx: &mut ChangeContext<'_, '_>,
) -> Result<Option<Cow<'o, [Value]>>, MysqlError> {
    if table.foreign_keys.is_empty() {
        return Ok(Some(Cow::Borrowed(old)));
    }
    let Some(newest) = cx.transaction.current_row(table, locator)? else { return Ok(None) };
    for ((new, old), newest) in new.iter_mut().zip(old).zip(&newest) {
        if new == old {
            new.clone_from(newest);
        }
    }
    Ok(Some(Cow::Owned(newest)))
}

/// Converts an error of a table: shows the times of a key in the session's time zone, and names no table that the session may
/// not know of.
pub(super) fn of_table(error: TableError, session: SessionView<'_>) -> MysqlError {
    match error {
        TableError::ReferredTo { child: (database, name), .. }
            if !session.access.sees_table(&database, &name) =>
        {
            MysqlError::hidden_row_is_referenced()
        }
        TableError::DuplicateEntry { entry, table, index, .. } => {
            let zone = session.settings.time_zone.zone();
            MysqlError::duplicate_entry(&entry.in_zone(zone), &format!("{table}.{index}"))
        }
        error => error.into(),
    }
}

/// Returns whether the error says that no partition takes the row. IGNORE leaves such a row out.
fn has_no_partition(error: &TableError) -> bool {
    let codes = [errno::ER_NO_PARTITION_FOR_GIVEN_VALUE, errno::ER_ROW_DOES_NOT_MATCH_GIVEN_PARTITION_SET];
    matches!(error, TableError::Sql(error) if codes.contains(&error.code))
}

/// Converts an error of computing a functional key part to the error that MySQL gives.
pub(super) fn of_functional_index(error: MysqlError, index: &str, row: u64) -> MysqlError {
    match error.code {
        errno::ER_DATA_TOO_LONG => MysqlError::functional_index_too_long(index),
        errno::ER_TRUNCATED_WRONG_VALUE | errno::WARN_DATA_TRUNCATED => {
            MysqlError::functional_index_truncated(index, row)
        }
        errno::ER_WARN_DATA_OUT_OF_RANGE => MysqlError::functional_index_out_of_range(index, row),
        errno::ER_NUMERIC_JSON_VALUE_OUT_OF_RANGE => MysqlError::functional_index_json_out_of_range(index),
        errno::ER_INVALID_JSON_VALUE_FOR_CAST => MysqlError::functional_index_invalid_json(index),
        _ => error,
    }
}

/// Returns whether a row meets the CHECK constraints of its table; a condition that is NULL passes. A violation is error 3819,
/// or under IGNORE a warning and false.
pub(super) fn meets_checks(
    rules: &RowRules,
    row: &[Value],
    ignore: bool,
    cx: &mut StatementContext<'_>,
) -> Result<bool, MysqlError> {
    for (name, condition) in &rules.checks {
        let value = evaluate_row(condition, row, &mut cx.exec.eval)?;
        let holds = truth(&value, &mut cx.exec.eval)?;
        if holds == Some(false) {
            let violated = MysqlError::check_violated(name);
            if !ignore {
                return Err(violated);
            }
            cx.warn(violated);
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns whether a row stays in the view through which it is changed. Leaving the view is error 1369, or under IGNORE a
/// warning and false.
fn stays_in_view(
    checks: &[ViewCheck],
    row: &[Value],
    ignore: bool,
    cx: &mut StatementContext<'_>,
) -> Result<bool, MysqlError> {
    for ViewCheck { view, condition } in checks {
        let value = evaluate_row(condition, row, &mut cx.exec.eval)?;
        let holds = truth(&value, &mut cx.exec.eval)?;
        if holds != Some(true) {
            let failed = MysqlError::check_option_failed(view);
            if !ignore {
                return Err(failed);
            }
            cx.warn(failed);
            return Ok(false);
        }
    }
    Ok(true)
}

fn current_timestamp(column: &ColumnDef, cx: &mut StatementContext<'_>) -> Result<Value, MysqlError> {
    match column.ty {
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => Ok(Value::DateTime(cx.now.of(&column.ty))),
        _ => cx.store(&Value::DateTime(cx.now.local), &SqlType::DateTime { fsp: 6 }, column, 1),
    }
}

/// Sets the columns with ON UPDATE CURRENT_TIMESTAMP that the statement does not assign. Returns whether there are any.
fn touch(
    table: &TableDef,
    row: &mut [Value],
    is_assigned: impl Fn(usize) -> bool,
    cx: &mut StatementContext<'_>,
) -> Result<bool, MysqlError> {
    let mut touched = false;
    for (at, column) in table.columns.iter().enumerate().filter(|(_, column)| column.on_update_now) {
        if !is_assigned(at)
            && let Some(slot) = row.get_mut(at)
        {
            *slot = current_timestamp(column, cx)?;
            touched = true;
        }
    }
    Ok(touched)
}

/// Remembers which rows of the targets were met: a join may deliver a row many times, and each row is changed once.
struct ChangedRows(Option<Vec<HashSet<Box<[u8]>>>>);

impl ChangedRows {
    /// Makes the sets for a plan over `relations` relations. A single table delivers each row once and needs no set.
    fn new(targets: &[ChangedTable], relations: usize) -> ChangedRows {
        ChangedRows((relations > 1).then(|| vec![HashSet::new(); targets.len()]))
    }

    /// Notes a row. Returns false if it was met before.
    fn is_new(
        &mut self,
        target: usize,
        locator: &[u8],
        cx: &mut StatementContext<'_>,
    ) -> Result<bool, MysqlError> {
        /// Bytes of a set's entry besides the locator.
        const ENTRY_BYTES: usize = 48;
        let Some(met) = self.0.as_mut().and_then(|sets| sets.get_mut(target)) else { return Ok(true) };
        if met.contains(locator) {
            return Ok(false);
        }
        cx.exec.memory.take(locator.len() + ENTRY_BYTES)?;
        Ok(met.insert(locator.into()))
    }
}

/// Returns whether a table is a target more than once: this statement may have changed its rows already.
fn is_changed_twice(targets: &[ChangedTable], table: &TableDef) -> bool {
    targets.iter().filter(|target| target.table.id == table.id).count() > 1
}
