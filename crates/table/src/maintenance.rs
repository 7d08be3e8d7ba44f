//! Maintenance of a database: the purge, and the change buffer's settings and merging. Checking is in `check`, repairing in
//! `repair`, backups in `backup`, reading whole indexes in `preload`.

use crate::change_buffer::{ChangeBufferStats, ChangeBuffering};
use crate::core::Core;
use crate::error::Result;
use crate::limits::Limits;
use crate::txn::purge;
use leafline_storage::SegmentId;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The part of an engine that keeps it in order.
#[derive(Clone)]
pub struct Maintenance {
    pub(crate) core: Arc<Core>,
}

impl Maintenance {
    pub(crate) fn new(core: &Arc<Core>) -> Maintenance {
        Maintenance { core: core.clone() }
    }

    /// Removes every ghost, old version and dropped tree that nobody needs any more. Done in the background where
    /// the store has threads of its own. Returns the number of ghosts removed.
    ///
    /// # Errors
    /// Errors of the store. A full disk is no error: ghosts that could not be removed stay.
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

    /// Which changes of non-unique secondary indexes are buffered from now on, and how many percent of the buffer pool's size they may
    /// take. What is buffered is merged nevertheless.
    pub fn set_change_buffering(&self, mode: ChangeBuffering, percent: u64) {
        let limits = Limits::of_change_buffer(self.core.options.store.buffer_pool_bytes, Some(percent));
        self.core.change_buffer.set_limits(limits.0, limits.1);
        self.core.change_buffer.set_mode(mode);
    }

    /// Whether leaves leave memory before their entries change, from now on, so that all changes are buffered that can be: for tests.
    pub fn force_change_buffering(&self, forced: bool) {
        self.core.change_buffer.set_forced(forced || self.core.options.force_change_buffering);
    }

    /// The segments that buffered changes are in.
    pub fn change_buffer_segments(&self) -> BTreeSet<SegmentId> {
        self.core.change_buffer.segments()
    }

    /// Counters and gauges of the change buffer.
    pub fn change_buffer_stats(&self) -> ChangeBufferStats {
        self.core.change_buffer.stats()
    }
}
