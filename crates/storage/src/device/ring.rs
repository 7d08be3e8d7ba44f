//! Batches of transfers through io_uring: the backend of [`super::IoQueue`] that keeps many requests in flight with
//! one thread.
//!
//! One thread owns the ring. It takes requests from a queue, submits up to [`DEPTH`] of them at a time, and completes
//! them as the system reports them. Other threads only append to the queue, and wake the ring's thread if it sleeps
//! in the system by writing to an eventfd that the ring reads. So completions do not depend on the next steps of the
//! thread that asked for a page: by default the kernel would run them in the context of that thread.
//!
//! A request that the ring does not do in full (an error, a short transfer) is done again with plain system calls,
//! whose result counts. Where the system makes no ring (an old kernel, a container that forbids it), the caller uses
//! threads.
#![expect(unsafe_code, reason = "the system reads and writes memory whose addresses it was given")]

use super::env::File;
use super::queue::{ReadTarget, Request};
use io_uring::{IoUring, Probe, opcode, squeue, types};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// Largest number of requests in flight.
const DEPTH: u32 = 256;
/// Identifies the read of the eventfd among the completions.
const WAKE: u64 = u64::MAX;

struct Pending<T> {
    requests: VecDeque<Request<T>>,
    closed: bool,
}

struct Shared<T> {
    pending: Mutex<Pending<T>>,
    /// Whether the thread sleeps, or is about to. A thread that queues a request then wakes it.
    asleep: AtomicBool,
    event: fs::File,
}

/// The thread with the ring, and its queue. Dropping it finishes the queued requests.
pub(super) struct RingQueue<T: ReadTarget> {
    shared: Arc<Shared<T>>,
    thread: Option<JoinHandle<()>>,
}

impl<T: ReadTarget> RingQueue<T> {
    /// Makes a ring over the file. Returns `None` if the file has no descriptor or the system makes no ring.
    pub(super) fn new(file: &Arc<dyn File>) -> io::Result<Option<RingQueue<T>>> {
        let Some(descriptor) = file.descriptor().map(|descriptor| descriptor.as_raw_fd()) else {
            return Ok(None);
        };
        let Ok(event) = eventfd() else { return Ok(None) };
        let pending = Mutex::new(Pending { requests: VecDeque::new(), closed: false });
        let shared = Arc::new(Shared { pending, asleep: AtomicBool::new(false), event });
        let (tell, told) = mpsc::channel();
        let (worker_shared, file) = (Arc::clone(&shared), Arc::clone(file));
        let thread = std::thread::Builder::new().name("io-ring".into()).spawn(move || {
            // The thread that uses the ring makes it, because the system permits no other.
            let ring = make_ring();
            let _ = tell.send(ring.is_ok());
            if let Ok(ring) = ring {
                Worker::new(ring, worker_shared, file, descriptor).run();
            }
        })?;
        match told.recv() {
            Ok(true) => Ok(Some(RingQueue { shared, thread: Some(thread) })),
            _ => Ok(None),
        }
    }

    pub(super) fn queue(&self, requests: impl Iterator<Item = Request<T>>) {
        self.shared.pending.lock().requests.extend(requests);
        self.shared.wake();
    }
}

impl<T: ReadTarget> Drop for RingQueue<T> {
    fn drop(&mut self) {
        self.shared.pending.lock().closed = true;
        self.shared.wake();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has already reported it.
            let _ = thread.join();
        }
    }
}

impl<T> Shared<T> {
    fn wake(&self) {
        // Pairs with the fence of the thread that goes to sleep: one of the two sees what the other wrote.
        fence(Ordering::SeqCst);
        if self.asleep.swap(false, Ordering::SeqCst) {
            // The write fails only when the counter is about to overflow, and then the thread is awake.
            let _ = (&self.event).write(&1u64.to_ne_bytes());
        }
    }
}

fn eventfd() -> io::Result<fs::File> {
    // SAFETY: the call takes no memory.
    let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and is owned by nobody else.
    Ok(unsafe { fs::File::from_raw_fd(descriptor) })
}

