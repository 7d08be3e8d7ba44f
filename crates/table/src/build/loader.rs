//! Bulk load: rows in, whole trees out, in the place of a table's trees, or of those of its partitions.

use super::control::BuildControl;
use super::source::TreeSource;
use super::table_builder::TableBuilder;
use crate::catalog::TableDef;
use crate::ddl::CatalogChange;
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::lock::{LockLimits, LockMode, LockOwner};
use crate::trees::TreeHandle;
use crate::txn::Numbering;
use crate::txn::op::CounterChange;
use leafline_btree::Tree;
use leafline_types::{CancelToken, Stage, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// What a load did.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LoadOutcome {
    /// Rows loaded.
    pub rows: u64,
}

/// Loads rows into a table. Nothing is visible before [`finish`](Self::finish); dropping it leaves nothing.
pub struct TableLoader {
    engine: Arc<Engine>,
    table: Arc<TableDef>,
    /// Itself, or those of its partitions that have got rows, by number.
    stored: BTreeMap<usize, Stored>,
    control: BuildControl,
    /// Whoever loads has the table locked as a whole.
    is_locked: bool,
}

/// A table that rows are in, and what builds its trees.
struct Stored {
    table: Arc<TableDef>,
    builder: TableBuilder,
}

impl Engine {
    /// Begins a bulk load into `table`. Reads and writes of the table go on until the load is finished.
    ///
    /// # Errors
    /// What the store returns.
    pub fn bulk_load(self: &Arc<Self>, table: &Arc<TableDef>, control: &BuildControl) -> Result<TableLoader> {
        let mut stored = BTreeMap::new();
        // Of partitions those that rows come to.
        if !table.is_partitioned() {
            stored.insert(0, Stored::new(self, table, 1, control)?);
        }
        let (engine, table, control) = (self.clone(), table.clone(), control.clone());
        Ok(TableLoader { engine, table, stored, control, is_locked: false })
    }

    /// As [`bulk_load`](Self::bulk_load), for one who has locked the table, so that nobody else writes to it, and keeps it so until the load
    /// is finished.
    ///
    /// # Errors
    /// What the store returns.
    pub fn bulk_load_locked(
        self: &Arc<Self>,
        table: &Arc<TableDef>,
        control: &BuildControl,
    ) -> Result<TableLoader> {
        Ok(TableLoader { is_locked: true, ..self.bulk_load(table, control)? })
    }

    /// Whether no row of `table` is committed, as far as a look at a few leaves can tell.
    ///
    /// # Errors
    /// What the store returns.
    pub fn is_empty(&self, table: &TableDef) -> Result<bool> {
        if let Some(partitioning) = &table.partitioning {
            let mut partitions = partitioning.partitions.iter();
            return partitions
                .try_fold(true, |empty, partition| Ok(empty && self.is_empty(&partition.table)?));
        }
        let tree = self.trees.current(table.clustered().tree)?;
        TreeSource::is_empty(&tree.tree)
    }
}

impl Stored {
    /// One of so many that are loaded at the same time.
    fn new(engine: &Engine, table: &Arc<TableDef>, among: usize, control: &BuildControl) -> Result<Stored> {
        let outside = table.overflow.is_some().then(|| engine.overflow_table(table)).transpose()?;
        let builder = TableBuilder::sharing(engine, table, outside, among, control)?;
        Ok(Stored { table: table.clone(), builder })
    }

    /// Builds what is left, with the rows of the tree there is. The tables that have changed, and what they count from.
    fn finish(&mut self, engine: &Engine, old: Option<&Tree>) -> Result<Vec<(TableDef, CounterChange)>> {
        let rows = self.builder.rows();
        let mut changed = (*self.table).clone();
        self.builder.finish(engine, &mut changed, old)?;
        let values = self.builder.finish_values(engine, |outside| tree_of_values(engine, outside))?;
        let counters = self.builder.counters(engine, self.table.id, rows);
        Ok(values.into_iter().chain([(changed, counters)]).collect())
    }
}

impl TableLoader {
    /// Adds a row: one value per column, of the columns' types, NOT NULL checked, with an AUTO_INCREMENT value (NULL
    /// or 0 asks for a new one).
    ///
    /// # Errors
    /// 1526 or 1748 if no partition takes the row: the load can go on without it. Else it cannot go on: 1118 if the row is too large, 1071 if a key is, what the store returns.
    pub fn push(&mut self, row: &[Value]) -> Result<()> {
        let row = numbered(&self.engine, &self.table, row, false);
        self.push_stored(&row)
    }

