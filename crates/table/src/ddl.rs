//! DDL: changing the catalog, atomically and durably.
//!
//! A statement makes the trees it needs (state `Building`, then `Live`), commits the change of the catalog's rows
//! like any transaction, and publishes the new definitions in the same step. A crash before the commit leaves
//! segments that the catalog does not name, which the next open frees; a failure frees them at once. Trees that a
//! statement removes from the catalog are retired, and freed when nobody reads them any more.

use crate::catalog::{
    Catalog, CatalogRow, DatabaseDef, Side, TableDef, TableId, TableSpec, check_as_parent, check_name,
    keys_of, resolve_foreign_keys,
};
use crate::catalog_change::{CatalogChange, link_partitions};
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::gates::Closed;
use crate::new_table::{NewTrees, emptied, empty_table};
use crate::op::{CounterChange, Op};
use crate::txn::{CommitPlan, commit_plan, purge};
use leafline_btree::CommitTs;
use leafline_storage::SegmentId;
use leafline_types::{Collation, MysqlError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Error 3730 if a foreign key of a table that is not in `dropped` refers to a table in it.
fn check_not_referred_to(catalog: &Catalog, dropped: &[Arc<TableDef>]) -> Result<()> {
    for table in dropped {
        let mut keys = catalog.references(&table.database, &table.name);
        if let Some((child, key)) = keys.find(|(child, _)| !dropped.iter().any(|other| other.id == child.id))
        {
            let error = MysqlError::fk_cannot_drop_parent(&table.name, &key.name, &child.name);
            return Err(TableError::referred_to(error, &child.database, &child.name));
        }
    }
    Ok(())
}

/// Changes definitions: databases and tables in this file, alterations in `alter`, views in `views`, stored
/// programs in `programs`, private tables
/// in `private`, partitions in `partition`, histograms in `histograms`, bulk loads in `build`.
#[derive(Clone)]
pub struct Ddl {
    pub(crate) core: Arc<Core>,
}

impl Ddl {
    pub(crate) fn new(core: &Arc<Core>) -> Ddl {
        Ddl { core: core.clone() }
    }

    /// Creates a database with a default collation for its tables. Returns false if it exists already and
    /// `if_not_exists`.
    ///
    /// # Errors
    /// 1007 if it exists, 1102 for an invalid name, errors of the store.
    pub fn create_database(&self, name: &str, collation: Collation, if_not_exists: bool) -> Result<bool> {
        let _ddl = self.core.ddl.lock();
        check_name(name, |name| MysqlError::wrong_database_name(name))?;
        if self.core.catalog().database(name).is_some() {
            return if if_not_exists { Ok(false) } else { Err(MysqlError::database_exists(name).into()) };
        }
        let database = DatabaseDef { id: self.core.counters.new_object(), name: name.into(), collation };
        change_catalog(
            &self.core,
            CatalogChange { put_databases: vec![Arc::new(database)], ..Default::default() },
        )?;
        Ok(true)
    }

    /// Changes the default collation of a database, for tables that are created from now on.
    ///
    /// # Errors
    /// 1049 if it does not exist, errors of the store.
    pub fn alter_database(&self, name: &str, collation: Collation) -> Result<()> {
        let _ddl = self.core.ddl.lock();
        let catalog = self.core.catalog();
        let database = catalog.database(name).ok_or_else(|| MysqlError::unknown_database(name))?;
        let database = Arc::new(DatabaseDef { collation, ..(**database).clone() });
        change_catalog(&self.core, CatalogChange { put_databases: vec![database], ..Default::default() })
    }

    /// Drops a database with its tables. Returns the number of tables; `None` if the database does not exist and
    /// `if_exists`.
    ///
    /// # Errors
    /// 1008 if it does not exist, 3730 if a foreign key of another database refers to one of its tables, unless
    /// `unchecked`; errors of the store.
    pub fn drop_database(&self, name: &str, if_exists: bool, unchecked: bool) -> Result<Option<usize>> {
        let _ddl = self.core.ddl.lock();
        let catalog = self.core.catalog();
        let Some(database) = catalog.database(name) else {
            return if if_exists { Ok(None) } else { Err(MysqlError::no_database_to_drop(name).into()) };
        };
        let tables: Vec<Arc<TableDef>> = catalog.tables(name).cloned().collect();
        if !unchecked {
            check_not_referred_to(&catalog, &tables)?;
        }
        let closed = close_gates(&self.core, &tables);
        let count = tables.len();
        change_catalog(
            &self.core,
            CatalogChange {
                remove_databases: vec![database.clone()],
                remove_views: catalog.views(name).cloned().collect(),
                remove_programs: catalog.programs_of(name).cloned().collect(),
                remove_tables: tables,
                ..CatalogChange::default()
            },
        )?;
        drop(closed);
        after_drop(&self.core)?;
        Ok(Some(count))
    }

    /// Creates a table. Returns false if it exists already and `if_not_exists`.
    ///
    /// # Errors
    /// 1050 if it exists, 1049 if the database does not exist, the errors of [`TableSpec`]'s rules (1060, 1061, 1068,
    /// 1071, 1072, 1075, 1118 and others), errors of foreign keys (1822, 1824, 3780 and others), errors of the store.
    pub fn create_table(&self, spec: &TableSpec, if_not_exists: bool) -> Result<bool> {
        let _ddl = self.core.ddl.lock();
        let catalog = self.core.catalog();
        if catalog.database(&spec.database).is_none() {
            return Err(MysqlError::unknown_database(&spec.database).into());
        }
        let is_view = catalog.view(&spec.database, &spec.name).is_some();
        if is_view || catalog.table(&spec.database, &spec.name).is_some() {
            return if if_not_exists { Ok(false) } else { Err(MysqlError::table_exists(&spec.name).into()) };
        }
        let is_parent = catalog.references(&spec.database, &spec.name).next().is_some();
        if spec.partitioning.is_some() && is_parent {
            return Err(MysqlError::foreign_key_on_partitioned().into());
        }
        let mut new = NewTrees::new(&self.core);
        let (mut table, overflow, counters) = empty_table(&self.core, spec, false, &mut new)?;
        let keys = keys_of(&table.indexes);
        let side = Side { table: &table.name, columns: &table.columns, keys: &keys };
        let unchecked = spec.unchecked_references;
        let foreign = resolve_foreign_keys(
            &catalog,
            (&spec.database, None),
            &side,
            &[],
            &spec.foreign_keys,
            unchecked,
        )?;
        check_as_parent(&catalog, &spec.database, &side, unchecked)?;
        table.foreign_keys = foreign;
        change_catalog(
            &self.core,
            CatalogChange {
                put_tables: [table].into_iter().chain(overflow).collect(),
                counters: vec![counters],
                ..CatalogChange::default()
            },
        )?;
        new.keep();
        Ok(true)
    }

    /// Drops a table. Returns false if it does not exist and `if_exists`.
    ///
    /// # Errors
    /// The errors of [`drop_tables`](Self::drop_tables).
    pub fn drop_table(&self, database: &str, name: &str, if_exists: bool) -> Result<bool> {
        Ok(self.drop_tables(&[(database, name)], if_exists, false)?.is_empty())
    }

    /// Drops tables, all or none. With `if_exists`, returns the tables that do not exist, written `database.table`.
    ///
    /// # Errors
    /// 1051 if one does not exist, 3730 if a foreign key of another table refers to one, unless `unchecked`; errors
    /// of the store.
    pub fn drop_tables(
        &self,
        tables: &[(&str, &str)],
        if_exists: bool,
        unchecked: bool,
    ) -> Result<Vec<String>> {
        let _ddl = self.core.ddl.lock();
        let catalog = self.core.catalog();
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for (database, name) in tables {
            match catalog.table(database, name) {
                Some(table) => found.push(table.clone()),
                None => missing.push(format!("{database}.{name}")),
            }
        }
        if !missing.is_empty() && !if_exists {
            return Err(MysqlError::unknown_table(missing.join(",")).into());
        }
        if found.is_empty() {
            return Ok(missing);
        }
        found.sort_by_key(|table| table.id);
        found.dedup_by_key(|table| table.id);
        if !unchecked {
            check_not_referred_to(&catalog, &found)?;
        }
        let closed = close_gates(&self.core, &found);
        change_catalog(&self.core, CatalogChange { remove_tables: found, ..CatalogChange::default() })?;
        drop(closed);
        after_drop(&self.core)?;
        Ok(missing)
    }

    /// Replaces a table with an empty one of the same definition, whose AUTO_INCREMENT values start again.
    ///
    /// # Errors
    /// 1049, 1146, 1701 if a foreign key of another table refers to it, unless `unchecked`; errors of the store.
    pub fn truncate_table(&self, database: &str, name: &str, unchecked: bool) -> Result<()> {
        let _ddl = self.core.ddl.lock();
        let table = self.core.table(database, name)?;
        let catalog = self.core.catalog();
        let mut children = catalog.references(database, name);
        if let Some((child, key)) = children.find(|(child, _)| child.id != table.id && !unchecked) {
            let error = MysqlError::truncate_of_parent(&child.database, &child.name, &key.name);
            return Err(TableError::referred_to(error, &child.database, &child.name));
        }
        replace_by_empty(&self.core, &table)?;
        Ok(())
    }
}

/// Replaces `table` with an empty one of the same definition. Returns its number.
pub(crate) fn replace_by_empty(core: &Core, table: &Arc<TableDef>) -> Result<TableId> {
    let closed = close_gates(core, std::slice::from_ref(table));
    let mut new = NewTrees::new(core);
    let (mut empty, mut overflow) = emptied(core, table, &mut new)?;
    let id = empty.id;
    if let Some(partitioning) = &table.partitioning {
        let tables = partitioning.partitions.iter().map(|partition| {
            let (emptied, values) = emptied(core, &partition.table, &mut new)?;
            overflow.extend(values);
            Ok(TableDef { partition_of: Some(id), ..emptied })
        });
        let tables = tables.collect::<Result<Vec<_>>>()?;
        empty.partitioning = Some(partitioning.with_tables(tables));
    }
    let counters = CounterChange { table: id, next_auto_increment: 1, ..CounterChange::default() };
    change_catalog(
        core,
        CatalogChange {
            remove_tables: vec![table.clone()],
            put_tables: [empty].into_iter().chain(overflow).collect(),
            counters: vec![counters],
            ..CatalogChange::default()
        },
    )?;
    new.keep();
    drop(closed);
    after_drop(core)?;
    Ok(id)
}

/// Excludes commits from tables and their partitions.
pub(crate) fn close_gates<'c>(core: &'c Core, tables: &[Arc<TableDef>]) -> Vec<Closed<'c>> {
    let partitions = |table: &TableDef| {
        let parts = table.partitioning.iter().flat_map(|parts| parts.partitions.iter());
        parts.map(|partition| partition.table.id).collect::<Vec<_>>()
    };
    let ids = tables.iter().flat_map(|table| [vec![table.id], partitions(table)].concat());
    ids.map(|id| core.gates.close(id)).collect()
}

