//! Background threads: starting, waking, stopping and joining them, their names, and the response to a panic in one.
//!
//! A [`Worker`] is one thread. [`Worker::start`] runs a function in rounds: the thread waits as the last round asked
//! ([`Next`]), or until it is woken. [`Worker::spawn`] runs a function that waits by itself, for a queue or a socket.
//!
//! # Invariants
//! - A wake during a round begins another round, so that no wake is lost.
//! - A panic ends its thread and nothing else. The unwinding releases the thread's locks, and only then does the
//!   policy act ([`OnPanic`]). A panic in work that the store cannot do without stops the store. Other work is left
//!   undone until the database is opened again; the panic hook has written the reason to standard error, and
//!   [`Worker::panic`] keeps it.
//! - A worker that is dropped by its own thread (which may hold the last reference to the worker's owner) is not
//!   waited for.
//!
//! Waking takes no lock: it sets a flag and unparks the thread.

use parking_lot::Mutex;
use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle, Thread};
use std::time::{Duration, Instant};

/// The threads of a process, by their tasks. The system's tools show their names; Linux shows 15 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadName {
    /// Keeps frames free, writes old changes at the pace of the log, records checkpoints, warms up the pool, and
    /// flushes the log once a second under policies 0 and 2 (`storage::page_writer`). A panic stops the store.
    PageWriter,
    /// Compresses, writes and syncs the log for large commits while they are applied, under policy 1
    /// (`storage::log_writer`). A panic stops the store.
    LogWriter,
    /// Owns an io_uring: submits and completes batched page reads and writes (`storage::device::ring`). After a
    /// panic, callers do their transfers themselves.
    IoRing,
    /// One of several threads that do the same by blocking calls, if there is no io_uring
    /// (`storage::device::threads`). A panic fails its request.
    Io(usize),
    /// Ten times a second: removes ghosts, old versions and retired trees that nobody needs, omits versions between
    /// snapshots, and merges runs of versions (`table::txn::purge`). A panic stops the store.
    Purge,
    /// Writes buffered changes to runs, and sweeps them into their leaves (`table::change_buffer`). A panic stops the store.
    ChangeBuffer,
    /// Writes the keys of rows that change during an online build, from the first full piece to the end of the build
    /// (`table::change_log`). A panic fails the build.
    NotedKeys,
    /// Sorts rows or builds a tree for a bulk load or an index build, and ends with it (`table::build`).
    Build,
    /// Reads pieces of a table for a statement, under the limits of its resource group, and ends with the call that
    /// started it (`executor::parallel`).
    Scan,
    /// Writes the slow query log, while it is on (`sql::slow_log`). A panic ends the log.
    SlowLog,
    /// Once a minute: evaluates the device's read times, and writes them and the statement digests to the directory
    /// if they have changed (`sql::upkeep`). A panic leaves the files as they are.
    Upkeep,
    /// Starts events when they are due, while `event_scheduler` is ON (`sql::event_runs`). A panic ends the scheduler.
    EventScheduler,
    /// Runs an event in the connection of this number (`sql::event_runs`). A panic ends the run.
    Event(u64),
    /// Notices clients that disconnect while their statements run (`server::watcher`).
    WatchClients,
    /// Accepts connections over TCP (`server::listener`).
    AcceptTcp,
    /// Accepts connections through the socket (`server::listener`).
    AcceptSocket,
    /// Reads packets of one connection and runs its statements (`server::listener`).
    Connection(u64),
    /// Accepts HTTP connections of a service: `metrics` or `console` (`server::http`).
    AcceptHttp(&'static str),
    /// Answers HTTP requests of such a service; up to 16 run at a time (`server::http`).
    AnswerHttp(&'static str),
    /// Every five seconds: records for the console which statements took the time since the last record
    /// (`server::console`). A panic leaves the console without further records.
    ConsoleHistory,
    /// Shows the progress of a statement of the shell (`cli`).
    Progress,
}

impl fmt::Display for ThreadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ThreadName::PageWriter => f.write_str("page-writer"),
            ThreadName::LogWriter => f.write_str("log-writer"),
            ThreadName::IoRing => f.write_str("io-ring"),
            ThreadName::Io(number) => write!(f, "io-{number}"),
            ThreadName::Purge => f.write_str("leafline-purge"),
            ThreadName::ChangeBuffer => f.write_str("change-buffer"),
            ThreadName::NotedKeys => f.write_str("noted-keys"),
            ThreadName::Build => f.write_str("build"),
            ThreadName::Scan => f.write_str("scan"),
            ThreadName::SlowLog => f.write_str("slow-log"),
            ThreadName::Upkeep => f.write_str("upkeep"),
            ThreadName::EventScheduler => f.write_str("event-scheduler"),
            ThreadName::Event(number) => write!(f, "event {number}"),
            ThreadName::WatchClients => f.write_str("watch clients"),
            ThreadName::AcceptTcp => f.write_str("accept tcp"),
            ThreadName::AcceptSocket => f.write_str("accept socket"),
            ThreadName::Connection(number) => write!(f, "connection {number}"),
            ThreadName::AcceptHttp(service) => write!(f, "accept {service}"),
            ThreadName::AnswerHttp(service) => f.write_str(service),
            ThreadName::ConsoleHistory => f.write_str("console history"),
            ThreadName::Progress => f.write_str("progress"),
        }
    }
}

