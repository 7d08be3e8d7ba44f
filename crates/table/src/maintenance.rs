//! Maintenance of a database: the purge, and the change buffer's settings and merging. Checks are in `check`, repairs
//! in `repair`, backups in `backup`, preloading in `preload`.

use crate::change_buffer::ChangeBufferStats;
use crate::core::Core;
use crate::error::Result;
use crate::limits::Limits;
use crate::options::ChangeBuffering;
use crate::txn::purge;
use leafline_storage::SegmentId;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Keeps the database in order.
#[derive(Clone)]
pub struct Maintenance {
    pub(crate) core: Arc<Core>,
}

impl Maintenance {
    pub(crate) fn new(core: &Arc<Core>) -> Maintenance {
        Maintenance { core: core.clone() }
    }

    /// Removes every ghost, old version and dropped tree that nobody needs any more. The background thread does this,
    /// if the store has threads of its own. Returns the number of ghosts removed.
    ///
    /// # Errors
    /// Errors of the store. A full disk is not an error: ghosts that cannot be removed stay.
    pub fn purge(&self) -> Result<u64> {
        purge::purge(&self.core)
    }

    /// Merges all changes that are buffered now into their leaves.
    ///
    /// # Errors
    /// Errors of the store. Changes of leaves that cannot be read stay.
    pub fn merge_changes(&self) -> Result<()> {
        self.core.change_buffer.merge_all(&*self.core)
    }

    /// Sets which changes of non-unique secondary indexes are buffered from now on, and how many percent of the
    /// buffer pool's size they may take. Changes already buffered are merged nevertheless.
    pub fn set_change_buffering(&self, mode: ChangeBuffering, percent: u64) {
        let limits = Limits::of_change_buffer(self.core.options.store.buffer_pool_bytes, Some(percent));
        self.core.change_buffer.set_limits(limits.0, limits.1);
        self.core.change_buffer.set_mode(mode);
    }

    /// Sets whether leaves are evicted before their entries change, so that every change that can be buffered is; for
    /// tests.
    pub fn force_change_buffering(&self, forced: bool) {
        self.core.change_buffer.set_forced(forced || self.core.options.force_change_buffering);
    }

    /// The segments that contain buffered changes.
    pub fn change_buffer_segments(&self) -> BTreeSet<SegmentId> {
        self.core.change_buffer.segments()
    }

    /// Counters and gauges of the change buffer.
    pub fn change_buffer_stats(&self) -> ChangeBufferStats {
        self.core.change_buffer.stats()
    }
}
