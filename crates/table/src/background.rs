//! Threads that do in the background what can wait, a round at a time. They do not keep the engine open.

use crate::engine::Engine;
use crate::error::{Result, TableError};
use parking_lot::{Condvar, Mutex};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between rounds.
const INTERVAL: Duration = Duration::from_millis(100);

#[derive(Default)]
struct Signal {
    stop: Mutex<bool>,
    changed: Condvar,
}

/// What a thread does in a round; whether there is more to be done at once.
pub(crate) type Round = fn(&Engine) -> bool;

/// A running thread.
pub(crate) struct BackgroundThread {
    signal: Arc<Signal>,
    thread: JoinHandle<()>,
}

impl BackgroundThread {
    /// Starts a thread that does a round ten times a second, or at once where the last one says that there is more to be done.
    pub(crate) fn start(engine: &Arc<Engine>, name: &str, round: Round) -> Result<BackgroundThread> {
        let signal = Arc::new(Signal::default());
        let (weak, shared) = (Arc::downgrade(engine), signal.clone());
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || run(&weak, &shared, round));
        let thread = thread.map_err(|error| TableError::Internal(format!("no thread {name}: {error}")))?;
        Ok(BackgroundThread { signal, thread })
    }

    /// Stops it and waits for it.
    pub(crate) fn stop(self) {
        *self.signal.stop.lock() = true;
        self.signal.changed.notify_all();
        // The engine may be dropped by this very thread.
        if self.thread.thread().id() != std::thread::current().id() {
            // A panic there has been reported by the panic hook; nothing of it is needed here.
            let _ = self.thread.join();
        }
    }
}

fn run(engine: &Weak<Engine>, signal: &Signal, round: Round) {
    let mut stop = signal.stop.lock();
    let mut more = false;
    while !*stop {
        if !more {
            signal.changed.wait_for(&mut stop, INTERVAL);
        }
        if *stop {
            return;
        }
        let is_there = parking_lot::MutexGuard::unlocked(&mut stop, || {
            let Some(engine) = engine.upgrade() else { return false };
            let _stops = engine.store.stop_on_panic("a thread in the background was at work");
            more = round(&engine);
            true
        });
        if !is_there {
            return;
        }
    }
}
