//! The open database: opening and closing it, and its parts.
//!
//! | part | contents |
//! |---|---|
//! | [`Transactions`] | begins transactions and reads |
//! | [`Ddl`] | changes definitions: databases, tables, indexes, partitions, views; loads tables in bulk |
//! | [`Maintenance`] | purges, checks, repairs, backs up, preloads |
//! | [`Core`] | the state that they share; an engine dereferences to it |

use crate::core::{Core, Recovered};
use crate::counters::Counters;
use crate::ddl::Ddl;
use crate::error::{Result, TableError};
use crate::limits::Limits;
use crate::maintenance::Maintenance;
use crate::mvcc::clock::Clock;
use crate::options::EngineOptions;
use crate::quarantine::Quarantine;
use crate::txn::purge;
use crate::txn::recovery::{Replay, catalog_segment};
use crate::txn::transactions::Transactions;
use leafline_btree::TreeRedo;
use leafline_storage::worker::{Next, OnPanic, ThreadName, Worker};
use leafline_storage::{CheckpointSource, Env, HandlerId, Lsn, StorageError, Store};
use parking_lot::Mutex;
use std::ops::Deref;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The time between rounds of the purge.
const PURGE_INTERVAL: Duration = Duration::from_millis(100);

/// An open database.
pub struct Engine {
    core: Arc<Core>,
    transactions: Transactions,
    ddl: Ddl,
    maintenance: Maintenance,
    /// The thread of the purge; `None` without threads, and after the engine is closed.
    purge: Mutex<Option<Worker>>,
}

/// Gives checkpoints their payload, and the oldest log that commits in flight need.
struct Source {
    counters: Arc<Counters>,
    clock: Arc<Clock>,
}

impl CheckpointSource for Source {
    fn payload(&self) -> Vec<u8> {
        self.counters.payload()
    }

    fn oldest_needed(&self) -> Option<Lsn> {
        self.clock.oldest_in_flight()
    }
}

impl Engine {
    /// Opens the database in `env`, creating it if there is none, and finishes what a crash interrupted.
    ///
    /// # Errors
    /// Errors of the store; `NotOpened` if a page is damaged that the database cannot do without.
    pub fn open(env: Arc<dyn Env>, options: EngineOptions) -> Result<Arc<Engine>> {
        Engine::try_open(env, options).map_err(|error| match error {
            TableError::Storage(StorageError::Format { ref file, .. }) if file == "data" => {
                TableError::NotOpened(Box::new(error))
            }
            error if error.is_damage() => TableError::NotOpened(Box::new(error)),
            error => error,
        })
    }

    fn try_open(env: Arc<dyn Env>, options: EngineOptions) -> Result<Arc<Engine>> {
        let mut replay = Replay::default();
        let handlers: Vec<(HandlerId, Arc<dyn leafline_storage::RedoHandler>)> =
            vec![(HandlerId::BTREE, Arc::new(TreeRedo))];
        let store = Store::open(env.clone(), options.store.clone(), handlers, &mut replay)?;
        let (counters, pending) = replay.finish();
        let clock = Arc::new(Clock::new(counters.newest));
        for commit in &pending {
            clock.resume_commit(commit.ts, commit.start);
        }
        // This comes before a checkpoint gives up the log that could not be replayed on these pages.
        let essential = catalog_segment(&store).map(|segment| segment.id);
        let mut quarantine = Quarantine::load(&env, essential)?;
        quarantine.note_pages(&store.recovery_report().unreadable)?;
        quarantine.save()?;
        let counters = Arc::new(Counters::new(counters));
        store.set_checkpoint_source(Arc::new(Source { counters: counters.clone(), clock: clock.clone() }));
        let limits = Limits::new(&store, &options);
        let recovered = Recovered::new(&env, &store, &clock, limits.progress_bytes, pending, quarantine)?;
        let has_threads = options.store.background;
        crate::run::remove_leftovers(&env)?;
        let core = Arc::new(Core::new((env, store, options, limits), (counters, clock), recovered));
        let engine = Engine {
            transactions: Transactions::new(&core),
            ddl: Ddl::new(&core),
            maintenance: Maintenance::new(&core),
            purge: Mutex::default(),
            core,
        };
        if has_threads {
            let host: Weak<Core> = Arc::downgrade(&engine.core);
            engine.core.change_buffer.start(host)?;
            *engine.purge.lock() = Some(start_purge(&engine.core)?);
        }
        Ok(Arc::new(engine))
    }

    /// Writes everything and closes the store. Remaining transactions and cursors fail from now on.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn close(&self) -> Result<()> {
        self.stop_threads();
        purge::purge(&self.core)?;
        Ok(self.store.clone().close()?)
    }

    /// Transactions, and reads outside of them.
    pub fn transactions(&self) -> &Transactions {
        &self.transactions
    }

    /// Changes of definitions.
    pub fn ddl(&self) -> &Ddl {
        &self.ddl
    }

    /// Purging, checking, repairing, backups.
    pub fn maintenance(&self) -> &Maintenance {
        &self.maintenance
    }

    /// The state that the parts share.
    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    fn stop_threads(&self) {
        self.core.change_buffer.stop();
        drop(self.purge.lock().take());
    }
}

impl Deref for Engine {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop_threads();
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// Starts the thread that purges. It does not keep the database open, and a panic in it stops the store.
fn start_purge(core: &Arc<Core>) -> Result<Worker> {
    let (weak, stopped) = (Arc::downgrade(core), Arc::downgrade(core));
    let on_panic = OnPanic::call(move |text| {
        if let Some(core) = stopped.upgrade() {
            core.store.poison(format!("a panic in the thread {}: {text}", ThreadName::Purge));
        }
    });
    let worker = Worker::start(ThreadName::Purge, on_panic, Next::After(PURGE_INTERVAL), move || {
        let Some(core) = weak.upgrade() else { return Next::Never };
        // A failure here also reaches the sessions, which report it. Ghosts that stay only cost space.
        let _ = purge::purge(&core);
        Next::After(PURGE_INTERVAL)
    });
    worker.map_err(|error| TableError::Internal(format!("no thread for the purge: {error}")))
}
