//! Unique checks: what is committed now, whether the transaction sees it or not, and what it wrote itself.
//!
//! They are made when a row is written, with the key locked, so that nobody else can insert it until the transaction ends.
//! An entry that is in the way may be one that another transaction is about to delete, of which no page tells: so its
//! row is locked shared, and looked at again.

use super::clock::RegisteredSnapshot;
use super::write_set::{NOW, WriteSet};
use crate::catalog::{IndexDef, TableDef};
use crate::engine::Engine;
use crate::error::Result;
use crate::index::entry::{locator_of_entry, unique_prefix};
use leafline_btree::{Direction, EntryView, LeafStep};
use parking_lot::RwLock;
use std::sync::Arc;

/// A row as it is committed now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Probe {
    /// There is none, and the snapshot agrees.
    Absent,
    /// It is there, as the snapshot sees it.
    Present(Arc<[u8]>),
    /// It is there, committed after the snapshot.
    PresentUnseen(Arc<[u8]>),
    /// It was deleted after the snapshot.
    DeletedUnseen,
}

/// Looks a row up as it is committed now.
pub(crate) fn check_clustered(
    engine: &Engine,
    table: &TableDef,
    key: &[u8],
    snapshot: &RegisteredSnapshot,
) -> Result<Probe> {
    // A tree built after the snapshot has no timestamps that could tell of a change.
    let tree = engine.trees.for_snapshot(table.clustered(), snapshot)?;
    let probe = |entry: Option<EntryView<'_>>| match entry {
        None => Probe::Absent,
        Some(entry) => match (entry.is_ghost(), snapshot.sees(entry.commit_ts)) {
            (true, true) => Probe::Absent,
            (true, false) => Probe::DeletedUnseen,
            (false, true) => Probe::Present(entry.payload.into()),
            (false, false) => Probe::PresentUnseen(entry.payload.into()),
        },
    };
    let probe = tree.tree.get(key, probe)?;
    snapshot.check()?;
    Ok(probe)
}

/// The row, if any, that has the unique parts of `key` in `index` and that the transaction has not itself deleted
/// or moved away.
pub(crate) fn check_secondary(
    engine: &Engine,
    table: &TableDef,
    index: &IndexDef,
    key: &[u8],
    writes: &RwLock<WriteSet>,
) -> Result<Option<Vec<u8>>> {
    let Some(prefix) = unique_prefix(index, key)? else { return Ok(None) };
    let mut locator = Vec::new();
    let written = writes.read().has_table(table.id);
    if written {
        if !writes.read().has_view(table.id, index) {
            writes.write().build_view(engine, table.id, index)?;
        }
        // Of the keys with this prefix only one can be live, but any number may be gone.
        let own = writes.read().with_unique_parts(table.id, index.id, prefix)?;
        if let Some(live) = own.iter().find(|entry| entry.state.is_some()) {
            locator_of_entry(index, &live.key, &mut locator)?;
            return Ok(Some(locator));
        }
    }
    for found in live_entries(engine, index, prefix)? {
        let deleted = written && matches!(writes.read().entry(table.id, index.id, &found, NOW)?, Some(None));
        if !deleted {
            locator_of_entry(index, &found, &mut locator)?;
            return Ok(Some(locator));
        }
    }
    Ok(None)
}

/// Keys of the live committed entries that begin with `prefix`.
pub(crate) fn live_entries(engine: &Engine, index: &IndexDef, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
    let tree = engine.trees.current(index.tree)?;
    let mut cursor = tree.tree.cursor();
    cursor.seek(prefix);
    let mut found = Vec::new();
    let mut key = Vec::new();
    let mut done = false;
    while !done {
        let more = cursor.visit_leaf(Direction::Forward, |leaf, slots| {
            for slot in slots {
                leaf.key_into(slot, &mut key);
                if !key.starts_with(prefix) {
                    done = true;
                    return LeafStep::Stop;
                }
                if !leaf.entry(slot).is_ghost() {
                    found.push(key.clone());
                }
            }
            LeafStep::NextLeaf
        })?;
        done |= !more;
    }
    Ok(found)
}
