//! Bulk load: rows in, whole trees out, in the place of a table's trees.

use super::table_builder::TableBuilder;
use crate::catalog::TableDef;
use crate::ddl::CatalogChange;
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::lock::{LockLimits, LockMode, LockOwner};
use crate::txn::op::CounterChange;
use leafline_types::{MysqlError, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// What a load did.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LoadOutcome {
    /// Rows loaded.
    pub rows: u64,
}

/// Loads rows into a table. Nothing is visible before [`finish`](Self::finish); dropping it leaves nothing.
pub struct TableLoader<'e> {
    engine: &'e Arc<Engine>,
    table: Arc<TableDef>,
    builder: TableBuilder<'e>,
}

impl Engine {
    /// Begins a bulk load into `table`. Reads and writes of the table go on until the load is finished.
    ///
    /// # Errors
    /// What the store returns.
    pub fn bulk_load<'e>(self: &'e Arc<Self>, table: &Arc<TableDef>) -> Result<TableLoader<'e>> {
        if table.is_partitioned() {
            return Err(MysqlError::not_supported("bulk load of a partitioned table").into());
        }
        let outside = table.overflow.is_some().then(|| self.overflow_table(table)).transpose()?;
        let builder = TableBuilder::new(self, table, outside)?;
        Ok(TableLoader { engine: self, table: table.clone(), builder })
    }
}

impl TableLoader<'_> {
    /// Adds a row: one value per column, of the columns' types, NOT NULL checked, with an AUTO_INCREMENT value (NULL
    /// or 0 asks for a new one).
    ///
    /// # Errors
    /// 1118 if the row is too large, 1071 if a key is, what the store returns. The load cannot go on then.
    pub fn push(&mut self, row: &[Value]) -> Result<()> {
        let row = numbered(self.engine, &self.table, row, false);
        self.builder.push(&self.table, &row)
    }

    /// Rows added so far.
    pub fn rows(&self) -> u64 {
        self.builder.rows()
    }

    /// Builds what is left and publishes all of it at once. Returns when it is durable.
    ///
    /// # Errors
    /// `DuplicateEntry` (1062); `LockWaitTimeout` (1205) if a transaction that writes to it does not end; `DefinitionChanged` if the table was changed by DDL meanwhile; what the store returns.
    /// The table is as it was then.
    pub fn finish(mut self) -> Result<LoadOutcome> {
        let engine = self.engine;
        // Those who have written to the table, and not committed, would not find their rows as they were.
        let locks = LockOwner::new(&engine.locks);
        locks.lock_table(self.table.id, LockMode::Exclusive, Some(&LockLimits::default()))?;
        let _ddl = engine.ddl.lock();
        let _closed = engine.gates.close(self.table.id);
        let current = engine.catalog().table_by_id(self.table.id).cloned();
        let current = current.filter(|current| Arc::ptr_eq(current, &self.table));
        let Some(table) = current else { return Err(TableError::DefinitionChanged) };
        let old = engine.trees.current(table.clustered().tree)?;
        let rows = self.builder.rows();
        let mut changed = (*table).clone();
        self.builder.finish(&mut changed, Some(&old.tree))?;
        let counters = CounterChange {
            table: table.id,
            rows: i64::try_from(rows).unwrap_or(i64::MAX),
            next_row_id: engine.counters.next_row_id(table.id),
            next_auto_increment: engine.counters.next_auto_increment(table.id),
        };
        let values = self.builder.finish_values(|outside| {
            let current = engine.catalog().table_by_id(outside.id).cloned();
            match current {
                Some(current) if current.clustered().tree == outside.clustered().tree => {
                    engine.trees.current(outside.clustered().tree).map(Some)
                }
                _ => Err(TableError::DefinitionChanged),
            }
        })?;
        let (put_tables, counters) = values.into_iter().chain([(changed, counters)]).unzip();
        engine.change_catalog(CatalogChange { put_tables, counters, ..CatalogChange::default() })?;
        drop(old);
        self.builder.keep()?;
        engine.purge()?;
        Ok(LoadOutcome { rows })
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
