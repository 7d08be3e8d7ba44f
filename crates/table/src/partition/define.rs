//! DDL of partitions.
//!
//! Adding, dropping, truncating and exchanging partitions changes only the catalog, however many rows they hold, and
//! makes empty trees where they are needed. To divide rows anew, the engine reads the partitions concerned and builds
//! new ones (`rebuild`); all others stay as they are.

use super::rebuild::{StoredRows, Target, keep_trees, partition_shell};
use crate::build::{BuildControl, TreeSource};
use crate::catalog::{Partition, PartitionScheme, Partitioning, TableDef};
use crate::catalog_change::CatalogChange;
use crate::ddl;
use crate::ddl::Ddl;
use crate::error::{Result, TableError};
use crate::new_table;
use crate::new_table::NewTrees;
use crate::op::CounterChange;
use crate::run::EntrySource;
use leafline_types::{CancelToken, MysqlError, Stage};
use std::sync::Arc;

/// A change of the partitions of a table.
#[derive(Clone, Debug)]
pub struct PartitionChange {
    /// The new scheme.
    pub scheme: Arc<PartitionScheme>,
    /// For each new partition or subpartition, the number of the old one that it keeps; `None` if it is new.
    pub kept: Vec<Option<usize>>,
    /// The partitions whose rows move to new ones, in order. Other partitions that are not kept are dropped with
    /// their rows.
    pub moved: Vec<usize>,
    /// The memory that moving rows may use, and the token that cancels it.
    pub control: BuildControl,
}

impl Ddl {
    /// Changes the partitions of `table`, all or nothing. Returns the number of rows moved.
    ///
    /// # Errors
    /// `DefinitionChanged` if `table` is not the definition in force; 1526 if no new partition takes a row; errors of
    /// the store.
    pub fn change_partitions(&self, table: &Arc<TableDef>, change: PartitionChange) -> Result<u64> {
        let _ddl = self.core.ddl.lock();
        let before = self.partitions_in_force(table)?;
        let closed = ddl::close_gates(&self.core, std::slice::from_ref(table));
        let mut new = NewTrees::new(&self.core);
        let model = table.as_partition();
        let (mut partitions, mut targets, mut put_tables) = (Vec::new(), Vec::new(), Vec::new());
        for (number, kept) in change.kept.iter().enumerate() {
            let partition = match kept {
                Some(old) => {
                    let old = before.get(*old);
                    old.ok_or_else(|| TableError::Internal("a partition that is not there".into()))?
                        .table
                        .clone()
                }
                None if change.moved.is_empty() => {
                    let (empty, values) = new_table::emptied(&self.core, &model, &mut new)?;
                    put_tables.extend(values);
                    Arc::new(empty)
                }
                None => {
                    targets.push(number);
                    Arc::new(partition_shell(&self.core, table))
                }
            };
            partitions.push(Partition { number, table: partition });
        }
        let mut counters = Vec::new();
        let shells = targets.iter().filter_map(|number| partitions.get(*number));
        let mut filled = shells
            .map(|partition| Target::new(&self.core, &partition.table, targets.len(), &change.control))
            .collect::<Result<Vec<_>>>()?;
        let moving = change.moved.iter().filter_map(|number| before.get(*number));
        let total = moving.map(|old| self.core.row_count(old.table.id)).sum();
        change.control.progress.begin(Stage::CopyingTable, (1, 2), total);
        let mut moved = 0;
        for old in change.moved.iter().filter_map(|number| before.get(*number)) {
            let tree = self.core.trees.current(old.table.clustered().tree)?;
            let mut rows = TreeSource::new(&tree.tree);
            let stored = StoredRows::new(&self.core, &old.table)?;
            while let Some((key, payload)) = rows.next()? {
                change.control.cancel.check()?;
                change.control.progress.add(1);
                let row = stored.row(key, payload)?;
                let number = change.scheme.table_of(&row)?;
                let target = targets.binary_search(&number).ok().and_then(|at| filled.get_mut(at));
                let target =
                    target.ok_or_else(|| MysqlError::no_partition_for_value("of a row that is moved"))?;
                target.push(&row, None)?;
                moved += 1;
            }
        }
        let left = filled.iter().map(Target::entries_left).sum();
        change.control.progress.begin(Stage::BuildingTrees, (2, 2), left);
        for (number, target) in targets.iter().zip(&mut filled) {
            let finished = target.finish()?;
            put_tables.extend(finished.values);
            counters.extend(finished.counters);
            if let Some(partition) = partitions.get_mut(*number) {
                partition.table = Arc::new(finished.table);
            }
        }
        let partitioning = Some(Partitioning { scheme: change.scheme, partitions: partitions.into() });
        put_tables.push(TableDef { partitioning, ..(**table).clone() });
        ddl::change_catalog(&self.core, CatalogChange { put_tables, counters, ..CatalogChange::default() })?;
        new.keep();
        keep_trees(filled)?;
        drop(closed);
        ddl::after_drop(&self.core)?;
        Ok(moved)
    }

