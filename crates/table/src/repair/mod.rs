//! Repairing a table.
//!
//! The rows contain everything that secondary indexes hold: a damaged secondary index is rebuilt from the
//! clustered index. A damaged clustered index is *salvaged* (`salvage`): the entries of its readable leaves
//! go into a new tree, all secondary indexes are rebuilt from that tree, and the report names the keys that
//! were on unreadable leaves. Changes that commits could not make while the index was quarantined by
//! recovery are made now (`pending`). The new trees are durable before a single commit replaces the old
//! ones, and the old pages are freed after it. A crash leaves either the old trees or the new ones.
//!
//! A database that cannot be opened is written anew to another place, as far as it can be read (`rescue`).

mod pending;
mod report;
mod rescue;
mod salvage;

pub use report::{LostRange, Rescue, SalvageReport, TableRepair};

use crate::build::{BuildControl, TreeSource, build_indexes};
use crate::catalog::{IndexDef, TableDef};
use crate::catalog_change::CatalogChange;
use crate::check::TableCheck;
use crate::ddl;
use crate::error::{Result, TableError};
use crate::lock::{LockLimits, LockMode, LockOwner};
use crate::maintenance::Maintenance;
use crate::new_table::NewTrees;
use crate::op::CounterChange;
use crate::overflow;
use crate::overflow::CurrentValues;
use crate::run::EntrySource;
use crate::txn::{Isolation, Transaction, TxnMode, purge};
use leafline_btree::{Direction, ReadAheadSettings};
use leafline_types::Value;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

impl Maintenance {
    /// Repairs the faults that `check` found; `check` must be a check of this table, and not a quick one.
    /// With `dry_run` it only reports what a repair would do. `progress` is called with the number of pages
    /// of the clustered index read since the last call. The transactions that use the table must have
    /// ended.
    ///
    /// # Errors
    /// 1062 if rows have the same values in a unique index that must be built; 1205 if a transaction that
    /// writes to the table does not end; `DefinitionChanged`; errors of the store. The rows are then
    /// unchanged, but overflow values may have been repaired.
    pub fn repair_table(
        &self,
        table: &Arc<TableDef>,
        check: &TableCheck,
        dry_run: bool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<TableRepair> {
        let mut repair = TableRepair {
            table: match table.is_overflow {
                true => format!("{}.{} (values outside the rows)", table.database, table.name),
                false => format!("{}.{}", table.database, table.name),
            },
            counted: self.core.row_count(table.id),
            ..TableRepair::default()
        };
        if check.is_sound() {
            return Ok(repair);
        }
        if let Some(check) = &check.overflow {
            let overflow = overflow::overflow_table(&self.core, table)?;
            let values = self.repair_table(&overflow, check, dry_run, &mut |_| ())?;
            repair.values = Some(Box::new(values));
        }
        let locks = LockOwner::new(&self.core.locks);
        locks.lock_table(table.id, LockMode::Exclusive, Some(&LockLimits::default()))?;
        let ddl = self.core.ddl.lock();
        let closed = self.core.gates.close(table.id);
        let current = self.core.catalog().table_by_id(table.id).cloned();
        if !current.is_some_and(|current| Arc::ptr_eq(&current, table)) {
            return Err(TableError::DefinitionChanged);
        }
        let mut new = NewTrees::new(&self.core);
        let mut changed = (**table).clone();
        let mut rows = None;
        // A row is useless without the overflow values it refers to.
        if check.damaged.contains(&0) || check.overflow.is_some() {
            let names = table.secondary().iter().map(|index| index.name.clone());
            repair.rebuilt = names.collect();
            let salvaged = salvage::salvage(&self.core, table, dry_run, &mut new, progress)?;
            rows = Some(salvaged.report.rows);
            changed.indexes = salvaged.indexes;
            repair.salvage = Some(salvaged.report);
        } else {
            let damaged = |position: &usize| check.damaged.contains(position);
            let drafts: Vec<IndexDef> = (0..table.indexes.len())
                .filter(damaged)
                .filter_map(|position| table.indexes.get(position))
                .map(|index| (**index).clone())
                .collect();
            repair.rebuilt = drafts.iter().map(|index| index.name.clone()).collect();
            if !dry_run && !drafts.is_empty() {
                let clustered = self.core.trees.current(table.clustered().tree)?;
                let mut rows = TreeSource::in_any_order(&clustered.tree)?;
                let control = BuildControl::of(&self.core);
                let values = CurrentValues::of(&self.core, table, table.secondary())?;
                let texts = |payload: &[u8]| values.texts_of(table, payload);
                let rows = (&mut rows as &mut dyn EntrySource, &texts as &_);
                for built in build_indexes(&self.core, table, drafts, rows, &control, &mut new)? {
                    if let Some(index) = changed.indexes.iter_mut().find(|index| index.id == built.id) {
                        *index = Arc::new(built);
                    }
                }
            }
            if check.miscounted {
                rows = Some(self.count_rows(table)?);
            }
        }
        repair.recounted = rows.filter(|rows| *rows != repair.counted);
        if dry_run {
            return Ok(repair);
        }
        let difference = rows.map_or(0, |rows| {
            let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
            signed(rows) - signed(repair.counted)
        });
        let counters = CounterChange {
            table: table.id,
            rows: difference,
            next_row_id: self.core.counters.next_row_id(table.id),
            next_auto_increment: self.core.counters.next_auto_increment(table.id),
        };
        ddl::change_catalog(
            &self.core,
            CatalogChange { put_tables: vec![changed], counters: vec![counters], ..CatalogChange::default() },
        )?;
        new.keep();
        drop(closed);
        drop(ddl);
        drop(locks);
        if let Some(table) =
            self.core.catalog().table_by_id(table.id).filter(|table| table.overflow.is_some())
        {
            self.remove_unreferred(table)?;
        }
        purge::purge(&self.core)?;
        Ok(repair)
    }

    /// Deletes the overflow values that no row refers to any more.
    fn remove_unreferred(&self, table: &Arc<TableDef>) -> Result<()> {
        let overflow = overflow::overflow_table(&self.core, table)?;
        let mut transaction = Transaction::new(
            self.core.clone(),
            LockOwner::new(&self.core.locks),
            Isolation::RepeatableRead,
            TxnMode::ReadWrite,
        );
        let view = transaction.view();
        let format = &table.clustered().format;
        let (mut referred, mut error) = (BTreeSet::new(), None);
        view.rows(table)?.scan(Direction::Forward, None, |row| match format.overflow(row.payload) {
            Ok(outside) => {
                referred.extend(outside.iter().map(|(_, reference)| reference.id));
                true
            }
            Err(failed) => {
                error = Some(failed);
                false
            }
        })?;
        error.map_or(Ok(()), Err)?;
        let format = &overflow.clustered().format;
        let mut unreferred = Vec::new();
        view.rows(&overflow)?.scan(Direction::Forward, None, |row| {
            let id = format.decode_value(row.key, row.payload, 0);
            if !matches!(id, Ok(Value::UInt(id)) if referred.contains(&id)) {
                unreferred.push(row.key.to_vec());
            }
            true
        })?;
        for key in unreferred {
            transaction.delete_key(&overflow, &key)?;
        }
        transaction.commit().map(drop)
    }

    /// Counts the rows of a table whose clustered index is sound and which nobody changes.
    fn count_rows(&self, table: &TableDef) -> Result<u64> {
        let handle = self.core.trees.current(table.clustered().tree)?;
        let (report, _) =
            handle.tree.examine(1, ReadAheadSettings::default(), &|_| ControlFlow::Continue(()))?;
        Ok(report.entries - report.ghosts)
    }
}
