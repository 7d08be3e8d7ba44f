//! What a session, or the definer of a view, may do.
//!
//! An [`Access`] is computed when a session begins and whenever accounts have changed since, so that each check is a look at it. What is
//! granted on everything counts for every database, what is granted on a database for every table of it. Of several grants on databases
//! whose patterns a name fits the most specific one counts, as in MySQL.

use super::host::{ClientHost, LOCALHOST};
use super::set::{AccountSet, literal_name};
use crate::like::like_exactly;
use crate::system_names;
use leafline_planner::{Authority, definer_of};
use leafline_syntax::AccountId;
use leafline_syntax::ast::AccountName;
use leafline_syntax::{Privilege, Privileges};
use leafline_table::ViewDef;
use leafline_types::MysqlError;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What somebody may do.
#[derive(Debug)]
pub struct Access {
    /// That of the accounts that it was computed from.
    version: u64,
    /// `None`: everything, whatever the accounts say.
    rights: Option<Rights>,
}

#[derive(Debug)]
struct Rights {
    set: Arc<AccountSet>,
    account: AccountId,
    client: ClientHost,
    global: Privileges,
    /// On databases, the more specific patterns first.
    databases: Vec<(String, Privileges)>,
    tables: BTreeMap<(String, String), Privileges>,
    /// Nothing is allowed until the password is changed.
    expired: bool,
}

impl Access {
    /// Of a program that embeds the database.
    pub(crate) fn everything(version: u64) -> Access {
        Access { version, rights: None }
    }

    /// Of a client at an address that was let in by `account` when the accounts had that number. Nothing is granted to an account that there is
    /// no more, whether or not there is another of its name.
    pub(super) fn of(
        version: u64,
        set: &Arc<AccountSet>,
        account: &AccountId,
        (client, admitted): (&str, u64),
    ) -> Access {
        let client = ClientHost::new(client);
        let is_the_same = set.ended.get(account).is_none_or(|&ended| ended <= admitted);
        let known = set.accounts.get(account).filter(|_| is_the_same);
        let (databases, tables) = match known {
            Some(_) => (set.databases_for(&account.user, &client), set.tables_for(&account.user, &client)),
            None => Default::default(),
        };
        let rights = Rights {
            account: account.clone(),
            client,
            global: known.map_or(Privileges::NONE, |known| known.global),
            databases,
            tables,
            expired: known.is_some_and(|known| known.expired),
            set: set.clone(),
        };
        Access { version, rights: Some(rights) }
    }

    /// Of the account that a view says, for what the view reads.
    ///
    /// # Errors
    /// 1449 if there is no such account any more.
    pub(crate) fn of_definer(&self, view: &ViewDef) -> Result<Option<Access>, MysqlError> {
        let Some(rights) = self.rights.as_ref().filter(|_| !view.by_invoker) else { return Ok(None) };
        let named = definer_of(view);
        let definer = rights.set.definer(&named);
        let definer = definer.ok_or_else(|| MysqlError::no_such_definer(&named.user, &named.host))?;
        // Where it would be a client: wherever its host part says.
        let host = if definer.host.contains(['%', '_', '/']) { LOCALHOST } else { &definer.host };
        let mut access = Access::of(self.version, &rights.set, definer, (host, u64::MAX));
        if let Some(of_definer) = &mut access.rights {
            // Grants are for the account itself.
            of_definer.databases = rights.set.databases_of(definer);
            of_definer.tables = rights.set.tables_of(definer);
        }
        Ok(Some(access))
    }

    /// That of the accounts that it was computed from.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Whether the password has to be changed before anything else.
    pub(crate) fn is_expired(&self) -> bool {
        self.rights.as_ref().is_some_and(|rights| rights.expired)
    }

    /// The account that a name in a statement means.
    pub(crate) fn account_of(&self, name: &AccountName) -> AccountId {
        if name.current { self.account() } else { AccountId::new(&name.user, &name.host) }
    }

    /// What may be done with a database as a whole, and with every table of it.
    pub(crate) fn on_database(&self, database: &str) -> Privileges {
        let Some(rights) = &self.rights else { return Privileges::EVERYTHING };
        let database = system_names::database(database).unwrap_or(database);
        let fits = |(pattern, _): &&(String, Privileges)| like_exactly(database, pattern);
        let granted = rights.databases.iter().find(fits).map_or(Privileges::NONE, |(_, granted)| *granted);
        let everybody = match system_names::is_standard(database) {
            true => Privileges::of(Privilege::Select),
            false => Privileges::NONE,
        };
        rights.global | granted | everybody
    }

