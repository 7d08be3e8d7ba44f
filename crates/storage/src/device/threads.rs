//! Batches of transfers by a few threads, each doing one request at a time: the backend of [`super::IoQueue`] that
//! works everywhere.

use super::env::File;
use super::request::{ReadTarget, Request};
use crate::worker::{OnPanic, ThreadName, Worker};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

struct Pending<T> {
    requests: VecDeque<Request<T>>,
    closed: bool,
}

struct Shared<T> {
    file: Arc<dyn File>,
    pending: Mutex<Pending<T>>,
    work: Condvar,
}

/// The threads and their queue. Dropping it finishes the queued requests.
pub(super) struct ThreadQueue<T: ReadTarget> {
    shared: Arc<Shared<T>>,
    threads: Vec<Worker>,
}

impl<T: ReadTarget> ThreadQueue<T> {
    pub(super) fn new(file: &Arc<dyn File>, threads: usize) -> io::Result<ThreadQueue<T>> {
        let pending = Mutex::new(Pending { requests: VecDeque::new(), closed: false });
        let shared = Arc::new(Shared { file: Arc::clone(file), pending, work: Condvar::new() });
        let mut queue = ThreadQueue { shared, threads: Vec::with_capacity(threads) };
        for number in 0..threads {
            let shared = Arc::clone(&queue.shared);
            let work = move || shared.work();
            queue.threads.push(Worker::spawn(ThreadName::Io(number), OnPanic::LeaveOut, work)?);
        }
        Ok(queue)
    }

    pub(super) fn queue(&self, requests: impl Iterator<Item = Request<T>>) {
        let mut pending = self.shared.pending.lock();
        let before = pending.requests.len();
        pending.requests.extend(requests);
        let added = pending.requests.len() - before;
        drop(pending);
        for _ in 0..added.min(self.threads.len()) {
            self.shared.work.notify_one();
        }
    }
}

impl<T: ReadTarget> Drop for ThreadQueue<T> {
    fn drop(&mut self) {
        self.shared.pending.lock().closed = true;
        self.shared.work.notify_all();
        self.threads.iter().for_each(Worker::join);
    }
}

impl<T: ReadTarget> Shared<T> {
    /// Executes requests until the queue is closed and empty.
    fn work(&self) {
        let mut pending = self.pending.lock();
        loop {
            match pending.requests.pop_front() {
                Some(request) => {
                    drop(pending);
                    // A request that panics answers its waiter with an error. The thread goes on, because other
                    // requests are in the queue.
                    let _ = catch_unwind(AssertUnwindSafe(|| request.execute(&*self.file)));
                    pending = self.pending.lock();
                }
                None if pending.closed => return,
                None => self.work.wait(&mut pending),
            }
        }
    }
}
