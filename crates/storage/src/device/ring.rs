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
//!
//! A panic while a request is completed fails that request, whose drop answers the thread that waits for it. A panic
//! elsewhere on the ring's thread ends the thread: it waits until the system has no address of it any more, executes
//! the queued requests with plain system calls, and from then on each caller does its own transfers.
#![expect(unsafe_code, reason = "the system reads and writes memory whose addresses it was given")]

use super::env::File;
use super::request::{ReadTarget, Request};
use crate::worker::{OnPanic, ThreadName, Worker};
use io_uring::{IoUring, Probe, opcode, squeue, types};
use leafline_invariant::invariant;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::mpsc;

/// Largest number of requests in flight.
const DEPTH: u32 = 256;
/// Identifies the read of the eventfd among the completions.
const WAKE: u64 = u64::MAX;

struct Pending<T> {
    requests: VecDeque<Request<T>>,
    /// Nothing more will be queued: the thread ends when all is done.
    closed: bool,
    /// The thread has ended.
    ended: bool,
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
    file: Arc<dyn File>,
    worker: Worker,
}

impl<T: ReadTarget> RingQueue<T> {
    /// Makes a ring over the file. Returns `None` if the file has no descriptor or the system makes no ring.
    pub(super) fn new(file: &Arc<dyn File>) -> io::Result<Option<RingQueue<T>>> {
        let Some(descriptor) = file.descriptor().map(|descriptor| descriptor.as_raw_fd()) else {
            return Ok(None);
        };
        let Ok(event) = eventfd() else { return Ok(None) };
        let pending = Mutex::new(Pending { requests: VecDeque::new(), closed: false, ended: false });
        let shared = Arc::new(Shared { pending, asleep: AtomicBool::new(false), event });
        let (tell, told) = mpsc::channel();
        let (ended, file_of_rest) = (Arc::clone(&shared), Arc::clone(file));
        let on_panic = OnPanic::call(move |_| ended.end(&*file_of_rest));
        let (served, file_of_ring) = (Arc::clone(&shared), Arc::clone(file));
        let worker = Worker::spawn(ThreadName::IoRing, on_panic, move || {
            // The thread that uses the ring makes it, because the system permits no other.
            let ring = make_ring();
            let _ = tell.send(ring.is_ok());
            if let Ok(ring) = ring {
                Ring::new(ring, served, file_of_ring, descriptor).serve_requests();
            }
        })?;
        match told.recv() {
            Ok(true) => Ok(Some(RingQueue { shared, file: Arc::clone(file), worker })),
            _ => Ok(None),
        }
    }

    pub(super) fn queue(&self, requests: impl Iterator<Item = Request<T>>) {
        let mut pending = self.shared.pending.lock();
        if pending.ended {
            drop(pending);
            return requests.for_each(|request| request.execute(&*self.file));
        }
        pending.requests.extend(requests);
        drop(pending);
        self.shared.wake();
    }
}

impl<T: ReadTarget> Drop for RingQueue<T> {
    fn drop(&mut self) {
        self.shared.pending.lock().closed = true;
        self.shared.wake();
        self.worker.join();
    }
}

