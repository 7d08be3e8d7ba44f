//! The engine's background threads: each does what can wait, ten times a second. They do not keep the engine open, and a panic in
//! one stops the store.

use crate::engine::Engine;
use crate::error::{Result, TableError};
use leafline_storage::worker::{Next, OnPanic, ThreadName, Worker};
use std::sync::Arc;
use std::time::Duration;

/// Between rounds.
const INTERVAL: Duration = Duration::from_millis(100);

/// Starts a thread that does rounds; the next one begins at once where a round says that there is more to be done.
pub(crate) fn start(engine: &Arc<Engine>, name: ThreadName, round: fn(&Engine) -> bool) -> Result<Worker> {
    let (weak, stopped) = (Arc::downgrade(engine), Arc::downgrade(engine));
    let on_panic = OnPanic::call(move |text| {
        if let Some(engine) = stopped.upgrade() {
            engine.store.poison(format!("a panic in the thread {name}: {text}"));
        }
    });
    let worker = Worker::start(name, on_panic, Next::After(INTERVAL), move || {
        let Some(engine) = weak.upgrade() else { return Next::Never };
        match round(&engine) {
            true => Next::Now,
            false => Next::After(INTERVAL),
        }
    });
    worker.map_err(|error| TableError::Internal(format!("no thread {name}: {error}")))
}
