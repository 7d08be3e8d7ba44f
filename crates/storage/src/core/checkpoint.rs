//! Fuzzy checkpoints: they record where recovery has to begin to read the log.
//!
//! Mini-transactions rely on this order (see [`crate::mini_transaction`]): the log's end is read first, then the LSN
//! that the crate above still needs, then the dirty pages. The redo position is the smallest of these LSNs. Pages
//! that are being written count as dirty until they are synced in `data`. Then the checkpoint record is appended and
//! made durable, both slots of the control file are written and synced, and only then is log given back.
//!
//! The record needs log space when there is least of it, so some is held for it all the time.

use super::Inner;
use crate::control::{ControlData, ControlFile};
use crate::log::{CHECKPOINT_SHARE, Log, LogPosition, LogReservation};
use crate::pool::Latching;
use crate::redo::{CHECKPOINT_KIND, GROUP_OVERHEAD};
use crate::{CheckpointSource, Lsn, Result, StorageError};
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Smallest number of bytes of log held for the next record. Otherwise twice the bytes of the last record are held.
const HELD: u64 = 64 << 10;

/// The source until the crate above has set its own. If recovery has handed records to the crate above, all of them
/// are still needed, and so is the last checkpoint's payload: the crate may not have acted on them yet.
pub(crate) struct Recovered {
    /// The last checkpoint's payload.
    pub(crate) payload: Vec<u8>,
    /// LSN at which redo began.
    pub(crate) needed: Option<Lsn>,
}

impl CheckpointSource for Recovered {
    fn payload(&self) -> Vec<u8> {
        self.payload.clone()
    }

    fn oldest_needed(&self) -> Option<Lsn> {
        self.needed
    }
}

/// The state of the checkpointer.
pub(crate) struct Checkpointer {
    source: RwLock<Arc<dyn CheckpointSource>>,
    state: Mutex<State>,
    /// Whether the source is a [`Recovered`] that keeps log from being given back.
    held_back: AtomicBool,
    /// Redo position of the last checkpoint; 0 before the first one since the store was opened.
    passed: AtomicU64,
}

struct State {
    control: ControlFile,
    /// Log space held for the next record.
    held: Option<LogReservation>,
    /// Redo position and log end of the last checkpoint.
    last: Option<(Lsn, Lsn)>,
}

impl Checkpointer {
    /// Makes a checkpointer that goes on from `control`.
    pub(crate) fn new(control: ControlFile, log: &Log, recovered: Recovered) -> Result<Checkpointer> {
        let held = log.try_reserve(Self::held_bytes(log, recovered.payload.len() as u64))?;
        let held_back = AtomicBool::new(recovered.needed.is_some());
        let state = Mutex::new(State { control, held, last: None });
        let passed = AtomicU64::new(0);
        Ok(Checkpointer { source: RwLock::new(Arc::new(recovered)), state, held_back, passed })
    }

    /// Returns whether no checkpoint can give log back yet, because the crate above has not taken over from recovery.
    pub(crate) fn is_held_back(&self) -> bool {
        self.held_back.load(Ordering::Acquire)
    }

    /// Returns an LSN before which redo never begins. Returns none before the first checkpoint since the store was
    /// opened.
    pub(crate) fn passed(&self) -> Option<Lsn> {
        Some(Lsn(self.passed.load(Ordering::Acquire))).filter(|passed| *passed > Lsn::ZERO)
    }

    /// Returns the largest number of bytes of a record.
    fn limit(log: &Log) -> u64 {
        (log.space().capacity / CHECKPOINT_SHARE).min(log.max_payload() as u64)
    }

    /// Returns the bytes to hold for the record after one of `size`.
    fn held_bytes(log: &Log, size: u64) -> u64 {
        (2 * size).max(HELD).min(Self::limit(log))
    }

    /// Sets the source of the checkpoints' payload.
    pub(crate) fn set_source(&self, source: Arc<dyn CheckpointSource>) {
        *self.source.write() = source;
        self.held_back.store(false, Ordering::Release);
    }
}

