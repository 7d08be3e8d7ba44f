//! The catalog in memory: one immutable value, found by name or number.

use super::definition::{TableDef, TableId};
use leafline_types::Collation;
use std::collections::BTreeMap;
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

/// All databases and tables at one moment. Names are compared as they are (as MySQL does on Linux).
#[derive(Clone, Default, Debug)]
pub struct Catalog {
    databases: BTreeMap<String, Arc<DatabaseDef>>,
    tables: BTreeMap<String, BTreeMap<String, Arc<TableDef>>>,
    by_id: BTreeMap<TableId, Arc<TableDef>>,
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

    /// All tables, by number.
    pub fn all_tables(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.by_id.values()
    }

    pub(crate) fn put_database(&mut self, database: Arc<DatabaseDef>) {
        self.databases.insert(database.name.clone(), database);
    }

    pub(crate) fn remove_database(&mut self, name: &str) {
        self.databases.remove(name);
        self.tables.remove(name);
        self.by_id.retain(|_, table| table.database != name);
    }

    pub(crate) fn put_table(&mut self, table: Arc<TableDef>) {
        self.tables.entry(table.database.clone()).or_default().insert(table.name.clone(), table.clone());
        self.by_id.insert(table.id, table);
    }

    pub(crate) fn remove_table(&mut self, table: &TableDef) {
        if let Some(tables) = self.tables.get_mut(&table.database) {
            tables.remove(&table.name);
        }
        self.by_id.remove(&table.id);
    }
}
