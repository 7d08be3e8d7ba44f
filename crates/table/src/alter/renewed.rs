//! A table that is built anew while others change the old one: what their changes are to its trees.
//!
//! A row that has gone is converted once more, which gives its key; what is in the new trees under that key says which entries go. So only
//! the key has to be the same whenever a row is converted.

use super::RowConverter;
use crate::build::{BuiltTree, Derivation, STEP, SeenRow, SnapshotSource, TreeChanges, TreeSource, Watched};
use crate::build::{disagreement, note_number, sum_of_tree};
use crate::catalog::TableDef;
use crate::check::Sum;
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::index::entry::{clustered_entry, entry_of_row, row_id_of};
use crate::limits::Limits;
use crate::overflow::{bytes_of, joined, part_key, part_of_payload, part_rows, parts, values_of_row};
use crate::partition::{Finished, PartitionScheme};
use crate::read::ReadView;
use crate::run::EntrySource;
use leafline_types::{CancelToken, MysqlError, OverflowRef, Value};
use std::sync::Arc;

/// Rows of a new table, or of its partitions, made of those of an old one.
pub(super) struct Renewed<'a> {
    engine: &'a Engine,
    /// The table with the name, which counts AUTO_INCREMENT numbers.
    named: &'a TableDef,
    converter: &'a mut dyn RowConverter,
    scheme: Option<Arc<PartitionScheme>>,
    tables: Vec<NewTable>,
}

/// A table that rows are in.
struct NewTable {
    table: Arc<TableDef>,
    outside: Option<Arc<TableDef>>,
    /// The number of its clustered tree. Those of its other indexes follow, then that of the values outside the rows.
    first: usize,
}

impl NewTable {
    fn of_values(&self) -> usize {
        self.first + self.table.indexes.len()
    }
}

impl<'a> Renewed<'a> {
    /// Of tables that were built, and their trees.
    pub(super) fn new(
        engine: &'a Engine,
        named: &'a TableDef,
        converter: &'a mut dyn RowConverter,
        scheme: Option<Arc<PartitionScheme>>,
        finished: &[Finished],
    ) -> Result<(Renewed<'a>, Vec<BuiltTree>)> {
        let (mut tables, mut trees) = (Vec::with_capacity(finished.len()), Vec::new());
        for Finished { table, values, .. } in finished {
            let new = NewTable {
                table: Arc::new(table.clone()),
                outside: values.clone().map(Arc::new),
                first: trees.len(),
            };
            for of in [Some(&new.table), new.outside.as_ref()].into_iter().flatten() {
                for index in &of.indexes {
                    trees.push(BuiltTree::new(engine, of, index)?);
                }
            }
            tables.push(new);
        }
        Ok((Renewed { engine, named, converter, scheme, tables }, trees))
    }

    /// How many more rows each table has than were built at first, and values outside them: of how many more entries each tree has.
    pub(super) fn more(&self, added: &[i64]) -> Vec<(i64, i64)> {
        let of = |tree: usize| added.get(tree).copied().unwrap_or(0);
        let more = |new: &NewTable| (of(new.first), new.outside.as_ref().map_or(0, |_| of(new.of_values())));
        self.tables.iter().map(more).collect()
    }

    fn home(&self, row: &[Value]) -> Result<&NewTable> {
        let number = self.scheme.as_ref().map_or(Ok(0), |scheme| scheme.partition_of(row))?;
        let new = self.tables.get(number);
        new.ok_or_else(|| TableError::Internal("a row for a partition that is not there".into()))
    }

