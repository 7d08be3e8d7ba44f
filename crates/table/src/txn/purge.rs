//! Purge: removes deleted rows and entries once no snapshot can need them.
//!
//! A deleted row or entry stays as a ghost. The commit that deleted it adds it to a queue ([`crate::mvcc::ghosts`]).
//! When the ghost's timestamp is below the bound, it is removed from its tree. Old versions of rows and retired trees
//! are removed in the same way.

use crate::core::Core;
use crate::error::{Result, TableError};
use crate::mvcc::ghosts::{Ghost, GhostChunk};
use crate::txn::relief;
use leafline_btree::CommitTs;
use leafline_storage::StorageError;
use std::sync::atomic::Ordering;

/// Removes every ghost, old version and dropped tree that nobody needs any more. The background thread calls it, if
/// the store has threads of its own. Returns the number of ghosts removed.
///
/// # Errors
/// Errors of the store. A full disk is not an error: what cannot be removed stays.
pub fn purge(core: &Core) -> Result<u64> {
    let mut removed = 0;
    core.change_buffer.list_merged_ghosts(core);
    let bound = core.bound();
    while let Some(mut chunk) = core.ghosts.take(bound) {
        let done = purge_chunk(core, &mut chunk, bound, &mut removed);
        core.ghosts.put_back(chunk);
        match done {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return Err(error),
        }
    }
    core.counts.purged.fetch_add(removed, Ordering::Relaxed);
    relief::tidy_history(core);
    core.locks.give_back();
    while let Some(segment) = core.trees.take_unused(bound) {
        core.store.drop_segment(segment)?;
        core.quarantine.lock().forget(segment);
        core.change_buffer.retain(|tree| tree != segment);
    }
    Ok(removed)
}

/// Removes the ghosts of a chunk from before `bound`. Returns false if it is useless to continue.
fn purge_chunk(core: &Core, chunk: &mut GhostChunk, bound: CommitTs, removed: &mut u64) -> Result<bool> {
    while let Some(ghost) = chunk.first() {
        if ghost.ts >= bound {
            return Ok(false);
        }
        let result = purge_one(core, &ghost, bound);
        if matches!(result, Err(TableError::Storage(StorageError::DiskFull))) {
            return Ok(false);
        }
        chunk.pop();
        core.ghosts.removed();
        match result {
            Ok(done) => *removed += u64::from(done),
            // The ghost stays on its damaged page, and other ghosts need not wait for it.
            Err(error) if error.is_damage() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn purge_one(core: &Core, ghost: &Ghost<'_>, bound: CommitTs) -> Result<bool> {
    let Ok(handle) = core.trees.current(ghost.tree) else { return Ok(false) };
    let tree = &handle.tree;
    let _room = core.room.read();
    let mut reservation = core.store.reserve(0, tree.worst_case_log(ghost.key.len(), 0))?;
    Ok(tree.purge(&mut reservation, ghost.key, bound)?)
}
