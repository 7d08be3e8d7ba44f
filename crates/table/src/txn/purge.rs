//! Purge: removing what was deleted once no snapshot can need it.
//!
//! A deleted row or entry stays as a ghost. The commit that made it puts it on a queue ([`super::ghosts`]); when
//! its timestamp is below the bound, the ghost is taken out of its tree, and old versions of rows and retired trees
//! go the same way.

use super::ghosts::{Ghost, GhostChunk};
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::txn::relief;
use leafline_btree::CommitTs;
use leafline_storage::StorageError;
use std::sync::atomic::Ordering;

/// Removes every ghost, old version and dropped tree that nobody needs any more. Done in the background where
/// the store has threads of its own. Returns the number of ghosts removed.
///
/// # Errors
/// What the store returns. A full disk is no error: what could not be removed stays.
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

/// Removes the ghosts of a chunk from before `bound`. False: there is no use in going on.
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
            // It stays on its damaged page, and others are not to wait for it.
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
