//! A change of one row, made again and again with other parameters.

use super::by_key::{ByKey, Found};
use super::{Delete, RowChange, Update, insert};
use crate::result::Done;
use crate::session::Session;
use crate::statement::execution::Execution;
use crate::statement::planned::Work;
use leafline_table::Transaction;
use leafline_types::{MysqlError, Value};

/// A statement at work.
pub(in crate::statement) enum Repeating<'w> {
    Insert(Box<insert::Run<'w>>),
    ByKey(Box<dyn RowChange + 'w>, &'w ByKey),
}

/// Makes a statement ready for a first run: an INSERT of one row of VALUES, or a change of a row that is found by its key. `None` if each run has
/// something to say of columns that it does not name.
pub(in crate::statement) fn repeating<'w>(
    work: &'w Work,
    session: &mut Session,
    transaction: &mut Transaction,
    parameters: &[Value],
) -> Result<Option<(Execution, Repeating<'w>)>, MysqlError> {
    let execution = Execution::new(session, transaction.view(), parameters, true);
    Ok(match work {
        Work::Insert { insert, .. } => {
            let execution = execution.storing(insert::rules(insert));
            let run = insert::Run::one_by_one(insert, &execution, session)?;
            run.map(|run| (execution, Repeating::Insert(Box::new(run))))
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

    /// Runs it with the parameters of `execution`; `None` if it has to be run by its plan.
    pub(in crate::statement) fn run(
        &mut self,
        execution: &mut Execution,
        session: &mut Session,
        transaction: &mut Transaction,
    ) -> Result<Option<Done>, MysqlError> {
        let (change, by_key) = match self {
            Repeating::Insert(run) => return run.again(execution, session, transaction).map(Some),
            Repeating::ByKey(change, by_key) => (change, by_key),
        };
        match by_key.find(execution, session, transaction)? {
            Found::Unknown => return Ok(None),
            Found::Nothing => {}
            Found::Row(key, values) => {
                change.row(&[Some(&key)], values, execution, session, transaction)?;
            }
        }
        Ok(Some(change.take_done(session)))
    }
}
