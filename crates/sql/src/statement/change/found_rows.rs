//! UPDATE and DELETE row by row: the operators of a plan find the rows, or its point plan finds one.
//!
//! The plan delivers the columns of the tables, further values that assignments need and, last, a locator for each target table.

use super::ChangeContext;
use crate::result::Done;
use crate::session::Execution;
use crate::session::Session;
use crate::session::{StatementContext, StoreRules};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use leafline_executor::{PointAnswer, lock_point};
use leafline_planner::plan::{Plan, PlanParts};
use leafline_table::Transaction;
use leafline_types::column::{Batch, value_at};
use leafline_types::{ExprType, MysqlError, Value};
use std::sync::Arc;

/// A running statement that changes the rows which are found for it.
pub(in crate::statement) trait RowChange {
    /// Says what becomes of values that do not fit their columns.
    fn rules(&self) -> StoreRules;

    /// Returns the number of target tables.
    fn targets(&self) -> usize;

    /// Begins the statement: finds the triggers of its targets. A statement that fires none may be run without it.
    ///
    /// # Errors
    /// Errors of compiling the triggers.
    fn begin(&mut self, cx: &mut StatementContext<'_>) -> Result<(), MysqlError>;

    /// Changes the rows at the locators, one for each target; `None` where an outer join found no row. `values` has the outputs of
    /// the plan for these rows.
    fn row(
        &mut self,
        locators: &[Option<&[u8]>],
        values: Vec<Value>,
        cx: &mut ChangeContext<'_, '_>,
    ) -> Result<(), MysqlError>;

    /// Takes the counts of the changes since the last call.
    fn take_done(&mut self, cx: &mut StatementContext<'_>) -> Done;
}

/// Changes the rows that the plan finds.
pub(in crate::statement) fn change_rows(
    session: &mut Session,
    transaction: &mut Transaction,
    mut change: impl RowChange,
    plan: &Arc<Plan>,
    parts: &Arc<PlanParts>,
    parameters: &[Value],
) -> Result<Done, MysqlError> {
    let execution = Execution::new(session, transaction.view(), parameters, true).with_parts(parts);
    let execution = execution.storing(change.rules()).locking(transaction);
    let mut execution = execution.calling(parts.calls_programs, session, transaction)?;
    execution.with(session, |statement| {
        change.begin(statement)?;
        let cx = &mut ChangeContext { statement, transaction };
        let found = match plan.point_lock() {
            Some(lock) => lock_point(lock, &cx.transaction.row_locker(), &mut cx.statement.exec)?,
            None => PointAnswer::NeedsOperators,
        };
        match found {
            PointAnswer::Found(None) => {}
            PointAnswer::Found(Some((key, values))) => change.row(&[Some(&key)], values, cx)?,
            PointAnswer::NeedsOperators => change_found(&mut change, plan, cx)?,
        }
        Ok(change.take_done(cx))
    })
}

/// Changes the rows that the operators of a plan find.
fn change_found(
    change: &mut impl RowChange,
    plan: &Plan,
    cx: &mut ChangeContext<'_, '_>,
) -> Result<(), MysqlError> {
    let targets = change.targets();
    let mut root = leafline_executor::build(&plan.root, false);
    while let Some(batch) = root.next(&mut cx.exec)? {
        let found = FoundRows::new(batch, targets)?;
        let mut locators = Vec::with_capacity(targets);
        for at in 0..found.batch.rows {
            cx.check_cancelled()?;
            found.locators(at, targets, &mut locators)?;
            let values = found.values(at, &plan.root.types);
            change.row(&locators, values, cx)?;
        }
    }
    Ok(())
}

/// A batch of rows that a plan has found, with their locators.
struct FoundRows {
    batch: Batch,
    /// Number of outputs; the columns after them are locators, one for each target.
    outputs: usize,
}

impl FoundRows {
    fn new(batch: Batch, targets: usize) -> Result<FoundRows, MysqlError> {
        match batch.columns.len().checked_sub(targets) {
            Some(outputs) => Ok(FoundRows { batch, outputs }),
            None => Err(MysqlError::internal("a plan for changing rows that does not deliver locators")),
        }
    }

    /// Returns the outputs of a row.
    fn values(&self, row: usize, types: &[ExprType]) -> Vec<Value> {
        let outputs = self.batch.columns.iter().zip(types).take(self.outputs);
        outputs.map(|(array, ty)| value_at(array, row, &ty.sql)).collect()
    }

    /// Collects the locators of a row, one for each target.
    fn locators<'f>(
        &'f self,
        row: usize,
        targets: usize,
        out: &mut Vec<Option<&'f [u8]>>,
    ) -> Result<(), MysqlError> {
        out.clear();
        for target in 0..targets {
            out.push(self.locator(target, row)?);
        }
        Ok(())
    }

    /// Returns the locator of a target's row; `None` if an outer join found no row.
    fn locator(&self, target: usize, row: usize) -> Result<Option<&[u8]>, MysqlError> {
        let locators = self.batch.columns.get(self.outputs + target).and_then(|c| c.as_binary_opt::<i32>());
        let locators =
            locators.ok_or_else(|| MysqlError::internal("a plan that does not deliver locators"))?;
        Ok((!locators.is_null(row)).then(|| locators.value(row)))
    }
}
