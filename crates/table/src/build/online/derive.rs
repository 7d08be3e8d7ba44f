//! Derivations: the trees built from the rows of a table, and the changes of these trees when a row
//! changes.

use super::apply::{BuiltTree, TreeChanges};
use super::source::SnapshotSource;
use super::verify::{disagreement, sum_of_tree};
use crate::build::STEP;
use crate::catalog::{IndexDef, TableDef};
use crate::change_log::Watch;
use crate::check::Sum;
use crate::error::{Result, TableError};
use crate::index::derived::{DerivedFrom, EntryChange, differences, entries_of_row, for_each_entry};
use crate::index::entry::Entry;
use crate::index::words_entry::WordEntries;
use crate::overflow::values_of_row;
use crate::read::{LocatorBatch, ReadView};
use crate::run::EntrySource;
use leafline_storage::worker::ThreadName;
use leafline_types::{CancelToken, Value};
use std::sync::Arc;

/// A table or partition that something is built from.
pub(crate) struct Watched<'a> {
    pub(crate) table: Arc<TableDef>,
    /// Notes which of its rows change.
    pub(crate) watch: Watch<'a>,
}

/// A row, as a view sees it.
#[derive(Clone, Copy)]
pub(crate) struct SeenRow<'a> {
    pub(crate) view: &'a ReadView,
    pub(crate) key: &'a [u8],
    pub(crate) payload: &'a [u8],
}

impl SeenRow<'_> {
    /// Makes all entries of an index of `table` for it; it must be a row of this table.
    pub(crate) fn entries(&self, table: &TableDef, index: &Arc<IndexDef>) -> Result<Vec<Entry>> {
        let outside = self.view.texts_outside(table, std::slice::from_ref(index), self.payload)?;
        entries_of_row(table, index, DerivedFrom { key: self.key, payload: self.payload, outside: &outside })
    }

    /// Decodes its values; it must be a row of `table`.
    ///
    /// # Errors
    /// `Corrupt`; errors of the store.
    pub(crate) fn values(&self, table: &TableDef) -> Result<Vec<Value>> {
        values_of_row(table, (self.key, self.payload), |reference| {
            let mut values = self.view.overflow_values(table, std::slice::from_ref(reference))?;
            values.pop().ok_or_else(|| TableError::Internal("a value was not fetched".into()))
        })
    }
}

/// Derives trees from rows. Trees are numbered among all that are built.
pub(crate) trait Derivation {
    /// Adds the changes of the trees that follow from the change of a row of a watched table. Changes added
    /// before have not been applied yet.
    ///
    /// # Errors
    /// Errors of making entries of the row; errors of the store.
    fn changes(
        &mut self,
        source: (usize, &Arc<TableDef>),
        old: Option<SeenRow<'_>>,
        new: Option<SeenRow<'_>>,
        trees: &[BuiltTree],
        changes: &mut TreeChanges,
    ) -> Result<()>;

    /// Called after all added changes were applied, so that the trees correspond to `view`.
    ///
    /// # Errors
    /// The error of a violation that cannot be resolved any more; errors of the store; 1317.
    fn settle(&mut self, _view: &ReadView, _cancel: &CancelToken) -> Result<()> {
        Ok(())
    }

    /// Called at the end, when nobody changes rows any more and all changes are settled.
    ///
    /// # Errors
    /// The error of a remaining violation.
    fn conclude(&self) -> Result<()> {
        Ok(())
    }

    /// The payload of the row that a tree's entry belongs to, as it is in `view` and was built.
    ///
    /// # Errors
    /// Errors of the store.
    fn row_of(&self, tree: usize, locator: &[u8], view: &ReadView, trees: &[BuiltTree]) -> Result<Vec<u8>>;

    /// Compares trees with the rows of `view` that they were built from.
    ///
    /// # Errors
    /// `Internal` if they do not agree; errors of the store; 1317.
    fn verify(
        &mut self,
        sources: &[Watched<'_>],
        view: &ReadView,
        trees: &[BuiltTree],
        cancel: &CancelToken,
    ) -> Result<()>;
}

/// The secondary indexes of several tables. Their trees are numbered consecutively, table by table.
pub(crate) struct IndexEntries {
    /// Each table, with its indexes.
    tables: Vec<(Arc<TableDef>, Vec<Arc<IndexDef>>)>,
    /// Whether trees are compared with rows by two threads, one that reads rows and one that reads trees.
    has_helper: bool,
}

impl IndexEntries {
    /// Takes the indexes of the watched tables, in their order, and the number of threads that may help.
    pub(crate) fn new(tables: Vec<(Arc<TableDef>, Vec<Arc<IndexDef>>)>, threads: usize) -> IndexEntries {
        IndexEntries { tables, has_helper: threads > 0 }
    }

