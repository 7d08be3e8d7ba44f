//! Whose rights a statement has, as the binder asks for them.

use leafline_syntax::{AccountId, Privilege, Privileges};
use leafline_table::ViewDef;
use leafline_types::MysqlError;
use std::fmt::Debug;

/// Answers which tables and views a statement may use.
pub trait Authority: Debug {
    /// Whether it may do everything, because no account stands behind it.
    fn is_unlimited(&self) -> bool;

    /// The account that views are defined by where their statement names none.
    fn account(&self) -> AccountId;

    /// Privileges on everything.
    fn on_everything(&self) -> Privileges;

    /// Privileges on a table or view.
    fn on_table(&self, database: &str, table: &str) -> Privileges;

    /// Whether it may know of a table or view.
    fn sees_table(&self, database: &str, table: &str) -> bool;

    /// The rights of the account that defines a view; `None` where the rights at hand count.
    ///
    /// # Errors
    /// 1449 if there is no such account any more.
    fn of_definer(&self, view: &ViewDef) -> Result<Option<Box<dyn Authority>>, MysqlError>;

    /// Error 1142: something of `wanted` may not be done with a table.
    fn table_denied(&self, wanted: &str, table: &str) -> MysqlError;

    /// Error 1143: a column may not be read.
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

    fn table_denied(&self, wanted: &str, table: &str) -> MysqlError {
        MysqlError::table_access_denied(wanted, AccountId::root().user, "localhost", table)
    }

    fn column_denied(&self, column: &str, table: &str) -> MysqlError {
        let user = AccountId::root().user;
        MysqlError::column_access_denied(Privilege::Select.name(), user, "localhost", column, table)
    }
}

/// Returns the account that defines a view: root, if the view is of before there were accounts.
pub fn definer_of(view: &ViewDef) -> AccountId {
    match &view.definer {
        Some((user, host)) => AccountId::new(user, host),
        None => AccountId::root(),
    }
}
