//! Group commit: writes and syncs the appended groups.
//!
//! Group commit has no thread and no timer of its own. The first thread that has to wait becomes the leader: it takes the whole buffer, writes it,
//! and syncs it for all threads whose groups are in it. Threads that come meanwhile append to the other buffer. One of them leads the next write and
//! sync as soon as no sync is under way, or, up to [`MAX_SYNCS`] at a time, as soon as as many of them have gathered as each sync under way serves.
//! So two committing threads proceed together instead of taking turns (a device works on several flushes at once), and of many threads each half
//! shares one write and one sync.
//!
//! The file is not opened with `O_DSYNC`: where the device has no write with forced unit access, the system makes a write and a flush of it, and the
//! flushes of two threads could not be merged.
//!
//! A write or sync that fails stops the log for good. The content of the disk is unknown then, and a second sync would report success without having
//! written (Rebello et al., ATC 2020).

use super::batches::{BatchWriter, Flushed};
use super::files::Ring;
use super::position::Marks;
use super::space::Space;
use crate::device::File;
use crate::error::{Result, StorageError};
use crate::ids::Lsn;
use crate::sync::{AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Largest number of syncs under way at a time.
const MAX_SYNCS: usize = 2;

/// Counters of the log's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogCounts {
    /// Write requests.
    pub writes: u64,
    /// Bytes written, headers and padding included.
    pub bytes: u64,
    /// Syncs.
    pub syncs: u64,
}

/// The state that the clones of a [`super::Log`] share.
pub(super) struct Inner {
    pub(super) state: Mutex<State>,
    /// Signalled when a write has ended, or the log has stopped.
    pub(super) written: Condvar,
    /// Signalled when space has been given back, or the log has stopped.
    pub(super) freed: Condvar,
    /// Used by the leader. Locked while no other lock is held.
    pub(super) writer: Mutex<BatchWriter>,
    /// Locked by the leader at the end of a file, by truncation and by growth. Never locked together with `state`.
    pub(super) ring: Arc<Mutex<Ring>>,
    /// Held while a file is made. Locked before `ring`.
    pub(super) growing: Mutex<()>,
    /// Copies of values in `state`, to be read without its lock.
    pub(super) durable: AtomicU64,
    pub(super) end: AtomicU64,
    pub(super) stopped: AtomicBool,
    pub(super) buffer_bytes: usize,
    pub(super) max_payload: u64,
}

/// The state that the mutex guards.
pub(super) struct State {
    /// Appended bytes that no leader has taken: the stream from `taken` on.
    pub(super) buffer: Vec<u8>,
    /// The other buffer, empty, while no leader has it.
    pub(super) other: Vec<u8>,
    pub(super) taken: Lsn,
    pub(super) written: Lsn,
    pub(super) durable: Lsn,
    pub(super) writing: bool,
    /// The syncs that are under way, or wait for an earlier one to succeed, in the order in which they began.
    pub(super) syncing: VecDeque<Sync>,
    /// The threads that no sync serves yet wait here; `gathered` is their number.
    pub(super) gathering: Arc<Condvar>,
    pub(super) gathered: usize,
    /// During the write that precedes a sync: the end of that write, and the threads that the sync is for.
    pub(super) leading: Option<(Lsn, Arc<Condvar>)>,
    /// The number and file of the last write. Everything written to earlier files is synced.
    pub(super) file: (u64, Arc<dyn File>),
    pub(super) stopped: Option<String>,
    pub(super) space: Space,
    pub(super) marks: Marks,
    pub(super) counts: LogCounts,
    /// No checkpoint needs the files before this one ...
    pub(super) superfluous: u64,
    /// ... but somebody reads from this one on.
    pub(super) kept: Option<u64>,
}

/// A sync that has begun.
pub(super) struct Sync {
    /// The LSN up to which it makes the log durable.
    pub(super) covers: Lsn,
    /// The threads that wait for it.
    pub(super) cohort: Arc<Condvar>,
    /// The number of threads that waited for it when it began.
    pub(super) serves: usize,
    /// Whether it has succeeded. It counts only once all syncs before it have succeeded, too: the system reports a failure to one caller only, and no
    /// later sync brings back the data that a failed one has lost.
    pub(super) done: bool,
}

