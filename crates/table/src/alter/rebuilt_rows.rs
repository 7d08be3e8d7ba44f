//! Applies the changes that others make to an old table during its rebuild to the trees of the new one.
//!
//! To remove a row, its old version is converted once more with the numbers it was given (`super::row_numbers`), which
//! yields its key. The entry in the new trees under that key says which other entries to remove. Repeated conversions
//! of a row therefore need to agree only in the key.

use super::RowConverter;
use super::row_numbers::{AssignedNumbers, NumberMap, Numbering};
use crate::build::{
    BuiltTree, Derivation, STEP, SeenRow, SnapshotSource, TreeChanges, TreeSource, Watched, disagreement,
    sum_of_tree,
};
use crate::catalog::{PartitionScheme, TableDef};
use crate::check::Sum;
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::index::derived::{DerivedFrom, for_each_entry};
use crate::index::entry::{clustered_entry, row_id_of};
use crate::index::words_entry::{TextsOutside, WordEntries, is_indexed_text, texts_outside};
use crate::limits::Limits;
use crate::overflow;
use crate::overflow::{bytes_of, bytes_outside, part_key, part_rows, parts, value_in_tree, values_of_row};
use crate::partition::Finished;
use crate::read::ReadView;
use crate::run::EntrySource;
use leafline_types::{CancelToken, MysqlError, OverflowRef, Value};
use std::sync::Arc;

/// The rows of a new table, or of its partitions, made from those of an old table.
pub(super) struct RebuiltRows<'a> {
    core: &'a Core,
    numbering: Numbering<'a>,
    converter: &'a mut dyn RowConverter,
    scheme: Option<Arc<PartitionScheme>>,
    tables: Vec<NewTable>,
    /// The number of the tree with the numbers given to the rows of the first old table; the trees of other old
    /// tables follow. `None` if rows were given no numbers.
    given: Option<usize>,
}

/// The place of a new row.
struct Place {
    /// The position of its table among the new tables.
    home: usize,
    given: AssignedNumbers,
}

/// A new table that stores rows.
struct NewTable {
    table: Arc<TableDef>,
    outside: Option<Arc<TableDef>>,
    /// The number of its clustered tree. The trees of its other indexes follow, then the tree of overflow values.
    first: usize,
}

impl NewTable {
    fn of_values(&self) -> usize {
        self.first + self.table.indexes.len()
    }
}

