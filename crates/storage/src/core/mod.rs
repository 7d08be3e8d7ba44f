//! The state that the clones of a [`Store`](crate::Store) share, and the steps that need all of it: waiting for log
//! space, and checkpoints.

mod checkpoint;

pub(crate) use checkpoint::{Checkpointer, Recovered};

use crate::log::Log;
use crate::log_writer::LogWriter;
use crate::poison::Poison;
use crate::pool::PageCache;
use crate::redo::Handlers;
use crate::space::Space;
use crate::worker::Worker;
use crate::{Env, FlushPolicy, LockGuard, RecoveryReport, Result, StorageError, StoreStats};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Checkpoints in a row that may free nothing before a request for log space fails, or exceeds the limit.
const MAX_FRUITLESS_CHECKPOINTS: u32 = 20;
/// Pause between attempts to get log space, in a store without threads of its own.
const LOG_PAUSE: Duration = Duration::from_millis(1);

/// The state that the clones of a [`Store`](crate::Store) share.
pub(crate) struct Inner {
    pub(crate) cache: PageCache,
    pub(crate) log: Log,
    pub(crate) space: Space,
    pub(crate) handlers: Handlers,
    pub(crate) checkpointer: Checkpointer,
    pub(crate) stats: Arc<StoreStats>,
    pub(crate) poison: Arc<Poison>,
    pub(crate) flush_policy: FlushPolicy,
    pub(crate) report: RecoveryReport,
    /// Absent in a store without threads of its own.
    pub(crate) page_writer: OnceLock<Worker>,
    /// Absent in a store without threads of its own, or if commits do not wait until they are durable.
    pub(crate) log_writer: OnceLock<LogWriter>,
    /// Whether a backup is being made.
    pub(crate) backup_running: AtomicBool,
    pub(crate) env: Arc<dyn Env>,
    pub(crate) database_id: u64,
    pub(crate) warm_up: bool,
    /// Keeps others from opening the directory.
    pub(crate) _lock: LockGuard,
}

impl Inner {
    /// Ends the store's own threads, and waits for them.
    pub(crate) fn stop_threads(&self) {
        if let Some(page_writer) = self.page_writer.get() {
            page_writer.stop();
        }
        if let Some(log_writer) = self.log_writer.get() {
            log_writer.stop();
        }
    }

    /// Writes the list of pages that are in memory, if it is wanted.
    pub(crate) fn save_hot_pages(&self) -> Result<()> {
        if !self.warm_up {
            return Ok(());
        }
        // With many free frames, no page has had to prove its worth on probation.
        let pages = match self.cache.pool.free_count() > 4 * self.cache.reserve() {
            true => self.cache.pool.pages(),
            false => self.cache.pool.settled_pages(),
        };
        crate::warm_up::save(&*self.env, self.database_id, pages)
    }

    /// Reserves log space, making some if there is too little. The caller holds no latch and no reservation.
    pub(crate) fn reserve_log(&self, bytes: u64) -> Result<crate::log::LogReservation> {
        crate::pool::held::assert_none("waiting for log space");
        let mut fruitless = 0;
        loop {
            if let Some(reservation) = self.log.try_reserve(bytes)? {
                return Ok(reservation);
            }
            if self.log.grow(bytes)? {
                continue;
            }
            if self.checkpointer.is_held_back() {
                return self.log.reserve_beyond_limit(bytes);
            }
            if let Some(page_writer) = self.page_writer.get() {
                page_writer.wake();
                return self.log.reserve(bytes);
            }
            self.log.check_disk(bytes)?;
            let before = self.log.space();
            self.checkpoint()?;
            if self.log.space().is_unchanged_from(&before) {
                // Other threads hold the space that is lacking, or the log would have to grow and cannot.
                fruitless += 1;
                if fruitless > MAX_FRUITLESS_CHECKPOINTS {
                    if self.log.is_disk_full()? {
                        return Err(StorageError::DiskFull);
                    }
                    if self.is_log_stuck() {
                        return self.log.reserve_beyond_limit(bytes);
                    }
                }
                std::thread::sleep(LOG_PAUSE);
            }
        }
    }
}