impl ThreadName {
    /// Makes the builder of a thread that is not a [`Worker`], because it ends together with the code that started
    /// it.
    pub fn builder(self) -> Builder {
        Builder::new().name(self.to_string())
    }

    /// Returns whether the calling thread has this name.
    pub fn is_current(self) -> bool {
        std::thread::current().name() == Some(&*self.to_string())
    }
}

/// The time of the next round, unless the worker is woken before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Now, because there is more to do.
    Now,
    /// After a pause.
    After(Duration),
    /// When the worker is woken.
    WhenWoken,
    /// Never: the thread ends.
    Never,
}

/// The response to a panic, after the thread's locks are released.
pub enum OnPanic {
    /// No response, because the work can be left undone.
    LeaveOut,
    /// Calls the function with the panic's text, on the thread that ends. The function stops the store, or fails the
    /// callers that wait.
    Call(Box<dyn FnOnce(&str) + Send>),
}

impl OnPanic {
    /// Makes a response that calls the function with the panic's text.
    pub fn call(then: impl FnOnce(&str) + Send + 'static) -> OnPanic {
        OnPanic::Call(Box::new(then))
    }
}

/// The state that a worker shares with the threads that wake it.
#[derive(Default)]
struct Signal {
    stop: AtomicBool,
    woken: AtomicBool,
    panic: OnceLock<String>,
}

impl Signal {
    /// Waits as `next` says. Returns whether the worker goes on.
    fn wait(&self, next: Next) -> bool {
        let until = match next {
            Next::Never => return false,
            Next::Now | Next::WhenWoken => None,
            Next::After(pause) => Some(Instant::now() + pause),
        };
        loop {
            if self.stop.load(Ordering::Acquire) {
                return false;
            }
            if self.woken.swap(false, Ordering::AcqRel) || next == Next::Now {
                return true;
            }
            match until.map(|until| until.saturating_duration_since(Instant::now())) {
                None => std::thread::park(),
                Some(Duration::ZERO) => return true,
                Some(left) => std::thread::park_timeout(left),
            }
        }
    }
}

/// Wakes a worker.
#[derive(Clone)]
pub struct Waker {
    signal: Arc<Signal>,
    thread: Thread,
}

impl Waker {
    /// Begins the worker's next round now.
    pub fn wake(&self) {
        self.signal.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// A running background thread. Dropping it stops it and waits for it.
pub struct Worker {
    waker: Waker,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Worker {
    /// Starts a thread that calls `round` again and again, the first time as `first` says.
    ///
    /// # Errors
    /// The error of the system if it cannot start a thread.
    pub fn start(
        name: ThreadName,
        on_panic: OnPanic,
        first: Next,
        mut round: impl FnMut() -> Next + Send + 'static,
    ) -> io::Result<Worker> {
        Worker::spawn_signalled(name, on_panic, move |signal| {
            let mut next = first;
            while signal.wait(next) {
                next = round();
            }
        })
    }

    /// Starts a thread that calls `body` once. Before [`join`](Self::join), the caller must make `body` end.
    ///
    /// # Errors
    /// The error of the system if it cannot start a thread.
    pub fn spawn(
        name: ThreadName,
        on_panic: OnPanic,
        body: impl FnOnce() + Send + 'static,
    ) -> io::Result<Worker> {
        Worker::spawn_signalled(name, on_panic, move |_| body())
    }

    fn spawn_signalled(
        name: ThreadName,
        on_panic: OnPanic,
        body: impl FnOnce(&Signal) + Send + 'static,
    ) -> io::Result<Worker> {
        let signal = Arc::new(Signal::default());
        let shared = signal.clone();
        let thread = name.builder().spawn(move || {
            let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(&shared))) else { return };
            let text = shared.panic.get_or_init(|| panic_text(&*panic).to_owned());
            if let OnPanic::Call(then) = on_panic {
                then(text);
            }
        })?;
        let waker = Waker { signal, thread: thread.thread().clone() };
        Ok(Worker { waker, thread: Mutex::new(Some(thread)) })
    }

    /// Begins the next round now.
    pub fn wake(&self) {
        self.waker.wake();
    }

    /// A handle with which other threads wake this one.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Ends the thread after its current round, and waits for it unless it is the calling thread.
    pub fn stop(&self) {
        self.waker.signal.stop.store(true, Ordering::Release);
        self.waker.thread.unpark();
        self.join();
    }

    /// Waits until the thread has ended, unless it is the calling thread.
    pub fn join(&self) {
        let thread = self.thread.lock().take();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            // The thread ends with a panic only if the response to a panic has panicked, too.
            let _ = thread.join();
        }
    }

