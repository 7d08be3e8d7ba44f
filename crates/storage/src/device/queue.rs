//! Many page reads at once: sorted, neighbours merged into one request, several requests in flight.
//!
//! A batch of reads is sorted by offset and cut into *runs* of adjacent pages of at most [`RUN_BYTES`]; each run
//! is one `preadv`. Runs go to a small pool of threads, which is what keeps several requests in flight at the
//! device; [`IoQueue::read`] takes the first run itself, so that a single page costs no thread switch.
//!
//! A target owns the right to fill its buffer (for a frame of the buffer pool: the frame's exclusive latch), so no
//! unsafe code is needed here: the request borrows the buffer from the target, and the target is given back
//! to itself with the result in [`ReadTarget::complete`]. That happens exactly once for each target.

use super::env::File;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Most bytes of one merged request.
pub const RUN_BYTES: usize = 1 << 20;

/// Something that one read fills, such as a frame of the buffer pool.
pub trait ReadTarget: Send + 'static {
    /// The bytes to fill, always the same; aligned and sized as [`File`] asks.
    fn buffer(&mut self) -> &mut [u8];
    /// Called once, on whichever thread did the read, when the buffer holds the data or cannot be filled. Must
    /// not wait for another read of the same queue.
    fn complete(self, result: io::Result<()>);
}

/// One read of a batch.
pub struct PageRead<T> {
    /// Where in the file to read.
    pub offset: u64,
    /// What to fill.
    pub target: T,
}

/// Adjacent pages, to be read with one request.
struct Run<T> {
    offset: u64,
    targets: Vec<T>,
}

struct Pending<T> {
    runs: VecDeque<Run<T>>,
    closed: bool,
}

struct Shared<T> {
    file: Arc<dyn File>,
    pending: Mutex<Pending<T>>,
    work: Condvar,
}

/// Reads batches of pages from one file. With zero threads every read is done before the call returns.
/// Dropping the queue finishes the reads that are queued.
pub struct IoQueue<T: ReadTarget> {
    shared: Arc<Shared<T>>,
    threads: Vec<JoinHandle<()>>,
}

impl<T: ReadTarget> IoQueue<T> {
    /// A queue over `file` with this many reading threads.
    pub fn new(file: Arc<dyn File>, threads: usize) -> io::Result<IoQueue<T>> {
        let pending = Mutex::new(Pending { runs: VecDeque::new(), closed: false });
        let shared = Arc::new(Shared { file, pending, work: Condvar::new() });
        let mut queue = IoQueue { shared, threads: Vec::with_capacity(threads) };
        for number in 0..threads {
            let shared = Arc::clone(&queue.shared);
            let thread = std::thread::Builder::new().name(format!("read-{number}"));
            queue.threads.push(thread.spawn(move || shared.work())?);
        }
        Ok(queue)
    }

    /// Queues the reads and returns at once (with zero threads: does them). For read-ahead.
    pub fn submit(&self, reads: Vec<PageRead<T>>) {
        let runs = merge(reads);
        if self.threads.is_empty() {
            runs.into_iter().for_each(|run| run.execute(&*self.shared.file));
        } else {
            self.shared.queue(runs);
        }
    }

    /// Does the first run of the batch on the calling thread and queues the others, which may still be under
    /// way when the call returns. For reads that the caller is going to wait for.
    pub fn read(&self, reads: Vec<PageRead<T>>) {
        let mut runs = merge(reads);
        if self.threads.is_empty() {
            runs.into_iter().for_each(|run| run.execute(&*self.shared.file));
        } else if !runs.is_empty() {
            let first = runs.remove(0);
            self.shared.queue(runs);
            first.execute(&*self.shared.file);
        }
    }
}

impl<T: ReadTarget> Drop for IoQueue<T> {
    fn drop(&mut self) {
        self.shared.pending.lock().closed = true;
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so already.
            let _ = thread.join();
        }
    }
}

impl<T: ReadTarget> Shared<T> {
    fn queue(&self, runs: Vec<Run<T>>) {
        let count = runs.len();
        self.pending.lock().runs.extend(runs);
        for _ in 0..count {
            self.work.notify_one();
        }
    }

    /// The life of a reading thread.
    fn work(&self) {
        let mut pending = self.pending.lock();
        loop {
            match pending.runs.pop_front() {
                Some(run) => {
                    drop(pending);
                    run.execute(&*self.file);
                    pending = self.pending.lock();
                }
                None if pending.closed => return,
                None => self.work.wait(&mut pending),
            }
        }
    }
}

impl<T: ReadTarget> Run<T> {
    fn execute(mut self, file: &dyn File) {
        if self.targets.len() > 1 {
            let mut slices: Vec<IoSliceMut<'_>> =
                self.targets.iter_mut().map(|target| IoSliceMut::new(target.buffer())).collect();
            if file.read_vectored_at(&mut slices, self.offset).is_ok() {
                self.targets.into_iter().for_each(|target| target.complete(Ok(())));
                return;
            }
            // One bad sector must not fail its neighbours: read each page by itself.
        }
        let mut offset = self.offset;
        for mut target in self.targets {
            let buffer = target.buffer();
            let len = buffer.len() as u64;
            let result = file.read_at(buffer, offset);
            target.complete(result);
            offset += len;
        }
    }
}

/// Sorts reads by offset and joins neighbours. Two reads of one offset stay apart.
fn merge<T: ReadTarget>(mut reads: Vec<PageRead<T>>) -> Vec<Run<T>> {
    reads.sort_by_key(|read| read.offset);
    let mut runs: Vec<Run<T>> = Vec::new();
    let mut last_bytes = 0;
    for mut read in reads {
        let len = read.target.buffer().len();
        match runs.last_mut() {
            Some(run) if run.offset + last_bytes as u64 == read.offset && last_bytes + len <= RUN_BYTES => {
                run.targets.push(read.target);
                last_bytes += len;
            }
            _ => {
                runs.push(Run { offset: read.offset, targets: vec![read.target] });
                last_bytes = len;
            }
        }
    }
    runs
}
