//! UPDATE: computes the assignments for each found row, stores the changed rows, and applies foreign keys.

use super::foreign::ignoring;
use super::found_rows::RowChange;
use super::{
    ChangeContext, ChangedRows, Triggers, after_triggers, computed, default_of, generate, has_no_partition,
    is_changed_twice, meets_checks, number_or_zero, settle, stays_in_view, touch,
};
use crate::result::Done;
use crate::session::{StatementContext, StoreRules};
use leafline_planner::bound::{BoundUpdate, ChangedTable, NewValue};
use leafline_table::TableError;
use leafline_types::words::{TriggerEvent, TriggerTime};
use leafline_types::{MysqlError, Value};

/// A running UPDATE.
pub(in crate::statement) struct Update<'a> {
    update: &'a BoundUpdate,
    met: ChangedRows,
    matched: u64,
    changed: u64,
    /// The targets whose row, in the current row of the plan, was not met before.
    wanted: Vec<usize>,
    /// The triggers of each target, if the statement fires any.
    triggers: Vec<Triggers>,
}

impl RowChange for Update<'_> {
    fn rules(&self) -> StoreRules {
        StoreRules {
            ignore: self.update.ignore,
            null_is_default: true,
            keeps_rows: true,
            ..StoreRules::default()
        }
    }

    fn targets(&self) -> usize {
        self.update.targets.len()
    }

    fn begin(&mut self, cx: &mut StatementContext<'_>) -> Result<(), MysqlError> {
        self.triggers = Triggers::of_targets(&self.update.targets, cx)?;
        cx.rules.null_waits =
            self.triggers.iter().any(|triggers| triggers.has(TriggerTime::Before, TriggerEvent::Update));
        Ok(())
    }

    fn row(
        &mut self,
        locators: &[Option<&[u8]>],
        mut values: Vec<Value>,
        cx: &mut ChangeContext<'_, '_>,
    ) -> Result<(), MysqlError> {
        self.wanted.clear();
        for (target, locator) in locators.iter().enumerate() {
            if let Some(locator) = locator
                && self.met.is_new(target, locator, cx)?
            {
                self.wanted.push(target);
            }
        }
        if self.wanted.is_empty() {
            return Ok(());
        }
        let before = values.clone();
        for assignment in &self.update.assignments {
            // The value is computed even for a row that was met before, because later assignments may read it.
            if locators[assignment.target].is_none() {
                continue;
            }
            let target = &self.update.targets[assignment.target];
            let column = &target.table.columns[assignment.column];
            let row = self.matched + 1;
            let value = match &assignment.value {
                NewValue::Expr(expr) => computed(expr, &values, column, row, cx)?,
                NewValue::Default => {
                    let of_target = &values[target.first..];
                    let value = default_of(assignment.column, column, &target.rules, of_target, cx)?;
                    number_or_zero(value, column)?
                }
            };
            if let Some(slot) = values.get_mut(target.first + assignment.column) {
                *slot = value;
            }
        }
        for number in std::mem::take(&mut self.wanted) {
            let (Some(target), Some(Some(locator))) = (self.update.targets.get(number), locators.get(number))
            else {
                continue;
            };
            self.matched += 1;
            let of_target = target.first..target.first + target.table.columns.len();
            let old = &before[of_target];
            if self.change(number, target, locator, old, &values, cx)? {
                self.changed += 1;
            }
        }
        Ok(())
    }

    fn take_done(&mut self, cx: &mut StatementContext<'_>) -> Done {
        let (matched, changed) = (std::mem::take(&mut self.matched), std::mem::take(&mut self.changed));
        let warnings = cx.exec.eval.warnings.count();
        cx.exec.counters.handler_update += changed;
        let info = format!("Rows matched: {matched}  Changed: {changed}  Warnings: {warnings}");
        Done { affected: changed, matched, info, ..Done::default() }
    }
}

impl<'a> Update<'a> {
    pub(in crate::statement) fn new(update: &'a BoundUpdate) -> Update<'a> {
        let met = ChangedRows::new(&update.targets, update.rows.relations.len());
        Update { update, met, matched: 0, changed: 0, wanted: Vec::new(), triggers: Vec::new() }
    }

    /// Stores the changed row, which is among `values`. Returns false if the row is unchanged, or if IGNORE leaves it out.
    fn change(
        &self,
        number: usize,
        target: &ChangedTable,
        locator: &[u8],
        old: &[Value],
        values: &[Value],
        cx: &mut ChangeContext<'_, '_>,
    ) -> Result<bool, MysqlError> {
        let table = &target.table;
        let assigned = |column| {
            let mut assignments = self.update.assignments.iter();
            assignments.any(|assignment| assignment.target == number && assignment.column == column)
        };
        let current;
        let mut old = old;
        let of_target = target.first..target.first + table.columns.len();
        let mut new = values[of_target.clone()].to_vec();
        let foreign = &self.update.foreign;
        let triggers = self.triggers.get(number);
        if is_changed_twice(&self.update.targets, table) || foreign.can_reach(table) || triggers.is_some() {
            // This statement may have changed the row under another name, by a cascade, or by a trigger's cascade.
            let Some(newest) = cx.transaction.current_row(table, locator)? else { return Ok(false) };
            current = newest;
            for (column, value) in current.iter().enumerate().filter(|(column, _)| !assigned(*column)) {
                if let Some(slot) = new.get_mut(column) {
                    *slot = value.clone();
                }
            }
            old = &current;
        }
        generate(table, &target.rules, &mut new, self.matched, cx)?;
        if old != new && touch(table, &mut new, assigned, cx)? {
            generate(table, &target.rules, &mut new, self.matched, cx)?;
        }
        let kept;
        if cx.rules.null_waits {
            if let Some(triggers) = triggers {
                triggers.before(TriggerEvent::Update, old, &mut new, cx)?;
                let again = after_triggers(table, locator, (old, &mut new), cx)?;
                let Some(again) = again else { return Ok(false) };
                kept = again;
                old = &kept;
            }
            settle(table, &target.rules, &mut new, self.matched, cx)?;
        }
        let fire_after = |cx: &mut ChangeContext<'_, '_>, new: &[Value]| match triggers {
            Some(triggers) => triggers.after(TriggerEvent::Update, old, new, cx),
            None => Ok(()),
        };
        if old == new {
            return fire_after(cx, &new).map(|()| false);
        }
        if !target.view_checks.is_empty() {
            let mut values = values.to_vec();
            values.splice(of_target, new.iter().cloned());
            if !stays_in_view(&target.view_checks, &values, self.update.ignore, cx)? {
                return Ok(false);
            }
        }
        if !meets_checks(&target.rules, &new, self.update.ignore, cx)? {
            return Ok(false);
        }
        let mark = cx.transaction.savepoint();
        match cx.transaction.update_locked(table, locator, old, &new) {
            Ok(_) if foreign.is_empty() => fire_after(cx, &new).map(|()| true),
            Ok(place) => {
                let result = super::foreign::updated(foreign, table, (old, &new), place != locator, cx);
                let is_done = ignoring(result, self.update.ignore, mark, cx)?;
                if is_done {
                    fire_after(cx, &new)?;
                }
                Ok(is_done)
            }
            Err(error) => {
                let may_be_ignored =
                    matches!(error, TableError::DuplicateEntry { .. }) || has_no_partition(&error);
                let error = super::foreign::ran_into(foreign, error, table, (old, &new), cx)?;
                if !(self.update.ignore && may_be_ignored) {
                    return Err(error);
                }
                cx.warn(error);
                Ok(false)
            }
        }
    }
}