    /// What may be done with every database that fits a pattern: with the one of that name, if it is a name, else what is granted by that
    /// very pattern.
    pub(crate) fn on_pattern(&self, pattern: &str) -> Privileges {
        let Some(rights) = &self.rights else { return Privileges::EVERYTHING };
        match literal_name(pattern) {
            Some(name) => self.on_database(&name),
            None => {
                let granted = rights.databases.iter().find(|(known, _)| known == pattern);
                rights.global | granted.map_or(Privileges::NONE, |(_, granted)| *granted)
            }
        }
    }

    /// Whether it may know of a database: if it may do anything with it, or with a table in it.
    pub(crate) fn sees_database(&self, database: &str) -> bool {
        self.enters_database(database) || self.on_everything().has(Privilege::ShowDatabases)
    }

    /// Whether it may make a database its current one.
    pub(crate) fn enters_database(&self, database: &str) -> bool {
        let Some(rights) = &self.rights else { return true };
        system_names::is_for_everybody(database)
            || self.on_database(database).has_any(Privileges::OF_DATABASES | Privilege::GrantOption)
            || rights.tables.iter().any(|((of, _), granted)| of == database && !granted.is_empty())
    }

    /// Error 1044: a database is nothing for this account.
    pub(crate) fn database_denied(&self, database: &str) -> MysqlError {
        let account = self.account();
        MysqlError::database_access_denied(account.user, account.host, database)
    }

    /// The user, and where the client is.
    fn user_and_client(&self) -> (String, String) {
        match &self.rights {
            Some(rights) => (rights.account.user.clone(), rights.client.text().to_owned()),
            None => (AccountId::root().user, LOCALHOST.to_owned()),
        }
    }

    /// Whether every one of `wanted` may be done with a table.
    ///
    /// # Errors
    /// 1142, with those that may not.
    pub(crate) fn check_table(
        &self,
        wanted: impl Into<Privileges>,
        database: &str,
        table: &str,
    ) -> Result<(), MysqlError> {
        let missing = wanted.into() - self.on_table(database, table);
        if missing.is_empty() { Ok(()) } else { Err(self.table_denied(&missing.to_string(), table)) }
    }

    /// Whether every one of `wanted` may be done with a database.
    ///
    /// # Errors
    /// 1044.
    pub(crate) fn check_database(
        &self,
        wanted: impl Into<Privileges>,
        database: &str,
    ) -> Result<(), MysqlError> {
        match self.on_database(database).has_all(wanted.into()) {
            true => Ok(()),
            false => Err(self.database_denied(database)),
        }
    }

    /// Whether one of `wanted` is granted on everything.
    ///
    /// # Errors
    /// 1227, with all of them.
    pub(crate) fn check_any(&self, wanted: &[Privilege]) -> Result<(), MysqlError> {
        if wanted.iter().any(|wanted| self.on_everything().has(*wanted)) {
            return Ok(());
        }
        let names: Vec<&str> = wanted.iter().map(|wanted| wanted.name()).collect();
        Err(MysqlError::specific_access_denied(names.join(" or ")))
    }
}

impl Authority for Access {
    fn is_unlimited(&self) -> bool {
        self.rights.is_none()
    }

    fn account(&self) -> AccountId {
        self.rights.as_ref().map_or_else(AccountId::root, |rights| rights.account.clone())
    }

    fn on_everything(&self) -> Privileges {
        self.rights.as_ref().map_or(Privileges::EVERYTHING, |rights| rights.global)
    }

    fn on_table(&self, database: &str, table: &str) -> Privileges {
        let Some(rights) = &self.rights else { return Privileges::EVERYTHING };
        let granted = match rights.tables.is_empty() {
            true => None,
            false => rights.tables.get(&(database.to_owned(), table.to_owned())),
        };
        let everybody = match system_names::is_about_own_sessions(database, table) {
            true => Privileges::of(Privilege::Select),
            false => Privileges::NONE,
        };
        self.on_database(database) | granted.copied().unwrap_or(Privileges::NONE) | everybody
    }

    fn sees_table(&self, database: &str, table: &str) -> bool {
        self.on_table(database, table).has_any(Privileges::OF_TABLES | Privilege::GrantOption)
    }

    fn table_denied(&self, wanted: &str, table: &str) -> MysqlError {
        let (user, host) = self.user_and_client();
        MysqlError::table_access_denied(wanted, user, host, table)
    }

    fn column_denied(&self, column: &str, table: &str) -> MysqlError {
        let (user, host) = self.user_and_client();
        MysqlError::column_access_denied(Privilege::Select.name(), user, host, column, table)
    }

    fn of_definer(&self, view: &ViewDef) -> Result<Option<Box<dyn Authority>>, MysqlError> {
        Ok(Access::of_definer(self, view)?.map(|definer| Box::new(definer) as Box<dyn Authority>))
    }
}
