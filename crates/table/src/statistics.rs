//! Counters and gauges of an engine.

use crate::lock::LockStats;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// Counters and gauges of an engine, for status variables.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EngineStats {
    /// The number of transactions that wrote something and committed.
    pub commits: u64,
    /// The number of statements that met a row changed by a commit that their snapshot did not see.
    pub conflicts: u64,
    /// Figures about locks.
    pub locks: LockStats,
    /// The number of old row versions in memory.
    pub versions: u64,
    /// The memory of these versions in bytes.
    pub version_bytes: u64,
    /// The number of old row versions in files. Some may be in memory too, briefly.
    pub spilled_versions: u64,
    /// The bytes of these files.
    pub spilled_version_bytes: u64,
    /// The number of these files.
    pub version_runs: u64,
    /// How often old versions were written to a file.
    pub version_spills: u64,
    /// The memory of old versions, the index of their files, and the purge queue, in bytes.
    pub history_bytes: u64,
    /// The bytes borrowed from the buffer pool for it.
    pub history_borrowed: u64,
    /// The bytes that it may take before something is written to files.
    pub history_limit: u64,
    /// The number of deleted rows and entries that wait to be removed.
    pub purge_queue: u64,
    /// The bytes of the files that hold some of them.
    pub purge_queue_file_bytes: u64,
    /// The number of deleted rows and entries that were removed.
    pub purged: u64,
    /// The number of deleted rows and entries that could not wait, for lack of temporary space; later writes to their
    /// pages remove them.
    pub purge_forgotten: u64,
    /// The number of snapshots given up for lack of temporary space.
    pub snapshots_given_up: u64,
    /// The number of snapshots in use.
    pub snapshots: u64,
    /// The age of the oldest of them.
    pub oldest_snapshot: Option<Duration>,
    /// The number of trees that were dropped but are still read.
    pub retired_trees: u64,
    /// The number of SERIALIZABLE transactions that are open, and that have ended and still count.
    pub serializable: (u64, u64),
    /// The number of SERIALIZABLE transactions that were forbidden to read or to commit.
    pub serializable_refused: u64,
    /// The memory of what they have read and written, in bytes.
    pub serializable_bytes: u64,
}

#[derive(Debug, Default)]
pub(crate) struct EngineCounts {
    pub(crate) commits: AtomicU64,
    pub(crate) conflicts: AtomicU64,
    pub(crate) purged: AtomicU64,
    pub(crate) spills: AtomicU64,
}
