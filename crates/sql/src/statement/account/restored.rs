//! INSERT into the grant tables, as in a dump of all databases. Rows are stored as written and come into force when their
//! statement ends.
//!
//! A row of an existing account replaces that account; accounts without a row stay. A row that could not be read back is
//! refused.

use crate::accounts::{Privileges, stored};
use crate::result::Done;
use crate::session::Session;
use crate::system_table::SYSTEM_DATABASE;
use leafline_planner::bound::{BoundInsert, InsertRows, OnDuplicate};
use leafline_table::Transaction;
use leafline_types::{MysqlError, Value};

/// Error 1105 for a row that cannot be read as one of that grant table.
pub(crate) fn check_row(table: &str, row: &[Value]) -> Result<(), MysqlError> {
    match stored::is_readable(table, row) {
        true => Ok(()),
        false => Err(stored::unreadable(table)),
    }
}

impl Session {
    /// Returns whether an INSERT may add to a grant table: the account holds all privileges, and the statement is a transaction of
    /// its own.
    pub(crate) fn restores_accounts(&self, insert: &BoundInsert) -> bool {
        matches!((&insert.rows, &insert.on_duplicate), (InsertRows::Values(_), OnDuplicate::Fail))
            && self.autocommit()
            && !self.in_transaction()
            && self.login.access.holds_everywhere(Privileges::EVERYTHING)
    }

    /// Runs an INSERT into a grant table by [`Session::write`]. No other session changes accounts meanwhile. The rows are in force
    /// after the commit.
    pub(crate) fn restore_accounts(
        &mut self,
        insert: impl FnMut(&mut Session, &mut Transaction) -> Result<Done, MysqlError>,
    ) -> Result<Done, MysqlError> {
        // The statement may have been prepared before the transaction began.
        if self.in_transaction() || !self.autocommit() {
            let (user, host) = (&self.entry.user, &self.entry.host);
            return Err(MysqlError::table_access_denied("INSERT", user, host, SYSTEM_DATABASE));
        }
        let instance = self.instance.clone();
        let accounts = instance.accounts();
        let alone = accounts.alone();
        let done = self.write(insert)?;
        accounts.reload(&alone)?;
        drop(alone);
        instance.notice_restrictions();
        Ok(done)
    }
}
