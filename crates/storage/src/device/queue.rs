//! Batches of page reads and writes, with many requests in flight at the device.
//!
//! A batch of reads is sorted by offset and coalesced into reads of adjacent pages of at most [`MAX_READ_BYTES`].
//! Each coalesced read is one request. [`IoQueue::submit`] returns at once. The queue's own threads complete the
//! targets, so a thread that waits for a page depends on no other caller. [`IoQueue::write`] waits until all its
//! pieces are written.
//!
//! | backend | used |
//! |---|---|
//! | io_uring: one thread submits and completes ([`super::ring`]) | on Linux, for files with a descriptor, where the system permits it |
//! | threads: each does one request at a time ([`super::threads`]) | elsewhere: other systems, containers that refuse io_uring, simulated files |
//! | none: the caller does each transfer | with zero threads, for tests that are to be deterministic |
//!
//! A target owns the right to fill its buffer (for a frame of the buffer pool: the frame's word in state faulting).
//! The queue owns the target, and hands it over with the result in [`ReadTarget::complete`], exactly once.

use super::aligned::AlignedBuf;
use super::env::File;
use super::request::{Answer, Batch, CoalescedRead, InFlight, Piece, QueueStats, ReadTarget, Request};
#[cfg(target_os = "linux")]
use super::ring::RingQueue;
use super::threads::ThreadQueue;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Most bytes of one merged request.
pub const MAX_READ_BYTES: usize = 1 << 20;

/// One read of a batch.
pub struct PageRead<T> {
    /// Offset in the file at which to read.
    pub offset: u64,
    /// The buffer to fill.
    pub target: T,
}

/// Reads and writes batches of pages of one file. Dropping the queue finishes the queued requests.
pub struct IoQueue<T: ReadTarget> {
    file: Arc<dyn File>,
    backend: Backend<T>,
    stats: Arc<QueueStats>,
}

enum Backend<T: ReadTarget> {
    Caller,
    Threads(ThreadQueue<T>),
    #[cfg(target_os = "linux")]
    Ring(RingQueue<T>),
}

impl<T: ReadTarget> IoQueue<T> {
    /// Makes a queue over `file`, with io_uring if it can be had, else with this many threads. With zero threads
    /// every transfer is done before the call returns.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn new(file: Arc<dyn File>, threads: usize) -> io::Result<IoQueue<T>> {
        #[cfg(target_os = "linux")]
        if threads > 0
            && let Some(ring) = RingQueue::new(&file)?
        {
            return Ok(IoQueue { file, backend: Backend::Ring(ring), stats: Arc::default() });
        }
        IoQueue::with_threads(file, threads)
    }

    /// Makes a queue over `file` without io_uring.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn with_threads(file: Arc<dyn File>, threads: usize) -> io::Result<IoQueue<T>> {
        let backend = match threads {
            0 => Backend::Caller,
            _ => Backend::Threads(ThreadQueue::new(&file, threads)?),
        };
        Ok(IoQueue { file, backend, stats: Arc::default() })
    }

    /// Returns whether transfers go through io_uring.
    pub fn uses_ring(&self) -> bool {
        #[cfg(target_os = "linux")]
        if let Backend::Ring(_) = self.backend {
            return true;
        }
        false
    }

    /// Queues the reads and returns at once. With zero threads, does the reads.
    pub fn submit(&self, reads: Vec<PageRead<T>>) {
        self.queue(merge(reads).into_iter().map(|mut read| {
            let bytes: usize = read.targets.iter_mut().map(|target| target.buffer().len()).sum();
            read.in_flight = Some(InFlight::new(&self.stats, read.offset, bytes as u64));
            Request::Read(read)
        }));
    }

    /// Returns the counters of the queue's reads.
    pub fn stats(&self) -> &QueueStats {
        &self.stats
    }

    /// Writes parts of `buffer` to places in the file, in any order, and waits until all are written or have failed.
    ///
    /// # Errors
    /// The first error that was met.
    pub fn write(&self, buffer: &Arc<AlignedBuf>, pieces: &[(Range<usize>, u64)]) -> io::Result<()> {
        let batch = Arc::new(Batch::default());
        batch.state.lock().left = pieces.len();
        self.queue(pieces.iter().map(|(range, offset)| {
            let (buffer, batch) = (Arc::clone(buffer), Arc::clone(&batch));
            Request::Write(Piece {
                buffer,
                range: range.clone(),
                offset: *offset,
                answer: Answer(Some(batch)),
            })
        }));
        let mut state = batch.state.lock();
        while state.left > 0 {
            batch.done.wait(&mut state);
        }
        state.error.take().map_or(Ok(()), Err)
    }

    fn queue(&self, requests: impl Iterator<Item = Request<T>>) {
        match &self.backend {
            Backend::Caller => requests.for_each(|request| request.execute(&*self.file)),
            Backend::Threads(threads) => threads.queue(requests),
            #[cfg(target_os = "linux")]
            Backend::Ring(ring) => ring.queue(requests),
        }
    }
}