impl<'a> RebuiltRows<'a> {
    /// Takes the tables that were built, and their trees.
    pub(super) fn new(
        numbering: Numbering<'a>,
        converter: &'a mut dyn RowConverter,
        scheme: Option<Arc<PartitionScheme>>,
        finished: &[Finished],
        (old, given): (&Arc<TableDef>, Option<&NumberMap<'_>>),
    ) -> Result<(RebuiltRows<'a>, Vec<BuiltTree>)> {
        let core = numbering.core;
        let (mut tables, mut trees) = (Vec::with_capacity(finished.len()), Vec::new());
        for Finished { table, values, .. } in finished {
            let new = NewTable {
                table: Arc::new(table.clone()),
                outside: values.clone().map(Arc::new),
                first: trees.len(),
            };
            for of in [Some(&new.table), new.outside.as_ref()].into_iter().flatten() {
                for index in &of.indexes {
                    trees.push(BuiltTree::new(core, of, index)?);
                }
            }
            tables.push(new);
        }
        let first = given.map(|_| trees.len());
        trees.extend(given.into_iter().flat_map(|given| given.built_trees(old)));
        Ok((RebuiltRows { core, numbering, converter, scheme, tables, given: first }, trees))
    }

    /// The change of each table's number of rows and of overflow parts since it was built, from the change of each
    /// tree's number of entries.
    pub(super) fn growth(&self, added: &[i64]) -> Vec<(i64, i64)> {
        let of = |tree: usize| added[tree];
        let more = |new: &NewTable| (of(new.first), new.outside.as_ref().map_or(0, |_| of(new.of_values())));
        self.tables.iter().map(more).collect()
    }

    fn home(&self, row: &[Value]) -> Result<usize> {
        self.scheme.as_ref().map_or(Ok(0), |scheme| scheme.table_of(row))
    }

    fn table(&self, home: usize) -> Result<&NewTable> {
        let new = self.tables.get(home);
        new.ok_or_else(|| TableError::Internal("a row for a partition that is not there".into()))
    }

    /// The numbers that the row with this key in an old table was given.
    fn given_to(&self, source: usize, key: &[u8], trees: &[BuiltTree]) -> Result<AssignedNumbers> {
        let Some(first) = self.given else {
            return Ok(AssignedNumbers { row_id: kept_row_id(&self.tables, key)?, number: 0 });
        };
        let missing = || TableError::Internal("a row that was given no numbers".into());
        let built = trees.get(first + source).ok_or_else(missing)?;
        built
            .tree
            .get(key, |entry| entry.map(|entry| AssignedNumbers::of(entry.payload)))?
            .ok_or_else(missing)?
    }

    /// Removes the new row made from an old row.
    fn remove(
        &mut self,
        (source, table): (usize, &TableDef),
        row: SeenRow<'_>,
        trees: &[BuiltTree],
        changes: &mut TreeChanges,
    ) -> Result<Place> {
        let given = self.given_to(source, row.key, trees)?;
        let mut values = self.converter.convert_again(row.values(table)?)?;
        self.numbering.fill(&mut values, given.number);
        let home = self.home(&values)?;
        let new = self.table(home)?;
        let format = &new.table.clustered().format;
        let mut key = Vec::new();
        format.encode_key(&values, hidden(&new.table, given).as_slice(), &mut key)?;
        let missing = || TableError::Internal("a row that was not built anew".into());
        let built = trees.get(new.first).ok_or_else(missing)?;
        let payload = built.tree.get(&key, |entry| entry.map(|entry| entry.payload.to_vec()))?;
        let payload = payload.ok_or_else(missing)?;
        changes.remove(new.first, &key)?;
        let outside = self.texts_of(new, trees, &payload)?;
        let row = DerivedFrom { key: &key, payload: &payload, outside: &outside };
        for (index, tree) in new.table.secondary().iter().zip(new.first + 1..) {
            for_each_entry(&new.table, index, row, &mut WordEntries::default(), &mut |entry| {
                changes.remove(tree, entry.key)
            })?;
        }
        if let Some(outside) = &new.outside {
            for (_, reference) in format.overflow(&payload)? {
                for part in 0..parts(&self.core.limits, &reference) {
                    changes.remove(new.of_values(), &part_key(outside, reference.id, part)?)?;
                }
            }
        }
        Ok(Place { home, given })
    }

    /// Adds the new row made from an old row, which was at `before`. It keeps its hidden row id if it stays in its
    /// table.
    fn put(
        &mut self,
        (source, table): (usize, &TableDef),
        row: SeenRow<'_>,
        before: Option<&Place>,
        changes: &mut TreeChanges,
    ) -> Result<()> {
        let mut values = self.converter.convert(row.values(table)?)?;
        let number = self.numbering.number(&mut values, before.map_or(0, |before| before.given.number));
        let home = self.home(&values)?;
        let new = self.table(home)?;
        let row_id = match (self.given, before) {
            (None, _) => kept_row_id(&self.tables, row.key)?,
            (Some(_), Some(before)) if before.home == home => before.given.row_id,
            (Some(_), _) if new.table.has_hidden_row_id() => {
                self.core.counters.new_row_id(new.table.id, &new.table.name)?
            }
            (Some(_), _) => 0,
        };
        if let Some(first) = self.given {
            changes.put(first + source, row.key, &AssignedNumbers { row_id, number }.payload())?;
        }
        let made = overflow::new_row(self.core, &new.table, &values, row_id, None)?;
        let (entry, limits) = (&made.entry, &self.core.limits);
        if entry.key.len() + entry.payload.len() > limits.max_entry {
            return Err(MysqlError::too_big_row_size(limits.max_entry).into());
        }
        changes.put(new.first, &entry.key, &entry.payload)?;
        let texts = made.values.iter().filter(|(column, _)| is_indexed_text(new.table.secondary(), *column));
        let outside: TextsOutside =
            texts.map(|(column, _)| (*column, bytes_outside(&values, *column).to_vec())).collect();
        let row = DerivedFrom { key: &entry.key, payload: &entry.payload, outside: &outside };
        for (index, tree) in new.table.secondary().iter().zip(new.first + 1..) {
            for_each_entry(&new.table, index, row, &mut WordEntries::default(), &mut |entry| {
                changes.put(tree, entry.key, entry.payload)
            })?;
        }
        for (column, id) in &made.values {
            let outside = new.outside.as_ref();
            let outside = outside
                .ok_or_else(|| TableError::Internal("a value outside a row, and no place for it".into()))?;
            let bytes = bytes_outside(&values, *column);
            for part in part_rows(limits, *id, bytes) {
                let part = clustered_entry(outside, &part, 0)?;
                changes.put(new.of_values(), &part.key, &part.payload)?;
            }
        }
        Ok(())
    }

    /// The texts outside a new row from which FULLTEXT indexes are derived.
    fn texts_of(&self, new: &NewTable, trees: &[BuiltTree], payload: &[u8]) -> Result<TextsOutside> {
        texts_outside(&new.table, new.table.secondary(), payload, |reference| {
            let of_values = new.outside.as_ref().zip(trees.get(new.of_values()));
            let (outside, of_values) = of_values
                .ok_or_else(|| TableError::Internal("a value outside a row, and no place for it".into()))?;
            value_in_tree(outside, &of_values.tree, &self.core.limits, reference)
        })
    }

    /// The sum of a new table's rows, wherever their values are stored. Checks that its secondary indexes agree with
    /// them, and that no overflow value is left over.
    fn sum_of_rows(&self, new: &NewTable, trees: &[BuiltTree], cancel: &CancelToken) -> Result<Sum> {
        let missing = || TableError::Internal("a tree that was not built".into());
        let built = trees.get(new.first).ok_or_else(missing)?;
        let of_values = trees.get(new.of_values()).filter(|_| new.outside.is_some());
        let (mut rows, mut derived) = (Sum::default(), vec![Sum::default(); new.table.secondary().len()]);
        let mut value_parts = 0u64;
        let mut words = WordEntries::default();
        let mut source = TreeSource::new(&built.tree);
        while let Some((key, payload)) = source.next()? {
            if rows.entries.is_multiple_of(STEP) {
                cancel.check()?;
            }
            let texts = self.texts_of(new, trees, payload)?;
            let row = DerivedFrom { key, payload, outside: &texts };
            for (index, sum) in new.table.secondary().iter().zip(&mut derived) {
                for_each_entry(&new.table, index, row, &mut words, &mut |entry| {
                    sum.add(entry.key, entry.payload);
                    Ok(())
                })?;
            }
            let (Some(outside), Some(of_values)) = (&new.outside, of_values) else {
                rows.add(key, payload);
                continue;
            };
            let values = values_of_row(&new.table, (key, payload), |reference| {
                value_parts += u64::from(parts(&self.core.limits, reference));
                value_in_tree(outside, &of_values.tree, &self.core.limits, reference)
            })?;
            rows.add(key, &content_of(&new.table, &values, &self.core.limits)?);
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

impl Derivation for RebuiltRows<'_> {
    fn changes(
        &mut self,
        (source, table): (usize, &Arc<TableDef>),
        old: Option<SeenRow<'_>>,
        new: Option<SeenRow<'_>>,
        trees: &[BuiltTree],
        changes: &mut TreeChanges,
    ) -> Result<()> {
        let before = old.map(|old| self.remove((source, table), old, trees, changes)).transpose()?;
        if let (Some(first), Some(old)) = (self.given, old) {
            changes.remove(first + source, old.key)?;
        }
        new.map_or(Ok(()), |new| self.put((source, table), new, before.as_ref(), changes))
    }

    fn row_of(&self, tree: usize, locator: &[u8], _: &ReadView, trees: &[BuiltTree]) -> Result<Vec<u8>> {
        let new = self.tables.iter().rev().find(|new| new.first <= tree);
        let built = new.and_then(|new| trees.get(new.first));
        let built = built.ok_or_else(|| TableError::Internal("a tree that is not built".into()))?;
        let row = built.tree.get(locator, |entry| entry.map(|entry| entry.payload.to_vec()))?;
        row.ok_or_else(|| TableError::Internal("an entry of a row that is not there".into()))
    }

    fn verify(
        &mut self,
        sources: &[Watched<'_>],
        view: &ReadView,
        trees: &[BuiltTree],
        cancel: &CancelToken,
    ) -> Result<()> {
        let mut derived = vec![Sum::default(); self.tables.len()];
        for (source, Watched { table, .. }) in sources.iter().enumerate() {
            let built = self.given.and_then(|first| trees.get(first + source));
            let mut given = built.map(|built| TreeSource::new(&built.tree));
            let mut rows = SnapshotSource::new(view, table)?;
            while let Some((key, payload)) = rows.next()? {
                cancel.check()?;
                let given = match &mut given {
                    None => AssignedNumbers { row_id: kept_row_id(&self.tables, key)?, number: 0 },
                    Some(given) => match given.next()? {
                        Some((of, given)) if of == key => AssignedNumbers::of(given)?,
                        _ => return Err(not_numbered()),
                    },
                };
                let row = SeenRow { view, key, payload };
                let mut values = self.converter.convert_again(row.values(table)?)?;
                self.numbering.fill(&mut values, given.number);
                let home = self.home(&values)?;
                let new = self.table(home)?;
                let mut new_key = Vec::new();
                let hidden = hidden(&new.table, given);
                new.table.clustered().format.encode_key(&values, hidden.as_slice(), &mut new_key)?;
                let content = content_of(&new.table, &values, &self.core.limits)?;
                if let Some(sum) = derived.get_mut(home) {
                    sum.add(&new_key, &content);
                }
            }
            if given.map_or(Ok(None), |mut given| given.next().map(|more| more.map(drop)))?.is_some() {
                return Err(not_numbered());
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

/// The content of a row besides its key, as if all values that may overflow were stored in it, under the same number.
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

/// The hidden row id that the row with this key keeps in the new table; 0 if there is none.
fn kept_row_id(tables: &[NewTable], key: &[u8]) -> Result<u64> {
    match tables {
        [new] if new.table.has_hidden_row_id() => row_id_of(key),
        _ => Ok(0),
    }
}

/// The hidden part of the key of a row of `table`, if there is one.
fn hidden(table: &TableDef, given: AssignedNumbers) -> Option<Value> {
    table.has_hidden_row_id().then_some(Value::UInt(given.row_id))
}

fn not_numbered() -> TableError {
    TableError::Internal("rows that a table is built from have other numbers than they were given".into())
}
