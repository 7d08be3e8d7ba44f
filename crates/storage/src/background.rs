//! The store's own thread: keeps clean frames ahead of demand, the log short, and policies 0 and 2 of the log flush.
//!
//! Every round it frees frames until a reserve is there, writing changed pages in batches, so that readers seldom
//! have to. How old the oldest change in memory may get depends on how full the log is: pages that have been dirty
//! for longer are written, and a checkpoint is recorded each time a good part of the log can be given back. It is
//! woken early by who finds too few frames or too little log.

use crate::Result;
use crate::store::Inner;
use parking_lot::{Condvar, Mutex};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Pause between rounds.
const ROUND: Duration = Duration::from_millis(100);
/// Between flushes of the log under policies 0 and 2.
const TICK: Duration = Duration::from_secs(1);
/// Free frames to keep: one part in this many.
const RESERVE_SHARE: usize = 64;
/// Most batches written in a round to make room.
const BATCHES: usize = 8;
/// Pages are written once their changes are older than this share of the log (in eighths) ...
const AGE_EIGHTHS: u64 = 3;
/// ... and a checkpoint is recorded once the log in use is above this share.
const USED_EIGHTHS: u64 = 4;

#[derive(Default)]
struct Signal {
    stop: bool,
    wake: bool,
}

/// The running thread.
pub(crate) struct Background {
    signal: Arc<(Mutex<Signal>, Condvar)>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Background {
    /// Starts the thread for the store; it ends when the store is gone.
    pub(crate) fn start(store: Weak<Inner>) -> std::io::Result<Background> {
        let signal = Arc::new((Mutex::new(Signal::default()), Condvar::new()));
        let shared = Arc::clone(&signal);
        let thread =
            std::thread::Builder::new().name("page-writer".into()).spawn(move || run(&store, &shared))?;
        Ok(Background { signal, thread: Mutex::new(Some(thread)) })
    }

    /// Begins the next round now.
    pub(crate) fn wake(&self) {
        self.signal.0.lock().wake = true;
        self.signal.1.notify_one();
    }

    /// Ends the thread and waits for it, unless it is the one that calls.
    pub(crate) fn stop(&self) {
        self.signal.0.lock().stop = true;
        self.signal.1.notify_one();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            // If it panicked it has said so already.
            let _ = thread.join();
        }
    }
}

fn run(store: &Weak<Inner>, signal: &(Mutex<Signal>, Condvar)) {
    let mut ticked = Instant::now();
    loop {
        {
            let mut state = signal.0.lock();
            if !state.wake && !state.stop {
                signal.1.wait_for(&mut state, ROUND);
            }
            if state.stop {
                return;
            }
            state.wake = false;
        }
        let Some(store) = store.upgrade() else { return };
        if ticked.elapsed() >= TICK {
            ticked = Instant::now();
            if let Err(error) = store.log.tick() {
                store.cache.stop(&error);
            }
        }
        // What fails has stopped the store, and said why to all who use it.
        let _ = round(&store);
    }
}

/// One round of page writing and checkpointing.
fn round(store: &Inner) -> Result<()> {
    store.poison.check()?;
    let reserve = store.cache.pool.frame_count() / RESERVE_SHARE + 1;
    for _ in 0..BATCHES {
        let free = store.cache.pool.free_count();
        if free >= reserve || store.cache.make_room(reserve - free)? == 0 {
            break;
        }
    }
    store.log.grow_ahead()?;
    let capacity = store.log.space().capacity;
    loop {
        let space = store.log.space();
        store.write_pages_before(store.log.lsn_at_age(capacity * AGE_EIGHTHS / 8))?;
        if space.waiting == 0 && space.used + space.reserved < capacity * USED_EIGHTHS / 8 {
            return Ok(());
        }
        if store.checkpointer.is_held_back() {
            return Ok(());
        }
        if space.waiting > 0 {
            store.checkpoint()?;
        } else {
            store.record_checkpoint()?;
        }
        if store.log.space().waiting == 0 || store.log.space() == space {
            return Ok(());
        }
    }
}
