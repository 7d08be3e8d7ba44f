//! INSERT, UPDATE and DELETE: values converted for their columns, rows into the transaction's write set.
//!
//! The rows to change come from a plan that reads at the statement's start; what the statement writes is not seen by
//! it, so nothing is changed twice.

use super::execution::Execution;
use crate::bound::{BoundDelete, BoundInsert, BoundUpdate, InsertRows, NewValue};
use crate::plan::Plan;
use crate::result::Done;
use crate::session::Session;
use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use leafline_table::{ColumnDef, DefaultValue, TableDef, Transaction};
use leafline_types::column::{Batch, value_at};
use leafline_types::expr::{Datum, Expr, evaluate, evaluate_scalar};
use leafline_types::{ColumnBuilder, MysqlError, SqlType, Value};
use std::sync::Arc;

/// Runs an INSERT. `rows` is the plan of its SELECT, if it has one.
pub(super) fn insert(
    session: &mut Session,
    transaction: &mut Transaction,
    insert: &BoundInsert,
    plan: Option<&Arc<Plan>>,
    parameters: &[Value],
) -> Result<Done, MysqlError> {
    let mut target = InsertTarget::new(&insert.table, &insert.columns);
    let mut execution = Execution::new(session, transaction.view(), parameters, true).locking(transaction);
    match (&insert.rows, plan) {
        (InsertRows::Values(rows), _) => {
            for row in rows {
                target.begin_row();
                for (value, &column) in row.iter().zip(&insert.columns) {
                    match value {
                        NewValue::Default => target.set_default(column, &execution, session)?,
                        NewValue::Expr(expr) => {
                            let value = execution.with(session, |cx| evaluate_scalar(expr, &mut cx.eval))?;
                            target.set(column, &value, &expr.ty.sql, &execution, session)?;
                        }
                    }
                }
                target.finish_row(row.len(), &execution, session, transaction)?;
            }
        }
        (InsertRows::Select(_), Some(plan)) => {
            let mut root = crate::operator::build(&plan.root, false);
            while let Some(batch) = execution.with(session, |cx| root.next(cx))? {
                for at in 0..batch.rows {
                    target.begin_row();
                    for ((array, ty), &column) in
                        batch.columns.iter().zip(plan.root.types.iter()).zip(&insert.columns)
                    {
                        let value = value_at(array, at, &ty.sql);
                        target.set(column, &value, &ty.sql, &execution, session)?;
                    }
                    target.finish_row(insert.columns.len(), &execution, session, transaction)?;
                }
            }
        }
        (InsertRows::Select(_), None) => {
            return Err(MysqlError::unknown_error("INSERT .. SELECT without a plan"));
        }
    }
    let warnings = session.warnings.count();
    session.counters.access.handler_write += target.inserted;
    let shown = target.inserted > 1 || matches!(insert.rows, InsertRows::Select(_));
    let info = match shown {
        true => format!("Records: {}  Duplicates: 0  Warnings: {warnings}", target.inserted),
        false => String::new(),
    };
    Ok(Done {
        affected: target.inserted,
        matched: target.inserted,
        last_insert_id: target.first_generated.unwrap_or(0),
        info,
    })
}

/// Builds the rows of an INSERT.
struct InsertTarget<'a> {
    table: &'a Arc<TableDef>,
    /// Columns that the statement does not name, by position.
    omitted: Vec<usize>,
    row: Vec<Value>,
    inserted: u64,
    first_generated: Option<u64>,
}

impl<'a> InsertTarget<'a> {
    fn new(table: &'a Arc<TableDef>, columns: &[usize]) -> InsertTarget<'a> {
        let omitted = (0..table.columns.len()).filter(|column| !columns.contains(column)).collect();
        let row = vec![Value::Null; table.columns.len()];
        InsertTarget { table, omitted, row, inserted: 0, first_generated: None }
    }

    fn begin_row(&mut self) {
        self.row.fill(Value::Null);
    }

    fn column(&self, at: usize) -> Result<&'a ColumnDef, MysqlError> {
        self.table
            .columns
            .get(at)
            .ok_or_else(|| MysqlError::unknown_error("a column that the table does not have"))
    }

    fn set(
        &mut self,
        at: usize,
        value: &Value,
        from: &SqlType,
        execution: &Execution,
        session: &mut Session,
    ) -> Result<(), MysqlError> {
        let converted = execution.store(session, value, from, self.column(at)?, self.inserted + 1)?;
        if let Some(slot) = self.row.get_mut(at) {
            *slot = converted;
        }
        Ok(())
    }

    fn set_default(
        &mut self,
        at: usize,
        execution: &Execution,
        session: &mut Session,
    ) -> Result<(), MysqlError> {
        let value = default_of(self.column(at)?, execution, session)?;
        if let Some(slot) = self.row.get_mut(at) {
            *slot = value;
        }
        Ok(())
    }

    /// Inserts the row. One that was given no values at all is all defaults.
    fn finish_row(
        &mut self,
        given: usize,
        execution: &Execution,
        session: &mut Session,
        transaction: &mut Transaction,
    ) -> Result<(), MysqlError> {
        let omitted = if given == 0 { (0..self.table.columns.len()).collect() } else { self.omitted.clone() };
        omitted.into_iter().try_for_each(|at: usize| self.set_default(at, execution, session))?;
        session.cancel.check()?;
        let outcome = transaction.insert(self.table, &self.row)?;
        self.first_generated = self.first_generated.or(outcome.auto_increment);
        self.inserted += 1;
        Ok(())
    }
}