/// Frees what a drop has left unused, as far as nobody reads it.
pub(crate) fn after_drop(core: &Core) -> Result<()> {
    let catalog = core.catalog();
    core.counters.retain(|table| catalog.table_by_id(table).is_some());
    purge::purge(core)?;
    Ok(())
}

/// Commits a change of the catalog and publishes it. The caller holds `ddl`, and has closed the gates of the tables
/// that are changed or dropped.
pub(crate) fn change_catalog(core: &Core, mut change: CatalogChange) -> Result<()> {
    let before = core.catalog();
    change.follow_partitions(&before);
    change.follow_overflow(&before);
    change.follow_triggers(&before)?;
    if change.is_private() {
        if change.counters.iter().all(|counters| counters.rows == 0) {
            core.counters.merge(&change.counters);
            return publish(core, &before, &change, CommitTs::NONE);
        }
        // The log must record the counters of rows that no commit has counted, because the table may be made public.
        let mut plan = CommitPlan::default();
        plan.counters.clone_from(&change.counters);
        return commit_plan(core, plan, &mut |_| publish(core, &before, &change, CommitTs::NONE)).map(drop);
    }
    let mut plan = CommitPlan::default();
    plan.counters.clone_from(&change.counters);
    let tree = core.catalog_tree.id();
    plan.trees.insert(tree, core.trees.current(tree)?);
    plan.ops = catalog_ops(core, &before, &change)?;
    let (_, end) = commit_plan(core, plan, &mut |ts| publish(core, &before, &change, ts))?;
    if change.is_note {
        return Ok(());
    }
    Ok(core.store.commit_durable(end)?)
}