fn make_ring() -> io::Result<IoUring> {
    // Since Linux 6.1: completions run when this thread asks for them, and interrupt no thread.
    let ring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build(DEPTH + 1)
        .or_else(|_| IoUring::builder().build(DEPTH + 1))?;
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe)?;
    let codes = [opcode::Readv::CODE, opcode::Write::CODE, opcode::Read::CODE];
    match codes.iter().all(|code| probe.is_supported(*code)) {
        true => Ok(ring),
        false => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// A request that the system is working on. It is boxed, because the memory that the system has addresses of must not
/// move.
struct InFlight<T> {
    request: Request<T>,
    vectors: Vec<libc::iovec>,
    bytes: usize,
}

/// The state of the ring's thread. If the thread panics with requests in flight, they are leaked, because the system
/// still has addresses in them.
struct Worker<T: ReadTarget> {
    ring: IoUring,
    shared: Arc<Shared<T>>,
    file: Arc<dyn File>,
    descriptor: RawFd,
    in_flight: Vec<Option<Box<InFlight<T>>>>,
    free: Vec<usize>,
    /// Whether the read of the eventfd is in flight.
    listening: bool,
    woken: Box<[u8; 8]>,
}

impl<T: ReadTarget> Worker<T> {
    fn new(ring: IoUring, shared: Arc<Shared<T>>, file: Arc<dyn File>, descriptor: RawFd) -> Worker<T> {
        Worker {
            ring,
            shared,
            file,
            descriptor,
            in_flight: (0..DEPTH).map(|_| None).collect(),
            free: (0..DEPTH as usize).rev().collect(),
            listening: false,
            woken: Box::new([0; 8]),
        }
    }

    fn idle(&self) -> bool {
        self.free.len() == DEPTH as usize
    }

    /// Takes, submits and completes requests until the queue is closed and nothing is in flight.
    fn run(mut self) {
        loop {
            let closed = self.take_requests();
            if closed && self.idle() {
                break;
            }
            self.listen();
            self.shared.asleep.store(true, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            // A request that was queued before the flag was set has woken nobody.
            let missed = {
                let pending = self.shared.pending.lock();
                !self.free.is_empty() && !pending.requests.is_empty() || pending.closed && self.idle()
            };
            let wait = usize::from(!missed);
            // An error means that the call was interrupted, or that completions have to be taken first. The code
            // below does both.
            let _ = self.ring.submit_and_wait(wait);
            self.shared.asleep.store(false, Ordering::SeqCst);
            self.complete();
        }
        self.stop_listening();
    }

    /// Puts queued requests into the ring, as many as may be in flight. Returns true if no more will come.
    fn take_requests(&mut self) -> bool {
        let shared = Arc::clone(&self.shared);
        let mut pending = shared.pending.lock();
        while !self.free.is_empty() {
            match pending.requests.pop_front() {
                Some(request) => self.start(request),
                None => break,
            }
        }
        pending.closed && pending.requests.is_empty()
    }

    fn start(&mut self, request: Request<T>) {
        let Some(slot) = self.free.pop() else { return request.execute(&*self.file) };
        let mut started = Box::new(InFlight { request, vectors: Vec::new(), bytes: 0 });
        let descriptor = types::Fd(self.descriptor);
        let entry = match &mut started.request {
            Request::Read(run) => {
                started.vectors.extend(run.targets.iter_mut().map(|target| {
                    let buffer = target.buffer();
                    libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() }
                }));
                started.bytes = started.vectors.iter().map(|vector| vector.iov_len).sum();
                let count = started.vectors.len() as u32;
                opcode::Readv::new(descriptor, started.vectors.as_ptr(), count).offset(run.offset).build()
            }
            Request::Write(piece) => {
                let bytes = &piece.buffer[piece.range.clone()];
                started.bytes = bytes.len();
                let (start, len) = (bytes.as_ptr(), bytes.len() as u32);
                opcode::Write::new(descriptor, start, len).offset(piece.offset).build()
            }
        };
        self.in_flight[slot] = Some(started);
        if !self.push(&entry.user_data(slot as u64)) {
            // Cannot happen: the ring has an entry for each slot and one for the eventfd. If it does, this thread
            // does the request.
            if let Some(started) = self.in_flight[slot].take() {
                self.free.push(slot);
                started.request.execute(&*self.file);
            }
        }
    }

    fn push(&mut self, entry: &squeue::Entry) -> bool {
        // SAFETY: the addresses in the entry are of memory that `in_flight` or `woken` keeps in place until the
        // completion is seen, and that nobody else uses until then. The descriptors stay open as long as `file` and
        // `shared` live. The worker ends only when nothing is in flight.
        unsafe { self.ring.submission().push(entry).is_ok() }
    }

    /// Makes the ring read the eventfd, so that a write to it ends the wait.
    fn listen(&mut self) {
        if !self.listening {
            let descriptor = types::Fd(self.shared.event.as_raw_fd());
            let read = opcode::Read::new(descriptor, self.woken.as_mut_ptr(), 8).build();
            self.listening = self.push(&read.user_data(WAKE));
        }
    }

    /// Ends the read of the eventfd before its buffer is dropped.
    fn stop_listening(&mut self) {
        let _ = (&self.shared.event).write(&1u64.to_ne_bytes());
        while self.listening {
            let _ = self.ring.submit_and_wait(1);
            self.complete();
        }
    }

    /// Ends the requests that the system reports as done.
    fn complete(&mut self) {
        let done: Vec<(u64, i32)> =
            self.ring.completion().map(|entry| (entry.user_data(), entry.result())).collect();
        for (slot, result) in done {
            if slot == WAKE {
                self.listening = false;
                continue;
            }
            let found = self.in_flight.get_mut(slot as usize).and_then(Option::take);
            let found = found.expect("the system reports requests that it was given, once");
            self.free.push(slot as usize);
            let InFlight { request, bytes, .. } = *found;
            if usize::try_from(result) == Ok(bytes) {
                request.complete();
            } else {
                request.execute(&*self.file);
            }
        }
    }
}

impl<T: ReadTarget> Drop for Worker<T> {
    fn drop(&mut self) {
        self.in_flight.iter_mut().filter_map(Option::take).for_each(std::mem::forget);
        if self.listening {
            std::mem::forget(std::mem::take(&mut self.woken));
        }
    }
}