/// Stops the log when a panic unwinds over it, because other threads wait for the writing thread, which will not go on. Taken before the state is
/// locked.
struct StopOnPanic<'i> {
    inner: &'i Inner,
    panicked_before: bool,
}

impl<'i> StopOnPanic<'i> {
    fn new(inner: &'i Inner) -> StopOnPanic<'i> {
        StopOnPanic { inner, panicked_before: std::thread::panicking() }
    }
}

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.panicked_before {
            self.inner.stop(&mut self.inner.state.lock(), "a panic while the log was written".into());
        }
    }
}

impl Inner {
    /// Locks the state. Returns an error if the log has stopped.
    pub(super) fn lock(&self) -> Result<MutexGuard<'_, State>> {
        let state = self.state.lock();
        state.check()?;
        Ok(state)
    }

    /// Writes, or waits for others to write, until `reached` returns true for the state.
    pub(super) fn write_until(&self, reached: impl Fn(&State) -> bool) -> Result<()> {
        let _stops = StopOnPanic::new(self);
        let mut state = self.lock()?;
        while !reached(&state) {
            if state.writing {
                self.written.wait(&mut state);
            } else {
                self.write(&mut state);
                state.wake_leader();
            }
            state.check()?;
        }
        Ok(())
    }

    /// Writes and syncs, or waits for others to, until the log is durable up to `lsn`.
    pub(super) fn sync_until(&self, lsn: Lsn) -> Result<()> {
        let _stops = StopOnPanic::new(self);
        let mut state = self.lock()?;
        if state.durable >= lsn {
            return Ok(());
        }
        let cohort = state.join(lsn);
        while state.durable < lsn {
            if Arc::ptr_eq(&cohort, &state.gathering) && state.may_lead() {
                self.lead(&mut state)?;
            } else {
                cohort.wait(&mut state);
            }
            state.check()?;
        }
        if Arc::ptr_eq(&cohort, &state.gathering) {
            state.gathered -= 1;
        }
        Ok(())
    }

    /// Writes and syncs for the threads that have gathered. Does not hold the lock meanwhile.
    fn lead(&self, guard: &mut MutexGuard<'_, State>) -> Result<()> {
        let state = &mut **guard;
        let cohort = std::mem::take(&mut state.gathering);
        let serves = std::mem::take(&mut state.gathered);
        if state.taken < state.end() {
            state.leading = Some((state.end(), Arc::clone(&cohort)));
            self.write(guard);
            guard.leading = None;
            guard.check()?;
        }
        let state = &mut **guard;
        let (covers, (sequence, file)) = (state.written, state.file.clone());
        state.syncing.push_back(Sync { covers, cohort, serves, done: false });
        state.wake_leader();
        let result = MutexGuard::unlocked(guard, || file.sync());
        let state = &mut **guard;
        match result {
            Ok(()) => {
                state.counts.syncs += 1;
                state
                    .syncing
                    .iter_mut()
                    .filter(|sync| sync.covers == covers)
                    .for_each(|sync| sync.done = true);
                self.count_syncs(state);
                state.wake_leader();
                Ok(())
            }
            Err(error) => {
                let error = StorageError::io("sync", super::files::name(sequence), error);
                Err(self.stop(state, error.to_string()))
            }
        }
    }

    /// Writes everything appended so far. Does not hold the lock meanwhile. The caller goes on to sync, or wakes a thread that will.
    fn write(&self, guard: &mut MutexGuard<'_, State>) {
        let state = &mut **guard;
        let (start, end, durable) = (state.taken, state.end(), state.durable);
        let pending = state.space.pending;
        let mut bytes = std::mem::replace(&mut state.buffer, std::mem::take(&mut state.other));
        state.taken = end;
        state.writing = true;
        let (result, done, at, file) = MutexGuard::unlocked(guard, || {
            let mut writer = self.writer.lock();
            let result = writer.write(start, &bytes, durable);
            (result, writer.take_done(), writer.at(), writer.file())
        });
        // A large group must not keep its memory for ever.
        bytes.clear();
        bytes.shrink_to(4 * self.buffer_bytes);
        let state = &mut **guard;
        state.writing = false;
        state.other = bytes;
        match result {
            Ok(()) => {
                state.written = end;
                state.file = file;
                if done.synced > state.durable {
                    // The end of a file was synced. That may be all that some of the gathering threads need.
                    let cohort = Arc::clone(&state.gathering);
                    state.syncing.push_back(Sync { covers: done.synced, cohort, serves: 0, done: true });
                    self.count_syncs(state);
                }
                state.space.pending -= pending;
                state.space.at = at;
                state.take_over(done);
                // The write may have taken less space than was charged for it.
                if state.space.waiting() > 0 {
                    self.freed.notify_all();
                }
            }
            Err(error) => {
                self.stop(state, error.to_string());
            }
        }
        self.written.notify_all();
    }

    /// Raises the durable LSN by the syncs that have succeeded and have no unfinished sync before them. No sync counts any more once the log has
    /// stopped.
    fn count_syncs(&self, state: &mut State) {
        if state.stopped.is_some() {
            return;
        }
        while let Some(sync) = state.next_done_sync() {
            state.durable = state.durable.max(sync.covers);
            sync.cohort.notify_all();
        }
        self.durable.store(state.durable.0, Ordering::Release);
    }

    /// Stops the log, wakes all waiting threads, and returns the error that all later calls give.
    pub(super) fn stop(&self, state: &mut State, why: String) -> StorageError {
        let why = state.stopped.get_or_insert(why).clone();
        self.stopped.store(true, Ordering::Release);
        self.written.notify_all();
        let served = state.syncing.iter().map(|sync| &sync.cohort);
        for cohort in served.chain(state.leading.iter().map(|(_, cohort)| cohort)).chain([&state.gathering]) {
            cohort.notify_all();
        }
        self.freed.notify_all();
        StorageError::Poisoned { why }
    }
}