fn catalog_ops(core: &Core, before: &Catalog, change: &CatalogChange) -> Result<Vec<Op>> {
    let (table, tree) = (TableId::CATALOG, core.catalog_tree.id());
    let mut old = Vec::new();
    let mut new = Vec::new();
    old.extend(change.remove_databases.iter().map(|database| CatalogRow::database(database)));
    new.extend(change.put_databases.iter().map(|database| CatalogRow::database(database)));
    old.extend(change.remove_views.iter().map(|view| CatalogRow::view(view)));
    new.extend(change.put_views.iter().map(|view| CatalogRow::view(view)));
    for removed in &change.remove_programs {
        old.extend(CatalogRow::program(removed)?);
    }
    for put in &change.put_programs {
        if let Some(replaced) = before.program(put.kind, &put.database, &put.name) {
            old.extend(CatalogRow::program(replaced)?);
        }
        new.extend(CatalogRow::program(put)?);
    }
    for removed in change.remove_tables.iter().filter(|table| !table.is_private) {
        old.extend(CatalogRow::table(removed)?);
    }
    for put in change.put_tables.iter().filter(|table| !table.is_private) {
        if let Some(replaced) = before.table_by_id(put.id).filter(|table| !table.is_private) {
            old.extend(CatalogRow::table(replaced)?);
        }
        new.extend(CatalogRow::table(put)?);
    }
    let kept: BTreeSet<&[u8]> = new.iter().map(|row| row.key.as_slice()).collect();
    let gone = old.iter().filter(|row| !kept.contains(row.key.as_slice()));
    let mut ops: Vec<Op> = gone.map(|row| Op::DeleteRow { table, tree, key: row.key.clone() }).collect();
    let entry = |row: &CatalogRow| row.key.len() + row.payload.len();
    if let Some(large) = new.iter().find(|row| entry(row) > core.limits.max_entry) {
        let size = entry(large);
        let what = format!("a definition of {size} bytes, larger than half a page");
        return Err(MysqlError::not_supported(what).into());
    }
    let known: BTreeMap<&[u8], &[u8]> =
        old.iter().map(|row| (row.key.as_slice(), row.payload.as_slice())).collect();
    let is_known = |row: &CatalogRow| known.get(row.key.as_slice()) == Some(&row.payload.as_slice());
    ops.extend(new.into_iter().filter(|row| !is_known(row)).map(|row| Op::PutRow {
        table,
        tree,
        key: row.key,
        payload: row.payload,
    }));
    Ok(ops)
}

