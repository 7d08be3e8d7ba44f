//! The catalog in memory: one immutable value, found by name or number.

use super::definition::{TableDef, TableId};
use super::foreign_key::ForeignKeyDef;
use super::view::ViewDef;
use leafline_types::Collation;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DatabaseDef {
    /// Number, never reused.
    pub id: u64,
    /// Name.
    pub name: String,
    /// What its tables compare by unless they say otherwise.
    pub collation: Collation,
}

/// All databases and tables at one moment. Names are compared as they are (as MySQL does on Linux). Tables of overflow values, partitions
/// and private tables are found by number only.
#[derive(Clone, Default, Debug)]
pub struct Catalog {
    databases: BTreeMap<String, Arc<DatabaseDef>>,
    tables: BTreeMap<String, BTreeMap<String, Arc<TableDef>>>,
    by_id: BTreeMap<TableId, Arc<TableDef>>,
    views: BTreeMap<String, BTreeMap<String, Arc<ViewDef>>>,
    /// How often definitions have changed that others can know.
    version: u64,
    /// By database and name of a table, which need not exist: the tables with foreign keys that refer to it.
    referring: BTreeMap<String, BTreeMap<String, BTreeSet<TableId>>>,
}

impl Catalog {
    pub(crate) fn new(databases: Vec<DatabaseDef>, tables: Vec<Arc<TableDef>>) -> Catalog {
        let mut catalog = Catalog::default();
        for database in databases {
            catalog.put_database(Arc::new(database));
        }
        for table in tables {
            catalog.put_table(table);
        }
        catalog
    }

    /// Two states of one catalog with the same version define alike whatever can be found by name.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Notes that something can be found, or not any more, that could not, or could.
    pub(crate) fn note_change(&mut self) {
        self.version += 1;
    }

    /// The database of that name.
    pub fn database(&self, name: &str) -> Option<&Arc<DatabaseDef>> {
        self.databases.get(name)
    }

    /// All databases, by name.
    pub fn databases(&self) -> impl Iterator<Item = &Arc<DatabaseDef>> {
        self.databases.values()
    }

    /// The table of that name.
    pub fn table(&self, database: &str, name: &str) -> Option<&Arc<TableDef>> {
        self.tables.get(database)?.get(name)
    }

    /// The table with that number.
    pub fn table_by_id(&self, id: TableId) -> Option<&Arc<TableDef>> {
        self.by_id.get(&id)
    }

    /// The tables of a database, by name.
    pub fn tables(&self, database: &str) -> impl Iterator<Item = &Arc<TableDef>> {
        self.tables.get(database).into_iter().flat_map(BTreeMap::values)
    }

    /// All tables, those of overflow values and partitions too, by number.
    pub fn all_tables(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.by_id.values()
    }

    /// The view of that name.
    pub fn view(&self, database: &str, name: &str) -> Option<&Arc<ViewDef>> {
        self.views.get(database)?.get(name)
    }

    /// The views of a database, by name.
    pub fn views(&self, database: &str) -> impl Iterator<Item = &Arc<ViewDef>> {
        self.views.get(database).into_iter().flat_map(BTreeMap::values)
    }

    pub(crate) fn put_view(&mut self, view: Arc<ViewDef>) {
        self.views.entry(view.database.clone()).or_default().insert(view.name.clone(), view);
    }

    pub(crate) fn remove_view(&mut self, view: &ViewDef) {
        if let Some(views) = self.views.get_mut(&view.database) {
            views.remove(&view.name);
        }
    }

    /// The foreign keys that refer to the table of that name, each with the table that has it.
    pub fn references(
        &self,
        database: &str,
        name: &str,
    ) -> impl Iterator<Item = (&Arc<TableDef>, &ForeignKeyDef)> {
        let referring = self.referring.get(database).and_then(|tables| tables.get(name));
        let children = referring.into_iter().flatten().filter_map(|id| self.by_id.get(id));
        children.flat_map(move |child| {
            let keys = child.foreign_keys.iter();
            let keys: Vec<_> = keys.filter(|key| key.refers_to(database, name)).collect();
            keys.into_iter().map(move |key| (child, key))
        })
    }

    pub(crate) fn put_database(&mut self, database: Arc<DatabaseDef>) {
        self.databases.insert(database.name.clone(), database);
    }

    pub(crate) fn remove_database(&mut self, name: &str) {
        self.databases.remove(name);
        self.views.remove(name);
        for table in self.tables.remove(name).into_iter().flat_map(BTreeMap::into_values) {
            self.forget(&table);
        }
    }

    /// Puts a table in, in the place of the one with its number, whatever that is called.
    pub(crate) fn put_table(&mut self, table: Arc<TableDef>) {
        if let Some(replaced) = self.by_id.get(&table.id).cloned() {
            self.remove_table(&replaced);
        }
        if table.is_named() {
            self.tables.entry(table.database.clone()).or_default().insert(table.name.clone(), table.clone());
        }
        for key in &table.foreign_keys {
            let of_database = self.referring.entry(key.parent_database.clone()).or_default();
            of_database.entry(key.parent_table.clone()).or_default().insert(table.id);
        }
        self.by_id.insert(table.id, table);
    }

    pub(crate) fn remove_table(&mut self, table: &TableDef) {
        // While tables change names, another may have it already.
        if let Some(tables) = self.tables.get_mut(&table.database)
            && tables.get(&table.name).is_some_and(|named| named.id == table.id)
        {
            tables.remove(&table.name);
        }
        self.forget(table);
    }

    fn forget(&mut self, table: &TableDef) {
        self.by_id.remove(&table.id);
        for key in &table.foreign_keys {
            let tables = self.referring.get_mut(&key.parent_database);
            if let Some(children) = tables.and_then(|tables| tables.get_mut(&key.parent_table)) {
                children.remove(&table.id);
            }
        }
    }
}
