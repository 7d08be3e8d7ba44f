//! The thread that makes the log durable before a commit waits for it: while a commit is applied, its record is
//! already being compressed by another processor and written to the disk.
//!
//! Nothing relies on this thread. A commit waits for its LSN later in the ordinary way, and finds it durable, or the
//! flush under way.

use crate::Lsn;
use crate::log::{FlushPolicy, Log};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::thread::JoinHandle;

#[derive(Default)]
struct Wanted {
    /// LSN up to which the log is to be made durable, if any.
    lsn: Option<Lsn>,
    stop: bool,
}

/// The handle of the running thread.
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

    /// Asks the thread to make the log durable up to `lsn`.
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
            // A thread that panicked has already reported it.
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
        // A failure has stopped the log, and every user of the log gets the error.
        let _ = log.commit(lsn, FlushPolicy::EachCommit);
    }
}
