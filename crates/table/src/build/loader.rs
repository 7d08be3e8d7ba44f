//! Bulk load: rows in, whole trees out, in the place of a table's trees.

use super::control::BuildControl;
use super::source::TreeSource;
use super::table_builder::TableBuilder;
use crate::catalog::{TableDef, TableId};
use crate::ddl::CatalogChange;
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::lock::{LockLimits, LockMode, LockOwner};
use crate::trees::TreeHandle;
use crate::txn::op::CounterChange;
use leafline_types::{CancelToken, MysqlError, Stage, Value};
use std::borrow::Cow;
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
    builder: TableBuilder,
    control: BuildControl,
    /// Whoever loads has the table locked as a whole.
    is_locked: bool,
}

impl Engine {
    /// Begins a bulk load into `table`. Reads and writes of the table go on until the load is finished.
    ///
    /// # Errors
    /// What the store returns.
    pub fn bulk_load(self: &Arc<Self>, table: &Arc<TableDef>, control: &BuildControl) -> Result<TableLoader> {
        if table.is_partitioned() {
            return Err(MysqlError::not_supported("bulk load of a partitioned table").into());
        }
        let outside = table.overflow.is_some().then(|| self.overflow_table(table)).transpose()?;
        let (control, builder) = (control.clone(), TableBuilder::new(self, table, outside, control)?);
        Ok(TableLoader { engine: self.clone(), table: table.clone(), builder, control, is_locked: false })
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

    /// The next AUTO_INCREMENT number is again `next`: what was given out since then was not used, and nobody else has asked.
    pub fn take_back_auto_increment(&self, table: TableId, next: u64) {
        self.counters.take_back_auto_increment(table, next);
    }

    /// Whether no row of `table` is committed, as far as a look at a few leaves can tell.
    ///
    /// # Errors
    /// What the store returns.
    pub fn is_empty(&self, table: &TableDef) -> Result<bool> {
        let tree = self.trees.current(table.clustered().tree)?;
        TreeSource::is_empty(&tree.tree)
    }
}

impl TableLoader {
    /// Adds a row: one value per column, of the columns' types, NOT NULL checked, with an AUTO_INCREMENT value (NULL
    /// or 0 asks for a new one).
    ///
    /// # Errors
    /// 1118 if the row is too large, 1071 if a key is, what the store returns. The load cannot go on then.
    pub fn push(&mut self, row: &[Value]) -> Result<()> {
        let row = numbered(&self.engine, &self.table, row, false);
        self.builder.push(&self.engine, &self.table, &row)
    }

    /// As [`push`](Self::push), of a row that has its number.
    ///
    /// # Errors
    /// As `push`.
    pub fn push_numbered(&mut self, row: &[Value]) -> Result<()> {
        note_number(&self.engine, &self.table, row);
        self.builder.push(&self.engine, &self.table, row)
    }

    /// Rows added so far.
    pub fn rows(&self) -> u64 {
        self.builder.rows()
    }

    /// Another can stop it from now on.
    pub fn set_cancel(&mut self, cancel: CancelToken) {
        self.builder.set_cancel(cancel);
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
            locks.lock_table(self.table.id, LockMode::Exclusive, Some(&LockLimits::default()))?;
        }
        let table = self.table_now()?;
        let old = engine.trees.current(table.clustered().tree)?;
        let rows = self.builder.rows();
        let mut changed = (*table).clone();
        let has_rows = !TreeSource::is_empty(&old.tree)?;
        let had_rows = if has_rows { engine.row_count(table.id) } else { 0 };
        let left = self.builder.entries_left(&table, had_rows);
        self.control.progress.begin(Stage::BuildingTrees, (2, 2), left);
        self.builder.finish(&engine, &mut changed, has_rows.then_some(&old.tree))?;
        let values = self.builder.finish_values(&engine, |outside| tree_of_values(&engine, outside))?;
        drop(old);
        let _ddl = engine.ddl.lock();
        let closed = engine.gates.close(table.id);
        self.table_now()?;
        let counters = CounterChange {
            table: table.id,
            rows: i64::try_from(rows).unwrap_or(i64::MAX),
            next_row_id: engine.counters.next_row_id(table.id),
            next_auto_increment: engine.counters.next_auto_increment(table.id),
        };
        let (put_tables, counters) = values.into_iter().chain([(changed, counters)]).unzip();
        engine.change_catalog(CatalogChange { put_tables, counters, ..CatalogChange::default() })?;
        self.builder.keep(&engine)?;
        drop(closed);
        engine.purge()?;
        Ok(LoadOutcome { rows })
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
    let (value, _) = crate::txn::new_auto_increment(engine, table, column);
    let mut filled = row.to_vec();
    if let Some(slot) = filled.get_mut(column) {
        *slot = value;
    }
    Cow::Owned(filled)
}
