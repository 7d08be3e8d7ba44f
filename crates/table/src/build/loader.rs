//! Bulk load: rows in, whole trees out.
//!
//! While rows arrive in ascending clustered order they go straight into the new clustered tree. The first row out
//! of order turns that tree into one of several sorted sources: everything after it is sorted, and all sources,
//! with the rows that the table had before, are merged at the end. Secondary entries are always sorted.

use super::indexes::{build_secondary, duplicate, push_entry};
use super::source::TreeSource;
use super::{finish_builder, new_builder};
use crate::catalog::{IndexDef, TableDef};
use crate::ddl::{CatalogChange, NewTrees};
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::lock::{LockLimits, LockMode, LockOwner};
use crate::overflow::{NewRow, bytes_of, part_rows};
use crate::run::{EntrySource, Merge, Sorter};
use crate::trees::TreeHandle;
use crate::txn::op::CounterChange;
use leafline_btree::{BulkBuilder, Tree};
use leafline_types::{MysqlError, Value};
use std::sync::Arc;

/// What a load did.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LoadOutcome {
    /// Rows loaded.
    pub rows: u64,
}

/// A table whose trees are all built.
struct Built {
    table: TableDef,
    counters: CounterChange,
    /// The tree that held the rows.
    old: Arc<TreeHandle>,
    /// What held the rows that ascended.
    base: Option<Tree>,
}

/// Loads rows into a table. Nothing is visible before [`finish`](Self::finish); dropping it leaves nothing.
pub struct TableLoader<'e> {
    engine: &'e Arc<Engine>,
    table: Arc<TableDef>,
    /// Takes rows while they ascend.
    ascending: Option<BulkBuilder>,
    /// Holds the rows that ascended, once one did not.
    base: Option<Tree>,
    unsorted: Sorter,
    secondary: Vec<Sorter>,
    last: Vec<u8>,
    rows: u64,
    next_auto_increment: u64,
    /// Takes what is stored outside the rows.
    overflow: Option<Box<TableLoader<'e>>>,
    /// Last, so that nothing writes to the segments any more when they are freed.
    new: NewTrees<'e>,
}

impl Engine {
    /// Begins a bulk load into `table`. Reads and writes of the table go on until the load is finished.
    ///
    /// # Errors
    /// What the store returns.
    pub fn bulk_load<'e>(self: &'e Arc<Self>, table: &Arc<TableDef>) -> Result<TableLoader<'e>> {
        let memory = self.options.build_memory_bytes / table.indexes.len().max(1) as u64;
        let mut new = NewTrees::new(self);
        let (_, builder) = new_builder(self, &mut new)?;
        Ok(TableLoader {
            engine: self,
            table: table.clone(),
            new,
            ascending: Some(builder),
            base: None,
            unsorted: Sorter::new(&self.env, memory),
            secondary: table.secondary().iter().map(|_| Sorter::new(&self.env, memory)).collect(),
            last: Vec::new(),
            rows: 0,
            next_auto_increment: 0,
            overflow: None,
        })
    }
}

