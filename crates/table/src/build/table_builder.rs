//! All trees of a table from its rows.
//!
//! While rows arrive in ascending clustered order they go straight into the new clustered tree. The first row out
//! of order turns that tree into one of several sorted sources: everything after it is sorted, and all sources,
//! with the rows that the table had before, are merged at the end. Secondary entries are always sorted.

use super::indexes::{build_secondary, duplicate, push_entry};
use super::source::TreeSource;
use super::{finish_builder, new_builder};
use crate::catalog::{IndexDef, TableDef, TableId};
use crate::ddl::NewTrees;
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::overflow::{NewRow, bytes_of, part_rows};
use crate::run::{EntrySource, Merge, Sorter};
use crate::trees::TreeHandle;
use crate::txn::op::CounterChange;
use leafline_btree::{BulkBuilder, Tree};
use leafline_types::{CancelToken, MysqlError, Value};
use std::sync::Arc;

/// So many builders write at the same time.
const MOST_AT_ONCE: usize = 8;

/// Builds the trees of a table. Dropping it leaves nothing.
pub(crate) struct TableBuilder<'e> {
    engine: &'e Engine,
    /// Takes rows while they ascend.
    ascending: Option<BulkBuilder>,
    /// Holds the rows that ascended, once one did not.
    base: Option<Tree>,
    unsorted: Sorter,
    secondary: Vec<Sorter>,
    last: Vec<u8>,
    rows: u64,
    /// The table of the values outside the rows, if there may be any, and what builds its trees if there are.
    outside: Option<Arc<TableDef>>,
    values: Option<Box<TableBuilder<'e>>>,
    /// Last, so that nothing writes to the segments any more when they are freed.
    new: NewTrees<'e>,
}

impl<'e> TableBuilder<'e> {
    /// Lets it be stopped.
    pub(crate) fn set_cancel(&mut self, cancel: CancelToken) {
        self.new.cancel = cancel;
    }

