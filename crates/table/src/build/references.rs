//! Whether the rows of a table refer to rows that are there: what a foreign key asks of rows that are older than it.

use crate::catalog::{ForeignKeyDef, IndexDef, TableDef};
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::run::EntrySource;
use leafline_btree::{Direction, LeafStep, Tree};
use leafline_types::{MysqlError, Value, encode_part};
use std::sync::Arc;

/// Checks the rows of `child`, which nobody changes and whose trees need not be in force yet, against those of the parents of `keys`,
/// which nobody changes either. A parent that is not there is none of a key that was allowed without.
///
/// # Errors
/// 1452 for a row that refers to nothing, what the store returns.
pub(crate) fn check_references(
    engine: &Engine,
    child: &TableDef,
    clustered: &Tree,
    keys: &[ForeignKeyDef],
) -> Result<()> {
    let catalog = engine.catalog();
    for key in keys {
        let (parent, is_own) = match key.refers_to(&child.database, &child.name) {
            true => (Some(Arc::new(child.clone())), true),
            false => (catalog.table(&key.parent_database, &key.parent_table).cloned(), false),
        };
        let Some(parent) = parent else { continue };
        let index = key.columns_in(&parent).and_then(|columns| {
            parent.indexes.iter().find(|index| index.leading_columns().starts_with(&columns)).cloned()
        });
        let Some(index) = index else { continue };
        let tree = match is_own {
            true => Tree::open(&engine.store, index.tree, index.root)?,
            false => engine.trees.current(index.tree)?.tree.clone(),
        };
        check_key(child, clustered, key, &index, &tree)?;
    }
    Ok(())
}

fn check_key(
    child: &TableDef,
    clustered: &Tree,
    key: &ForeignKeyDef,
    index: &IndexDef,
    parents: &Tree,
) -> Result<()> {
    let decoder = crate::index::entry_decoder(child.clustered(), &key.columns)?;
    let mut rows = super::TreeSource::new(clustered);
    let (mut values, mut prefix, mut last) = (Vec::new(), Vec::new(), Vec::new());
    while let Some((entry, payload)) = rows.next()? {
        values.clear();
        decoder.decode_values(entry, payload, &mut values)?;
        if values.iter().any(Value::is_null) {
            continue;
        }
        prefix.clear();
        for (part, value) in index.key_parts.iter().zip(&values) {
            encode_part(part, value, &mut prefix)?;
        }
        if prefix == last {
            continue;
        }
        if !has_prefix(parents, &prefix)? {
            return Err(TableError::from(MysqlError::no_referenced_row(key.described(child))));
        }
        last.clone_from(&prefix);
    }
    Ok(())
}

/// Whether a live entry begins with `prefix`.
fn has_prefix(tree: &Tree, prefix: &[u8]) -> Result<bool> {
    let mut cursor = tree.cursor();
    cursor.seek(prefix);
    let (mut found, mut done) = (false, false);
    let mut key = Vec::new();
    while !done {
        let more = cursor.visit_leaf(Direction::Forward, |leaf, slots| {
            for slot in slots {
                leaf.key_into(slot, &mut key);
                found = key.starts_with(prefix) && !leaf.entry(slot).is_ghost();
                if found || !key.starts_with(prefix) {
                    done = true;
                    return LeafStep::Stop;
                }
            }
            LeafStep::NextLeaf
        })?;
        done |= !more;
    }
    Ok(found)
}
