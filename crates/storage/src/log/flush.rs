//! How what was appended gets to the disk: group commit.
//!
//! Group commit has no thread and no timer of its own: the first that has to wait becomes the leader, takes the
//! whole buffer, writes it and syncs, for all that were appended by then. Those that come meanwhile append to the other buffer,
//! and one of them leads the next write and sync as soon as those before it are done, or, up to [`MAX_SYNCS`] at a time, as soon as
//! there are as many of them as the sync under way serves. So two committing threads go on together instead of taking
//! turns (a device works on several flushes at once), and of many each half shares one write and one sync.
//!
//! The file is not opened with `O_DSYNC`: where the device has no write with forced unit access the system makes a write and a
//! flush of it, and two threads' flushes could not be merged.
//!
//! A write or sync that fails stops the log for good: what is on disk is not known, and a second sync would
//! report success without having written (Rebello et al., ATC 2020).

use super::batches::{BatchWriter, Flushed};
use super::files::Ring;
use super::position::Marks;
use super::space::Space;
use super::writer::LogCounts;
use crate::device::File;
use crate::error::{Result, StorageError};
use crate::ids::Lsn;
use crate::sync::{AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Most syncs under way at a time.
const MAX_SYNCS: usize = 2;

/// What the clones of a [`super::Log`] share.
pub(super) struct Inner {
    pub(super) state: Mutex<State>,
    /// A write has ended, or the log has stopped.
    pub(super) written: Condvar,
    /// Space has been given back, or the log has stopped.
    pub(super) freed: Condvar,
    /// Used by the leader; locked after no other lock is held.
    pub(super) writer: Mutex<BatchWriter>,
    /// Locked by the leader at the end of a file, by truncation and by growth; never together with `state`.
    pub(super) ring: Arc<Mutex<Ring>>,
    /// Held while a file is made; before `ring`.
    pub(super) growing: Mutex<()>,
    /// Copies of what `state` holds, to be read without its lock.
    pub(super) durable: AtomicU64,
    pub(super) end: AtomicU64,
    pub(super) stopped: AtomicBool,
    pub(super) buffer_bytes: usize,
    pub(super) max_payload: u64,
}

/// What the mutex guards.
pub(super) struct State {
    /// Appended, not taken by a leader: the bytes of the stream from `taken` on.
    pub(super) buffer: Vec<u8>,
    /// The other buffer, empty, while no leader has it.
    pub(super) other: Vec<u8>,
    pub(super) taken: Lsn,
    pub(super) written: Lsn,
    pub(super) durable: Lsn,
    pub(super) writing: bool,
    /// The syncs that are under way, or wait for an earlier one, in the order in which they began.
    pub(super) syncing: VecDeque<Sync>,
    /// Those whom no sync serves yet, and how many they are.
    pub(super) gathering: Arc<Condvar>,
    pub(super) gathered: usize,
    /// The end of the write that a sync will follow, and those that it is for.
    pub(super) leading: Option<(Lsn, Arc<Condvar>)>,
    /// What the last write went to, and its number: what is written before is synced.
    pub(super) file: (u64, Arc<dyn File>),
    pub(super) stopped: Option<String>,
    pub(super) space: Space,
    pub(super) marks: Marks,
    pub(super) counts: LogCounts,
    /// Files before this are needed by no checkpoint ...
    pub(super) superfluous: u64,
    /// ... but somebody reads from this one on.
    pub(super) kept: Option<u64>,
}

/// A sync that has begun.
pub(super) struct Sync {
    /// Up to where it makes the log durable.
    pub(super) covers: Lsn,
    /// Those who wait for it.
    pub(super) cohort: Arc<Condvar>,
    /// How many they were when it began.
    pub(super) serves: usize,
    /// It has succeeded. It counts once those before it have too: of a failure the system tells only one who asks, and what one
    /// sync has lost no later one brings back.
    pub(super) done: bool,
}

/// Stops the log when a panic unwinds over it: others wait for who writes, who will not go on. Taken before the state is locked.
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
    /// Locks the state of a log that has not stopped.
    pub(super) fn lock(&self) -> Result<MutexGuard<'_, State>> {
        let state = self.state.lock();
        state.check()?;
        Ok(state)
    }

    /// Writes, or waits for others to, until the state is as wanted.
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

    /// Writes and syncs for those that have gathered. The lock is not held meanwhile.
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

    /// Writes everything appended so far. The lock is not held meanwhile. The caller goes on to sync, or wakes somebody who will.
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
        // One large group must not keep its memory for ever.
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
                    // By the end of a file. That may be all that some of those who gather need.
                    let cohort = Arc::clone(&state.gathering);
                    state.syncing.push_back(Sync { covers: done.synced, cohort, serves: 0, done: true });
                    self.count_syncs(state);
                }
                state.space.pending -= pending;
                state.space.at = at;
                state.take_over(done);
                // What was written may take less than it was charged.
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

    /// Raises the durable LSN by the syncs that have succeeded and have none before them. None counts any more once the log
    /// has stopped.
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

    /// Stops the log, wakes all that wait, and returns the error that all calls give from now on.
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

    /// Has the caller wait with those whom the first sync will serve that makes the log durable up to `lsn`. Those who gather are counted,
    /// also where the end of a file is all that they need.
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

    /// Whether those who gather may write and sync: no sync is under way, or there is room for another, which will serve as many.
    fn may_lead(&self) -> bool {
        let under_way = || self.syncing.iter().filter(|sync| !sync.done);
        !self.writing
            && under_way().count() < MAX_SYNCS
            && under_way().all(|sync| sync.serves <= self.gathered)
    }

    /// Has one of those who gather lead, if it may be.
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
