//! The rights of a statement, as the binder asks for them.

use leafline_syntax::{AccountId, Privilege, Privileges};
use leafline_table::ViewDef;
use leafline_types::MysqlError;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// The privileges on single columns of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ColumnRights {
    /// The privileges by the columns' names in lower case.
    by_name: BTreeMap<String, Privileges>,
    /// The union of all.
    on_some: Privileges,
}

/// The privileges on a table or view: on the whole of it, and on single columns.
///
/// `of_columns` is `None` without privileges on single columns, so that accounts without any pay for none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableRights {
    whole: Privileges,
    of_columns: Option<Arc<ColumnRights>>,
}

impl TableRights {
    /// The rights on a table that the session owns.
    pub const EVERYTHING: TableRights = TableRights { whole: Privileges::EVERYTHING, of_columns: None };

    /// Adds privileges on the whole table.
    pub fn add(&mut self, privileges: Privileges) {
        self.whole |= privileges;
    }

    /// Adds privileges on a column.
    pub fn add_column(&mut self, column: &str, privileges: Privileges) {
        let columns = Arc::make_mut(self.of_columns.get_or_insert_default());
        *columns.by_name.entry(column.to_ascii_lowercase()).or_default() |= privileges;
        columns.on_some |= privileges;
    }

    /// Adds the rights of a role.
    pub fn add_all(&mut self, other: &TableRights) {
        self.add(other.whole);
        for (column, privileges) in other.of_columns.iter().flat_map(|columns| &columns.by_name) {
            self.add_column(column, *privileges);
        }
    }

    /// Returns the privileges on the whole table.
    pub fn whole(&self) -> Privileges {
        self.whole
    }

    /// Returns the privileges on the whole table or on at least one column.
    pub fn somewhere(&self) -> Privileges {
        self.of_columns.as_ref().map_or(self.whole, |columns| self.whole | columns.on_some)
    }

    /// Whether the privilege covers every column.
    #[inline]
    pub fn has(&self, privilege: Privilege) -> bool {
        self.whole.has(privilege)
    }

    /// Returns the privileges on a column.
    pub fn on_column(&self, column: &str) -> Privileges {
        let found = self.of_columns.as_ref().and_then(|of| of.by_name.get(&column.to_ascii_lowercase()));
        found.map_or(self.whole, |privileges| self.whole | *privileges)
    }
}

impl From<Privileges> for TableRights {
    fn from(whole: Privileges) -> TableRights {
        TableRights { whole, of_columns: None }
    }
}

/// Answers which tables and views a statement may use.
pub trait Authority: Debug {
    /// Whether the rights are unlimited because no account stands behind them.
    fn is_unlimited(&self) -> bool;

    /// Returns the account that becomes the definer of a view whose statement names none.
    fn account(&self) -> AccountId;

    /// Returns the privileges on everything.
    fn on_everything(&self) -> Privileges;

    /// Returns the privileges on a table or view, and on its columns.
    fn rights_on(&self, database: &str, table: &str) -> TableRights;

    /// Returns the privileges on the whole of a table or view.
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

    /// Makes error 1143: the privilege is missing on a column.
    fn column_denied(&self, wanted: Privilege, column: &str, table: &str) -> MysqlError;
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

    fn rights_on(&self, _database: &str, _table: &str) -> TableRights {
        TableRights::EVERYTHING
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

    fn column_denied(&self, wanted: Privilege, column: &str, table: &str) -> MysqlError {
        let user = AccountId::root().user;
        MysqlError::column_access_denied(wanted.name(), user, "localhost", column, table)
    }
}

/// Returns the account that defines a view: root, if the view is older than accounts.
pub fn definer_of(view: &ViewDef) -> AccountId {
    match &view.definer {
        Some((user, host)) => AccountId::new(user, host),
        None => AccountId::root(),
    }
}
