//! Changes one row for each of many sets of parameters within the open transaction; for `session::many`.
//!
//! Only the parameters and the time change from run to run. A run finds its row by key, in the newest state that the transaction
//! sees, so it needs no read view of its own. Statements with foreign keys or subqueries need more and are not run this way. A
//! run that needs the plan's operators stops the series; the caller runs that statement by itself.

use super::insert::RowInserter;
use super::{ChangeContext, Delete, RowChange, Update, insert};
use crate::plans::{Planned, Work};
use crate::result::Done;
use crate::session::{Execution, Session};
use leafline_executor::{PointAnswer, lock_point};
use leafline_planner::bound::InsertRows;
use leafline_planner::plan::{Plan, PointLock};
use leafline_table::Transaction;
use leafline_types::{MysqlError, Value};

impl Session {
    /// Returns whether a statement may be run this way.
    pub(crate) fn may_repeat(&self, planned: &Planned) -> bool {
        let by_key = |plan: &Plan| plan.point_lock().is_some();
        let changes_one_row = match planned.work() {
            Work::Insert { insert, plan: None } => {
                matches!(&insert.rows, InsertRows::Values(rows) if rows.len() == 1)
                    && insert.foreign.is_empty()
            }
            Work::Update { update, plan } => by_key(plan) && update.foreign.is_empty(),
            Work::Delete { delete, plan } => by_key(plan) && delete.foreign.is_empty(),
            _ => false,
        };
        // Triggers and stored functions need what an execution lends them.
        let changes_one_row = changes_one_row && !planned.parts().calls_programs;
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
        if !planned.is_held(self, &planned.converted(first))? {
            return Ok(());
        }
        self.check_server_access(planned.work())?;
        self.begin_planned(planned);
        let mut begun: Option<(Execution, RowByRow<'_>)> = None;
        self.write_each(|session, transaction| {
            let values = left.next().map(|values| planned.converted(values));
            let Some(values) = values.filter(|values| planned.has_types_of(session, values)) else {
                return Ok(false);
            };
            let values = &*values;
            session.warnings.clear();
            session.statement.told_insert_id = None;
            let (execution, change) = match &mut begun {
                Some((execution, change)) => {
                    execution.renew(session, values);
                    (execution, change)
                }
                none => {
                    let first = RowByRow::begin(planned.work(), session, transaction, values)?;
                    let Some(first) = first else { return Ok(false) };
                    let (execution, change) = none.insert(first);
                    (execution, change)
                }
            };
            let ran_one = execution
                .with(session, |statement| change.run(&mut ChangeContext { statement, transaction }))?;
            let PointAnswer::Found(mut done) = ran_one else { return Ok(false) };
            if let (0, Some(told)) = (done.last_insert_id, session.statement.told_insert_id) {
                (done.last_insert_id, done.insert_id) = (told, told);
            }
            ran(done);
            Ok(true)
        })
    }
}

/// A running statement of one row that keeps its state from run to run.
enum RowByRow<'w> {
    /// An INSERT of one row of VALUES.
    Insert(Box<RowInserter<'w>>),
    /// A change of the row that a point plan finds.
    ByKey(Box<dyn RowChange + 'w>, &'w PointLock),
}

impl<'w> RowByRow<'w> {
    /// Prepares a statement for its first run. `None` if each run would warn of columns that the statement does not name.
    fn begin(
        work: &'w Work,
        session: &mut Session,
        transaction: &mut Transaction,
        parameters: &[Value],
    ) -> Result<Option<(Execution, RowByRow<'w>)>, MysqlError> {
        let execution = Execution::new(session, transaction.view(), parameters, true);
        let (change, plan): (Box<dyn RowChange + 'w>, &Plan) = match work {
            Work::Insert { insert, .. } => {
                let mut execution = execution.storing(insert::rules(insert));
                let inserter = execution.with(session, |cx| RowInserter::one_by_one(insert, cx))?;
                return Ok(inserter.map(|inserter| (execution, RowByRow::Insert(Box::new(inserter)))));
            }
            Work::Update { update, plan } => (Box::new(Update::new(update)), plan),
            Work::Delete { delete, plan } => (Box::new(Delete::new(delete)), plan),
            _ => return Ok(None),
        };
        let execution = execution.storing(change.rules());
        Ok(plan.point_lock().map(|lock| (execution, RowByRow::ByKey(change, lock))))
    }

    /// Runs the statement with the parameters of its execution.
    fn run(&mut self, cx: &mut ChangeContext<'_, '_>) -> Result<PointAnswer<Done>, MysqlError> {
        let (change, lock) = match self {
            RowByRow::Insert(inserter) => return inserter.again(cx).map(PointAnswer::Found),
            RowByRow::ByKey(change, lock) => (change, lock),
        };
        match lock_point(lock, &cx.transaction.row_locker(), &mut cx.statement.exec)? {
            PointAnswer::NeedsOperators => return Ok(PointAnswer::NeedsOperators),
            PointAnswer::Found(None) => {}
            PointAnswer::Found(Some((key, values))) => change.row(&[Some(&key)], values, cx)?,
        }
        Ok(PointAnswer::Found(change.take_done(cx)))
    }
}