    /// The partitions of a table, whose definition must be in force.
    fn partitions_in_force(&self, table: &Arc<TableDef>) -> Result<Partitioning> {
        let current = self.core.catalog().table_by_id(table.id).cloned();
        let current = current.filter(|current| Arc::ptr_eq(current, table));
        current.and_then(|current| current.partitioning.clone()).ok_or(TableError::DefinitionChanged)
    }

    /// Exchanges a partition of `table` with the table `other`. With `validates`, every row of `other` must belong to
    /// the partition. The caller has checked that both have the same columns and indexes.
    ///
    /// # Errors
    /// `DefinitionChanged`; 1737 if a row does not belong to the partition; errors of the store.
    pub fn exchange_partition(
        &self,
        table: &Arc<TableDef>,
        number: usize,
        other: &Arc<TableDef>,
        validates: bool,
        cancel: &CancelToken,
    ) -> Result<()> {
        let _ddl = self.core.ddl.lock();
        let before = self.partitions_in_force(table)?;
        if !self.core.catalog().table_by_id(other.id).is_some_and(|current| Arc::ptr_eq(current, other)) {
            return Err(TableError::DefinitionChanged);
        }
        let closed = ddl::close_gates(&self.core, &[table.clone(), other.clone()]);
        let partition = before.get(number).ok_or(TableError::DefinitionChanged)?;
        if validates {
            let tree = self.core.trees.current(other.clustered().tree)?;
            let mut rows = TreeSource::new(&tree.tree);
            let stored = StoredRows::new(&self.core, other)?;
            while let Some((key, payload)) = rows.next()? {
                cancel.check()?;
                if before.scheme.table_of(&stored.row(key, payload)?).ok() != Some(number) {
                    return Err(MysqlError::row_does_not_match_partition().into());
                }
            }
        }
        // The rows change places. Names, constraints and options stay where they are.
        let inside = TableDef {
            id: other.id,
            overflow: other.overflow,
            indexes: other.indexes.clone(),
            schema_version: other.schema_version,
            ..table.as_partition()
        };
        let rows = &partition.table;
        let outside = TableDef {
            id: rows.id,
            overflow: rows.overflow,
            indexes: rows.indexes.clone(),
            schema_version: rows.schema_version,
            histograms: Vec::new(),
            ..(**other).clone()
        };
        let next = |table: &TableDef| self.core.counters.next_auto_increment(table.id);
        let counters = vec![
            CounterChange { table: outside.id, next_auto_increment: next(other), ..CounterChange::default() },
            CounterChange {
                table: table.id,
                next_auto_increment: next(table).max(next(other)),
                ..CounterChange::default()
            },
        ];
        let mut changed = (**table).clone();
        let exchanged = before.partitions.iter().map(|known| Partition {
            number: known.number,
            table: if known.number == number { Arc::new(inside.clone()) } else { known.table.clone() },
        });
        let partitions = exchanged.collect();
        changed.partitioning = Some(Partitioning { scheme: before.scheme.clone(), partitions });
        let put_tables = vec![outside, inside, changed];
        ddl::change_catalog(&self.core, CatalogChange { put_tables, counters, ..CatalogChange::default() })?;
        drop(closed);
        ddl::after_drop(&self.core)
    }
}
