//! Tables that only who has made them knows: temporary ones, and those that are filled before others are to see them.
//!
//! A private table has trees, locks, versions and a number like any other, and is written by the same transactions. But it is not in
//! the catalog's tree, and no name leads to it: who has made it keeps its definition. Making, changing and dropping one is no commit, and
//! needs no sync. The next open finds segments that the catalog does not name, and frees them: so a private table is gone
//! with the process, whatever that ended by. [Publishing](Engine::publish_table) is one commit of the catalog, after which it is a table
//! with all its rows.

use crate::alter::check_free;
use crate::catalog::{Side, TableDef, TableId, TableSpec, check_as_parent, keys_of};
use crate::ddl;
use crate::ddl::Ddl;
use crate::ddl::{CatalogChange, NewTrees};
use crate::error::{Result, TableError};
use crate::txn::op::CounterChange;
use leafline_types::MysqlError;
use std::sync::Arc;

impl Ddl {
    /// Makes a private table without rows.
    ///
    /// # Errors
    /// 1049 if the database is not there, 1215 if it has foreign keys, the errors of [`TableSpec`]'s rules, what the store returns.
    pub fn create_private_table(&self, spec: &TableSpec) -> Result<Arc<TableDef>> {
        let _ddl = self.core.ddl.lock();
        if self.core.catalog().database(&spec.database).is_none() {
            return Err(MysqlError::unknown_database(&spec.database).into());
        }
        if !spec.foreign_keys.is_empty() {
            return Err(MysqlError::cannot_add_foreign_key().into());
        }
        let mut new = NewTrees::new(&self.core);
        let (table, overflow, counters) = ddl::empty_table(&self.core, spec, true, &mut new)?;
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
    /// `DefinitionChanged` if it is not there any more.
    pub fn private_table(&self, id: TableId) -> Result<Arc<TableDef>> {
        let table = self.core.catalog().table_by_id(id).cloned();
        table.filter(|table| table.is_private).ok_or(TableError::DefinitionChanged)
    }

    /// Drops private tables; those that are not there are passed over.
    ///
    /// # Errors
    /// What the store returns.
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

    /// Puts an empty private table in the place of one. Returns its definition.
    ///
    /// # Errors
    /// What the store returns.
    pub fn truncate_private_table(&self, table: &Arc<TableDef>) -> Result<Arc<TableDef>> {
        let _ddl = self.core.ddl.lock();
        let id = ddl::replace_by_empty(&self.core, &self.private_table(table.id)?)?;
        self.private_table(id)
    }

    /// Makes a private table one that everybody knows, under the name it has, with the rows that are committed. Returns when that is
    /// durable.
    ///
    /// # Errors
    /// 1050 if a table or view of that name is there, 1049 if the database is not, 3734, 3780, 3733 and 1822 (unless `unchecked`) if
    /// foreign keys refer to that name and it is not what they need; what the store returns.
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

    /// A private table as it is to be, and what no commit may have said of its counters.
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
