//! How what was appended gets to the disk: group commit.
//!
//! Group commit has no thread and no timer of its own: the first that has to wait becomes the leader, takes the
//! whole buffer, writes it and syncs, for all that were appended by then. Those that come meanwhile append to the other buffer;
//! as soon as the write is done, though the sync is under way, one of them leads the next write, and then a sync of its own: up to
//! [`MAX_SYNCS`] at a time. A sync covers all that was written before it began, whoever wrote it. With two committing
//! threads that is the difference between taking turns and going on together: a device works on several flushes at once.
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
    /// A sync has ended, or a write that no sync will follow, or the log has stopped.
    pub(super) synced: Condvar,
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
    /// What the last write went to, and its number: what is written before is synced.
    pub(super) file: (u64, Arc<dyn File>),
    pub(super) stopped: Option<String>,
    pub(super) space: Space,
    pub(super) marks: Marks,
    pub(super) counts: LogCounts,
}

/// A sync that has begun.
pub(super) struct Sync {
    /// Up to where it makes the log durable.
    pub(super) covers: Lsn,
    /// It has succeeded. It counts once those before it have too: of a failure the system tells only one who asks, and what one
    /// sync has lost no later one brings back.
    pub(super) done: bool,
}

impl Inner {
    /// Locks the state of a log that has not stopped.
    pub(super) fn lock(&self) -> Result<MutexGuard<'_, State>> {
        let state = self.state.lock();
        state.check()?;
        Ok(state)
    }

    pub(super) fn check(&self) -> Result<()> {
        self.lock().map(drop)
    }

    /// Writes, or waits for others to, until the state is as wanted.
    pub(super) fn write_until(&self, reached: impl Fn(&State) -> bool) -> Result<()> {
        let mut state = self.lock()?;
        while !reached(&state) {
            if state.writing {
                self.written.wait(&mut state);
            } else {
                self.write(&mut state);
                // Others may have counted on a sync to follow.
                self.synced.notify_all();
            }
            state.check()?;
        }
        Ok(())
    }

    /// Writes and syncs, or waits for others to, until the log is durable up to `lsn`.
    pub(super) fn sync_until(&self, lsn: Lsn) -> Result<()> {
        let mut state = self.lock()?;
        while state.durable < lsn {
            if state.taken < lsn {
                if state.writing {
                    self.written.wait(&mut state);
                } else {
                    self.write(&mut state);
                }
            } else if state.written < lsn || state.syncs_under_way() >= MAX_SYNCS || state.is_synced(lsn) {
                // Whoever writes it syncs it, or wakes us.
                self.synced.wait(&mut state);
            } else {
                self.sync(&mut state);
            }
            state.check()?;
        }
        Ok(())
    }

    /// Writes everything appended so far. The lock is not held meanwhile. Those who wait for a sync of it are not woken: the
    /// caller goes on to sync, or wakes them.
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
                    // By the end of a file. That may be all the caller needs, so others have to see to the rest.
                    state.syncing.push_back(Sync { covers: done.synced, done: true });
                    self.count_syncs(state);
                    self.synced.notify_all();
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

    /// Syncs everything written so far. The lock is not held meanwhile.
    fn sync(&self, guard: &mut MutexGuard<'_, State>) {
        let state = &mut **guard;
        let (covers, (sequence, file)) = (state.written, state.file.clone());
        state.syncing.push_back(Sync { covers, done: false });
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
            }
            Err(error) => {
                let error = StorageError::io("sync", super::files::name(sequence), error);
                self.stop(state, error.to_string());
            }
        }
        self.synced.notify_all();
    }

    /// Raises the durable LSN by the syncs that have succeeded and have none before them. None counts any more once the log
    /// has stopped.
    fn count_syncs(&self, state: &mut State) {
        if state.stopped.is_some() {
            return;
        }
        while let Some(sync) = state.next_done_sync() {
            state.durable = state.durable.max(sync.covers);
        }
        self.durable.store(state.durable.0, Ordering::Release);
    }

    /// Stops the log, wakes all that wait, and returns the error that all calls give from now on.
    pub(super) fn stop(&self, state: &mut State, why: String) -> StorageError {
        let why = state.stopped.get_or_insert(why).clone();
        self.stopped.store(true, Ordering::Release);
        self.written.notify_all();
        self.synced.notify_all();
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

    /// Whether a sync that is under way makes the log durable up to `lsn`.
    fn is_synced(&self, lsn: Lsn) -> bool {
        self.syncing.iter().any(|sync| sync.covers >= lsn)
    }

    fn syncs_under_way(&self) -> usize {
        self.syncing.iter().filter(|sync| !sync.done).count()
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
