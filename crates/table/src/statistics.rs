//! Counters and gauges of an engine.

use crate::lock::LockStats;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// Counters and gauges of an engine, for status variables.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EngineStats {
    /// Transactions committed that wrote something.
    pub commits: u64,
    /// Statements that met a row changed by a commit that their snapshot did not see.
    pub conflicts: u64,
    /// Locks.
    pub locks: LockStats,
    /// Old row versions in memory.
    pub versions: u64,
    /// Bytes of memory they take.
    pub version_bytes: u64,
    /// Old row versions in files. Some may be in memory too, for a moment.
    pub spilled_versions: u64,
    /// Bytes of those files.
    pub spilled_version_bytes: u64,
    /// Number of those files.
    pub version_runs: u64,
    /// Times that old versions were written to a file.
    pub version_spills: u64,
    /// Memory of old versions, the index of their files, and the purge queue.
    pub history_bytes: u64,
    /// Bytes of the buffer pool that are borrowed for it.
    pub history_borrowed: u64,
    /// Bytes that it may take before something is written to files.
    pub history_limit: u64,
    /// Deleted rows and entries waiting to be removed.
    pub purge_queue: u64,
    /// Bytes of files that hold a part of them.
    pub purge_queue_file_bytes: u64,
    /// Deleted rows and entries removed.
    pub purged: u64,
    /// Deleted rows and entries that could not wait to be removed, for lack of temporary space: later writes to their pages do.
    pub purge_forgotten: u64,
    /// Snapshots that were given up for lack of temporary space.
    pub snapshots_given_up: u64,
    /// Snapshots in use.
    pub snapshots: u64,
    /// Age of the oldest of them.
    pub oldest_snapshot: Option<Duration>,
    /// Trees that were dropped but are still read.
    pub retired_trees: u64,
}

#[derive(Debug, Default)]
pub(crate) struct EngineCounts {
    pub(crate) commits: AtomicU64,
    pub(crate) conflicts: AtomicU64,
    pub(crate) purged: AtomicU64,
    pub(crate) spills: AtomicU64,
}