    /// Takes out what was made of a row.
    fn remove(
        &mut self,
        table: &TableDef,
        row: SeenRow<'_>,
        trees: &[BuiltTree],
        changes: &mut TreeChanges,
    ) -> Result<()> {
        let values = self.converter.convert_again(row.values(table)?)?;
        let new = self.home(&values)?;
        let format = &new.table.clustered().format;
        let hidden = hidden_of(&new.table, row.key)?;
        let hidden = hidden.map(Value::UInt);
        let mut key = Vec::new();
        format.encode_key(&values, hidden.as_slice(), &mut key)?;
        let missing = || TableError::Internal("a row that was not built anew".into());
        let built = trees.get(new.first).ok_or_else(missing)?;
        let payload = built.tree.get(&key, |entry| entry.map(|entry| entry.payload.to_vec()))?;
        let payload = payload.ok_or_else(missing)?;
        changes.remove(new.first, &key)?;
        for (index, tree) in new.table.secondary().iter().zip(new.first + 1..) {
            changes.remove(tree, &entry_of_row(&new.table, index, &key, &payload)?.key)?;
        }
        if let Some(outside) = &new.outside {
            for (_, reference) in format.overflow(&payload)? {
                for part in 0..parts(&self.engine.limits, &reference) {
                    changes.remove(new.of_values(), &part_key(outside, reference.id, part)?)?;
                }
            }
        }
        Ok(())
    }

    /// Puts in what is made of a row.
    fn put(&mut self, table: &TableDef, row: SeenRow<'_>, changes: &mut TreeChanges) -> Result<()> {
        let values = self.converter.convert(row.values(table)?)?;
        note_number(self.engine, self.named, &values);
        let new = self.home(&values)?;
        let row_id = hidden_of(&new.table, row.key)?.unwrap_or(0);
        let made = self.engine.new_row(&new.table, &values, row_id, None)?;
        let (entry, limits) = (made.entry, &self.engine.limits);
        if entry.key.len() + entry.payload.len() > limits.max_entry {
            return Err(MysqlError::too_big_row_size(limits.max_entry).into());
        }
        changes.put(new.first, &entry.key, &entry.payload)?;
        for (index, tree) in new.table.secondary().iter().zip(new.first + 1..) {
            let entry = entry_of_row(&new.table, index, &entry.key, &entry.payload)?;
            changes.put(tree, &entry.key, &entry.payload)?;
        }
        for (column, id) in &made.values {
            let outside = new.outside.as_ref();
            let outside = outside
                .ok_or_else(|| TableError::Internal("a value outside a row, and no place for it".into()))?;
            let bytes = values.get(*column).and_then(bytes_of).unwrap_or_default();
            for part in part_rows(limits, *id, bytes) {
                let part = clustered_entry(outside, &part, 0)?;
                changes.put(new.of_values(), &part.key, &part.payload)?;
            }
        }
        Ok(())
    }

    /// What the rows of a new table are, wherever their values are; its secondary indexes agree with them, and no values are left over.
    fn sum_of_rows(&self, new: &NewTable, trees: &[BuiltTree], cancel: &CancelToken) -> Result<Sum> {
        let missing = || TableError::Internal("a tree that was not built".into());
        let built = trees.get(new.first).ok_or_else(missing)?;
        let of_values = trees.get(new.of_values()).filter(|_| new.outside.is_some());
        let (mut rows, mut derived) = (Sum::default(), vec![Sum::default(); new.table.secondary().len()]);
        let mut value_parts = 0u64;
        let mut source = TreeSource::new(&built.tree);
        while let Some((key, payload)) = source.next()? {
            if rows.entries.is_multiple_of(STEP) {
                cancel.check()?;
            }
            for (index, sum) in new.table.secondary().iter().zip(&mut derived) {
                let entry = entry_of_row(&new.table, index, key, payload)?;
                sum.add(&entry.key, &entry.payload);
            }
            let (Some(outside), Some(of_values)) = (&new.outside, of_values) else {
                rows.add(key, payload);
                continue;
            };
            let values = values_of_row(&new.table, (key, payload), |reference| {
                value_parts += u64::from(parts(&self.engine.limits, reference));
                joined(outside, &self.engine.limits, reference, |key, value| {
                    of_values.tree.get(key, |entry| {
                        if let Some(entry) = entry {
                            value.extend_from_slice(part_of_payload(outside, entry.payload)?);
                        }
                        Ok(())
                    })?
                })
            })?;
            rows.add(key, &content_of(&new.table, &values, &self.engine.limits)?);
        }
        for (derived, built) in derived.into_iter().zip(trees.iter().skip(new.first + 1)) {
            let found = sum_of_tree(&built.tree, cancel)?;
            if found != derived {
                return Err(disagreement(&built.index.name, derived.entries, found.entries));
            }
        }
        if let Some(built) = of_values {
            let found = sum_of_tree(&built.tree, cancel)?;
            if found.entries != value_parts {
                return Err(disagreement("of the values outside the rows", value_parts, found.entries));
            }
        }
        Ok(rows)
    }
}

