//! Fires the triggers of a statement that changes rows.
//!
//! Each change of a row by INSERT, REPLACE, LOAD DATA, UPDATE or DELETE fires the triggers of its table: BEFORE the row is written,
//! with a new row that the triggers may change, and AFTER it is written. Actions of foreign keys fire none, as in MySQL. The
//! triggers run in the session's inner session and see the rows written so far. An error of a trigger is an error of the statement.

use super::ChangeContext;
use crate::program;
use crate::program_code::TableTriggers;
use crate::session::StatementContext;
use leafline_planner::bound::ChangedTable;
use leafline_table::TableDef;
use leafline_types::words::{TriggerEvent, TriggerTime};
use leafline_types::{MysqlError, Value};
use std::sync::Arc;

/// The triggers of one table, in a running statement.
#[derive(Clone, Default)]
pub(super) struct Triggers(Option<Arc<TableTriggers>>);

impl Triggers {
    /// Finds the triggers of a table.
    ///
    /// # Errors
    /// Errors of compiling them.
    pub(super) fn of(table: &Arc<TableDef>, cx: &mut StatementContext<'_>) -> Result<Triggers, MysqlError> {
        let Some(host) = cx.programs else { return Ok(Triggers(None)) };
        let eval = &mut cx.exec.eval;
        let triggers =
            host.run(&mut eval.state.variables, eval.warnings, |inner| program::triggers_of(inner, table))?;
        Ok(Triggers(triggers))
    }

    /// Finds the triggers of the targets of an UPDATE or DELETE, one for each; none if the statement fires none.
    ///
    /// # Errors
    /// Errors of compiling them.
    pub(super) fn of_targets(
        targets: &[ChangedTable],
        cx: &mut StatementContext<'_>,
    ) -> Result<Vec<Triggers>, MysqlError> {
        match cx.programs {
            Some(_) => targets.iter().map(|target| Triggers::of(&target.table, cx)).collect(),
            None => Ok(Vec::new()),
        }
    }

    /// Whether any trigger fires at this time of this change.
    pub(super) fn has(&self, time: TriggerTime, event: TriggerEvent) -> bool {
        self.0.as_ref().is_some_and(|triggers| triggers.has(time, event))
    }

    /// Whether a trigger that fires before this change assigns the column of the new row.
    pub(super) fn assigns(&self, event: TriggerEvent, column: usize) -> bool {
        self.0.as_ref().is_some_and(|triggers| triggers.assigns(event, column))
    }

    /// Fires the triggers before a row is changed. They may change the new row; returns the columns that they assigned.
    ///
    /// # Errors
    /// Errors of the triggers.
    pub(super) fn before(
        &self,
        event: TriggerEvent,
        old: &[Value],
        new: &mut [Value],
        cx: &mut ChangeContext<'_, '_>,
    ) -> Result<Vec<usize>, MysqlError> {
        self.fire((TriggerTime::Before, event), old, new, cx)
    }

    /// Fires the triggers after a row was changed.
    ///
    /// # Errors
    /// Errors of the triggers.
    pub(super) fn after(
        &self,
        event: TriggerEvent,
        old: &[Value],
        new: &[Value],
        cx: &mut ChangeContext<'_, '_>,
    ) -> Result<(), MysqlError> {
        if !self.has(TriggerTime::After, event) {
            return Ok(());
        }
        self.fire((TriggerTime::After, event), old, &mut new.to_vec(), cx).map(|_| ())
    }

    fn fire(
        &self,
        when: (TriggerTime, TriggerEvent),
        old: &[Value],
        new: &mut [Value],
        cx: &mut ChangeContext<'_, '_>,
    ) -> Result<Vec<usize>, MysqlError> {
        let Some(triggers) = self.0.as_ref().filter(|triggers| triggers.has(when.0, when.1)) else {
            return Ok(Vec::new());
        };
        let host = cx.programs.ok_or_else(|| MysqlError::internal("triggers where none can run"))?;
        let eval = &mut cx.statement.exec.eval;
        host.run(&mut eval.state.variables, eval.warnings, |inner| {
            program::fire(triggers, inner, when, old, new)
        })
    }
}
