//! Private tables, which only their maker knows: temporary tables, and tables that are filled before others
//! may see them.
//!
//! A private table has trees, locks, versions and a number like any other, and is written by the same
//! transactions. But the catalog's tree does not contain it, and no name leads to it: its maker keeps its
//! definition. Making, changing and dropping a private table is not a commit and needs no sync. When the
//! database is opened the next time, it frees the segments that the catalog does not name. A private table
//! thus disappears with the process, however that ends. [Publishing](Engine::publish_table) is one commit
//! of the catalog, which makes it a table with all its rows.
//! with all its rows.

use crate::alter::check_free;
use crate::catalog::{Side, TableDef, TableId, TableSpec, check_as_parent, keys_of};
use crate::catalog_change::CatalogChange;
use crate::ddl;
use crate::ddl::Ddl;
use crate::error::{Result, TableError};
use crate::new_table;
use crate::new_table::NewTrees;
use crate::op::CounterChange;
use leafline_types::MysqlError;
use std::sync::Arc;

impl Ddl {
    /// Makes an empty private table.
    ///
    /// # Errors
    /// 1049 if the database does not exist, 1215 if it has foreign keys, the errors of [`TableSpec`]'s
    /// rules, errors of the store.
    pub fn create_private_table(&self, spec: &TableSpec) -> Result<Arc<TableDef>> {
        let _ddl = self.core.ddl.lock();
        if self.core.catalog().database(&spec.database).is_none() {
            return Err(MysqlError::unknown_database(&spec.database).into());
        }
        if !spec.foreign_keys.is_empty() {
            return Err(MysqlError::cannot_add_foreign_key().into());
        }
        let mut new = NewTrees::new(&self.core);
        let (table, overflow, counters) = new_table::empty_table(&self.core, spec, true, &mut new)?;
        let id = table.id;
        ddl::change_catalog(
            &self.core,
            CatalogChange {
                put_tables: [table].into_iter().chain(overflow).collect(),
                counters: vec![counters],
                ..CatalogChange::default()
            },
        )?;
        new.keep();
        self.private_table(id)
    }

    /// The definition in force of a private table.
    ///
    /// # Errors
    /// `DefinitionChanged` if the table does not exist any more.
    pub fn private_table(&self, id: TableId) -> Result<Arc<TableDef>> {
        let table = self.core.catalog().table_by_id(id).cloned();
        table.filter(|table| table.is_private).ok_or(TableError::DefinitionChanged)
    }

    /// Drops private tables; tables that do not exist are skipped.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn drop_private_tables(&self, tables: &[TableId]) -> Result<()> {
        let _ddl = self.core.ddl.lock();
        let remove_tables: Vec<Arc<TableDef>> =
            tables.iter().filter_map(|id| self.private_table(*id).ok()).collect();
        if remove_tables.is_empty() {
            return Ok(());
        }
        let closed = ddl::close_gates(&self.core, &remove_tables);
        ddl::change_catalog(&self.core, CatalogChange { remove_tables, ..CatalogChange::default() })?;
        drop(closed);
        ddl::after_drop(&self.core)
    }

    /// Replaces a private table with an empty one. Returns its definition.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn truncate_private_table(&self, table: &Arc<TableDef>) -> Result<Arc<TableDef>> {
        let _ddl = self.core.ddl.lock();
        let id = ddl::replace_by_empty(&self.core, &self.private_table(table.id)?)?;
        self.private_table(id)
    }

    /// Publishes a private table under its name, with its committed rows. Returns when that is durable.
    ///
    /// # Errors
    /// 1050 if a table or view with that name exists, 1049 if the database does not exist, 3734, 3780, 3733
    /// and 1822 (unless `unchecked`) if foreign keys refer to that name and the table does not satisfy
    /// them; errors of the store.
    pub fn publish_table(&self, table: &Arc<TableDef>, unchecked: bool) -> Result<()> {
        let _ddl = self.core.ddl.lock();
        let catalog = self.core.catalog();
        let table = self.private_table(table.id)?;
        check_free(&catalog, &table.database, &table.name)?;
        let keys = keys_of(&table.indexes);
        let side = Side { table: &table.name, columns: &table.columns, keys: &keys };
        check_as_parent(&catalog, &table.database, &side, unchecked)?;
        let closed = self.core.gates.close(table.id);
        let overflow = |table: &Arc<TableDef>| table.overflow.and_then(|id| catalog.table_by_id(id)).cloned();
        let parts = table.partitioning.iter().flat_map(|all| all.partitions.iter());
        let parts: Vec<Arc<TableDef>> = parts.map(|partition| partition.table.clone()).collect();
        let overflow: Vec<Arc<TableDef>> =
            std::iter::once(&table).chain(&parts).filter_map(overflow).collect();
        let all = [table].into_iter().chain(parts).chain(overflow);
        let (put_tables, counters) = all.map(|table| self.public(&table)).unzip();
        ddl::change_catalog(&self.core, CatalogChange { put_tables, counters, ..CatalogChange::default() })?;
        drop(closed);
        Ok(())
    }

    /// The public definition of a private table, and the counters that no commit may have recorded.
    fn public(&self, table: &TableDef) -> (TableDef, CounterChange) {
        let counters = CounterChange {
            table: table.id,
            rows: 0,
            next_row_id: self.core.counters.next_row_id(table.id),
            next_auto_increment: self.core.counters.next_auto_increment(table.id),
        };
        (TableDef { is_private: false, ..table.clone() }, counters)
    }
}
