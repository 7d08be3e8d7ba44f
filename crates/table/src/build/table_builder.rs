//! Builds all trees of a table from its rows.
//!
//! As long as rows arrive in ascending clustered order, they go straight into the new clustered tree. The
//! first row out of order turns that tree into one of several sorted sources: later rows are sorted, and
//! all sources, including the rows that the table had before, are merged at the end. Secondary entries are
//! always sorted.

use super::control::{BuildControl, STEP};
use super::entry_sorters::EntrySorters;
use super::secondary::build_secondaries;
use super::source::TreeSource;
use super::{finish_builder, new_builder};
use crate::catalog::{IndexDef, TableDef, TableId};
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::index::entry::duplicate_entry;
use crate::index::words_entry::{TextsOutside, is_indexed_text};
use crate::new_table::NewTrees;
use crate::op::CounterChange;
use crate::overflow;
use crate::overflow::{CurrentValues, NewRow, bytes_outside, part_rows};
use crate::run::{EntrySource, Merge, Sorter};
use crate::trees::TreeHandle;
use leafline_btree::{BulkBuilder, Tree};
use leafline_types::{CancelToken, MysqlError, Value};
use std::sync::Arc;

/// The maximum number of builders that write at the same time.
const MOST_AT_ONCE: usize = 8;

/// Builds the trees of a table. Dropping the builder leaves nothing behind.
pub(crate) struct TableBuilder {
    control: BuildControl,
    /// Takes rows as long as they ascend.
    ascending: Option<BulkBuilder>,
    /// Holds the rows that ascended, after the first one that did not.
    base: Option<Tree>,
    unsorted: Sorter,
    secondary: Option<EntrySorters>,
    last: Vec<u8>,
    rows: u64,
    /// The overflow table, if there is one, and the builder of its trees, once it has values.
    outside: Option<Arc<TableDef>>,
    values: Option<Box<TableBuilder>>,
    /// The last field, so that nothing writes to the segments any more when they are freed.
    new: NewTrees,
}

impl TableBuilder {
    /// Makes a builder of the trees that `table` needs; its definition may have none yet. `outside` is its
    /// overflow table.
    pub(crate) fn new(
        core: &Core,
        table: &TableDef,
        outside: Option<Arc<TableDef>>,
        control: &BuildControl,
    ) -> Result<TableBuilder> {
        TableBuilder::sharing(core, table, outside, 1, control)
    }

    /// Makes a builder like [`new`](Self::new), one of `among` builders that work at the same time and
    /// share memory and threads. Beyond a small number, no builder writes before all rows have arrived,
    /// because each builder that writes keeps some extents in memory.
    pub(crate) fn sharing(
        core: &Core,
        table: &TableDef,
        outside: Option<Arc<TableDef>>,
        among: usize,
        control: &BuildControl,
    ) -> Result<TableBuilder> {
        let mut new = NewTrees::new(core);
        let ascending = match among <= MOST_AT_ONCE {
            true => Some(new_builder(core, table.clustered().leaf_format(), &mut new)?.1),
            false => None,
        };
        let among = among.max(1);
        let memory = control.memory_bytes / among as u64;
        // The rows get a share as large as that of each index, in case they must be sorted.
        let share = memory / table.indexes.len().max(1) as u64;
        let mut of_entries = control.clone();
        (of_entries.memory_bytes, of_entries.threads) = (memory - share, control.threads / among);
        let secondary = EntrySorters::new(core, table, table.secondary().to_vec(), &of_entries);
        Ok(TableBuilder {
            control: control.clone(),
            ascending,
            base: None,
            unsorted: Sorter::new(&core.env, share),
            secondary: Some(secondary),
            last: Vec::new(),
            rows: 0,
            outside,
            values: None,
            new,
        })
    }

    /// Sets the token that cancels the build from now on.
    pub(crate) fn set_cancel(&mut self, cancel: CancelToken) {
        self.control.cancel = cancel;
    }