/// Sorts reads by offset and joins neighbours. Two reads of one offset stay apart.
pub(super) fn merge<T: ReadTarget>(mut reads: Vec<PageRead<T>>) -> Vec<CoalescedRead<T>> {
    reads.sort_by_key(|read| read.offset);
    let mut coalesced: Vec<CoalescedRead<T>> = Vec::new();
    let mut last_bytes = 0;
    for mut read in reads {
        let len = read.target.buffer().len();
        match coalesced.last_mut() {
            Some(last)
                if last.offset + last_bytes as u64 == read.offset && last_bytes + len <= MAX_READ_BYTES =>
            {
                last.targets.push(read.target);
                last_bytes += len;
            }
            _ => {
                coalesced.push(CoalescedRead {
                    offset: read.offset,
                    targets: vec![read.target],
                    in_flight: None,
                });
                last_bytes = len;
            }
        }
    }
    coalesced
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{BLOCK, DirectoryEnv, Env, Fault, OpenMode, Operation, SimulatedEnv};
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    use std::collections::HashMap;
    use std::sync::atomic::Ordering;
    use std::sync::mpsc::{Receiver, Sender, channel};

    const PAGE: usize = 2 * BLOCK;

    type Queue = IoQueue<Frame>;

    /// A frame of a test, which sends itself back when it is filled.
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

    /// Makes a file of pages, each filled with its number.
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

    /// Waits for all frames of a batch: the channel closes when the last one is gone.
    fn collect(results: &Receiver<Done>) -> Results {
        let mut all = Results::new();
        for (number, buf, result) in results {
            assert!(all.insert(number, (buf, result)).is_none(), "completed twice");
        }
        all
    }

    /// Runs random batches of reads and writes, and compares the results with a model of the file.
    fn work_at_random(queue: &Queue, pages: u64, seed: u64) {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut model: Vec<u8> = (0..pages).map(|page| page as u8).collect();
        for _ in 0..30 {
            let wanted: Vec<u64> =
                (0..random.random_range(0..600)).map(|_| random.random_range(0..pages)).collect();
            let (reads, results) = batch(&wanted);
            queue.submit(reads);
            let results = collect(&results);
            assert_eq!(results.len(), wanted.len());
            for (number, (buf, result)) in results {
                result.unwrap();
                assert!(buf.iter().all(|byte| *byte == model[wanted[number] as usize]));
            }
            let first = random.random_range(0..pages - 8);
            let buffer: Vec<u8> = (0..8 * PAGE).map(|at| (at / PAGE) as u8 ^ first as u8).collect();
            let mut buffer = Arc::new(AlignedBuf::from_bytes(&buffer));
            // There are two pieces, of two and of five pages, and one page between them that stays as it was.
            let place = |page: u64| (first + page) * PAGE as u64;
            let pieces = [(3 * PAGE..8 * PAGE, place(3)), (0..2 * PAGE, place(0))];
            queue.write(&buffer, &pieces).unwrap();
            assert!(Arc::get_mut(&mut buffer).is_some(), "the buffer is the caller's again");
            for page in [0, 1, 3, 4, 5, 6, 7] {
                model[(first + page) as usize] = page as u8 ^ first as u8;
            }
        }
    }

    #[test]
    fn random_batches_read_and_write_every_page_for_any_number_of_threads() {
        for threads in [0, 1, 3] {
            let env = SimulatedEnv::new();
            let queue = Queue::new(file(&env, 200), threads).unwrap();
            assert!(!queue.uses_ring(), "a simulated file has no descriptor");
            work_at_random(&queue, 200, threads as u64);
        }
    }

    #[test]
    fn random_batches_read_and_write_every_page_of_a_real_file_with_and_without_a_ring() {
        let dir = tempfile::tempdir().unwrap();
        let env = DirectoryEnv::open(dir.path()).unwrap();
        for with_ring in [true, false] {
            let file = env.open("data", OpenMode::Create).unwrap();
            (0..1000).for_each(|number| file.write_at(&page(number), number * PAGE as u64).unwrap());
            let queue = match with_ring {
                true => Queue::new(Arc::clone(&file), 2).unwrap(),
                false => Queue::with_threads(Arc::clone(&file), 2).unwrap(),
            };
            eprintln!("io_uring: {}", queue.uses_ring());
            work_at_random(&queue, 1000, 7);
            // Several callers at once.
            std::thread::scope(|scope| {
                for thread in 0..4u64 {
                    let queue = &queue;
                    scope.spawn(move || {
                        for round in 0..50 {
                            let (reads, results) = batch(&[thread * 9 + round, 1000 + thread, 500]);
                            queue.submit(reads);
                            let results = collect(&results);
                            assert!(results[&0].1.is_ok() && results[&2].1.is_ok());
                            let error = results[&1].1.as_ref().map_err(io::Error::kind);
                            assert_eq!(error, Err(io::ErrorKind::UnexpectedEof));
                        }
                    });
                }
            });
            let (reads, results) = batch(&(0..900).map(|i| i * 7 % 1000).collect::<Vec<_>>());
            queue.submit(reads);
            drop(queue);
            assert_eq!(collect(&results).len(), 900, "what was queued is finished");
        }
    }

    #[test]
    fn a_failed_write_is_reported_and_the_others_are_done() {
        for threads in [0, 2] {
            let env = SimulatedEnv::new();
            let file = file(&env, 10);
            let queue = Queue::new(Arc::clone(&file), threads).unwrap();
            let bad = 4 * PAGE as u64;
            env.set_fault(Some(Arc::new(move |op, _, at| op == Operation::Write && at == bad)));
            let buffer = Arc::new(AlignedBuf::from_bytes(&[9; 3 * PAGE]));
            let pieces: Vec<_> = (0..3)
                .map(|piece| (piece * PAGE..(piece + 1) * PAGE, (3 + piece as u64) * PAGE as u64))
                .collect();
            assert!(queue.write(&buffer, &pieces).is_err());
            let mut found = AlignedBuf::zeroed(3 * PAGE);
            file.read_at(&mut found, 3 * PAGE as u64).unwrap();
            // A write that failed may have been done in part.
            assert_eq!([1, 2, 3].map(|piece| found[piece * PAGE - 1]), [9, 4, 9]);
            assert!(queue.write(&buffer, &[]).is_ok());
        }
    }

    #[test]
    fn neighbours_are_read_with_one_request_of_at_most_a_mebibyte() {
        let env = SimulatedEnv::new();
        let queue = Queue::new(file(&env, 400), 0).unwrap();
        let requests = |pages: &[u64]| {
            let before = env.counts().reads;
            let (reads, results) = batch(pages);
            queue.submit(reads);
            assert!(collect(&results).values().all(|(_, result)| result.is_ok()));
            env.counts().reads - before
        };
        assert_eq!(requests(&[7]), 1);
        assert_eq!(requests(&[3, 1, 2, 0]), 1, "sorted first");
        assert_eq!(requests(&[0, 1, 3, 4, 10]), 3, "a gap ends a read");
        assert_eq!(requests(&[5, 5, 6]), 2, "the same page twice is two reads");
        let all: Vec<u64> = (0..300).collect();
        assert_eq!(requests(&all), (300 * PAGE as u64).div_ceil(MAX_READ_BYTES as u64));
    }

    #[test]
    fn a_bad_page_fails_alone_and_its_neighbours_are_read() {
        let env = SimulatedEnv::new();
        let queue = Queue::new(file(&env, 10), 0).unwrap();
        let bad = 4 * PAGE as u64;
        // The merged request that covers the page begins before it.
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
    fn reads_are_counted_as_requests_and_none_is_left_in_flight() {
        for threads in [0, 2] {
            let env = SimulatedEnv::new();
            let queue = Queue::new(file(&env, 20), threads).unwrap();
            let (reads, results) = batch(&[3, 9, 4, 5, 15]);
            queue.submit(reads);
            assert_eq!(collect(&results).len(), 5);
            let (requests, bytes) = (&queue.stats.requests, &queue.stats.bytes);
            assert_eq!(requests.load(Ordering::Relaxed), 3, "pages 3 to 5, 9, and 15");
            assert_eq!(bytes.load(Ordering::Relaxed), 5 * PAGE as u64);
            let stats = Arc::clone(&queue.stats);
            drop(queue);
            assert_eq!(stats.in_flight.load(Ordering::Relaxed), 0);
            let depths = stats.depths.load(Ordering::Relaxed);
            assert!((3..=6).contains(&depths), "{depths}");
        }
    }

    #[test]
    fn a_page_past_the_end_is_an_error_and_the_others_are_read() {
        let env = SimulatedEnv::new();
        let queue = Queue::new(file(&env, 10), 1).unwrap();
        let (reads, results) = batch(&[9, 10]);
        queue.submit(reads);
        let results = collect(&results);
        assert!(results[&0].1.is_ok());
        assert_eq!(results[&1].1.as_ref().map_err(io::Error::kind), Err(io::ErrorKind::UnexpectedEof));
    }

    #[test]
    fn dropping_the_queue_finishes_the_queued_requests() {
        let env = SimulatedEnv::new();
        let queue = Queue::new(file(&env, 200), 2).unwrap();
        let (reads, results) = batch(&(0..100).map(|i| i * 2).collect::<Vec<_>>());
        queue.submit(reads);
        drop(queue);
        assert_eq!(collect(&results).len(), 100);
    }
}
