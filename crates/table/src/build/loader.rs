//! Bulk load: builds whole trees from rows, and replaces the trees of a table or of its partitions.

use super::control::BuildControl;
use super::source::TreeSource;
use super::table_builder::TableBuilder;
use crate::catalog::TableDef;
use crate::catalog_change::CatalogChange;
use crate::core::Core;
use crate::counters::Numbering;
use crate::ddl;
use crate::ddl::Ddl;
use crate::error::{Result, TableError};
use crate::lock::{LockLimits, LockMode, LockOwner};
use crate::op::CounterChange;
use crate::overflow;
use crate::trees::TreeHandle;
use crate::txn::purge;
use leafline_btree::Tree;
use leafline_types::{CancelToken, Stage, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// The result of a load.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LoadOutcome {
    /// The number of rows loaded.
    pub rows: u64,
}

/// Loads rows into a table. Nothing is visible before [`finish`](Self::finish); dropping the loader leaves
/// nothing behind.
pub struct TableLoader {
    core: Arc<Core>,
    table: Arc<TableDef>,
    /// The table itself, or its partitions that have received rows, by number.
    stored: BTreeMap<usize, Stored>,
    control: BuildControl,
    /// Whether the caller holds a lock on the whole table.
    is_locked: bool,
}

/// A table that holds rows, with the builder of its trees.
struct Stored {
    table: Arc<TableDef>,
    builder: TableBuilder,
}

impl Ddl {
    /// Begins a bulk load into `table`. Others read and write the table until the load is finished.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn bulk_load(&self, table: &Arc<TableDef>, control: &BuildControl) -> Result<TableLoader> {
        let mut stored = BTreeMap::new();
        // A partition gets a builder when its first row arrives.
        if !table.is_partitioned() {
            stored.insert(0, Stored::new(&self.core, table, 1, control)?);
        }
        let (core, table, control) = (self.core.clone(), table.clone(), control.clone());
        Ok(TableLoader { core, table, stored, control, is_locked: false })
    }

    /// Begins a load like [`bulk_load`](Self::bulk_load), for a caller that has locked the table against
    /// other writers and keeps it locked until the load is finished.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn bulk_load_locked(&self, table: &Arc<TableDef>, control: &BuildControl) -> Result<TableLoader> {
        Ok(TableLoader { is_locked: true, ..self.bulk_load(table, control)? })
    }

    /// Returns whether `table` has no committed rows, as far as a look at a few leaves can tell.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn is_empty(&self, table: &TableDef) -> Result<bool> {
        if let Some(partitioning) = &table.partitioning {
            let mut partitions = partitioning.partitions.iter();
            return partitions
                .try_fold(true, |empty, partition| Ok(empty && self.is_empty(&partition.table)?));
        }
        let tree = self.core.trees.current(table.clustered().tree)?;
        TreeSource::is_empty(&tree.tree)
    }
}

impl Stored {
    /// Makes a builder for a table; `among` is how many are loaded at the same time.
    fn new(core: &Core, table: &Arc<TableDef>, among: usize, control: &BuildControl) -> Result<Stored> {
        let outside = table.overflow.is_some().then(|| overflow::overflow_table(core, table)).transpose()?;
        let builder = TableBuilder::sharing(core, table, outside, among, control)?;
        Ok(Stored { table: table.clone(), builder })
    }

    /// Builds the rest, together with the rows of the old tree. Returns the changed tables and their
    /// counters.
    fn finish(&mut self, core: &Core, old: Option<&Tree>) -> Result<Vec<(TableDef, CounterChange)>> {
        let rows = self.builder.rows();
        let mut changed = (*self.table).clone();
        self.builder.finish(core, &mut changed, old)?;
        let values = self.builder.finish_values(core, |outside| tree_of_values(core, outside))?;
        let counters = self.builder.counters(core, self.table.id, rows);
        Ok(values.into_iter().chain([(changed, counters)]).collect())
    }
}

impl TableLoader {
    /// Adds a row: one value per column, of the columns' types, with NOT NULL already checked. NULL or 0 in
    /// an AUTO_INCREMENT column requests a new number.
    ///
    /// # Errors
    /// 1526 or 1748 if no partition takes the row; the load can go on without it. After any other error it
    /// cannot go on: 1118 if the row is too large, 1071 if a key is too large, errors of the store.
    pub fn push(&mut self, row: &[Value]) -> Result<()> {
        let row = numbered(&self.core, &self.table, row, false);
        self.push_stored(&row)
    }

    /// Adds a row like [`push`](Self::push), whose AUTO_INCREMENT column already has its number.
    ///
    /// # Errors
    /// The errors of `push`.
    pub fn push_numbered(&mut self, row: &[Value]) -> Result<()> {
        note_number(&self.core, &self.table, row);
        self.push_stored(row)
    }

    fn push_stored(&mut self, row: &[Value]) -> Result<()> {
        let (number, table, among) = match &self.table.partitioning {
            None => (0, &self.table, 1),
            Some(partitioning) => {
                let partition = partitioning.of_row(row)?;
                (partition.number, &partition.table, partitioning.partitions.len())
            }
        };
        let stored = match self.stored.entry(number) {
            Entry::Occupied(stored) => stored.into_mut(),
            Entry::Vacant(new) => new.insert(Stored::new(&self.core, table, among, &self.control)?),
        };
        stored.builder.push(&self.core, &stored.table, row)
    }

    /// The number of rows added so far.
    pub fn rows(&self) -> u64 {
        self.stored.values().map(|stored| stored.builder.rows()).sum()
    }

