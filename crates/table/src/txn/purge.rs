//! Purge: removing what was deleted once no snapshot can need it.
//!
//! A deleted row or entry stays as a ghost. The commit that made it puts it on a queue ([`super::ghosts`]); when
//! its timestamp is below the bound, the ghost is taken out of its tree, and old versions of rows and retired trees
//! go the same way.

use super::ghosts::{Ghost, GhostChunk};
use crate::engine::Engine;
use crate::error::{Result, TableError};
use leafline_btree::CommitTs;
use leafline_storage::StorageError;
use std::sync::atomic::Ordering;

impl Engine {
    /// Removes every ghost, old version and dropped tree that nobody needs any more. Done in the background where
    /// the store has threads of its own. Returns the number of ghosts removed.
    ///
    /// # Errors
    /// What the store returns. A full disk is no error: what could not be removed stays.
    pub fn purge(&self) -> Result<u64> {
        let mut removed = 0;
        self.list_merged_ghosts();
        let bound = self.bound();
        while let Some(mut chunk) = self.ghosts.take(bound) {
            let done = self.purge_chunk(&mut chunk, bound, &mut removed);
            self.ghosts.put_back(chunk);
            match done {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return Err(error),
            }
        }
        self.counts.purged.fetch_add(removed, Ordering::Relaxed);
        self.tidy_history();
        self.locks.give_back();
        while let Some(segment) = self.trees.take_unused(bound) {
            self.store.drop_segment(segment)?;
            self.quarantine.lock().forget(segment);
            self.change_buffer.retain(|tree| tree != segment);
        }
        Ok(removed)
    }

    /// Removes the ghosts of a chunk from before `bound`. False: there is no use in going on.
    fn purge_chunk(&self, chunk: &mut GhostChunk, bound: CommitTs, removed: &mut u64) -> Result<bool> {
        while let Some(ghost) = chunk.first() {
            if ghost.ts >= bound {
                return Ok(false);
            }
            let result = self.purge_one(&ghost, bound);
            if matches!(result, Err(TableError::Storage(StorageError::DiskFull))) {
                return Ok(false);
            }
            chunk.pop();
            self.ghosts.removed();
            match result {
                Ok(done) => *removed += u64::from(done),
                // It stays on its damaged page, and others are not to wait for it.
                Err(error) if error.is_damage() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn purge_one(&self, ghost: &Ghost<'_>, bound: CommitTs) -> Result<bool> {
        let Ok(handle) = self.trees.current(ghost.tree) else { return Ok(false) };
        let tree = &handle.tree;
        let _room = self.room.read();
        let mut reservation = self.store.reserve(0, tree.worst_case_log(ghost.key.len(), 0))?;
        Ok(tree.purge(&mut reservation, ghost.key, bound)?)
    }
}
