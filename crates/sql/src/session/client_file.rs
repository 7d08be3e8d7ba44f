//! Statements that read data of the client: a file, or rows.
//!
//! Such a statement is bound and planned like others. Before it runs it waits until the caller supplies the
//! file. In [`Session::execute`], where the caller cannot, it fails with error 3948.

use super::{Outcome, Session};
use crate::plans::Work;
use crate::result::Done;
use crate::row_source::RowSource;
use crate::session_entry::StatementText;
use crate::text_file::ClientFiles;
use leafline_planner::plan::PlanParts;
use leafline_syntax::quoted;
use leafline_types::{MysqlError, Value};
use std::sync::Arc;

/// A statement that waits for a file.
pub(crate) struct WaitingLoad {
    pub(crate) work: Arc<Work>,
    pub(crate) parts: Arc<PlanParts>,
    pub(crate) parameters: Vec<Value>,
    /// Name of the file on the client.
    pub(crate) path: String,
}

/// Whether statements may wait for files, and the waiting one.
#[derive(Default)]
pub(super) struct ClientFileState {
    allowed: bool,
    waiting: Option<WaitingLoad>,
}

impl Session {
    /// Runs a statement like [`execute`](Self::execute), with access to files of the client if `local_infile`
    /// allows it.
    ///
    /// # Errors
    /// MySQL's errors. A failed statement leaves nothing behind.
    pub fn execute_with_files(
        &mut self,
        sql: &str,
        files: &mut dyn ClientFiles,
    ) -> Result<Outcome, MysqlError> {
        self.contained(|session| {
            session.begin_statement(StatementText::Of(sql));
            session.client_files.allowed = true;
            let outcome = session.run_text(sql);
            session.client_files.allowed = false;
            let waiting = session.client_files.waiting.take();
            let outcome = match (outcome, waiting) {
                (Ok(_), Some(waiting)) => {
                    files.open(&waiting.path).and_then(|mut file| session.run_load(&waiting, &mut file))
                }
                (outcome, _) => outcome,
            };
            session.finish(outcome, sql)
        })
    }

    /// Adds rows to a table, with values for the named columns. The parts of `sql_mode`, keys and constraints
    /// apply as for LOAD DATA without IGNORE.
    ///
    /// # Errors
    /// MySQL's errors, and errors of `rows`. No row is added then.
    pub fn load_values(
        &mut self,
        (database, table): (&str, &str),
        columns: &[String],
        rows: &mut dyn RowSource,
    ) -> Result<Done, MysqlError> {
        let sql = format!("LOAD DATA INFILE '' INTO TABLE {}.{}", quoted(database), quoted(table));
        let outcome = self.contained(|session| {
            session.begin_statement(StatementText::Of(&sql));
            let outcome = session.run_values(&sql, columns, rows);
            session.finish(outcome, &sql)
        });
        match outcome? {
            Outcome::Done(done) => Ok(done),
            Outcome::Rows(_) => Err(MysqlError::internal("a load that gives rows")),
        }
    }

    /// Makes a statement wait for a file of the client.
    ///
    /// # Errors
    /// 3948 if the statement cannot have a file.
    pub(crate) fn await_file(&mut self, load: WaitingLoad) -> Result<(), MysqlError> {
        let allowed = self.client_files.allowed && self.instance.globals().read().local_infile;
        if !allowed {
            return Err(MysqlError::local_files_disabled());
        }
        self.client_files.waiting = Some(load);
        Ok(())
    }
}
