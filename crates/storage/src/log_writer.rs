//! The log writer: a thread that makes the log durable before a commit waits for it. While a commit is applied, its
//! record is already being compressed by another processor and written to the disk.
//!
//! Nothing relies on this thread. A commit waits for its LSN later in the ordinary way, and finds it durable, or the
//! flush under way.

use crate::Lsn;
use crate::log::{FlushPolicy, Log};
use crate::worker::{Next, OnPanic, ThreadName, Worker};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The running thread.
pub(crate) struct LogWriter {
    /// The log is to be durable up to here.
    wanted: Arc<AtomicU64>,
    worker: Worker,
}

impl LogWriter {
    /// Starts the thread.
    pub(crate) fn start(log: Log, on_panic: OnPanic) -> io::Result<LogWriter> {
        let wanted = Arc::new(AtomicU64::new(0));
        let (shared, mut written) = (wanted.clone(), 0);
        let worker = Worker::start(ThreadName::LogWriter, on_panic, Next::WhenWoken, move || {
            let lsn = shared.load(Ordering::Acquire);
            if lsn > written {
                written = lsn;
                // The log has stopped on a failure, and reports it to every caller.
                let _ = log.commit(Lsn(lsn), FlushPolicy::EachCommit);
            }
            Next::WhenWoken
        })?;
        Ok(LogWriter { wanted, worker })
    }

    /// Requests that the log be made durable up to `lsn`.
    pub(crate) fn ask(&self, lsn: Lsn) {
        self.wanted.fetch_max(lsn.0, Ordering::AcqRel);
        self.worker.wake();
    }

    /// Ends the thread and waits for it.
    pub(crate) fn stop(&self) {
        self.worker.stop();
    }
}