impl TableLoader<'_> {
    /// Adds a row: one value per column, of the columns' types, NOT NULL checked, with an AUTO_INCREMENT value (NULL
    /// or 0 asks for a new one).
    ///
    /// # Errors
    /// 1118 if the row is too large, 1071 if a key is, what the store returns. The load cannot go on then.
    pub fn push(&mut self, row: &[Value]) -> Result<()> {
        let table = self.table.clone();
        let mut filled;
        let mut row = row;
        if let Some(column) = table.auto_increment_column() {
            let used = match row.get(column) {
                Some(Value::Int(number)) => u64::try_from(*number).unwrap_or(0),
                Some(Value::UInt(number)) => *number,
                _ => 0,
            };
            if used > 0 {
                self.engine.counters.use_auto_increment(table.id, used);
            } else if !matches!(row.get(column), Some(Value::Int(number)) if *number < 0) {
                let (value, _) = crate::txn::new_auto_increment(self.engine, &table, column);
                filled = row.to_vec();
                if let Some(slot) = filled.get_mut(column) {
                    *slot = value;
                }
                row = &filled;
            }
            self.next_auto_increment = self.engine.counters.next_auto_increment(table.id);
        }
        let row_id = if table.has_hidden_row_id() { self.engine.counters.new_row_id(table.id) } else { 0 };
        let new = self.engine.new_row(&table, row, row_id, None)?;
        self.push_values(row, &new)?;
        let entry = new.entry;
        let limits = &self.engine.limits;
        if entry.key.len() > limits.max_key {
            return Err(MysqlError::key_too_long(limits.max_key).into());
        }
        if entry.key.len() + entry.payload.len() > limits.max_entry {
            return Err(MysqlError::too_big_row_size(limits.max_entry).into());
        }
        for (index, sorter) in table.secondary().iter().zip(&mut self.secondary) {
            push_entry(self.engine, &table, index, sorter, (&entry.key, &entry.payload))?;
        }
        self.rows += 1;
        if self.rows > 1 && entry.key <= self.last {
            self.stop_ascending()?;
        }
        match &mut self.ascending {
            Some(builder) => {
                builder.push(&entry.key, &entry.payload)?;
                self.last = entry.key;
            }
            None => self.unsorted.push(&entry.key, &entry.payload)?,
        }
        Ok(())
    }

    /// Adds the values that are stored outside a row.
    fn push_values(&mut self, row: &[Value], new: &NewRow) -> Result<()> {
        if new.values.is_empty() {
            return Ok(());
        }
        let loader = match &mut self.overflow {
            Some(loader) => loader,
            None => {
                let table = self.engine.overflow_table(&self.table)?;
                self.overflow.insert(Box::new(self.engine.bulk_load(&table)?))
            }
        };
        for (column, id) in &new.values {
            let bytes = row.get(*column).and_then(bytes_of).unwrap_or_default();
            for part in part_rows(&self.engine.limits, *id, bytes) {
                loader.push(&part)?;
            }
        }
        Ok(())
    }

    /// Rows added so far.
    pub fn rows(&self) -> u64 {
        self.rows
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
        let mut overflow = self.overflow.take();
        let outside = overflow.as_mut().map(|loader| loader.build()).transpose()?;
        let built = self.build()?;
        let (tables, counters): (Vec<TableDef>, Vec<CounterChange>) =
            outside.iter().chain([&built]).map(|built| (built.table.clone(), built.counters)).unzip();
        engine.change_catalog(CatalogChange { put_tables: tables, counters, ..CatalogChange::default() })?;
        for loader in overflow.as_deref_mut().into_iter().chain([&mut self]) {
            loader.new.keep();
        }
        for built in outside.into_iter().chain([built]) {
            drop(built.old);
            if let Some(base) = built.base {
                engine.store.drop_segment(base.id())?;
            }
        }
        engine.purge()?;
        Ok(LoadOutcome { rows: self.rows })
    }

    /// Builds what is left of the trees. The gate of the table is closed.
    fn build(&mut self) -> Result<Built> {
        let engine = self.engine;
        let current = engine.catalog().table_by_id(self.table.id).cloned();
        let current = current.filter(|current| Arc::ptr_eq(current, &self.table));
        let Some(table) = current else { return Err(TableError::DefinitionChanged) };
        let old = engine.trees.current(table.clustered().tree)?;
        let mut rows = TreeSource::new(&old.tree);
        let mut had_rows = false;
        while let Some(row) = rows.next()? {
            had_rows = true;
            for (index, sorter) in table.secondary().iter().zip(&mut self.secondary) {
                push_entry(engine, &table, index, sorter, row)?;
            }
        }
        if had_rows {
            self.stop_ascending()?;
        }
        let clustered = match self.ascending.take() {
            Some(builder) => finish_builder(engine, builder)?,
            None => self.merge_clustered(&old.tree)?,
        };
        let mut changed = (*table).clone();
        let mut trees = vec![clustered];
        for (index, sorter) in table.secondary().iter().zip(std::mem::take(&mut self.secondary)) {
            trees.push(build_secondary(engine, &table, index, sorter, &mut self.new)?);
        }
        for (index, tree) in changed.indexes.iter_mut().zip(&trees) {
            let index: &mut IndexDef = Arc::make_mut(index);
            (index.tree, index.root) = (tree.id(), tree.root());
        }
        let counters = CounterChange {
            table: table.id,
            rows: i64::try_from(self.rows).unwrap_or(i64::MAX),
            next_row_id: engine.counters.next_row_id(table.id),
            next_auto_increment: self.next_auto_increment,
        };
        Ok(Built { table: changed, counters, old, base: self.base.take() })
    }

    /// From here on rows are sorted.
    fn stop_ascending(&mut self) -> Result<()> {
        if let Some(builder) = self.ascending.take() {
            self.base = Some(builder.finish()?);
        }
        Ok(())
    }

    /// The new clustered tree, from the rows that ascended, those that did not, and those of the old tree.
    fn merge_clustered(&mut self, old: &Tree) -> Result<Tree> {
        let engine = self.engine;
        let unsorted = std::mem::replace(&mut self.unsorted, Sorter::new(&engine.env, 0));
        let mut sources: Vec<Box<dyn EntrySource>> =
            vec![Box::new(TreeSource::new(old)), Box::new(unsorted.finish()?)];
        if let Some(base) = &self.base {
            sources.push(Box::new(TreeSource::new(base)));
        }
        let (_, mut builder) = new_builder(engine, &mut self.new)?;
        let mut entries = Merge::new(sources)?;
        let mut last: Option<Vec<u8>> = None;
        while let Some((key, payload)) = entries.next()? {
            if last.as_deref() == Some(key) {
                return Err(duplicate(&self.table, self.table.clustered(), key, payload));
            }
            let buffer = last.get_or_insert_default();
            buffer.clear();
            buffer.extend_from_slice(key);
            builder.push(key, payload)?;
        }
        finish_builder(engine, builder)
    }
}
