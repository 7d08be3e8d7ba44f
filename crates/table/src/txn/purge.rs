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
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the background thread looks.
const PURGE_INTERVAL: Duration = Duration::from_millis(100);

impl Engine {
    /// Removes every ghost, old version and dropped tree that nobody needs any more. Done in the background where
    /// the store has threads of its own. Returns the number of ghosts removed.
    ///
    /// # Errors
    /// What the store returns. A full disk is no error: what could not be removed stays.
    pub fn purge(&self) -> Result<u64> {
        let mut removed = 0;
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
        let mut reservation =
            self.store.reserve(tree.worst_case_pages(), tree.worst_case_log(ghost.key.len(), 0))?;
        Ok(tree.purge(&mut reservation, ghost.key, bound)?)
    }
}

#[derive(Default)]
struct Signal {
    stop: Mutex<bool>,
    changed: Condvar,
}

/// The background thread.
pub(crate) struct PurgeThread {
    signal: Arc<Signal>,
    thread: JoinHandle<()>,
}

impl PurgeThread {
    /// Starts it. It does not keep the engine open.
    pub(crate) fn start(engine: &Arc<Engine>) -> Result<PurgeThread> {
        let signal = Arc::new(Signal::default());
        let (weak, shared) = (Arc::downgrade(engine), signal.clone());
        let thread =
            std::thread::Builder::new().name("leafline-purge".into()).spawn(move || run(&weak, &shared));
        let thread = thread.map_err(|error| TableError::Internal(format!("no thread for purge: {error}")))?;
        Ok(PurgeThread { signal, thread })
    }

    /// Stops it and waits for it.
    pub(crate) fn stop(self) {
        *self.signal.stop.lock() = true;
        self.signal.changed.notify_all();
        // The engine may be dropped by this very thread.
        if self.thread.thread().id() != std::thread::current().id() {
            // A panic there has been reported by the panic hook; nothing of it is needed here.
            let _ = self.thread.join();
        }
    }
}

fn run(engine: &Weak<Engine>, signal: &Signal) {
    let mut stop = signal.stop.lock();
    while !*stop {
        signal.changed.wait_for(&mut stop, PURGE_INTERVAL);
        if *stop {
            return;
        }
        let is_there = parking_lot::MutexGuard::unlocked(&mut stop, || {
            let Some(engine) = engine.upgrade() else { return false };
            // What fails here fails for the sessions too, which report it; ghosts cost space only.
            let _ = engine.purge();
            true
        });
        if !is_there {
            return;
        }
    }
}