    /// The number of rows added so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// The counters of a table with this number of rows, all of which were added here.
    pub(crate) fn counters(&self, core: &Core, table: TableId, rows: u64) -> CounterChange {
        CounterChange {
            table,
            rows: i64::try_from(rows).unwrap_or(i64::MAX),
            next_row_id: core.counters.next_row_id(table),
            next_auto_increment: core.counters.next_auto_increment(table),
        }
    }

    /// Adds a row: one value per column, of the columns' types.
    pub(crate) fn push(&mut self, core: &Core, table: &TableDef, row: &[Value]) -> Result<()> {
        self.push_with(core, table, row, None).map(drop)
    }

    /// Adds a row like [`push`](Self::push), which may already have a hidden row id. Returns its hidden row
    /// id; 0 if it has none.
    pub(crate) fn push_with(
        &mut self,
        core: &Core,
        table: &TableDef,
        row: &[Value],
        row_id: Option<u64>,
    ) -> Result<u64> {
        if self.rows.is_multiple_of(STEP) {
            self.control.cancel.check()?;
        }
        let row_id = match row_id {
            Some(row_id) => row_id,
            None if table.has_hidden_row_id() => core.counters.new_row_id(table.id, &table.name)?,
            None => 0,
        };
        let new = overflow::new_row(core, table, row, row_id, None)?;
        self.push_values(core, row, &new)?;
        let entry = new.entry;
        let limits = &core.limits;
        if entry.key.len() > limits.max_key {
            return Err(MysqlError::key_too_long(limits.max_key).into());
        }
        if entry.key.len() + entry.payload.len() > limits.max_entry {
            return Err(MysqlError::too_big_row_size(limits.max_entry).into());
        }
        let texts = new.values.iter().filter(|(column, _)| is_indexed_text(table.secondary(), *column));
        let outside = texts.map(|(column, _)| (*column, bytes_outside(row, *column).to_vec())).collect();
        self.push_secondary(&entry.key, &entry.payload, outside)?;
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
        Ok(row_id)
    }

    /// Adds the overflow values of a row.
    fn push_values(&mut self, core: &Core, row: &[Value], new: &NewRow) -> Result<()> {
        if new.values.is_empty() {
            return Ok(());
        }
        let Some(outside) = &self.outside else {
            return Err(TableError::Internal("a value outside a row, and no place for it".into()));
        };
        let builder = match &mut self.values {
            Some(builder) => builder,
            None => {
                let builder = TableBuilder::new(core, outside, None, &self.control)?;
                self.values.insert(Box::new(builder))
            }
        };
        for (column, id) in &new.values {
            let bytes = bytes_outside(row, *column);
            for part in part_rows(&core.limits, *id, bytes) {
                builder.push(core, outside, &part)?;
            }
        }
        Ok(())
    }

    /// Finishes the overflow table like [`finish`](Self::finish), together with the values in the tree that
    /// `old` returns. Returns the new definition of the overflow table, and its counters; `None` if no row
    /// has overflow values.
    pub(crate) fn finish_values(
        &mut self,
        core: &Core,
        old: impl FnOnce(&TableDef) -> Result<Option<Arc<TreeHandle>>>,
    ) -> Result<Option<(TableDef, CounterChange)>> {
        let (Some(outside), Some(builder)) = (&self.outside, &mut self.values) else { return Ok(None) };
        let old = old(outside)?;
        let mut changed = (**outside).clone();
        builder.finish(core, &mut changed, old.as_ref().map(|old| &old.tree))?;
        let counters = CounterChange {
            table: changed.id,
            rows: i64::try_from(builder.rows).unwrap_or(i64::MAX),
            next_row_id: core.counters.next_row_id(changed.id),
            ..CounterChange::default()
        };
        Ok(Some((changed, counters)))
    }

    fn push_secondary(&mut self, key: &[u8], payload: &[u8], outside: TextsOutside) -> Result<()> {
        match &mut self.secondary {
            Some(sorters) => sorters.push(key, payload, outside),
            None => Err(TableError::Internal("a row for trees that are built".into())),
        }
    }

