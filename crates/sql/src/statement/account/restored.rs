//! INSERTs into the grant tables, as a dump of all databases has them: rows are stored as they are, and in force when their statement ends.
//!
//! Rows of accounts that there are replace these; accounts that no row is about stay. Nothing is stored that could not be read.

use crate::accounts::{Privileges, stored};
use crate::result::Done;
use crate::session::Session;
use crate::system_table::SYSTEM_DATABASE;
use leafline_planner::Authority;
use leafline_planner::bound::{BoundInsert, InsertRows, OnDuplicate};
use leafline_table::Transaction;
use leafline_types::{MysqlError, Value};

/// Error 1105 for a row that says nothing as one of that table.
pub(crate) fn check_row(table: &str, row: &[Value]) -> Result<(), MysqlError> {
    match stored::is_readable(table, row) {
        true => Ok(()),
        false => Err(stored::unreadable(table)),
    }
}

impl Session {
    /// Whether an INSERT may add to a grant table: of who may do everything, and as a transaction of its own.
    pub(crate) fn restores_accounts(&self, insert: &BoundInsert) -> bool {
        matches!((&insert.rows, &insert.on_duplicate), (InsertRows::Values(_), OnDuplicate::Fail))
            && self.autocommit()
            && !self.in_transaction()
            && self.access.on_everything().has_all(Privileges::EVERYTHING)
    }

    /// Runs an INSERT into a grant table, as [`Session::write`] does. Nobody else changes accounts meanwhile, and the rows are in force
    /// when it has committed.
    pub(crate) fn restore_accounts(
        &mut self,
        insert: impl FnMut(&mut Session, &mut Transaction) -> Result<Done, MysqlError>,
    ) -> Result<Done, MysqlError> {
        // A statement that was prepared before a transaction was begun.
        if self.in_transaction() || !self.autocommit() {
            let (user, host) = (&self.entry.user, &self.entry.host);
            return Err(MysqlError::table_access_denied("INSERT", user, host, SYSTEM_DATABASE));
        }
        let instance = self.instance.clone();
        let accounts = instance.accounts();
        let alone = accounts.alone();
        let done = self.write(insert)?;
        accounts.reload(&alone)?;
        Ok(done)
    }
}
