//! The state of the event scheduler: its thread, its queue, and the threads of running events.
//!
//! # Invariants
//! - A run holds its place until its thread is about to end, whatever ends it.
//! - After [`close`](EventScheduler::close) has begun no run begins.
//! - Nobody waits for a thread while holding a lock that the thread takes.

use super::queue::Queue;
use crate::session_entry::SessionEntry;
use leafline_storage::worker::{OnPanic, ThreadName, Waker, Worker};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most events that run at a time. Others that are due wait for one to end.
pub(crate) const MOST_RUNS: usize = 64;

/// The thread of the scheduler.
pub(crate) struct Daemon {
    /// The thread.
    pub(crate) worker: Worker,
    /// Its line in the process list.
    pub(crate) entry: Arc<SessionEntry>,
}

/// The event scheduler of an instance.
#[derive(Default)]
pub(crate) struct EventScheduler {
    /// Held while the scheduler is turned on or off.
    switching: Mutex<()>,
    daemon: Mutex<Option<Daemon>>,
    queue: Mutex<Queue>,
    /// The threads of running events, by the numbers of their sessions.
    runs: Mutex<BTreeMap<u64, Worker>>,
    is_closed: AtomicBool,
}

impl EventScheduler {
    /// Keeps others from turning the scheduler on or off.
    pub(crate) fn switch(&self) -> MutexGuard<'_, ()> {
        self.switching.lock()
    }

    /// Whether the scheduler's thread runs.
    pub(crate) fn is_on(&self) -> bool {
        self.daemon.lock().is_some()
    }

    /// Whether no run begins any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// The queue.
    pub(crate) fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock()
    }

    /// Keeps the thread of the scheduler, and begins its first round.
    pub(crate) fn set_daemon(&self, daemon: Daemon) {
        self.queue().clear();
        *self.daemon.lock() = Some(daemon);
        self.wake();
    }

    /// Takes the scheduler's thread out. To drop it is to stop it.
    pub(crate) fn take_daemon(&self) -> Option<Daemon> {
        self.daemon.lock().take()
    }

    /// The scheduler's line in the process list.
    pub(crate) fn daemon_entry(&self) -> Option<Arc<SessionEntry>> {
        self.daemon.lock().as_ref().map(|daemon| daemon.entry.clone())
    }

    /// Makes the scheduler look at the events again, if it is on.
    pub(crate) fn wake(&self) {
        let waker: Option<Waker> = self.daemon.lock().as_ref().map(|daemon| daemon.worker.waker());
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// How many more events can run now.
    pub(crate) fn room(&self) -> usize {
        MOST_RUNS.saturating_sub(self.runs.lock().len())
    }

    /// Starts the thread of a run, in the session `id`. Returns false if none may begin any more. `run` must call
    /// [`ended`](Self::ended) last.
    ///
    /// # Errors
    /// The error of the system if it cannot start a thread.
    pub(crate) fn start(&self, id: u64, run: impl FnOnce() + Send + 'static) -> io::Result<bool> {
        // The lock is held until the thread is noted, so that the thread cannot end before.
        let mut runs = self.runs.lock();
        if self.is_closed() {
            return Ok(false);
        }
        let worker = Worker::spawn(ThreadName::Event(id), OnPanic::LeaveOut, run)?;
        runs.insert(id, worker);
        Ok(true)
    }

    /// Notes on the thread of a run that it is about to end.
    pub(crate) fn ended(&self, id: u64) {
        // A thread does not wait for itself.
        let own = self.runs.lock().remove(&id);
        drop(own);
        self.wake();
    }

    /// Stops the scheduler, and ends and awaits all runs; `cancel` cancels the statements of the ones that have
    /// begun.
    pub(crate) fn close(&self, cancel: impl FnOnce()) {
        {
            let _runs = self.runs.lock();
            self.is_closed.store(true, Ordering::SeqCst);
        }
        let daemon = self.take_daemon();
        drop(daemon);
        cancel();
        let runs = std::mem::take(&mut *self.runs.lock());
        runs.values().for_each(Worker::join);
    }

    /// Waits until no event runs.
    #[cfg(test)]
    pub(crate) fn wait_for_runs(&self) {
        loop {
            let runs = std::mem::take(&mut *self.runs.lock());
            if runs.is_empty() {
                return;
            }
            runs.values().for_each(Worker::join);
        }
    }
}
