//! The rights of a statement, as the binder asks for them.

use leafline_syntax::{AccountId, Privilege, Privileges};
use leafline_table::ViewDef;
use leafline_types::MysqlError;
use std::fmt::Debug;

/// Answers which tables and views a statement may use.
pub trait Authority: Debug {
    /// Whether the rights are unlimited because no account stands behind them.
    fn is_unlimited(&self) -> bool;

    /// Returns the account that becomes the definer of a view whose statement names none.
    fn account(&self) -> AccountId;

    /// Returns the privileges on everything.
    fn on_everything(&self) -> Privileges;

    /// Returns the privileges on a table or view.
    fn on_table(&self, database: &str, table: &str) -> Privileges;

    /// Whether the statement may know of a table or view.
    fn sees_table(&self, database: &str, table: &str) -> bool;

    /// Returns the rights of the account that defines a view; `None` where the rights at hand count.
    ///
    /// # Errors
    /// 1449 if the account no longer exists.
    fn of_definer(&self, view: &ViewDef) -> Result<Option<Box<dyn Authority>>, MysqlError>;

    /// Checks that the stored function may be called.
    ///
    /// # Errors
    /// 1370.
    fn check_function(&self, database: &str, name: &str) -> Result<(), MysqlError>;

    /// Makes error 1142: an operation of `wanted` is denied on a table.
    fn table_denied(&self, wanted: &str, table: &str) -> MysqlError;

    /// Makes error 1143: reading a column is denied.
    fn column_denied(&self, column: &str, table: &str) -> MysqlError;
}

/// The rights of a program that embeds the database.
#[derive(Debug)]
pub struct Unlimited;

impl Authority for Unlimited {
    fn is_unlimited(&self) -> bool {
        true
    }

    fn account(&self) -> AccountId {
        AccountId::root()
    }

    fn on_everything(&self) -> Privileges {
        Privileges::EVERYTHING
    }

    fn on_table(&self, _database: &str, _table: &str) -> Privileges {
        Privileges::EVERYTHING
    }

    fn sees_table(&self, _database: &str, _table: &str) -> bool {
        true
    }

    fn of_definer(&self, _view: &ViewDef) -> Result<Option<Box<dyn Authority>>, MysqlError> {
        Ok(None)
    }

    fn check_function(&self, _database: &str, _name: &str) -> Result<(), MysqlError> {
        Ok(())
    }

    fn table_denied(&self, wanted: &str, table: &str) -> MysqlError {
        MysqlError::table_access_denied(wanted, AccountId::root().user, "localhost", table)
    }

    fn column_denied(&self, column: &str, table: &str) -> MysqlError {
        let user = AccountId::root().user;
        MysqlError::column_access_denied(Privilege::Select.name(), user, "localhost", column, table)
    }
}

/// Returns the account that defines a view: root, if the view is older than accounts.
pub fn definer_of(view: &ViewDef) -> AccountId {
    match &view.definer {
        Some((user, host)) => AccountId::new(user, host),
        None => AccountId::root(),
    }
}
