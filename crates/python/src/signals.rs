//! Signals while a statement runs.
//!
//! Python handles signals in the main thread, between its own instructions. A statement that runs there, without the interpreter, asks a
//! watch some times a second, which takes the interpreter back for as long as handlers run. What a handler raises, such as
//! `KeyboardInterrupt`, stops the statement and is raised in its place.

use leafline::Watch;
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// How often a running statement looks for signals.
pub(crate) const EVERY: Duration = Duration::from_millis(50);

/// How long a thread that may have the interpreter waits for a session whose user wants it.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether the main thread, with a session in hand, waits for the interpreter.
static WAITING: AtomicBool = AtomicBool::new(false);

/// What a handler raised. Only the main thread's statements ever set or take it.
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

/// Likewise, for who must not ask Python: false if it is not known.
pub(crate) fn is_known_main_thread() -> bool {
    IS_MAIN.get() == Some(true)
}

/// What statements of the main thread ask.
pub(crate) fn watch() -> &'static Watch {
    static WATCH: LazyLock<Watch> = LazyLock::new(|| Arc::new(handle));
    &WATCH
}

/// Lets handlers run; whether one raised something.
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

/// Of a thread that waits for a session.
#[derive(Default)]
pub(crate) struct Patience {
    /// Since when the main thread has been seen waiting for the interpreter, and nothing else.
    since: Option<Instant>,
}

impl Patience {
    /// To be asked again and again while one waits.
    pub(crate) fn is_over(&mut self) -> bool {
        if !WAITING.load(Ordering::Relaxed) {
            self.since = None;
            return false;
        }
        self.since.get_or_insert_with(Instant::now).elapsed() >= PATIENCE
    }
}

/// What a handler raised since this was asked last.
pub(crate) fn take_raised() -> Option<PyErr> {
    RAISED.lock().take()
}
