//! A change of one row that is made again and again with other parameters.

use super::by_key::Found;
use super::insert::RowInserter;
use super::{ChangeContext, Delete, RowChange, Update, insert};
use crate::plans::ByKey;
use crate::plans::Work;
use crate::result::Done;
use crate::session::Execution;
use crate::session::Session;
use leafline_table::Transaction;
use leafline_types::{MysqlError, Value};

/// A running statement that keeps its state from run to run.
pub(in crate::statement) enum Repeating<'w> {
    Insert(Box<RowInserter<'w>>),
    ByKey(Box<dyn RowChange + 'w>, &'w ByKey),
}

/// Prepares a statement for its first run: an INSERT of one row of VALUES, or a change of a row that is found by its key. `None`
/// if each run would warn of columns that the statement does not name.
pub(in crate::statement) fn repeating<'w>(
    work: &'w Work,
    session: &mut Session,
    transaction: &mut Transaction,
    parameters: &[Value],
) -> Result<Option<(Execution, Repeating<'w>)>, MysqlError> {
    let execution = Execution::new(session, transaction.view(), parameters, true);
    Ok(match work {
        Work::Insert { insert, .. } => {
            let mut execution = execution.storing(insert::rules(insert));
            let inserter = execution.with(session, |cx| RowInserter::one_by_one(insert, cx))?;
            inserter.map(|inserter| (execution, Repeating::Insert(Box::new(inserter))))
        }
        Work::Update { update, by_key: Some(by_key), .. } => {
            Some(Repeating::by_key(Update::new(update), by_key, execution))
        }
        Work::Delete { delete, by_key: Some(by_key), .. } => {
            Some(Repeating::by_key(Delete::new(delete), by_key, execution))
        }
        _ => None,
    })
}

impl<'w> Repeating<'w> {
    fn by_key(
        change: impl RowChange + 'w,
        by_key: &'w ByKey,
        execution: Execution,
    ) -> (Execution, Repeating<'w>) {
        (execution.storing(change.rules()), Repeating::ByKey(Box::new(change), by_key))
    }

    /// Runs the statement with the parameters of its execution; `None` if the plan's operators have to run it.
    pub(in crate::statement) fn run(
        &mut self,
        cx: &mut ChangeContext<'_, '_>,
    ) -> Result<Option<Done>, MysqlError> {
        let (change, by_key) = match self {
            Repeating::Insert(inserter) => return inserter.again(cx).map(Some),
            Repeating::ByKey(change, by_key) => (change, by_key),
        };
        match by_key.find(cx)? {
            Found::Unknown => return Ok(None),
            Found::Nothing => {}
            Found::Row(key, values) => {
                change.row(&[Some(&key)], values, cx)?;
            }
        }
        Ok(Some(change.take_done(cx)))
    }
}
