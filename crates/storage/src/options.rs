//! The options with which a store is opened, and the function that hears of the progress of recovery.

use crate::FlushPolicy;
use std::sync::Arc;

/// The options with which a store is opened.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Bytes of a page: a power of two from 4096 to 65536. Only used when the store is created.
    pub page_size: usize,
    /// Memory for pages and their translation array, in bytes.
    pub buffer_pool_bytes: u64,
    /// Bytes that the redo log may grow to. It begins with a few MiB.
    pub log_capacity_bytes: u64,
    /// The time at which commits flush the log.
    pub flush_log_at_commit: FlushPolicy,
    /// Threads for transfers in batches where io_uring cannot be had or is not wanted. With zero, the caller does
    /// every transfer.
    pub io_threads: usize,
    /// Whether transfers in batches go through io_uring where it can be had.
    pub native_aio: bool,
    /// Whether the pages that are in memory when the store is closed are read in when it is opened next. Needs
    /// `background`.
    pub warm_up: bool,
    /// Called with the progress of recovery.
    pub recovery_progress: Option<RecoveryProgress>,
    /// Whether free extents become holes in the file, so that the file system can use their space. Free space at the
    /// end of the file is given back in any case.
    pub punch_holes: bool,
    /// Whether the store is being restored from a backup. Opening then accepts an incomplete restore, and allocates
    /// the space of its pages on the device.
    pub restoring: bool,
    /// Whether the store has threads of its own. Without them, pages are written when their frames are needed, and
    /// checkpoints are made when called for or when log space runs out.
    pub background: bool,
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        StoreOptions {
            page_size: 16384,
            buffer_pool_bytes: 128 << 20,
            log_capacity_bytes: 256 << 20,
            flush_log_at_commit: FlushPolicy::default(),
            io_threads: 4,
            native_aio: true,
            warm_up: true,
            recovery_progress: None,
            punch_holes: true,
            restoring: false,
            background: true,
        }
    }
}

/// The step that recovery is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoveryStep {
    /// Recovery reads the log.
    Read {
        /// Bytes read.
        done: u64,
    },
    /// Recovery replays the log on pages.
    Redo {
        /// Bytes replayed.
        done: u64,
        /// Bytes to replay in all.
        total: u64,
    },
}

/// A function that is called from time to time with the progress of recovery.
#[derive(Clone)]
pub struct RecoveryProgress(Arc<dyn Fn(RecoveryStep) + Send + Sync>);

impl RecoveryProgress {
    /// Wraps the function.
    pub fn new(report: impl Fn(RecoveryStep) + Send + Sync + 'static) -> RecoveryProgress {
        RecoveryProgress(Arc::new(report))
    }

    pub(crate) fn report(&self, step: RecoveryStep) {
        (self.0)(step);
    }
}

impl std::fmt::Debug for RecoveryProgress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RecoveryProgress")
    }
}