/// The value a column gets when none is given.
fn default_of(column: &ColumnDef, execution: &Execution, session: &mut Session) -> Result<Value, MysqlError> {
    match &column.default {
        Some(DefaultValue::Constant(value)) => Ok(value.clone()),
        Some(DefaultValue::CurrentTimestamp) => current_timestamp(column, execution, session),
        None if column.nullable || column.auto_increment => Ok(Value::Null),
        None => Err(MysqlError::no_default_for_field(&column.name)),
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

/// Runs an UPDATE; `plan` delivers the rows' columns and, last, their locators.
pub(super) fn update(
    session: &mut Session,
    transaction: &mut Transaction,
    update: &BoundUpdate,
    plan: &Arc<Plan>,
    parameters: &[Value],
) -> Result<Done, MysqlError> {
    let table = &update.table;
    let (mut matched, mut changed) = (0, 0);
    let mut execution = Execution::new(session, transaction.view(), parameters, true).locking(transaction);
    let mut root = crate::operator::build(&plan.root, false);
    while let Some(batch) = execution.with(session, |cx| root.next(cx))? {
        let (rows, locators) = split_locators(batch, table)?;
        let new = assign(update, rows.clone(), matched, &mut execution, session)?;
        for at in 0..rows.rows {
            matched += 1;
            session.cancel.check()?;
            let old_row = row_values(&rows, at, table);
            let mut new_row = row_values(&new, at, table);
            if old_row == new_row {
                continue;
            }
            for (ordinal, column) in
                table.columns.iter().enumerate().filter(|(_, column)| column.on_update_now)
            {
                if !update.assignments.iter().any(|(assigned, _)| *assigned == ordinal)
                    && let Some(slot) = new_row.get_mut(ordinal)
                {
                    *slot = current_timestamp(column, &execution, session)?;
                }
            }
            transaction.update_locked(table, locators.as_binary::<i32>().value(at), &old_row, &new_row)?;
            changed += 1;
        }
    }
    let warnings = session.warnings.count();
    session.counters.access.handler_update += changed;
    let info = format!("Rows matched: {matched}  Changed: {changed}  Warnings: {warnings}");
    Ok(Done { affected: changed, matched, last_insert_id: 0, info })
}

/// The rows after the assignments, each of which sees those before it. `before` rows were updated already.
fn assign(
    update: &BoundUpdate,
    mut rows: Batch,
    before: u64,
    execution: &mut Execution,
    session: &mut Session,
) -> Result<Batch, MysqlError> {
    for (ordinal, value) in &update.assignments {
        let Some(column) = update.table.columns.get(*ordinal) else { continue };
        let mut builder = ColumnBuilder::with_capacity(&column.ty, rows.rows);
        let datum = match value {
            NewValue::Default => Datum::Scalar(default_of(column, execution, session)?),
            NewValue::Expr(expr) => execution.with(session, |cx| evaluate(expr, &rows, &mut cx.eval))?,
        };
        let from = match value {
            NewValue::Default => &column.ty,
            NewValue::Expr(Expr { ty, .. }) => &ty.sql,
        };
        for at in 0..rows.rows {
            let given = match &datum {
                Datum::Scalar(value) => value.clone(),
                Datum::Array(array) => value_at(array, at, from),
            };
            let row = before + at as u64 + 1;
            let stored = execution.store(session, &given, from, column, row)?;
            builder.push_value(&stored).map_err(MysqlError::unknown_error)?;
        }
        if let Some(slot) = rows.columns.get_mut(*ordinal) {
            *slot = builder.finish();
        }
    }
    Ok(rows)
}

/// Runs a DELETE; `plan` delivers the rows' columns and, last, their locators.
pub(super) fn delete(
    session: &mut Session,
    transaction: &mut Transaction,
    delete: &BoundDelete,
    plan: &Arc<Plan>,
    parameters: &[Value],
) -> Result<Done, MysqlError> {
    let mut deleted = 0;
    let mut execution = Execution::new(session, transaction.view(), parameters, true).locking(transaction);
    let mut root = crate::operator::build(&plan.root, false);
    while let Some(batch) = execution.with(session, |cx| root.next(cx))? {
        let (rows, locators) = split_locators(batch, &delete.table)?;
        for at in 0..rows.rows {
            session.cancel.check()?;
            let row = row_values(&rows, at, &delete.table);
            transaction.delete_locked(&delete.table, locators.as_binary::<i32>().value(at), &row)?;
            deleted += 1;
        }
    }
    session.counters.access.handler_delete += deleted;
    Ok(Done { affected: deleted, matched: deleted, ..Done::default() })
}

/// The columns of the table, and the locators that follow them.
fn split_locators(mut batch: Batch, table: &TableDef) -> Result<(Batch, ArrayRef), MysqlError> {
    match batch.columns.pop() {
        Some(locators)
            if batch.columns.len() == table.columns.len() && locators.as_binary_opt::<i32>().is_some() =>
        {
            Ok((batch, locators))
        }
        _ => Err(MysqlError::unknown_error("a plan for changing rows that does not deliver locators")),
    }
}

fn row_values(batch: &Batch, row: usize, table: &TableDef) -> Vec<Value> {
    batch.columns.iter().zip(&table.columns).map(|(array, column)| value_at(array, row, &column.ty)).collect()
}
