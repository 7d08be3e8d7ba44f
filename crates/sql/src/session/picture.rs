//! The plan of a statement for who draws it.

use super::Session;
use crate::session_entry::StatementText;
use leafline_planner::explain::PlanPicture;
use leafline_types::MysqlError;
use std::time::Duration;

impl Session {
    /// The plan of a statement without parameters. With `time` it is run for that long at most, and its rows are thrown away: only a query that
    /// locks nothing is. It is not counted among those that are alike.
    ///
    /// # Errors
    /// 1235 for what has no plan, or is to be run and is no such query; 3024 if it takes longer; MySQL's.
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
