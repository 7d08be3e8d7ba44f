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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{AlignedBuf, BLOCK, Env, Fault, OpenMode, Operation, SimulatedEnv};
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    use std::collections::HashMap;
    use std::sync::mpsc::{Receiver, Sender, channel};

    const PAGE: usize = 2 * BLOCK;

    /// A frame of a test: sends itself back when it is filled.
    struct Frame {
        number: usize,
        buf: AlignedBuf,
        done: Sender<Done>,
    }

    impl ReadTarget for Frame {
        fn buffer(&mut self) -> &mut [u8] {
            &mut self.buf
        }

        fn complete(self, result: io::Result<()>) {
            self.done.send((self.number, self.buf, result)).unwrap();
        }
    }

    type Done = (usize, AlignedBuf, io::Result<()>);
    type Results = HashMap<usize, (AlignedBuf, io::Result<()>)>;

    fn page(number: u64) -> AlignedBuf {
        AlignedBuf::from_bytes(&[number as u8; PAGE])
    }

    /// A file of pages, each filled with its number.
    fn file(env: &SimulatedEnv, pages: u64) -> Arc<dyn File> {
        let file = env.open("data", OpenMode::CreateNew).unwrap();
        (0..pages).for_each(|number| file.write_at(&page(number), number * PAGE as u64).unwrap());
        file
    }

    fn batch(pages: &[u64]) -> (Vec<PageRead<Frame>>, Receiver<Done>) {
        let (done, results) = channel();
        let read = |(number, page): (usize, &u64)| {
            let target = Frame { number, buf: AlignedBuf::zeroed(PAGE), done: done.clone() };
            PageRead { offset: page * PAGE as u64, target }
        };
        (pages.iter().enumerate().map(read).collect(), results)
    }

    /// Waits for all frames of a batch: the channel closes when the last is gone.
    fn collect(results: &Receiver<Done>) -> Results {
        let mut all = Results::new();
        for (number, buf, result) in results {
            assert!(all.insert(number, (buf, result)).is_none(), "completed twice");
        }
        all
    }

    #[test]
    fn random_batches_fill_every_frame_with_its_page_for_any_number_of_threads() {
        let env = SimulatedEnv::new();
        let file = file(&env, 200);
        for threads in [0, 1, 3] {
            let queue = IoQueue::new(Arc::clone(&file), threads).unwrap();
            let mut random = SmallRng::seed_from_u64(threads as u64);
            for round in 0..30 {
                let pages: Vec<u64> =
                    (0..random.random_range(0..100)).map(|_| random.random_range(0..200)).collect();
                let (reads, results) = batch(&pages);
                if round % 2 == 0 {
                    queue.submit(reads)
                } else {
                    queue.read(reads)
                }
                let results = collect(&results);
                assert_eq!(results.len(), pages.len());
                for (number, (buf, result)) in results {
                    result.unwrap();
                    assert!(*buf == *page(pages[number]), "page {}", pages[number]);
                }
            }
        }
    }

    #[test]
    fn neighbours_are_read_with_one_request_of_at_most_a_mebibyte() {
        let env = SimulatedEnv::new();
        let queue = IoQueue::new(file(&env, 400), 0).unwrap();
        let requests = |pages: &[u64]| {
            let before = env.counts().reads;
            let (reads, results) = batch(pages);
            queue.submit(reads);
            assert!(collect(&results).values().all(|(_, result)| result.is_ok()));
            env.counts().reads - before
        };
        assert_eq!(requests(&[7]), 1);
        assert_eq!(requests(&[3, 1, 2, 0]), 1, "sorted first");
        assert_eq!(requests(&[0, 1, 3, 4, 10]), 3, "a gap ends a run");
        assert_eq!(requests(&[5, 5, 6]), 2, "the same page twice is two reads");
        let all: Vec<u64> = (0..300).collect();
        assert_eq!(requests(&all), (300 * PAGE as u64).div_ceil(RUN_BYTES as u64));
    }

    #[test]
    fn a_bad_page_fails_alone_and_its_neighbours_are_read() {
        let env = SimulatedEnv::new();
        let queue = IoQueue::new(file(&env, 10), 0).unwrap();
        let bad = 4 * PAGE as u64;
        // The request that covers the page begins before it.
        let fails: Fault =
            Arc::new(move |op, _, at| op == Operation::Read && (at == bad || at == 2 * PAGE as u64));
        env.set_fault(Some(fails));
        let (reads, results) = batch(&[2, 3, 4, 5, 8]);
        queue.submit(reads);
        let results = collect(&results);
        let failed: Vec<bool> = (0..5).map(|number| results[&number].1.is_err()).collect();
        assert_eq!(failed, [true, false, true, false, false]);
        assert!(*results[&1].0 == *page(3) && *results[&3].0 == *page(5) && *results[&4].0 == *page(8));
    }

    #[test]
    fn a_page_past_the_end_is_an_error_and_the_others_are_read() {
        let env = SimulatedEnv::new();
        let queue = IoQueue::new(file(&env, 10), 1).unwrap();
        let (reads, results) = batch(&[9, 10]);
        queue.read(reads);
        let results = collect(&results);
        assert!(results[&0].1.is_ok());
        assert_eq!(results[&1].1.as_ref().map_err(io::Error::kind), Err(io::ErrorKind::UnexpectedEof));
    }

    #[test]
    fn a_single_run_is_read_on_the_callers_thread() {
        struct Here(AlignedBuf, Sender<std::thread::ThreadId>);
        impl ReadTarget for Here {
            fn buffer(&mut self) -> &mut [u8] {
                &mut self.0
            }
            fn complete(self, result: io::Result<()>) {
                result.unwrap();
                self.1.send(std::thread::current().id()).unwrap();
            }
        }
        let env = SimulatedEnv::new();
        let queue = IoQueue::new(file(&env, 10), 2).unwrap();
        let (done, threads) = channel();
        let read = |offset: u64| PageRead { offset, target: Here(AlignedBuf::zeroed(PAGE), done.clone()) };
        queue.read(vec![read(0), read(PAGE as u64)]);
        for _ in 0..2 {
            assert_eq!(threads.recv().unwrap(), std::thread::current().id());
        }
        queue.submit(vec![read(0)]);
        assert_ne!(threads.recv().unwrap(), std::thread::current().id());
    }

    #[test]
    fn dropping_the_queue_finishes_what_is_queued() {
        let env = SimulatedEnv::new();
        let queue = IoQueue::new(file(&env, 200), 2).unwrap();
        let (reads, results) = batch(&(0..100).map(|i| i * 2).collect::<Vec<_>>());
        queue.submit(reads);
        drop(queue);
        assert_eq!(collect(&results).len(), 100);
    }
}
