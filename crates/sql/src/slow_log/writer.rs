//! The thread that writes the slow query log, and its queue.

use leafline_storage::worker::{OnPanic, ThreadName, Worker};
use parking_lot::{Condvar, Mutex};
use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::sync::Arc;

/// Capacity of the queue, in bytes.
const ROOM: usize = 8 << 20;

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    entries: Vec<u8>,
    count: u64,
    /// The file for further entries.
    file: Option<File>,
    dropped: u64,
    stop: bool,
}

/// The thread. [`Writer::stop`] or a drop ends it.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Arc<Queue>,
    worker: Worker,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    /// The error of starting a thread.
    pub fn start(file: File) -> io::Result<Writer> {
        let queue = Arc::new(Queue::default());
        queue.state.lock().file = Some(file);
        let shared = queue.clone();
        let worker = Worker::spawn(ThreadName::SlowLog, OnPanic::LeaveOut, move || write_all(&shared))?;
        Ok(Writer { queue, worker })
    }

    /// Directs further entries to another file.
    pub fn go_on_in(&self, file: File) {
        self.queue.state.lock().file = Some(file);
        self.queue.changed.notify_one();
    }

    /// Queues an entry, or drops it if the queue is full.
    pub fn take(&self, entry: String) {
        let mut state = self.queue.state.lock();
        if state.entries.len() + entry.len() > ROOM {
            state.dropped += 1;
            return;
        }
        state.entries.extend(entry.into_bytes());
        state.count += 1;
        self.queue.changed.notify_one();
    }

    /// Number of dropped entries.
    pub fn dropped(&self) -> u64 {
        self.queue.state.lock().dropped
    }

    /// Writes the queued entries and ends the thread. Returns the number of dropped entries.
    pub fn stop(&self) -> u64 {
        self.end();
        self.dropped()
    }

    fn end(&self) {
        self.queue.state.lock().stop = true;
        self.queue.changed.notify_one();
        self.worker.join();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end();
    }
}

fn write_all(queue: &Queue) {
    let mut file: Option<File> = None;
    let mut state = queue.state.lock();
    // After a partial write the next entry begins on a new line.
    let mut is_torn = false;
    loop {
        if let Some(other) = state.file.take() {
            (file, is_torn) = (Some(other), false);
        }
        if !state.entries.is_empty() {
            let (entries, count) = (mem::take(&mut state.entries), mem::take(&mut state.count));
            let written = parking_lot::MutexGuard::unlocked(&mut state, || {
                let file = file.as_mut().ok_or(io::ErrorKind::NotFound)?;
                if is_torn {
                    file.write_all(b"\n")?;
                }
                file.write_all(&entries)
            });
            is_torn = written.is_err();
            state.dropped += if is_torn { count } else { 0 };
        } else if state.stop {
            return;
        } else {
            queue.changed.wait(&mut state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::OwnedFd;

    #[test]
    fn nobody_waits_for_a_file_that_takes_nothing_and_what_is_dropped_is_counted() {
        // A pipe holds about 64 KiB; then it blocks its writer.
        let (mut reader, writer) = io::pipe().unwrap();
        let log = Writer::start(File::from(OwnedFd::from(writer))).unwrap();
        let entry = "x".repeat(1 << 20);
        for _ in 0..40 {
            log.take(entry.clone());
        }
        let dropped = log.dropped();
        assert!((24..40).contains(&dropped), "{dropped}");
        let read = std::thread::spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).map(|_| all.len() as u64)
        });
        let dropped = log.stop();
        assert_eq!(read.join().unwrap().unwrap(), (40 - dropped) << 20);
    }

    #[test]
    fn a_full_disk_is_counted() {
        let Ok(full) = File::options().write(true).open("/dev/full") else { return };
        let log = Writer::start(full).unwrap();
        log.take("one".into());
        log.take("two".into());
        assert_eq!(log.stop(), 2);
    }
}