    /// As [`push`](Self::push), of a row that has its number.
    ///
    /// # Errors
    /// As `push`.
    pub fn push_numbered(&mut self, row: &[Value]) -> Result<()> {
        note_number(&self.engine, &self.table, row);
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
            Entry::Vacant(new) => new.insert(Stored::new(&self.engine, table, among, &self.control)?),
        };
        stored.builder.push(&self.engine, &stored.table, row)
    }

    /// Rows added so far.
    pub fn rows(&self) -> u64 {
        self.stored.values().map(|stored| stored.builder.rows()).sum()
    }

    /// Another can stop it from now on.
    pub fn set_cancel(&mut self, cancel: CancelToken) {
        self.stored.values_mut().for_each(|stored| stored.builder.set_cancel(cancel.clone()));
        self.control.cancel = cancel;
    }

    /// The table that it loads.
    pub fn table(&self) -> &Arc<TableDef> {
        &self.table
    }

    /// Builds what is left and publishes all of it at once. Returns when it is durable.
    ///
    /// # Errors
    /// `DuplicateEntry` (1062); `LockWaitTimeout` (1205) if a transaction that writes to it does not end; `DefinitionChanged` if the table was changed by DDL meanwhile; what the store returns.
    /// The table is as it was then.
    pub fn finish(mut self) -> Result<LoadOutcome> {
        let engine = self.engine.clone();
        // Those who have written to the table, and not committed, would not find their rows as they were. From here on nobody commits to it.
        let locks = LockOwner::new(&engine.locks);
        if !self.is_locked {
            for table in self.table.stored() {
                locks.lock_table(table.id, LockMode::Exclusive, Some(&LockLimits::default()))?;
            }
        }
        self.table_now()?;
        let (rows, mut left) = (self.rows(), 0);
        let mut old = Vec::with_capacity(self.stored.len());
        for Stored { table, builder } in self.stored.values() {
            let tree = engine.trees.current(table.clustered().tree)?;
            let has_rows = !TreeSource::is_empty(&tree.tree)?;
            left += builder.entries_left(table, if has_rows { engine.row_count(table.id) } else { 0 });
            old.push(has_rows.then_some(tree));
        }
        self.control.progress.begin(Stage::BuildingTrees, (2, 2), left);
        let (mut put_tables, mut counters) = (Vec::new(), Vec::new());
        for (stored, old) in self.stored.values_mut().zip(&old) {
            let changed = stored.finish(&engine, old.as_ref().map(|old| &old.tree))?;
            let (tables, counts): (Vec<_>, Vec<_>) = changed.into_iter().unzip();
            put_tables.extend(tables);
            counters.extend(counts);
        }
        drop(old);
        if self.table.is_partitioned() {
            let next_auto_increment = engine.counters.next_auto_increment(self.table.id);
            counters.push(CounterChange {
                table: self.table.id,
                next_auto_increment,
                ..CounterChange::default()
            });
        }
        let _ddl = engine.ddl.lock();
        let closed = engine.close_gates(std::slice::from_ref(&self.table));
        self.table_now()?;
        engine.change_catalog(CatalogChange { put_tables, counters, ..CatalogChange::default() })?;
        self.stored.into_values().try_for_each(|stored| stored.builder.keep(&engine))?;
        drop(closed);
        engine.purge()?;
        Ok(LoadOutcome { rows })
    }

    /// Whether rows that were added are in each other's way: their trees are built, and dropped.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn check(mut self) -> Result<()> {
        let engine = self.engine.clone();
        self.stored.values_mut().try_for_each(|stored| stored.finish(&engine, None).map(drop))
    }

    /// The table, if it is defined as when the load began.
    fn table_now(&self) -> Result<Arc<TableDef>> {
        let current = self.engine.catalog().table_by_id(self.table.id).cloned();
        let current = current.filter(|current| Arc::ptr_eq(current, &self.table));
        current.ok_or(TableError::DefinitionChanged)
    }
}

/// The tree of a table of values, if that is still the one.
fn tree_of_values(engine: &Engine, outside: &TableDef) -> Result<Option<Arc<TreeHandle>>> {
    let current = engine.catalog().table_by_id(outside.id).cloned();
    match current {
        Some(current) if current.clustered().tree == outside.clustered().tree => {
            engine.trees.current(outside.clustered().tree).map(Some)
        }
        _ => Err(TableError::DefinitionChanged),
    }
}

/// The number that a row has in the AUTO_INCREMENT column is used.
pub(crate) fn note_number(engine: &Engine, table: &TableDef, row: &[Value]) {
    let used = match table.auto_increment_column().and_then(|column| row.get(column)) {
        Some(Value::Int(number)) => u64::try_from(*number).unwrap_or(0),
        Some(Value::UInt(number)) => *number,
        _ => 0,
    };
    if used > 0 {
        engine.counters.use_auto_increment(table.id, used);
    }
}

/// The row with a new number in its AUTO_INCREMENT column if NULL there asks for one, or 0 unless `zero_is_number`; a number that it has is
/// noted as used.
pub(crate) fn numbered<'r>(
    engine: &Engine,
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
        engine.counters.use_auto_increment(table.id, used);
        return Cow::Borrowed(row);
    }
    let (value, _) = crate::txn::new_auto_increment(engine, table, column, Numbering::default());
    let mut filled = row.to_vec();
    if let Some(slot) = filled.get_mut(column) {
        *slot = value;
    }
    Cow::Owned(filled)
}
