//! The settings and diagnostics of an assignment to a column.

use crate::collation::Charset;
use crate::error::MysqlError;
use crate::statement::Warnings;
use crate::temporal::{DateRules, Zone};

/// The column and session settings for an assignment, and where its warnings go.
#[derive(Debug)]
pub struct StoreContext<'a> {
    /// The column's name, for messages.
    pub column: &'a str,
    /// The character set of the column's text.
    pub charset: Charset,
    /// The row's number in the statement, from 1, for messages.
    pub row: u64,
    /// `STRICT_TRANS_TABLES`: an assignment that would change the value is an error. Otherwise the value is changed,
    /// with a warning.
    pub strict: bool,
    /// Which dates are stored although no such day exists.
    pub dates: DateRules,
    /// The session's time zone, for storing and reading a TIMESTAMP.
    pub zone: &'a Zone,
    /// `max_allowed_packet`: the size of the largest document in bytes.
    pub max_document: usize,
    /// The statement's diagnostics.
    pub warnings: &'a mut Warnings,
}

impl StoreContext<'_> {
    /// Returns the error in strict mode, otherwise adds it as a warning.
    pub(super) fn refuse(&mut self, e: MysqlError) -> Result<(), MysqlError> {
        if self.strict {
            return Err(e);
        }
        self.warnings.warn(e);
        Ok(())
    }

    /// Returns `error` in strict mode, otherwise adds `warning`.
    pub(super) fn refuse_or(&mut self, error: MysqlError, warning: MysqlError) -> Result<(), MysqlError> {
        self.refuse(if self.strict { error } else { warning })
    }

    pub(super) fn out_of_range(&mut self) -> Result<(), MysqlError> {
        let e = MysqlError::out_of_range(self.column, self.row);
        self.refuse(e)
    }

    pub(super) fn truncated(&mut self) -> Result<(), MysqlError> {
        let e = MysqlError::data_truncated(self.column, self.row);
        self.refuse(e)
    }

    pub(super) fn note_truncated(&mut self) {
        self.warnings.note(MysqlError::data_truncated(self.column, self.row));
    }

    /// Refuses a value with 1366: `value` is not a `kind`.
    pub(super) fn incorrect(&mut self, kind: &str, value: &str) -> Result<(), MysqlError> {
        let e = MysqlError::incorrect_value(kind, value, self.column, self.row);
        self.refuse(e)
    }
}
