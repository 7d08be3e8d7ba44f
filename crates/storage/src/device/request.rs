//! Requests of a queue: executing and answering them. Every request is answered once, even if it is dropped or its execution
//! panics.

use super::aligned::AlignedBuf;
use super::env::File;
use super::read_times::ReadTimes;
use parking_lot::{Condvar, Mutex};
use std::io::{self, IoSliceMut};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A buffer that one read fills, such as a frame of the buffer pool.
pub trait ReadTarget: Send + 'static {
    /// Returns the bytes to fill, aligned and sized as [`File`] requires.
    fn buffer(&mut self) -> &mut [u8];
    /// Takes the result of the read. Called once, on the thread that did the read, when the buffer holds the data or
    /// cannot be filled. Must not wait for another read of the same queue.
    fn complete(self, result: io::Result<()>);
}

/// Adjacent pages that are read with one request.
pub(super) struct CoalescedRead<T> {
    pub(super) offset: u64,
    pub(super) targets: Vec<T>,
    /// Counts the read among the requests in flight.
    pub(super) in_flight: Option<InFlight>,
}

/// Counters of the reads of a queue.
#[derive(Debug, Default)]
pub struct QueueStats {
    /// Number of requests. A request reads one page or several neighbours.
    pub requests: AtomicU64,
    /// Bytes of the requests.
    pub bytes: AtomicU64,
    /// Gauge: number of requests that are queued or being done.
    pub in_flight: AtomicU64,
    /// Sum, over all requests, of the gauge when the request came.
    pub depths: AtomicU64,
    /// Sum of the times of the requests from queued to done, in microseconds.
    pub time_us: AtomicU64,
    /// Samples of read times, which describe the device.
    pub times: ReadTimes,
}

/// A request that is not done yet.
pub(super) struct InFlight {
    stats: Arc<QueueStats>,
    bytes: u64,
    begun: Instant,
}

impl InFlight {
    pub(super) fn new(stats: &Arc<QueueStats>, offset: u64, bytes: u64) -> InFlight {
        let begun = Instant::now();
        stats.times.begin(offset, bytes, begun);
        stats.requests.fetch_add(1, Ordering::Relaxed);
        stats.bytes.fetch_add(bytes, Ordering::Relaxed);
        let depth = stats.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        stats.depths.fetch_add(depth, Ordering::Relaxed);
        InFlight { stats: Arc::clone(stats), bytes, begun }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.stats.in_flight.fetch_sub(1, Ordering::Relaxed);
        let now = Instant::now();
        self.stats.times.end(self.bytes, now);
        let time = now.saturating_duration_since(self.begun);
        self.stats.time_us.fetch_add(time.as_micros() as u64, Ordering::Relaxed);
    }
}

/// A part of a buffer that is written with one request.
pub(super) struct Piece {
    pub(super) buffer: Arc<AlignedBuf>,
    pub(super) range: Range<usize>,
    pub(super) offset: u64,
    pub(super) answer: Answer,
}

/// Reports the outcome of a piece to its batch. If it is dropped without a report, the piece counts as not written.
pub(super) struct Answer(pub(super) Option<Arc<Batch>>);

impl Answer {
    fn give(mut self, result: io::Result<()>) {
        self.tell(result);
    }

    fn tell(&mut self, result: io::Result<()>) {
        let Some(batch) = self.0.take() else { return };
        let mut state = batch.state.lock();
        state.left -= 1;
        if let Err(error) = result {
            state.error.get_or_insert(error);
        }
        if state.left == 0 {
            batch.done.notify_all();
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.tell(Err(io::Error::other("a write was given up")));
    }
}

/// A request in the queue.
pub(super) enum Request<T> {
    Read(CoalescedRead<T>),
    Write(Piece),
}

/// The place where a caller waits for its writes.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) state: Mutex<BatchState>,
    pub(super) done: Condvar,
}

#[derive(Default)]
pub(super) struct BatchState {
    pub(super) left: usize,
    pub(super) error: Option<io::Error>,
}

impl<T: ReadTarget> Request<T> {
    /// Executes the request on this thread.
    pub(super) fn execute(self, file: &dyn File) {
        match self {
            Request::Read(read) => read.execute(file),
            Request::Write(piece) => {
                let result = contained(|| file.write_at(&piece.buffer[piece.range.clone()], piece.offset));
                piece.complete(result);
            }
        }
    }

    /// Ends a request that was done in full.
    #[cfg(target_os = "linux")]
    pub(super) fn complete(self) {
        match self {
            Request::Read(CoalescedRead { targets, in_flight, .. }) => {
                targets.into_iter().for_each(|target| target.complete(Ok(())));
                drop(in_flight);
            }
            Request::Write(piece) => piece.complete(Ok(())),
        }
    }
}

impl Piece {
    fn complete(self, result: io::Result<()>) {
        let Piece { buffer, answer, .. } = self;
        // The caller wants to own the buffer alone when it goes on.
        drop(buffer);
        answer.give(result);
    }
}

impl<T: ReadTarget> CoalescedRead<T> {
    fn execute(mut self, file: &dyn File) {
        // The read counts as in flight until its last target is complete.
        let _in_flight = self.in_flight.take();
        if self.targets.len() > 1 {
            let mut slices: Vec<IoSliceMut<'_>> =
                self.targets.iter_mut().map(|target| IoSliceMut::new(target.buffer())).collect();
            if contained(|| file.read_vectored_at(&mut slices, self.offset)).is_ok() {
                self.targets.into_iter().for_each(|target| target.complete(Ok(())));
                return;
            }
            // One bad sector must not fail its neighbours: read each page by itself.
        }
        let mut offset = self.offset;
        for mut target in self.targets {
            let buffer = target.buffer();
            let len = buffer.len() as u64;
            let result = contained(|| file.read_at(buffer, offset));
            target.complete(result);
            offset += len;
        }
    }
}

/// Turns a panic of a transfer into an error, because other threads may wait for the thread that does it.
fn contained(transfer: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let panicked = |_| Err(io::Error::other("a panic while bytes were transferred"));
    catch_unwind(AssertUnwindSafe(transfer)).unwrap_or_else(panicked)
}
