//! DELETE.

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

/// Runs a DELETE; `plan` delivers the columns of the tables and, last, the locators of their rows.
pub(in crate::statement) fn delete(
    session: &mut Session,
    transaction: &mut Transaction,
    delete: &BoundDelete,
    plan: &Arc<Plan>,
    parts: &Arc<PlanParts>,
    parameters: &[Value],
) -> Result<Done, MysqlError> {
    let mut deleted = 0;
    let rules = StoreRules { ignore: delete.ignore, null_is_default: false };
    let execution = Execution::new(session, transaction.view(), parameters, true).with_parts(parts);
    let mut execution = execution.storing(rules).locking(transaction);
    let mut met = Met::new(&delete.targets, delete.rows.relations.len());
    let mut root = crate::operator::build(&plan.root, false);
    while let Some(batch) = execution.with(session, |cx| root.next(cx))? {
        let found = FoundRows::new(batch, delete.targets.len())?;
        for at in 0..found.batch.rows {
            session.cancel.check()?;
            let values = found.values(at, &plan.root.types);
            for (number, target) in delete.targets.iter().enumerate() {
                let Some(locator) = found.locator(number, at)? else { continue };
                if !met.is_new(number, locator, &mut execution, session)? {
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
                let mut changes = Changes { execution: &mut execution, session, transaction };
                let result = delete.foreign.deleted(&target.table, row, &mut changes);
                deleted += u64::from(ignoring(result, delete.ignore, mark, session, transaction)?);
            }
        }
    }
    session.counters.access.handler_delete += deleted;
    Ok(Done { affected: deleted, matched: deleted, ..Done::default() })
}