/// Puts the change into force at `ts`, before any reader can see the commit.
fn publish(core: &Core, before: &Catalog, change: &CatalogChange, ts: CommitTs) -> Result<()> {
    let mut catalog = before.clone();
    if !change.is_private() && !change.is_note {
        catalog.note_change();
    }
    let mut old = Vec::new();
    let mut new = Vec::new();
    let mut replaced = Vec::new();
    for removed in &change.remove_tables {
        old.extend(removed.indexes.iter().map(|index| index.tree));
        catalog.remove_table(removed);
    }
    change.remove_views.iter().for_each(|view| catalog.remove_view(view));
    change.put_views.iter().for_each(|view| catalog.put_view(view.clone()));
    change.remove_programs.iter().for_each(|program| catalog.remove_program(program));
    change.put_programs.iter().for_each(|program| catalog.put_program(program.clone()));
    for database in &change.remove_databases {
        catalog.remove_database(&database.name);
    }
    for database in &change.put_databases {
        catalog.put_database(database.clone());
    }
    for put in &change.put_tables {
        let mut table = put.clone();
        let known: Vec<SegmentId> = before
            .table_by_id(put.id)
            .map(|replaced| replaced.indexes.iter().map(|index| index.tree).collect())
            .unwrap_or_default();
        let was_private = before.table_by_id(put.id).is_some_and(|table| table.is_private);
        let own = if put.is_partitioned() { &mut [][..] } else { &mut table.indexes[..] };
        for index in own {
            if !known.contains(&index.tree) {
                let of_before = before.table_by_id(put.id).and_then(|table| table.index_by_id(index.id));
                replaced.extend(of_before.map(|of_before| (of_before.tree, index.tree)));
                new.push((index.tree, index.root));
                Arc::make_mut(index).valid_from = ts;
            } else if was_private && !put.is_private {
                core.trees.set_valid_from(index.tree, ts);
                Arc::make_mut(index).valid_from = ts;
            }
        }
        old.extend(known.into_iter().filter(|tree| !put.indexes.iter().any(|index| index.tree == *tree)));
        catalog.put_table(Arc::new(table));
    }
    link_partitions(&mut catalog, change);
    for (tree, root) in new {
        core.trees.add(&core.store, tree, root, ts)?;
    }
    for tree in old {
        core.trees.retire(tree, ts);
    }
    for (old, new) in replaced {
        core.trees.replace(old, new);
    }
    core.set_catalog(catalog);
    Ok(())
}
