//! DELETE.

use super::by_key::{ByKey, Found};
use super::foreign::{Changes, ignoring};
use super::{FoundRows, Met};
use crate::bound::BoundDelete;
use crate::plan::{Plan, PlanParts};
use crate::result::Done;
use crate::session::Session;
use crate::statement::execution::{Execution, StoreRules};
use leafline_table::Transaction;
use leafline_types::{MysqlError, Value};
use std::sync::Arc;

/// Runs a DELETE; the plan delivers the columns of the tables and, last, the locators of their rows. Where there is only one, it may be found by its
/// key.
pub(in crate::statement) fn delete(
    session: &mut Session,
    transaction: &mut Transaction,
    delete: &BoundDelete,
    (by_key, plan): (Option<&ByKey>, &Arc<Plan>),
    parts: &Arc<PlanParts>,
    parameters: &[Value],
) -> Result<Done, MysqlError> {
    let execution = Execution::new(session, transaction.view(), parameters, true).with_parts(parts);
    let mut execution = execution.storing(rules(delete)).locking(transaction);
    let mut run = Run::new(delete);
    let found =
        by_key.map_or(Ok(Found::Unknown), |by_key| by_key.find(&mut execution, session, transaction))?;
    match found {
        Found::Nothing => {}
        Found::Row(key, values) => {
            run.row(&[Some(&key)], &values, &mut execution, session, transaction)?;
        }
        Found::Unknown => {
            let targets = delete.targets.len();
            let mut root = crate::operator::build(&plan.root, false);
            while let Some(batch) = execution.with(session, |cx| root.next(cx))? {
                let found = FoundRows::new(batch, targets)?;
                let mut locators = Vec::with_capacity(targets);
                for at in 0..found.batch.rows {
                    session.cancel.check()?;
                    found.locators(at, targets, &mut locators)?;
                    let values = found.values(at, &plan.root.types);
                    run.row(&locators, &values, &mut execution, session, transaction)?;
                }
            }
        }
    }
    Ok(run.take_done(session))
}

/// What becomes of values that columns cannot have.
pub(super) fn rules(delete: &BoundDelete) -> StoreRules {
    StoreRules { ignore: delete.ignore, null_is_default: false }
}

/// A DELETE at work.
pub(in crate::statement) struct Run<'a> {
    delete: &'a BoundDelete,
    met: Met,
    deleted: u64,
}

impl<'a> Run<'a> {
    pub(super) fn new(delete: &'a BoundDelete) -> Run<'a> {
        Run { delete, met: Met::new(&delete.targets, delete.rows.relations.len()), deleted: 0 }
    }

    /// What it has done since this was last asked.
    pub(super) fn take_done(&mut self, session: &mut Session) -> Done {
        let deleted = std::mem::take(&mut self.deleted);
        session.counters.access.handler_delete += deleted;
        Done { affected: deleted, matched: deleted, ..Done::default() }
    }

    /// Deletes the rows of the tables that a row of the plan names: those at the locators, one for each target; `None` where an outer join found none.
    pub(super) fn row(
        &mut self,
        locators: &[Option<&[u8]>],
        values: &[Value],
        execution: &mut Execution,
        session: &mut Session,
        transaction: &mut Transaction,
    ) -> Result<(), MysqlError> {
        let delete = self.delete;
        for (number, (target, locator)) in delete.targets.iter().zip(locators).enumerate() {
            let Some(locator) = locator else { continue };
            if !self.met.is_new(number, locator, execution, session)? {
                continue;
            }
            let end = target.first + target.table.columns.len();
            let row = values.get(target.first..end).unwrap_or_default();
            let current;
            let row = match delete.foreign.can_reach(&target.table) {
                true => {
                    current = transaction.current_row(&target.table, locator)?;
                    current.as_deref().unwrap_or(row)
                }
                false => row,
            };
            let mark = transaction.savepoint();
            if !transaction.delete_locked(&target.table, locator, row)? {
                continue;
            }
            let mut changes = Changes {
                execution: &mut *execution,
                session: &mut *session,
                transaction: &mut *transaction,
            };
            let result = delete.foreign.deleted(&target.table, row, &mut changes);
            self.deleted += u64::from(ignoring(result, delete.ignore, mark, session, transaction)?);
        }
        Ok(())
    }
}