impl Inner {
    /// Writes every page that is dirty now, then records a checkpoint.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        self.poison.check()?;
        self.write_pages_before(self.log.end())?;
        self.record_checkpoint()
    }

    /// Writes the pages that have been dirty since before `lsn`.
    pub(crate) fn write_pages_before(&self, lsn: Lsn) -> Result<()> {
        let dirty = self.cache.pool.dirty_pages();
        let old = dirty.into_iter().filter(|(_, since)| *since < lsn).map(|(page, _)| page).collect();
        self.cache.write_back(old, Latching::Wait)
    }

    /// Returns whether waiting for log would never end, given that a checkpoint has just freed nothing: no other
    /// caller holds any. The log that has to be kept is then needed by the waiting work itself: a commit that
    /// recovery has found, or one whose own last progress record lies in the file before the current one. That work
    /// has to exceed the limit.
    pub(crate) fn is_log_stuck(&self) -> bool {
        let held = self.checkpointer.state.lock().held.as_ref().map_or(0, LogReservation::charged);
        self.log.is_unreferenced(held)
    }

    /// Returns about how many bytes of log a checkpoint recorded now would give back.
    pub(crate) fn checkpoint_frees(&self) -> u64 {
        let end = self.log.end();
        let needed = self.checkpointer.source.read().oldest_needed();
        let redo = self.redo_position(end, needed);
        self.log.space().used.saturating_sub(self.log.age(redo))
    }

    /// Returns whether a checkpoint recorded now would pass `lsn`.
    pub(crate) fn checkpoint_would_pass(&self, lsn: Lsn) -> bool {
        let end = self.log.end();
        let needed = self.checkpointer.source.read().oldest_needed();
        self.redo_position(end, needed) >= lsn
    }

    /// Returns the LSN from which the log is needed, given its end and the LSN that the source needs, both read
    /// before.
    fn redo_position(&self, end: Lsn, needed: Option<Lsn>) -> Lsn {
        let dirty = self.cache.pool.dirty_pages().into_iter().map(|(_, since)| since).min();
        needed.into_iter().chain(dirty).fold(end, Lsn::min)
    }

    /// Keeps the log from the last checkpoint's redo position on, until [`Log::keep_from`] is called again. Returns
    /// that position and the position of the checkpoint's record.
    pub(crate) fn keep_log(&self) -> Result<(LogPosition, LogPosition)> {
        let state = self.checkpointer.state.lock();
        let data = *state.control.data();
        let Some(checkpoint) = data.checkpoint else {
            return Err(StorageError::Misuse { what: "log is kept before the first checkpoint".into() });
        };
        self.log.keep_from(Some(data.redo.sequence))?;
        Ok((data.redo, checkpoint))
    }

    /// Records a checkpoint of the present state, and gives log back. Does nothing if nothing has changed.
    pub(crate) fn record_checkpoint(&self) -> Result<()> {
        let mut state = self.checkpointer.state.lock();
        self.poison.check()?;
        let end = self.log.end();
        let source = Arc::clone(&self.checkpointer.source.read());
        let needed = source.oldest_needed();
        let payload = source.payload();
        let redo = self.redo_position(end, needed);
        if state.last == Some((redo, end)) {
            return Ok(());
        }
        self.write_checkpoint(&mut state, redo, &payload).inspect_err(|error| {
            // A payload that is too large leaves everything as it was. Any other error leaves the files in doubt.
            if !matches!(error, StorageError::TooLarge { .. }) {
                self.cache.stop(error);
            }
        })?;
        self.stats.checkpoints.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn write_checkpoint(&self, state: &mut State, redo: Lsn, payload: &[u8]) -> Result<()> {
        let limit = Checkpointer::limit(&self.log);
        let size = (payload.len() + GROUP_OVERHEAD) as u64;
        if size > limit {
            return Err(StorageError::TooLarge { what: "checkpoint", size, limit });
        }
        let mut held = match state.held.take().filter(|held| held.left() >= size) {
            Some(held) => held,
            None => self.log.reserve_beyond_limit(size)?,
        };
        let range = self.log.append(&mut held, CHECKPOINT_KIND, &[payload])?;
        drop(held);
        self.log.wait_durable(range.end)?;
        let redo_position = self.log.position_of(redo)?;
        let checkpoint = Some(self.log.position_of(range.start)?);
        let data = ControlData { redo: redo_position, checkpoint, ..*state.control.data() };
        state.control.write(data)?;
        self.checkpointer.passed.store(redo.0, Ordering::Release);
        self.log.truncate_before(redo_position)?;
        // The log may not have room for the next record yet. Then the next checkpoint reserves it.
        state.held = self.log.try_reserve(Checkpointer::held_bytes(&self.log, size))?;
        state.last = Some((if redo == range.start { range.end } else { redo }, range.end));
        Ok(())
    }
}
