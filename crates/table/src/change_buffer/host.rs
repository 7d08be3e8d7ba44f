//! The change buffer's thread, and the interface through which the buffer uses the engine.

use super::ChangeBuffer;
use crate::error::{Result, TableError};
use crate::trees::TreeHandle;
use leafline_btree::CommitTs;
use leafline_storage::SegmentId;
use leafline_storage::worker::{Next, OnPanic, ThreadName, Worker};
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The time between rounds of the thread.
const INTERVAL: Duration = Duration::from_millis(100);

/// The part of the engine that the change buffer uses.
pub(crate) trait Host: Send + Sync {
    /// Returns the bound of the purge: no snapshot needs entries that were deleted before it.
    fn bound(&self) -> CommitTs;

    /// Returns a tree that can be used, even if it was dropped and is still read. `None`: its changes are useless.
    fn tree(&self, id: SegmentId) -> Option<Arc<TreeHandle>>;

    /// Adds a ghost for the purge: a deleted entry that merging has left in its leaf.
    fn add_ghost(&self, ts: CommitTs, tree: SegmentId, key: &[u8]);

    /// Quarantines trees that lack changes, durably, before anybody reads them again.
    ///
    /// # Errors
    /// Errors of writing the quarantine's files.
    fn refuse(&self, trees: &BTreeSet<SegmentId>, why: String) -> Result<()>;
}

impl ChangeBuffer {
    /// Starts the thread, which does not keep the host alive. A panic in it stops the store.
    ///
    /// # Errors
    /// The error of the system if it cannot start a thread.
    pub(crate) fn start(self: &Arc<Self>, host: Weak<dyn Host>) -> Result<()> {
        let (buffer, stopped) = (Arc::downgrade(self), Arc::downgrade(self));
        let on_panic = OnPanic::call(move |text| {
            if let Some(buffer) = stopped.upgrade() {
                buffer.store.poison(format!("a panic in the thread {}: {text}", ThreadName::ChangeBuffer));
            }
        });
        let worker = Worker::start(ThreadName::ChangeBuffer, on_panic, Next::After(INTERVAL), move || {
            let (Some(host), Some(buffer)) = (host.upgrade(), buffer.upgrade()) else { return Next::Never };
            // A failure is tried again, and reaches the sessions if it stops the store.
            match buffer.tend(&*host) {
                Ok(true) => Next::Now,
                Ok(false) | Err(_) => Next::After(INTERVAL),
            }
        });
        let worker = worker
            .map_err(|error| TableError::Internal(format!("no thread for the change buffer: {error}")))?;
        let _ = self.worker.set(worker);
        Ok(())
    }

    /// Ends the thread, if there is one, and waits for it.
    pub(crate) fn stop(&self) {
        if let Some(worker) = self.worker.get() {
            worker.stop();
        }
    }
}
