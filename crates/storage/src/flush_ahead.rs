//! The thread that makes the log durable ahead of who will wait for it: while a commit is applied, its record is already on the way to
//! the disk, and compressed by another processor.
//!
//! Nobody relies on it. What it is asked for is what somebody waits for later in the ordinary way, and finds done, or under way.

use crate::Lsn;
use crate::log::{FlushPolicy, Log};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::thread::JoinHandle;

#[derive(Default)]
struct Wanted {
    /// Up to where; none: nothing is.
    lsn: Option<Lsn>,
    stop: bool,
}

/// The running thread.
pub(crate) struct FlushAhead {
    wanted: Arc<(Mutex<Wanted>, Condvar)>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl FlushAhead {
    /// Starts the thread.
    pub(crate) fn start(log: Log) -> std::io::Result<FlushAhead> {
        let wanted = Arc::<(Mutex<Wanted>, Condvar)>::default();
        let shared = Arc::clone(&wanted);
        let thread = std::thread::Builder::new().name("log-writer".into());
        let thread = thread.spawn(move || run(&log, &shared))?;
        Ok(FlushAhead { wanted, thread: Mutex::new(Some(thread)) })
    }

    /// Has it make the log durable up to `lsn`.
    pub(crate) fn ask(&self, lsn: Lsn) {
        let mut wanted = self.wanted.0.lock();
        wanted.lsn = wanted.lsn.max(Some(lsn));
        drop(wanted);
        self.wanted.1.notify_one();
    }

    /// Ends the thread and waits for it.
    pub(crate) fn stop(&self) {
        self.wanted.0.lock().stop = true;
        self.wanted.1.notify_one();
        if let Some(thread) = self.thread.lock().take() {
            // If it panicked it has said so already.
            let _ = thread.join();
        }
    }
}

fn run(log: &Log, wanted: &(Mutex<Wanted>, Condvar)) {
    loop {
        let lsn = {
            let mut state = wanted.0.lock();
            loop {
                if state.stop {
                    return;
                }
                match state.lsn.take() {
                    Some(lsn) => break lsn,
                    None => wanted.1.wait(&mut state),
                }
            }
        };
        // What fails has stopped the log, and says so to all who use it.
        let _ = log.commit(lsn, FlushPolicy::EachCommit);
    }
}
