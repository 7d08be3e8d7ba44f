//! The catalog in memory: one immutable value, in which objects are found by name or number.

use super::definition::{ForeignKeyDef, TableDef, TableId};
use super::program::ProgramDef;
use super::view::ViewDef;
use leafline_types::Collation;
use leafline_types::words::ProgramKind;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DatabaseDef {
    /// Its number, never reused.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The default collation of its tables.
    pub collation: Collation,
}

/// All databases and tables at one moment. Names are compared exactly, as MySQL does on Linux. Overflow
/// tables, partitions and private tables are found by number only.
#[derive(Clone, Default, Debug)]
pub struct Catalog {
    databases: BTreeMap<String, Arc<DatabaseDef>>,
    tables: BTreeMap<String, BTreeMap<String, Arc<TableDef>>>,
    by_id: BTreeMap<TableId, Arc<TableDef>>,
    views: BTreeMap<String, BTreeMap<String, Arc<ViewDef>>>,
    /// Stored programs by database, kind and folded name.
    programs: BTreeMap<String, BTreeMap<(ProgramKind, String), Arc<ProgramDef>>>,
    /// The number of changes to definitions that sessions can find.
    version: u64,
    /// The tables with foreign keys, by the database and name of the table that they refer to, which need
    /// not exist.
    referring: BTreeMap<String, BTreeMap<String, BTreeSet<TableId>>>,
}

fn program_key(kind: ProgramKind, name: &str) -> (ProgramKind, String) {
    let name = if kind == ProgramKind::Trigger { name.to_owned() } else { name.to_lowercase() };
    (kind, name)
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

    /// The version. Two states of one catalog with the same version agree in every definition that can be
    /// found by name, except for the times at which events ran last.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Notes a change to definitions that sessions can find.
    pub(crate) fn note_change(&mut self) {
        self.version += 1;
    }

    /// The database with this name.
    pub fn database(&self, name: &str) -> Option<&Arc<DatabaseDef>> {
        self.databases.get(name)
    }

    /// All databases, by name.
    pub fn databases(&self) -> impl Iterator<Item = &Arc<DatabaseDef>> {
        self.databases.values()
    }

    /// The table with this name.
    pub fn table(&self, database: &str, name: &str) -> Option<&Arc<TableDef>> {
        self.tables.get(database)?.get(name)
    }

    /// The table with this number.
    pub fn table_by_id(&self, id: TableId) -> Option<&Arc<TableDef>> {
        self.by_id.get(&id)
    }

    /// The tables of a database, by name.
    pub fn tables(&self, database: &str) -> impl Iterator<Item = &Arc<TableDef>> {
        self.tables.get(database).into_iter().flat_map(BTreeMap::values)
    }

    /// All tables by number, including overflow tables and partitions.
    pub fn all_tables(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.by_id.values()
    }

    /// The view with this name.
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

    /// The program with this kind and name. Names of triggers are compared exactly, those of other programs without
    /// regard to case.
    pub fn program(&self, kind: ProgramKind, database: &str, name: &str) -> Option<&Arc<ProgramDef>> {
        self.programs.get(database)?.get(&program_key(kind, name))
    }

    /// The programs of a database, by kind and name.
    pub fn programs_of(&self, database: &str) -> impl Iterator<Item = &Arc<ProgramDef>> {
        self.programs.get(database).into_iter().flat_map(BTreeMap::values)
    }

    /// All programs, by database, kind and name.
    pub fn programs(&self) -> impl Iterator<Item = &Arc<ProgramDef>> {
        self.programs.values().flat_map(BTreeMap::values)
    }

    /// The triggers of a table: those that fire before a change first, by the change, and in the order in which they
    /// fire.
    pub fn triggers_of(&self, database: &str, table: &str) -> Vec<Arc<ProgramDef>> {
        let of_table = |program: &&Arc<ProgramDef>| program.trigger().is_some_and(|own| own.table == table);
        let mut triggers: Vec<Arc<ProgramDef>> =
            self.programs_of(database).filter(of_table).cloned().collect();
        triggers.sort_by_key(|program| program.trigger().map(|own| (own.time, own.event, own.order)));
        triggers
    }

    /// Whether a table has triggers.
    pub fn has_triggers(&self, database: &str, table: &str) -> bool {
        self.programs_of(database).any(|program| program.trigger().is_some_and(|own| own.table == table))
    }

    pub(crate) fn put_program(&mut self, program: Arc<ProgramDef>) {
        let key = program_key(program.kind, &program.name);
        self.programs.entry(program.database.clone()).or_default().insert(key, program);
    }

    pub(crate) fn remove_program(&mut self, program: &ProgramDef) {
        if let Some(programs) = self.programs.get_mut(&program.database) {
            programs.remove(&program_key(program.kind, &program.name));
        }
    }

    /// The foreign keys that refer to the table with this name, each with its own table.
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
        self.programs.remove(name);
        for table in self.tables.remove(name).into_iter().flat_map(BTreeMap::into_values) {
            self.forget(&table);
        }
    }

    /// Adds a table. It replaces the table with its number, whatever that one is called.
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
        // While tables exchange names, another table may already have this one's name.
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