    /// A builder of the trees that `table` needs; its definition may have none yet. `outside` is its table of overflow values.
    pub(crate) fn new(
        engine: &'e Engine,
        table: &TableDef,
        outside: Option<Arc<TableDef>>,
    ) -> Result<TableBuilder<'e>> {
        TableBuilder::sharing(engine, table, outside, 1)
    }

    /// As [`new`](Self::new), one of so many that are at work at the same time and share the memory for it. Of more than a few none
    /// writes before all rows are there, because each that does has some extents in memory.
    pub(crate) fn sharing(
        engine: &'e Engine,
        table: &TableDef,
        outside: Option<Arc<TableDef>>,
        among: usize,
    ) -> Result<TableBuilder<'e>> {
        let sorts = table.indexes.len().max(1) * among.max(1);
        let memory = engine.options.build_memory_bytes / sorts as u64;
        let mut new = NewTrees::new(engine);
        let ascending = match among <= MOST_AT_ONCE {
            true => Some(new_builder(engine, &mut new)?.1),
            false => None,
        };
        Ok(TableBuilder {
            engine,
            ascending,
            base: None,
            unsorted: Sorter::new(&engine.env, memory),
            secondary: table.secondary().iter().map(|_| Sorter::new(&engine.env, memory)).collect(),
            last: Vec::new(),
            rows: 0,
            outside,
            values: None,
            new,
        })
    }

    /// Rows added so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// What a table of so many rows counts from, all of which were added here.
    pub(crate) fn counters(&self, table: TableId, rows: u64) -> CounterChange {
        CounterChange {
            table,
            rows: i64::try_from(rows).unwrap_or(i64::MAX),
            next_row_id: self.engine.counters.next_row_id(table),
            next_auto_increment: self.engine.counters.next_auto_increment(table),
        }
    }

    /// Adds a row: one value per column, of the columns' types.
    pub(crate) fn push(&mut self, table: &TableDef, row: &[Value]) -> Result<()> {
        let row_id = if table.has_hidden_row_id() { self.engine.counters.new_row_id(table.id) } else { 0 };
        let new = self.engine.new_row(table, row, row_id, None)?;
        self.push_values(row, &new)?;
        let entry = new.entry;
        let limits = &self.engine.limits;
        if entry.key.len() > limits.max_key {
            return Err(MysqlError::key_too_long(limits.max_key).into());
        }
        if entry.key.len() + entry.payload.len() > limits.max_entry {
            return Err(MysqlError::too_big_row_size(limits.max_entry).into());
        }
        self.push_secondary(table, (&entry.key, &entry.payload))?;
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
        let Some(outside) = &self.outside else {
            return Err(TableError::Internal("a value outside a row, and no place for it".into()));
        };
        let builder = match &mut self.values {
            Some(builder) => builder,
            None => self.values.insert(Box::new(TableBuilder::new(self.engine, outside, None)?)),
        };
        for (column, id) in &new.values {
            let bytes = row.get(*column).and_then(bytes_of).unwrap_or_default();
            for part in part_rows(&self.engine.limits, *id, bytes) {
                builder.push(outside, &part)?;
            }
        }
        Ok(())
    }

    /// As [`finish`](Self::finish), of the values outside the rows: with those in the tree that `old` gives. The table that holds
    /// them then and what it counts; `None` if no row has any.
    pub(crate) fn finish_values(
        &mut self,
        old: impl FnOnce(&TableDef) -> Result<Option<Arc<TreeHandle>>>,
    ) -> Result<Option<(TableDef, CounterChange)>> {
        let (Some(outside), Some(builder)) = (&self.outside, &mut self.values) else { return Ok(None) };
        let old = old(outside)?;
        let mut changed = (**outside).clone();
        builder.finish(&mut changed, old.as_ref().map(|old| &old.tree))?;
        let counters = CounterChange {
            table: changed.id,
            rows: i64::try_from(builder.rows).unwrap_or(i64::MAX),
            next_row_id: self.engine.counters.next_row_id(changed.id),
            ..CounterChange::default()
        };
        Ok(Some((changed, counters)))
    }

    fn push_secondary(&mut self, table: &TableDef, row: (&[u8], &[u8])) -> Result<()> {
        for (index, sorter) in table.secondary().iter().zip(&mut self.secondary) {
            push_entry(self.engine, table, index, sorter, row)?;
        }
        Ok(())
    }

    /// Builds what is left, with the rows of `old`, a clustered tree of the same format, and says in `table` which trees these are.
    /// They are freed unless they are [kept](Self::keep).
    ///
    /// # Errors
    /// `DuplicateEntry`, what the store returns.
    pub(crate) fn finish(&mut self, table: &mut TableDef, old: Option<&Tree>) -> Result<()> {
        let mut had_rows = false;
        if let Some(old) = old {
            let mut rows = TreeSource::new(old);
            while let Some(row) = rows.next()? {
                had_rows = true;
                self.push_secondary(table, row)?;
            }
        }
        if had_rows {
            self.stop_ascending()?;
        }
        let clustered = match self.ascending.take() {
            Some(builder) => finish_builder(self.engine, builder)?,
            None => self.merge_clustered(table, old)?,
        };
        let mut secondary = Vec::new();
        for (index, sorter) in table.secondary().iter().zip(std::mem::take(&mut self.secondary)) {
            let tree = build_secondary(self.engine, table, index, (sorter, &clustered), &mut self.new)?;
            secondary.push(tree);
        }
        for (index, tree) in table.indexes.iter_mut().zip([clustered].iter().chain(&secondary)) {
            let index: &mut IndexDef = Arc::make_mut(index);
            (index.tree, index.root) = (tree.id(), tree.root());
        }
        Ok(())
    }

    /// The catalog names the trees now.
    pub(crate) fn keep(mut self) -> Result<()> {
        if let Some(values) = self.values.take() {
            values.keep()?;
        }
        self.new.keep();
        if let Some(base) = self.base.take() {
            self.engine.store.drop_segment(base.id())?;
        }
        Ok(())
    }

    /// From here on rows are sorted.
    fn stop_ascending(&mut self) -> Result<()> {
        if let Some(builder) = self.ascending.take() {
            self.base = Some(builder.finish()?);
        }
        Ok(())
    }

    /// The new clustered tree, from the rows that ascended, those that did not, and those of the old tree.
    fn merge_clustered(&mut self, table: &TableDef, old: Option<&Tree>) -> Result<Tree> {
        let engine = self.engine;
        let unsorted = std::mem::replace(&mut self.unsorted, Sorter::new(&engine.env, 0));
        let mut sources: Vec<Box<dyn EntrySource>> = vec![Box::new(unsorted.finish()?)];
        sources.extend(old.map(|old| Box::new(TreeSource::new(old)) as Box<dyn EntrySource>));
        if let Some(base) = &self.base {
            sources.push(Box::new(TreeSource::new(base)));
        }
        let (_, mut builder) = new_builder(engine, &mut self.new)?;
        let mut entries = Merge::new(sources)?;
        let mut last: Option<Vec<u8>> = None;
        while let Some((key, payload)) = entries.next()? {
            if last.as_deref() == Some(key) {
                return Err(duplicate(table, table.clustered(), key.to_vec(), payload));
            }
            let buffer = last.get_or_insert_default();
            buffer.clear();
            buffer.extend_from_slice(key);
            builder.push(key, payload)?;
        }
        finish_builder(engine, builder)
    }
}
