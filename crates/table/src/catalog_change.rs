//! A change of the catalog, and how partitions and overflow tables follow their tables through it.

use crate::catalog::{Catalog, DatabaseDef, ProgramAttributes, ProgramDef, TableDef, TableId, ViewDef};
use crate::error::Result;
use crate::op::CounterChange;
use leafline_types::MysqlError;
use std::sync::Arc;

/// A change of the catalog.
#[derive(Default)]
pub(crate) struct CatalogChange {
    pub(crate) put_databases: Vec<Arc<DatabaseDef>>,
    pub(crate) remove_databases: Vec<Arc<DatabaseDef>>,
    /// The new definitions of tables; `valid_from` of new trees is not set yet.
    pub(crate) put_tables: Vec<TableDef>,
    pub(crate) remove_tables: Vec<Arc<TableDef>>,
    pub(crate) put_views: Vec<Arc<ViewDef>>,
    pub(crate) remove_views: Vec<Arc<ViewDef>>,
    pub(crate) put_programs: Vec<Arc<ProgramDef>>,
    pub(crate) remove_programs: Vec<Arc<ProgramDef>>,
    pub(crate) counters: Vec<CounterChange>,
    /// Whether nothing changes that a plan could depend on, only the times at which events ran. The catalog keeps its
    /// version then, and the change becomes durable with a later commit.
    pub(crate) is_note: bool,
}

impl CatalogChange {
    /// Returns whether it concerns only private tables, so that it is not written to the catalog.
    pub(crate) fn is_private(&self) -> bool {
        self.put_databases.is_empty()
            && self.remove_databases.is_empty()
            && self.put_views.is_empty()
            && self.remove_views.is_empty()
            && self.put_programs.is_empty()
            && self.remove_programs.is_empty()
            && self.put_tables.iter().all(|table| table.is_private)
            && self.remove_tables.iter().all(|table| table.is_private)
    }

    /// Adds and removes partitions as the definitions of their tables require.
    pub(crate) fn follow_partitions(&mut self, before: &Catalog) {
        let partitions = |table: &TableDef| {
            let all = table.partitioning.iter().flat_map(|partitioning| partitioning.partitions.iter());
            all.map(|partition| partition.table.clone()).collect::<Vec<_>>()
        };
        let mut put: Vec<TableId> = self.put_tables.iter().map(|table| table.id).collect();
        let mut new = Vec::new();
        for table in self.put_tables.iter().flat_map(partitions) {
            let is_known = before.table_by_id(table.id).is_some_and(|known| Arc::ptr_eq(known, &table));
            if !put.contains(&table.id) {
                put.push(table.id);
                if !is_known {
                    new.push((*table).clone());
                }
            }
        }
        let replaced = self.put_tables.iter().filter_map(|table| before.table_by_id(table.id));
        let gone = replaced.chain(&self.remove_tables).flat_map(|table| partitions(table));
        let gone: Vec<Arc<TableDef>> = gone.filter(|table| !put.contains(&table.id)).collect();
        self.put_tables.extend(new);
        for table in gone {
            // The definition in force.
            let table = before.table_by_id(table.id).expect("partitions of a table that is there are there");
            if !self.remove_tables.iter().any(|removed| removed.id == table.id) {
                self.remove_tables.push(table.clone());
            }
        }
    }

    /// Makes overflow tables follow their tables: renames and drops them together.
    pub(crate) fn follow_overflow(&mut self, before: &Catalog) {
        let overflow_of = |table: &TableDef| table.overflow.and_then(|id| before.table_by_id(id)).cloned();
        for table in self.put_tables.clone() {
            let Some(overflow) = overflow_of(&table) else { continue };
            let is_put = self.put_tables.iter().any(|put| put.id == overflow.id);
            if !is_put && (&overflow.database, &overflow.name) != (&table.database, &table.name) {
                let mut moved = (*overflow).clone();
                (moved.database, moved.name) = (table.database.clone(), table.name.clone());
                self.put_tables.push(moved);
            }
        }
        let kept: Vec<TableId> = self.put_tables.iter().filter_map(|table| table.overflow).collect();
        let removed = self.remove_tables.iter().filter_map(|table| overflow_of(table));
        let gone: Vec<Arc<TableDef>> = removed.filter(|overflow| !kept.contains(&overflow.id)).collect();
        for overflow in gone {
            if !self.remove_tables.iter().any(|table| table.id == overflow.id) {
                self.remove_tables.push(overflow);
            }
        }
    }

    /// Makes triggers follow their tables: renames and drops them together.
    ///
    /// # Errors
    /// 1435 if a table with triggers would change its database.
    pub(crate) fn follow_triggers(&mut self, before: &Catalog) -> Result<()> {
        let is_found = |table: &TableDef| table.is_named() && !table.is_private;
        let names =
            |one: &TableDef, other: &TableDef| (&one.database, &one.name) == (&other.database, &other.name);
        let put = || self.put_tables.iter().filter(|table| is_found(table));
        // A rebuilt table has a new number.
        let is_new = |table: &TableDef| before.table_by_id(table.id).is_none();
        let renamed = put().filter_map(|table| Some((before.table_by_id(table.id)?, Some(table))));
        let removed = self.remove_tables.iter().map(|table| {
            let same = put().find(|put| names(put, table));
            (table, same.or_else(|| put().find(|put| is_new(put))))
        });
        let (mut gone, mut moved) = (Vec::new(), Vec::new());
        for (old, new) in renamed.chain(removed).filter(|(old, _)| is_found(old)) {
            if new.is_some_and(|new| names(old, new)) {
                continue;
            }
            for trigger in before.triggers_of(&old.database, &old.name) {
                if let Some(new) = new {
                    if new.database != old.database {
                        return Err(MysqlError::trigger_in_wrong_schema().into());
                    }
                    let mut changed = (*trigger).clone();
                    if let ProgramAttributes::Trigger(attributes) = &mut changed.attributes {
                        attributes.table.clone_from(&new.name);
                    }
                    moved.push(Arc::new(changed));
                }
                gone.push(trigger);
            }
        }
        // A dropped database names all its programs.
        gone.retain(|trigger| !self.remove_programs.iter().any(|removed| removed.id == trigger.id));
        self.remove_programs.extend(gone);
        self.put_programs.extend(moved);
        Ok(())
    }
}

/// Updates the definitions of partitions inside their tables in `catalog`, for every table that a change
/// concerns.
pub(crate) fn link_partitions(catalog: &mut Catalog, change: &CatalogChange) {
    let mut linked: Vec<TableId> = Vec::new();
    for table in &change.put_tables {
        linked.extend(if table.is_partitioned() { Some(table.id) } else { table.partition_of });
    }
    linked.sort_unstable();
    linked.dedup();
    for id in linked {
        let Some(table) = catalog.table_by_id(id).cloned() else { continue };
        let current = |table: &Arc<TableDef>| catalog.table_by_id(table.id).unwrap_or(table).clone();
        let partitioning = table.partitioning.as_ref().map(|all| all.map_tables(current));
        catalog.put_table(Arc::new(TableDef { partitioning, ..(*table).clone() }));
    }
}
