//! New indexes on a table that has rows already.

use super::{finish_builder, new_builder};
use crate::catalog::{IndexDef, TableDef};
use crate::ddl::NewTrees;
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::index::entry::{describe_row, entry_of_row, locator_of_entry, unique_prefix};
use crate::run::{EntrySource, Sorter};
use leafline_btree::Tree;
use leafline_types::MysqlError;

/// Builds the trees of `indexes` from `rows`, which are those of `table`. The drafts come back with their trees.
pub(crate) fn build_indexes(
    engine: &Engine,
    table: &TableDef,
    indexes: Vec<IndexDef>,
    rows: &mut dyn EntrySource,
    new: &mut NewTrees<'_>,
) -> Result<Vec<IndexDef>> {
    let memory = engine.options.build_memory_bytes / indexes.len().max(1) as u64;
    let mut sorters: Vec<Sorter> = indexes.iter().map(|_| Sorter::new(&engine.env, memory)).collect();
    let clustered = engine.trees.current(table.clustered().tree)?;
    while let Some((key, payload)) = rows.next()? {
        new.cancel.check()?;
        for (index, sorter) in indexes.iter().zip(&mut sorters) {
            push_entry(engine, table, index, sorter, (key, payload))?;
        }
    }
    let mut built = Vec::with_capacity(indexes.len());
    for (mut index, sorter) in indexes.into_iter().zip(sorters) {
        let tree = build_secondary(engine, table, &index, (sorter, &clustered.tree), new)?;
        (index.tree, index.root) = (tree.id(), tree.root());
        built.push(index);
    }
    Ok(built)
}

/// Adds the entry of a row to the sort of an index.
pub(crate) fn push_entry(
    engine: &Engine,
    table: &TableDef,
    index: &IndexDef,
    sorter: &mut Sorter,
    (key, payload): (&[u8], &[u8]),
) -> Result<()> {
    let entry = entry_of_row(table, index, key, payload)?;
    let limits = &engine.limits;
    if entry.key.len() > limits.max_key || entry.key.len() + entry.payload.len() > limits.max_entry {
        return Err(MysqlError::key_too_long(limits.max_key).into());
    }
    sorter.push(&entry.key, &entry.payload)
}

/// Builds the tree of a secondary index from its sorted entries, which are of the rows of `rows`.
pub(crate) fn build_secondary(
    engine: &Engine,
    table: &TableDef,
    index: &IndexDef,
    (sorter, rows): (Sorter, &Tree),
    new: &mut NewTrees<'_>,
) -> Result<Tree> {
    let (_, mut builder) = new_builder(engine, new)?;
    let mut entries = sorter.finish()?;
    let mut last: Vec<u8> = Vec::new();
    while let Some((key, payload)) = entries.next()? {
        new.cancel.check()?;
        if let Some(prefix) = unique_prefix(index, key)? {
            if prefix == last {
                let mut locator = Vec::new();
                locator_of_entry(index, key, &mut locator)?;
                let row = rows.get(&locator, |row| row.map(|row| row.payload.to_vec()))?;
                return Err(duplicate(table, index, locator, &row.unwrap_or_default()));
            }
            last.clear();
            last.extend_from_slice(prefix);
        }
        builder.push(key, payload)?;
    }
    finish_builder(engine, builder)
}

/// Error 1062 for the entry of a row in `index`.
pub(super) fn duplicate(table: &TableDef, index: &IndexDef, locator: Vec<u8>, payload: &[u8]) -> TableError {
    match describe_row(table, index, &locator, payload) {
        Ok(entry) => TableError::DuplicateEntry {
            entry,
            table: table.name.clone(),
            index: index.name.clone(),
            locator,
        },
        Err(error) => error,
    }
}
