//! Runs a statement that changes one row for one set of parameters after the other within the open transaction: see
//! `session::many`.
//!
//! Only the parameters and the time change from run to run. A run finds its row by key, in the newest state that the transaction
//! sees, so it needs no read view of its own. Statements with foreign keys or subqueries need more and are not run this way. A
//! run that needs the plan's operators stops the series; the caller runs that statement by itself.

use super::change::{self, ChangeContext, Repeating};
use crate::plans::{Planned, Work};
use crate::result::Done;
use crate::session::Execution;
use crate::session::Session;
use leafline_planner::bound::InsertRows;
use leafline_types::{MysqlError, Value};

impl Session {
    /// Returns whether a statement may be run this way.
    pub(crate) fn may_repeat(&self, planned: &Planned) -> bool {
        let changes_one_row = match planned.work() {
            Work::Insert { insert, plan: None } => {
                matches!(&insert.rows, InsertRows::Values(rows) if rows.len() == 1)
                    && insert.foreign.is_empty()
            }
            Work::Update { update, by_key: Some(_), .. } => update.foreign.is_empty(),
            Work::Delete { delete, by_key: Some(_), .. } => delete.foreign.is_empty(),
            _ => false,
        };
        changes_one_row && planned.is_plain() && self.in_transaction() && !self.instance.slow_log().is_on()
    }

    /// Runs a statement that [may repeat](Self::may_repeat) for as many of the first parameter sets of `all` as it can. Calls `ran`
    /// after each.
    ///
    /// # Errors
    /// MySQL's errors of the run that failed.
    pub(crate) fn repeat(
        &mut self,
        planned: &Planned,
        all: &[Vec<Value>],
        ran: &mut dyn FnMut(Done),
    ) -> Result<(), MysqlError> {
        let mut left = all.iter();
        let Some(first) = all.first() else { return Ok(()) };
        if !planned.is_held(self, &planned.taken(first))? {
            return Ok(());
        }
        self.check_server_access(planned.work())?;
        self.begin_planned(planned);
        let mut work: Option<(Execution, Repeating<'_>)> = None;
        self.write_each(|session, transaction| {
            let values = left.next().map(|values| planned.taken(values));
            let Some(values) = values.filter(|values| planned.takes(session, values)) else {
                return Ok(false);
            };
            let values = &*values;
            session.warnings.clear();
            session.told_insert_id = None;
            let (execution, repeating) = match &mut work {
                Some((execution, repeating)) => {
                    execution.renew(session, values);
                    (execution, repeating)
                }
                none => {
                    let ready = change::repeating(planned.work(), session, transaction, values)?;
                    let Some(ready) = ready else { return Ok(false) };
                    let (execution, repeating) = none.insert(ready);
                    (execution, repeating)
                }
            };
            let ran_one = execution
                .with(session, |statement| repeating.run(&mut ChangeContext { statement, transaction }))?;
            let Some(mut done) = ran_one else { return Ok(false) };
            if let (0, Some(told)) = (done.last_insert_id, session.told_insert_id) {
                (done.last_insert_id, done.insert_id) = (told, told);
            }
            ran(done);
            Ok(true)
        })
    }
}
