//! A change of one row, made again and again with other parameters.

use super::by_key::{ByKey, Found};
use super::{delete, insert, update};
use crate::result::Done;
use crate::session::Session;
use crate::statement::execution::Execution;
use crate::statement::planned::Work;
use leafline_table::Transaction;
use leafline_types::{MysqlError, Value};

/// A statement at work.
pub(in crate::statement) enum Repeating<'w> {
    Insert(insert::Run<'w>),
    Update(update::Run<'w>, &'w ByKey),
    Delete(delete::Run<'w>, &'w ByKey),
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
            run.map(|run| (execution, Repeating::Insert(run)))
        }
        Work::Update { update, by_key: Some(by_key), .. } => {
            let run = Repeating::Update(update::Run::new(update), by_key);
            Some((execution.storing(update::rules(update)), run))
        }
        Work::Delete { delete, by_key: Some(by_key), .. } => {
            let run = Repeating::Delete(delete::Run::new(delete), by_key);
            Some((execution.storing(delete::rules(delete)), run))
        }
        _ => None,
    })
}

impl Repeating<'_> {
    /// Runs it with the parameters of `execution`; `None` if it has to be run by its plan.
    pub(in crate::statement) fn run(
        &mut self,
        execution: &mut Execution,
        session: &mut Session,
        transaction: &mut Transaction,
    ) -> Result<Option<Done>, MysqlError> {
        let found = match self {
            Repeating::Insert(run) => return run.again(execution, session, transaction).map(Some),
            Repeating::Update(_, by_key) | Repeating::Delete(_, by_key) => {
                by_key.find(execution, session, transaction)?
            }
        };
        let row = match &found {
            Found::Unknown => return Ok(None),
            Found::Nothing => None,
            Found::Row(key, values) => Some((key, values)),
        };
        match self {
            Repeating::Update(run, _) => {
                if let Some((key, values)) = row {
                    run.row(&[Some(key)], values.clone(), execution, session, transaction)?;
                }
                Ok(Some(run.take_done(session)))
            }
            Repeating::Delete(run, _) => {
                if let Some((key, values)) = row {
                    run.row(&[Some(key)], values, execution, session, transaction)?;
                }
                Ok(Some(run.take_done(session)))
            }
            Repeating::Insert(_) => Ok(None),
        }
    }
}