impl Derivation for Renewed<'_> {
    fn changes(
        &mut self,
        (_, table): (usize, &Arc<TableDef>),
        old: Option<SeenRow<'_>>,
        new: Option<SeenRow<'_>>,
        trees: &[BuiltTree],
        changes: &mut TreeChanges,
    ) -> Result<()> {
        if let Some(old) = old {
            self.remove(table, old, trees, changes)?;
        }
        new.map_or(Ok(()), |new| self.put(table, new, changes))
    }

    fn row_of(&self, tree: usize, locator: &[u8], _: &ReadView, trees: &[BuiltTree]) -> Result<Vec<u8>> {
        let new = self.tables.iter().rev().find(|new| new.first <= tree);
        let built = new.and_then(|new| trees.get(new.first));
        let built = built.ok_or_else(|| TableError::Internal("a tree that is not built".into()))?;
        let row = built.tree.get(locator, |entry| entry.map(|entry| entry.payload.to_vec()))?;
        Ok(row.unwrap_or_default())
    }

    fn verify(
        &mut self,
        sources: &[Watched<'_>],
        view: &ReadView,
        trees: &[BuiltTree],
        cancel: &CancelToken,
    ) -> Result<()> {
        let mut derived = vec![Sum::default(); self.tables.len()];
        for Watched { table, .. } in sources {
            let mut rows = SnapshotSource::new(view, table)?;
            while let Some((key, payload)) = rows.next()? {
                cancel.check()?;
                let row = SeenRow { view, key, payload };
                let values = self.converter.convert_again(row.values(table)?)?;
                let number = self.scheme.as_ref().map_or(Ok(0), |scheme| scheme.partition_of(&values))?;
                let (Some(new), Some(sum)) = (self.tables.get(number), derived.get_mut(number)) else {
                    return Err(TableError::Internal("a row for a partition that is not there".into()));
                };
                let mut new_key = Vec::new();
                let hidden = hidden_of(&new.table, key)?.map(Value::UInt);
                new.table.clustered().format.encode_key(&values, hidden.as_slice(), &mut new_key)?;
                sum.add(&new_key, &content_of(&new.table, &values, &self.engine.limits)?);
            }
        }
        for (new, derived) in self.tables.iter().zip(derived) {
            let found = self.sum_of_rows(new, trees, cancel)?;
            if found != derived {
                return Err(disagreement(&new.table.clustered().name, derived.entries, found.entries));
            }
        }
        Ok(())
    }
}

/// What a row holds besides its key, as if all values that may be outside it were there, under the same number.
fn content_of(table: &TableDef, row: &[Value], limits: &Limits) -> Result<Vec<u8>> {
    let mut outside = Vec::new();
    for column in (0..table.columns.len()).filter(|column| table.may_overflow(*column, limits)) {
        if let Some(bytes) = row.get(column).and_then(bytes_of) {
            outside.push((column, OverflowRef::new(0, bytes)?));
        }
    }
    let mut content = Vec::new();
    table.clustered().format.encode_payload_with(row, &outside, &|_| 0, &mut content)?;
    Ok(content)
}

/// The hidden number that a row of `table` keeps, if it has one: that in its key, old or new.
fn hidden_of(table: &TableDef, key: &[u8]) -> Result<Option<u64>> {
    table.has_hidden_row_id().then(|| row_id_of(key)).transpose()
}
