//! The plan of a statement for a drawing of it.

use super::Session;
use crate::session_entry::StatementText;
use leafline_planner::explain::PlanPicture;
use leafline_types::MysqlError;
use std::time::Duration;

impl Session {
    /// The plan of a statement without parameters. With `time` it is run for at most that long and its rows
    /// are thrown away, which is allowed for queries that lock nothing. The run is not counted in a digest.
    ///
    /// # Errors
    /// 1235 for a statement without a plan, or one that may not be run; 3024 if it takes longer than `time`;
    /// MySQL's errors.
    pub fn picture(&mut self, sql: &str, time: Option<Duration>) -> Result<PlanPicture, MysqlError> {
        self.begin_statement(StatementText::Of(sql));
        self.warnings.clear();
        let picture = self.picture_of(sql, time);
        self.leave_thread();
        if let Err(error) = &picture {
            self.note_error(error);
        }
        self.statement_ended();
        picture
    }
}
