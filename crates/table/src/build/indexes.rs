//! New indexes for a table that already has rows: one scan of the rows feeds the sorters of all of them.

use super::control::{BuildControl, STEP};
use super::entry_sorters::EntrySorters;
use super::secondary::build_secondaries;
use crate::catalog::{IndexDef, TableDef};
use crate::core::Core;
use crate::error::Result;
use crate::index::words_entry::ReadTexts;
use crate::new_table::NewTrees;
use crate::run::EntrySource;
use leafline_types::Stage;
use std::sync::Arc;

/// Builds the trees of `indexes` from `rows`, the rows of `table`; `texts` reads the texts outside a row, given its payload. Returns the drafts with their trees.
pub(crate) fn build_indexes(
    core: &Core,
    table: &TableDef,
    indexes: Vec<IndexDef>,
    (rows, texts): (&mut dyn EntrySource, &ReadTexts<'_>),
    control: &BuildControl,
    new: &mut NewTrees,
) -> Result<Vec<IndexDef>> {
    let indexes: Vec<Arc<IndexDef>> = indexes.into_iter().map(Arc::new).collect();
    let clustered = core.trees.current(table.clustered().tree)?;
    control.progress.begin(Stage::ReadingRows, (1, 2), core.row_count(table.id));
    let mut sorters = EntrySorters::new(core, table, indexes.clone(), control);
    let mut read = 0u64;
    while let Some((key, payload)) = rows.next()? {
        if read.is_multiple_of(STEP) {
            control.cancel.check()?;
            control.progress.set(read);
        }
        read += 1;
        sorters.push(key, payload, texts(payload)?)?;
    }
    control.progress.begin(Stage::BuildingTrees, (2, 2), read * indexes.len() as u64);
    let trees = build_secondaries(core, table, &indexes, (sorters.finish()?, &clustered.tree), control, new)?;
    let built = indexes.into_iter().zip(trees).map(|(index, tree)| {
        let mut index = Arc::unwrap_or_clone(index);
        index.set_tree(&tree);
        index
    });
    Ok(built.collect())
}
