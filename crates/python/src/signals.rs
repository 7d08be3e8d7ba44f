//! Signals while a statement runs.
//!
//! Python handles signals in the main thread, between its own instructions. A statement that runs there without the
//! interpreter calls a watch several times a second, which takes the interpreter for as long as handlers run. An
//! exception of a handler, such as `KeyboardInterrupt`, interrupts the statement and is raised in its place.

use leafline::Watch;
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// The interval at which a running statement checks for signals.
pub(crate) const EVERY: Duration = Duration::from_millis(50);

/// The time that a thread that may have the interpreter waits for a session whose user waits for the interpreter.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether the main thread waits for the interpreter while it uses a session.
static WAITING: AtomicBool = AtomicBool::new(false);

/// The exception of a handler. Only statements of the main thread set or take it.
static RAISED: Mutex<Option<PyErr>> = Mutex::new(None);

thread_local! {
    static IS_MAIN: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Whether the calling thread is the one that handles signals.
pub(crate) fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    if let Some(known) = IS_MAIN.get() {
        return Ok(known);
    }
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?.extract::<u64>()?;
    let is_main = threading.call_method0("get_ident")?.extract::<u64>()? == main;
    IS_MAIN.set(Some(is_main));
    Ok(is_main)
}

/// Whether the calling thread is known to handle signals, for callers that must not ask Python; false if that is
/// unknown.
pub(crate) fn is_known_main_thread() -> bool {
    IS_MAIN.get() == Some(true)
}

/// Returns the watch of the main thread's statements.
pub(crate) fn watch() -> &'static Watch {
    static WATCH: LazyLock<Watch> = LazyLock::new(|| Arc::new(handle));
    &WATCH
}

/// Lets handlers run; returns whether one raised an exception.
pub(crate) fn handle() -> bool {
    WAITING.store(true, Ordering::Relaxed);
    let handled = Python::try_attach(|py| {
        WAITING.store(false, Ordering::Relaxed);
        py.check_signals()
    });
    WAITING.store(false, Ordering::Relaxed);
    match handled {
        Some(Err(error)) => {
            *RAISED.lock() = Some(error);
            true
        }
        Some(Ok(())) => false,
        // The interpreter is ending.
        None => true,
    }
}

/// The patience of a thread that waits for a session.
#[derive(Default)]
pub(crate) struct BudgetSettings {
    /// Since when the main thread has been waiting for the interpreter.
    since: Option<Instant>,
}

impl BudgetSettings {
    /// Whether the patience is over; called repeatedly while the thread waits.
    pub(crate) fn is_over(&mut self) -> bool {
        if !WAITING.load(Ordering::Relaxed) {
            self.since = None;
            return false;
        }
        self.since.get_or_insert_with(Instant::now).elapsed() >= PATIENCE
    }
}

/// Takes the exception that a handler raised.
pub(crate) fn take_raised() -> Option<PyErr> {
    RAISED.lock().take()
}