impl<T: ReadTarget> Shared<T> {
    /// Executes the queued requests on the calling thread. From here on nothing is queued.
    fn end(&self, file: &dyn File) {
        let requests = {
            let mut pending = self.pending.lock();
            pending.ended = true;
            std::mem::take(&mut pending.requests)
        };
        requests.into_iter().for_each(|request| request.execute(file));
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

/// The state of the ring's thread. Dropping it waits until the system has no address of it any more.
struct Ring<T: ReadTarget> {
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

impl<T: ReadTarget> Ring<T> {
    fn new(ring: IoUring, shared: Arc<Shared<T>>, file: Arc<dyn File>, descriptor: RawFd) -> Ring<T> {
        Ring {
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
    fn serve_requests(mut self) {
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
            Request::Read(read) => {
                started.vectors.extend(read.targets.iter_mut().map(|target| {
                    let buffer = target.buffer();
                    libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() }
                }));
                started.bytes = started.vectors.iter().map(|vector| vector.iov_len).sum();
                let count = started.vectors.len() as u32;
                opcode::Readv::new(descriptor, started.vectors.as_ptr(), count).offset(read.offset).build()
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

    /// Ends the requests that the system reports as done.
    fn complete(&mut self) {
        let done: Vec<(u64, i32)> =
            self.ring.completion().map(|entry| (entry.user_data(), entry.result())).collect();
        let mut unknown = None;
        for (slot, result) in done {
            if slot == WAKE {
                self.listening = false;
                continue;
            }
            let found = self.in_flight.get_mut(slot as usize).and_then(Option::take);
            let Some(found) = found else {
                unknown = Some(slot);
                continue;
            };
            self.free.push(slot as usize);
            let InFlight { request, bytes, .. } = *found;
            // A request that panics answers its waiter with an error, and the thread goes on, because others are in
            // flight.
            let _ = catch_unwind(AssertUnwindSafe(|| match usize::try_from(result) == Ok(bytes) {
                true => request.complete(),
                false => request.execute(&*self.file),
            }));
        }
        invariant!(unknown.is_none(), "the system reports requests that it was given, once: {unknown:?}");
    }
}

impl<T: ReadTarget> Drop for Ring<T> {
    fn drop(&mut self) {
        // Ends the read of the eventfd.
        let _ = (&self.shared.event).write(&1u64.to_ne_bytes());
        while self.listening || !self.idle() {
            match self.ring.submit_and_wait(1) {
                Ok(_) => self.complete(),
                Err(error)
                    if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) =>
                {
                    self.complete();
                }
                // The system may still write to these addresses: they are leaked.
                Err(_) => {
                    self.in_flight.iter_mut().filter_map(Option::take).for_each(std::mem::forget);
                    std::mem::forget(std::mem::take(&mut self.woken));
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{BLOCK, DirectoryEnv, Env, IoQueue, OpenMode, PageRead, aligned::AlignedBuf};
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A page of a test. Its completion panics if `panics`.
    struct Page {
        number: usize,
        buf: AlignedBuf,
        panics: bool,
        done: Sender<(usize, io::Result<u8>)>,
    }

    impl ReadTarget for Page {
        fn buffer(&mut self) -> &mut [u8] {
            &mut self.buf
        }

        fn complete(self, result: io::Result<()>) {
            assert!(!self.panics, "planted panic");
            self.done.send((self.number, result.map(|()| self.buf[0]))).unwrap();
        }
    }

    const PAGES: usize = 64;

    /// A real file of pages, each filled with its number. `None` where the system gives no ring.
    fn file() -> Option<(tempfile::TempDir, Arc<dyn File>)> {
        let dir = tempfile::tempdir().unwrap();
        let file = DirectoryEnv::open(dir.path()).unwrap().open("data", OpenMode::CreateNew).unwrap();
        let fill = |page: usize| AlignedBuf::from_bytes(&[page as u8; BLOCK]);
        (0..PAGES).for_each(|page| file.write_at(&fill(page), (page * BLOCK) as u64).unwrap());
        make_ring().ok().map(|_| (dir, file))
    }

    /// Receives the number of each page read, with its first byte.
    type Results = Receiver<(usize, io::Result<u8>)>;

    /// Reads of every second page, so that each is a request of its own; one of them panics.
    fn reads(panics: usize) -> (Vec<PageRead<Page>>, Results) {
        let (done, results) = channel();
        let read = |number: usize| {
            let buf = AlignedBuf::zeroed(BLOCK);
            let target = Page { number, buf, panics: number == panics, done: done.clone() };
            PageRead { offset: (number * BLOCK) as u64, target }
        };
        ((0..PAGES).step_by(2).map(read).collect(), results)
    }

    fn all_but(results: &Results, missing: usize) {
        let mut found: Vec<usize> = results
            .iter()
            .map(|(number, byte)| {
                assert_eq!(byte.unwrap() as usize, number);
                number
            })
            .collect();
        found.sort_unstable();
        assert_eq!(found, (0..PAGES).step_by(2).filter(|page| *page != missing).collect::<Vec<_>>());
    }

    #[test]
    fn panic_in_the_completion_of_a_request_fails_it_and_no_other() {
        let Some((_dir, file)) = file() else { return };
        let queue = IoQueue::new(file, 1).unwrap();
        assert!(queue.uses_ring());
        for panics in [10, PAGES] {
            let (reads, results) = reads(panics);
            queue.submit(reads);
            all_but(&results, panics);
        }
        let buffer = Arc::new(AlignedBuf::from_bytes(&[7; BLOCK]));
        queue.write(&buffer, &[(0..BLOCK, 0)]).unwrap();
    }

    /// The thread panics with requests in flight and others queued: all are done, and so are those that come later.
    #[test]
    fn panic_of_the_thread_leaves_no_request_undone() {
        let Some((_dir, file)) = file() else { return };
        let event = eventfd().unwrap();
        let pending = Mutex::new(Pending { requests: VecDeque::new(), closed: false, ended: false });
        let shared = Arc::new(Shared { pending, asleep: AtomicBool::new(false), event });
        let (ended, rest) = (shared.clone(), file.clone());
        let descriptor = file.descriptor().unwrap().as_raw_fd();
        let (served, ring_file) = (shared.clone(), file.clone());
        let (go_on, goes_on) = channel::<()>();
        let worker =
            Worker::spawn(ThreadName::IoRing, OnPanic::call(move |_| ended.end(&*rest)), move || {
                goes_on.recv().unwrap();
                let mut ring = Ring::new(make_ring().unwrap(), served, ring_file, descriptor);
                ring.take_requests();
                ring.listen();
                ring.ring.submit().unwrap();
                assert!(!ring.idle());
                goes_on.recv().unwrap();
                panic!("planted panic");
            });
        let queue = RingQueue { shared, file, worker: worker.unwrap() };
        let requests =
            |reads: Vec<PageRead<Page>>| super::super::queue::merge(reads).into_iter().map(Request::Read);
        for panics_later in [true, false] {
            let (reads, results) = reads(PAGES);
            queue.queue(requests(reads));
            if panics_later {
                go_on.send(()).unwrap();
                let (queued, queued_results) = self::reads(PAGES);
                queue.queue(requests(queued));
                go_on.send(()).unwrap();
                all_but(&queued_results, PAGES);
                queue.worker.join();
                assert_eq!(queue.worker.panic(), Some("planted panic"));
            }
            all_but(&results, PAGES);
        }
    }
}