    /// The number of entries still to be put into trees, if the table had this number of rows before.
    pub(crate) fn entries_left(&self, table: &TableDef, had_rows: u64) -> u64 {
        let sorted = u64::from(self.ascending.is_none() || had_rows > 0);
        (self.rows + had_rows) * (table.secondary().len() as u64 + sorted)
    }

    /// Builds the rest, together with the rows of `old`, a clustered tree of the same format, and stores
    /// the new trees in `table`. The trees are freed unless they are [kept](Self::keep).
    ///
    /// # Errors
    /// `DuplicateEntry`; errors of the store.
    pub(crate) fn finish(&mut self, core: &Core, table: &mut TableDef, old: Option<&Tree>) -> Result<()> {
        let mut had_rows = 0u64;
        if let Some(old) = old {
            let mut rows = TreeSource::new(old);
            let values = CurrentValues::of(core, table, table.secondary())?;
            while let Some((key, payload)) = rows.next()? {
                if had_rows.is_multiple_of(STEP) {
                    self.control.cancel.check()?;
                }
                had_rows += 1;
                self.push_secondary(key, payload, values.texts_of(table, payload)?)?;
            }
        }
        if had_rows > 0 {
            self.stop_ascending()?;
        }
        let Some(sorters) = self.secondary.take() else {
            return Err(TableError::Internal("trees that are built already".into()));
        };
        let parts = sorters.finish()?;
        let clustered = match self.ascending.take() {
            Some(builder) => finish_builder(core, builder)?,
            None => self.merge_clustered(core, table, old)?,
        };
        let sorted = (parts, &clustered);
        let secondary =
            build_secondaries(core, table, table.secondary(), sorted, &self.control, &mut self.new)?;
        let clustered = (clustered, table.clustered().leaf_format());
        for (index, tree) in table.indexes.iter_mut().zip([clustered].iter().chain(&secondary)) {
            let index: &mut IndexDef = Arc::make_mut(index);
            index.set_tree(tree);
        }
        Ok(())
    }

    /// Keeps the trees, because the catalog names them now.
    pub(crate) fn keep(mut self, core: &Core) -> Result<()> {
        if let Some(values) = self.values.take() {
            values.keep(core)?;
        }
        self.new.keep();
        if let Some(base) = self.base.take() {
            core.store.drop_segment(base.id())?;
        }
        Ok(())
    }

    /// Ends the ascending tree; further rows are sorted.
    fn stop_ascending(&mut self) -> Result<()> {
        if let Some(builder) = self.ascending.take() {
            self.base = Some(builder.finish()?);
        }
        Ok(())
    }

    /// Merges the new clustered tree from the rows that ascended, the other new rows, and the rows of the
    /// old tree.
    fn merge_clustered(&mut self, core: &Core, table: &TableDef, old: Option<&Tree>) -> Result<Tree> {
        let unsorted = std::mem::replace(&mut self.unsorted, Sorter::new(&core.env, 0));
        let mut sources: Vec<Box<dyn EntrySource>> = vec![Box::new(unsorted.finish()?)];
        sources.extend(old.map(|old| Box::new(TreeSource::new(old)) as Box<dyn EntrySource>));
        if let Some(base) = &self.base {
            sources.push(Box::new(TreeSource::new(base)));
        }
        let (_, mut builder) = new_builder(core, table.clustered().leaf_format(), &mut self.new)?;
        let mut entries = Merge::new(sources)?;
        let mut last: Option<Vec<u8>> = None;
        let mut count = 0u64;
        while let Some((key, payload)) = entries.next()? {
            count += 1;
            if count.is_multiple_of(STEP) {
                self.control.cancel.check()?;
                self.control.progress.add(STEP);
            }
            if last.as_deref() == Some(key) {
                return Err(duplicate_entry(table, table.clustered(), (key, payload), key));
            }
            let buffer = last.get_or_insert_default();
            buffer.clear();
            buffer.extend_from_slice(key);
            builder.push(key, payload)?;
        }
        finish_builder(core, builder)
    }
}