    /// Stops managing the thread, which then ends with the process.
    pub fn detach(self) {
        drop(self.thread.lock().take());
    }

    /// The text of the panic that ended the thread, if there was one.
    pub fn panic(&self) -> Option<&str> {
        self.waker.signal.panic.get().map(String::as_str)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.waker.thread.name();
        f.debug_struct("Worker").field("name", &name).field("panic", &self.panic()).finish()
    }
}

/// The text of a panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a text")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;
    use std::sync::mpsc::channel;

    #[test]
    fn worker_runs_a_round_for_every_wake_and_ends_when_stopped() {
        let (done, rounds) = channel();
        let worker = Worker::start(ThreadName::Upkeep, OnPanic::LeaveOut, Next::WhenWoken, move || {
            done.send(ThreadName::Upkeep.is_current()).unwrap();
            Next::WhenWoken
        });
        let worker = worker.unwrap();
        assert!(rounds.try_recv().is_err(), "nobody has woken it");
        for _ in 0..100 {
            worker.wake();
            assert!(rounds.recv().unwrap(), "it has its name");
        }
        worker.stop();
        worker.wake();
        assert!(rounds.recv().is_err(), "its function is gone");
        assert_eq!(worker.panic(), None);
    }

    #[test]
    fn wake_during_a_round_begins_another() {
        let (begun, begins) = channel();
        let (go_on, goes_on) = channel::<()>();
        let worker = Worker::start(ThreadName::Upkeep, OnPanic::LeaveOut, Next::Now, move || {
            begun.send(()).unwrap();
            goes_on.recv().unwrap();
            Next::WhenWoken
        });
        let worker = worker.unwrap();
        begins.recv().unwrap();
        worker.wake();
        go_on.send(()).unwrap();
        begins.recv().unwrap();
        go_on.send(()).unwrap();
        worker.stop();
    }

    #[test]
    fn rounds_follow_each_other_as_the_last_one_asks_until_it_asks_for_none() {
        let rounds = Arc::new(AtomicU64::new(0));
        let counted = rounds.clone();
        let pause = Duration::from_millis(1);
        let worker = Worker::start(ThreadName::Upkeep, OnPanic::LeaveOut, Next::After(pause), move || {
            match counted.fetch_add(1, Ordering::SeqCst) {
                0..5 => Next::Now,
                5..9 => Next::After(pause),
                _ => Next::Never,
            }
        });
        worker.unwrap().join();
        assert_eq!(rounds.load(Ordering::SeqCst), 10);
    }

    #[test]
    fn panic_ends_the_thread_releases_its_locks_and_is_told_afterwards() {
        let lock = Arc::new(Mutex::new(()));
        let (held, seen) = (lock.clone(), lock.clone());
        let (tell, told) = channel();
        let on_panic =
            OnPanic::call(move |text| tell.send((text.to_owned(), seen.try_lock().is_some())).unwrap());
        let worker = Worker::start(ThreadName::Purge, on_panic, Next::Now, move || {
            let _held = held.lock();
            panic!("planted {}", 1)
        });
        let worker = worker.unwrap();
        worker.join();
        assert_eq!(told.recv(), Ok(("planted 1".to_owned(), true)));
        assert_eq!(worker.panic(), Some("planted 1"));
        worker.wake();
        worker.stop();
    }

    #[test]
    fn worker_that_is_dropped_by_its_own_thread_is_not_waited_for() {
        let place = Arc::new(Mutex::new(None::<Worker>));
        let (own, (done, is_done)) = (place.clone(), channel());
        let worker = Worker::start(ThreadName::Purge, OnPanic::LeaveOut, Next::WhenWoken, move || {
            drop(own.lock().take());
            done.send(()).unwrap();
            Next::WhenWoken
        });
        let waker = place.lock().insert(worker.unwrap()).waker();
        waker.wake();
        is_done.recv().unwrap();
    }
}