impl State {
    pub(super) fn check(&self) -> Result<()> {
        match &self.stopped {
            Some(why) => Err(StorageError::Poisoned { why: why.clone() }),
            None => Ok(()),
        }
    }

    pub(super) fn end(&self) -> Lsn {
        self.taken.plus(self.buffer.len() as u64)
    }

    /// Returns the cohort of the first sync that will make the log durable up to `lsn`, for the caller to wait with. A caller that joins the
    /// gathering threads is counted, even where the end of a file is all that it needs.
    pub(super) fn join(&mut self, lsn: Lsn) -> Arc<Condvar> {
        let syncing = self.syncing.iter().find(|sync| sync.covers >= lsn).map(|sync| &sync.cohort);
        let leading = || self.leading.as_ref().filter(|(end, _)| *end >= lsn).map(|(_, cohort)| cohort);
        match syncing.or_else(leading).filter(|cohort| !Arc::ptr_eq(cohort, &self.gathering)) {
            Some(cohort) => Arc::clone(cohort),
            None => {
                self.gathered += 1;
                Arc::clone(&self.gathering)
            }
        }
    }

    /// Returns whether one of the gathering threads may write and sync: no sync is under way, or there is room for another sync that serves at least
    /// as many threads as each of those.
    fn may_lead(&self) -> bool {
        let under_way = || self.syncing.iter().filter(|sync| !sync.done);
        !self.writing
            && under_way().count() < MAX_SYNCS
            && under_way().all(|sync| sync.serves <= self.gathered)
    }

    /// Wakes one of the gathering threads if it may lead.
    fn wake_leader(&self) {
        if self.gathered > 0 && self.may_lead() {
            self.gathering.notify_one();
        }
    }

    /// Takes the oldest sync off the list if it has succeeded.
    fn next_done_sync(&mut self) -> Option<Sync> {
        self.syncing.front().filter(|sync| sync.done)?;
        self.syncing.pop_front()
    }

    fn take_over(&mut self, done: Flushed) {
        self.marks.extend(done.marks);
        if let Some(size) = done.ring {
            self.space.set_ring(size);
        }
        self.counts.writes += done.writes;
        self.counts.bytes += done.bytes;
        self.counts.syncs += done.syncs;
    }
}