    /// Sets the token that cancels the load from now on.
    pub fn set_cancel(&mut self, cancel: CancelToken) {
        self.stored.values_mut().for_each(|stored| stored.builder.set_cancel(cancel.clone()));
        self.control.cancel = cancel;
    }

    /// The table being loaded.
    pub fn table(&self) -> &Arc<TableDef> {
        &self.table
    }

    /// Builds the rest and publishes everything at once. Returns when the result is durable.
    ///
    /// # Errors
    /// `DuplicateEntry` (1062); `LockWaitTimeout` (1205) if a transaction that writes to the table does not
    /// end; `DefinitionChanged` if DDL has changed the table meanwhile; errors of the store. The table is
    /// then unchanged.
    pub fn finish(mut self) -> Result<LoadOutcome> {
        let core = self.core.clone();
        // A transaction with uncommitted writes to the table would find its rows changed, so the load waits
        // for it to end. From here on no transaction commits to the table.
        let locks = LockOwner::new(&core.locks);
        if !self.is_locked {
            for table in self.table.stored() {
                locks.lock_table(table.id, LockMode::Exclusive, Some(&LockLimits::default()))?;
            }
        }
        self.table_now()?;
        let (rows, mut left) = (self.rows(), 0);
        let mut old = Vec::with_capacity(self.stored.len());
        for Stored { table, builder } in self.stored.values() {
            let tree = core.trees.current(table.clustered().tree)?;
            let has_rows = !TreeSource::is_empty(&tree.tree)?;
            left += builder.entries_left(table, if has_rows { core.row_count(table.id) } else { 0 });
            old.push(has_rows.then_some(tree));
        }
        self.control.progress.begin(Stage::BuildingTrees, (2, 2), left);
        let (mut put_tables, mut counters) = (Vec::new(), Vec::new());
        for (stored, old) in self.stored.values_mut().zip(&old) {
            let changed = stored.finish(&core, old.as_ref().map(|old| &old.tree))?;
            let (tables, counts): (Vec<_>, Vec<_>) = changed.into_iter().unzip();
            put_tables.extend(tables);
            counters.extend(counts);
        }
        drop(old);
        if self.table.is_partitioned() {
            let next_auto_increment = core.counters.next_auto_increment(self.table.id);
            counters.push(CounterChange {
                table: self.table.id,
                next_auto_increment,
                ..CounterChange::default()
            });
        }
        let _ddl = core.ddl.lock();
        let closed = ddl::close_gates(&core, std::slice::from_ref(&self.table));
        self.table_now()?;
        ddl::change_catalog(&core, CatalogChange { put_tables, counters, ..CatalogChange::default() })?;
        self.stored.into_values().try_for_each(|stored| stored.builder.keep(&core))?;
        drop(closed);
        purge::purge(&core)?;
        Ok(LoadOutcome { rows })
    }

    /// Checks whether added rows conflict with each other: builds their trees and drops them.
    ///
    /// # Errors
    /// The errors of [`finish`](Self::finish).
    pub fn check(mut self) -> Result<()> {
        let core = self.core.clone();
        self.stored.values_mut().try_for_each(|stored| stored.finish(&core, None).map(drop))
    }

    /// The table, if its definition is the one from the beginning of the load.
    fn table_now(&self) -> Result<Arc<TableDef>> {
        let current = self.core.catalog().table_by_id(self.table.id).cloned();
        let current = current.filter(|current| Arc::ptr_eq(current, &self.table));
        current.ok_or(TableError::DefinitionChanged)
    }
}

/// The tree of an overflow table, if the table still has the same definition.
fn tree_of_values(core: &Core, outside: &TableDef) -> Result<Option<Arc<TreeHandle>>> {
    let current = core.catalog().table_by_id(outside.id).cloned();
    match current {
        Some(current) if current.clustered().tree == outside.clustered().tree => {
            core.trees.current(outside.clustered().tree).map(Some)
        }
        _ => Err(TableError::DefinitionChanged),
    }
}

/// Notes that the row's number in the AUTO_INCREMENT column is used.
pub(crate) fn note_number(core: &Core, table: &TableDef, row: &[Value]) {
    let used = match table.auto_increment_column().and_then(|column| row.get(column)) {
        Some(Value::Int(number)) => u64::try_from(*number).unwrap_or(0),
        Some(Value::UInt(number)) => *number,
        _ => 0,
    };
    if used > 0 {
        core.counters.use_auto_increment(table.id, used);
    }
}

/// Returns the row with a new number in its AUTO_INCREMENT column, if the value there is NULL, or 0 unless
/// `zero_is_number`. Otherwise notes that the row's number is used.
pub(crate) fn numbered<'r>(
    core: &Core,
    table: &TableDef,
    row: &'r [Value],
    zero_is_number: bool,
) -> Cow<'r, [Value]> {
    let Some(column) = table.auto_increment_column() else { return Cow::Borrowed(row) };
    let used = match row.get(column) {
        Some(Value::Int(number)) if *number < 0 => return Cow::Borrowed(row),
        Some(Value::Int(0) | Value::UInt(0)) if zero_is_number => return Cow::Borrowed(row),
        Some(Value::Int(number)) => u64::try_from(*number).unwrap_or(0),
        Some(Value::UInt(number)) => *number,
        _ => 0,
    };
    if used > 0 {
        core.counters.use_auto_increment(table.id, used);
        return Cow::Borrowed(row);
    }
    let (value, _) = crate::txn::new_auto_increment(core, table, column, Numbering::default());
    let mut filled = row.to_vec();
    if let Some(slot) = filled.get_mut(column) {
        *slot = value;
    }
    Cow::Owned(filled)
}
