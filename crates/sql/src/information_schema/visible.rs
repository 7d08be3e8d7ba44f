//! The databases, tables, views and connections that a session may see, because it has a privilege on them.
//! SHOW and information_schema list no others.

use super::{Definition, SystemView, TABLES, tables_of};
use crate::accounts::{Access, AccountId, Privilege};
use crate::instance::Instance;
use crate::session_entry::SessionEntry;
use crate::system_names::DATABASES;
use leafline_planner::Authority;
use leafline_table::{Catalog, DatabaseDef, TableDef, ViewDef};
use std::sync::Arc;

/// The objects that a session may see, as of now.
pub(crate) struct Visible<'s> {
    access: &'s Access,
    instance: &'s Arc<Instance>,
    catalog: Arc<Catalog>,
}

impl<'s> SystemView<'s> {
    /// The objects that the session may see.
    pub(crate) fn visible(&self) -> Visible<'s> {
        Visible { access: self.access, instance: self.instance, catalog: self.instance.engine().catalog() }
    }
}

impl Visible<'_> {
    /// The databases with stored tables, by name.
    pub(crate) fn databases(&self) -> impl Iterator<Item = &Arc<DatabaseDef>> {
        self.catalog.databases().filter(|database| self.access.sees_database(&database.name))
    }

    /// The databases of system views.
    pub(crate) fn computed_databases(&self) -> impl Iterator<Item = &str> {
        let sees = |name: &&str| self.access.sees_database(name);
        DATABASES.into_iter().filter(sees)
    }

    /// The stored tables of a database, by name.
    pub(crate) fn tables_of<'v>(&'v self, database: &str) -> impl Iterator<Item = &'v Arc<TableDef>> {
        self.catalog.tables(database).filter(|table| self.sees(&table.database, &table.name))
    }

    /// The views of a database, by name.
    pub(crate) fn views_of<'v>(&'v self, database: &str) -> impl Iterator<Item = &'v Arc<ViewDef>> {
        self.catalog.views(database).filter(|view| self.sees(&view.database, &view.name))
    }

    /// The system views of a database.
    pub(crate) fn computed_of(&self, database: &str) -> impl Iterator<Item = &'static Definition> {
        tables_of(database).filter(|table| self.sees(table.database, table.name))
    }

    /// All stored tables, by database and name.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.databases().flat_map(|database| self.tables_of(&database.name))
    }

    /// All views, by database and name.
    pub(crate) fn views(&self) -> impl Iterator<Item = &Arc<ViewDef>> {
        self.databases().flat_map(|database| self.views_of(&database.name))
    }

    /// All system views, by database and name.
    pub(crate) fn computed(&self) -> impl Iterator<Item = &'static Definition> {
        TABLES.iter().filter(|table| self.sees(table.database, table.name))
    }

    /// The stored table of this name.
    pub(crate) fn table(&self, database: &str, name: &str) -> Option<&Arc<TableDef>> {
        self.catalog.table(database, name).filter(|_| self.sees(database, name))
    }

    fn sees(&self, database: &str, name: &str) -> bool {
        self.access.sees_table(database, name)
    }

    /// The connections: all of them with PROCESS, otherwise the ones of the session's user.
    pub(crate) fn connections(&self) -> Vec<Arc<SessionEntry>> {
        let access = self.access;
        let mut all = self.instance.sessions();
        if !access.on_everything().has(Privilege::Process) {
            let AccountId { user, .. } = access.account();
            all.retain(|entry| entry.account.as_ref().is_some_and(|account| account.user == user));
        }
        all
    }
}
