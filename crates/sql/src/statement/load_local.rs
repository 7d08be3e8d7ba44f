//! LOAD DATA LOCAL waits until the client has sent its file ([`crate::session`], file `client_file.rs`).

use super::change;
use crate::plans::Work;
use crate::session::{Outcome, Session, WaitingLoad};
use crate::text_file::ClientInput;
use leafline_planner::bound::InsertRows;
use leafline_planner::plan::PlanParts;
use leafline_types::{MysqlError, Value};
use std::io::Read;
use std::sync::Arc;

impl Session {
    /// Returns whether the statement is a LOAD DATA LOCAL. The session then keeps it until its file comes.
    ///
    /// # Errors
    /// 3948 if the client may send no file.
    pub(super) fn waits_for_file(
        &mut self,
        work: Arc<Work>,
        parts: &Arc<PlanParts>,
        parameters: &[Value],
    ) -> Result<bool, MysqlError> {
        let Work::Insert { insert, .. } = &*work else { return Ok(false) };
        let path = match &insert.rows {
            InsertRows::File(load) if load.local => load.path.clone(),
            _ => return Ok(false),
        };
        self.await_file(WaitingLoad { work, parts: parts.clone(), parameters: parameters.to_vec(), path })?;
        Ok(true)
    }

    /// Runs a statement whose file has come.
    pub(crate) fn run_load(
        &mut self,
        load: &WaitingLoad,
        file: &mut dyn Read,
    ) -> Result<Outcome, MysqlError> {
        let Work::Insert { insert, .. } = &*load.work else {
            return Err(MysqlError::internal("a statement that reads no file has waited for one"));
        };
        let mut input = Some(ClientInput::new(file));
        let run = |session: &mut Session, transaction: &mut _| {
            // The client does not send the file again, so the statement cannot begin anew after a conflict.
            let mut input = input.take().ok_or_else(MysqlError::deadlock)?;
            let given = (None, Some(change::LoadInput::File(&mut input)));
            change::insert(session, transaction, insert, given, &load.parts, &load.parameters)
        };
        self.write(run).map(Outcome::Done)
    }
}
