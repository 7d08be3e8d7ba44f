//! DELETE: deletes the found rows of each target, and applies foreign keys.

use super::foreign::ignoring;
use super::found_rows::RowChange;
use super::{ChangeContext, ChangedRows, Triggers, after_triggers};
use crate::result::Done;
use crate::session::{StatementContext, StoreRules};
use leafline_planner::bound::BoundDelete;
use leafline_types::words::TriggerEvent;
use leafline_types::{MysqlError, Value};

/// A running DELETE.
pub(in crate::statement) struct Delete<'a> {
    delete: &'a BoundDelete,
    met: ChangedRows,
    deleted: u64,
    /// The triggers of each target, if the statement fires any.
    triggers: Vec<Triggers>,
}

impl<'a> Delete<'a> {
    pub(in crate::statement) fn new(delete: &'a BoundDelete) -> Delete<'a> {
        let met = ChangedRows::new(&delete.targets, delete.rows.relations.len());
        Delete { delete, met, deleted: 0, triggers: Vec::new() }
    }
}

impl RowChange for Delete<'_> {
    fn rules(&self) -> StoreRules {
        StoreRules { ignore: self.delete.ignore, keeps_rows: true, ..StoreRules::default() }
    }

    fn targets(&self) -> usize {
        self.delete.targets.len()
    }

    fn begin(&mut self, cx: &mut StatementContext<'_>) -> Result<(), MysqlError> {
        self.triggers = Triggers::of_targets(&self.delete.targets, cx)?;
        Ok(())
    }

    fn row(
        &mut self,
        locators: &[Option<&[u8]>],
        values: Vec<Value>,
        cx: &mut ChangeContext<'_, '_>,
    ) -> Result<(), MysqlError> {
        let delete = self.delete;
        for (number, (target, locator)) in delete.targets.iter().zip(locators).enumerate() {
            let Some(locator) = locator else { continue };
            if !self.met.is_new(number, locator, cx)? {
                continue;
            }
            let end = target.first + target.table.columns.len();
            let row = &values[target.first..end];
            let current;
            let triggers = self.triggers.get(number);
            let row = match delete.foreign.can_reach(&target.table) || triggers.is_some() {
                true => {
                    // A cascade of this statement or of its triggers may have deleted the row.
                    let Some(newest) = cx.transaction.current_row(&target.table, locator)? else { continue };
                    current = newest;
                    &current[..]
                }
                false => row,
            };
            let kept;
            let row = match triggers {
                Some(triggers) => {
                    triggers.before(TriggerEvent::Delete, row, &mut [], cx)?;
                    let again = after_triggers(&target.table, locator, (row, &mut []), cx)?;
                    let Some(again) = again else { continue };
                    kept = again;
                    &kept[..]
                }
                None => row,
            };
            let mark = cx.transaction.savepoint();
            if !cx.transaction.delete_locked(&target.table, locator, row)? {
                continue;
            }
            let result = super::foreign::deleted(&delete.foreign, &target.table, row, cx);
            if !ignoring(result, delete.ignore, mark, cx)? {
                continue;
            }
            self.deleted += 1;
            if let Some(triggers) = triggers {
                triggers.after(TriggerEvent::Delete, row, &[], cx)?;
            }
        }
        Ok(())
    }

    fn take_done(&mut self, cx: &mut StatementContext<'_>) -> Done {
        let deleted = std::mem::take(&mut self.deleted);
        cx.exec.counters.handler_delete += deleted;
        Done { affected: deleted, matched: deleted, ..Done::default() }
    }
}