    /// The sums of the entries that the trees should have for the rows of `view`.
    fn derived(&self, view: &ReadView, cancel: &CancelToken) -> Result<Vec<Sum>> {
        let (mut sums, mut words) = (Vec::new(), WordEntries::default());
        for (table, indexes) in &self.tables {
            let mut derived = vec![Sum::default(); indexes.len()];
            let mut rows = SnapshotSource::new(view, table)?;
            let mut count = 0u64;
            while let Some((key, payload)) = rows.next()? {
                count += 1;
                if count.is_multiple_of(STEP) {
                    cancel.check()?;
                }
                for (index, sum) in indexes.iter().zip(&mut derived) {
                    let outside = view.texts_outside(table, std::slice::from_ref(index), payload)?;
                    let row = DerivedFrom { key, payload, outside: &outside };
                    for_each_entry(table, index, row, &mut words, &mut |entry| {
                        sum.add(entry.key, entry.payload);
                        Ok(())
                    })?;
                }
            }
            sums.extend(derived);
        }
        Ok(sums)
    }

    fn first_tree(&self, source: usize) -> usize {
        self.tables.iter().take(source).map(|(_, indexes)| indexes.len()).sum()
    }
}

impl Derivation for IndexEntries {
    fn changes(
        &mut self,
        (source, table): (usize, &Arc<TableDef>),
        old: Option<SeenRow<'_>>,
        new: Option<SeenRow<'_>>,
        _: &[BuiltTree],
        changes: &mut TreeChanges,
    ) -> Result<()> {
        let first = self.first_tree(source);
        // A table whose rows are only watched has none.
        let Some((_, indexes)) = self.tables.get(source) else { return Ok(()) };
        for (index, tree) in indexes.iter().zip(first..) {
            let entries =
                |row: Option<SeenRow<'_>>| row.map_or(Ok(Vec::new()), |row| row.entries(table, index));
            differences(entries(old)?, entries(new)?, &mut |change| match change {
                EntryChange::Remove(key) => changes.remove(tree, &key),
                EntryChange::Put(entry) => changes.put(tree, &entry.key, &entry.payload),
            })?;
        }
        Ok(())
    }

    fn row_of(&self, tree: usize, locator: &[u8], view: &ReadView, _: &[BuiltTree]) -> Result<Vec<u8>> {
        let mut left = tree;
        for (table, indexes) in &self.tables {
            if left < indexes.len() {
                let mut batch = LocatorBatch::new();
                batch.push(locator);
                let row = rows_of(view, table, &batch)?.pop().flatten();
                return row.ok_or_else(|| TableError::Internal("an entry of a row that is not there".into()));
            }
            left -= indexes.len();
        }
        Err(TableError::Internal("a tree that is not built".into()))
    }

    fn verify(
        &mut self,
        _: &[Watched<'_>],
        view: &ReadView,
        trees: &[BuiltTree],
        cancel: &CancelToken,
    ) -> Result<()> {
        let trees = trees.get(..self.first_tree(self.tables.len())).unwrap_or_default();
        let sums_of_trees = || trees.iter().map(|built| sum_of_tree(&built.tree, cancel)).collect();
        let (derived, found): (Result<Vec<Sum>>, Result<Vec<Sum>>) = std::thread::scope(|scope| {
            let helper =
                self.has_helper.then(|| ThreadName::Build.builder().spawn_scoped(scope, sums_of_trees));
            let derived = self.derived(view, cancel);
            let found = match helper {
                Some(Ok(helper)) => helper
                    .join()
                    .unwrap_or_else(|_| Err(TableError::Internal("a thread of a build has panicked".into()))),
                // The caller alone suffices.
                Some(Err(_)) | None => sums_of_trees(),
            };
            (derived, found)
        });
        for ((built, derived), found) in trees.iter().zip(derived?).zip(found?) {
            if found != derived {
                return Err(disagreement(&built.index.name, derived.entries, found.entries));
            }
        }
        Ok(())
    }
}

/// The payloads of the rows that a view has under some keys.
pub(super) fn rows_of(
    view: &ReadView,
    table: &Arc<TableDef>,
    keys: &LocatorBatch,
) -> Result<Vec<Option<Vec<u8>>>> {
    let mut rows = vec![None; keys.len()];
    view.fetch(table, keys, &mut |at, row| {
        if let (Some(slot), Some(row)) = (rows.get_mut(at), row) {
            *slot = Some(row.payload.to_vec());
        }
    })?;
    Ok(rows)
}
