//! Records which rows of a table change while something is built from it.
//!
//! A builder *watches* the table. It starts to do so while the table's gate is closed, so that no commit is
//! half-way through. From then on, every commit that changes a row of the table notes the row's clustered
//! key with the commit's timestamp, before any snapshot sees the commit. A commit that changes no watched
//! table only reads one flag.
//!
//! Noted keys are kept in memory in pieces of [`PIECE`] bytes. A thread of the watch sorts full pieces and
//! writes them to runs; no commit waits for that unless [`MOST_FULL`] pieces are full. Nothing is logged,
//! because a crash ends the build. A run that cannot be written ends the build too, but not the commit that
//! noted the row.
//!
//! A builder can *pace* commits to the table: each waits a little before it begins, so that the changes of
//! a period can be caught up with in less time.

use crate::catalog::TableId;
use crate::error::{Result, TableError};
use crate::op::Op;
use crate::run::{Merge, Sorter};
use hashbrown::HashMap;
use leafline_btree::CommitTs;
use leafline_storage::Env;
use leafline_storage::worker::{OnPanic, ThreadName, Worker};
use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The number of bytes of noted keys that are sorted and written together.
const PIECE: u64 = 4 << 20;
/// The maximum number of pieces that wait to be written.
const MOST_FULL: usize = 2;

/// The watched tables.
#[derive(Default)]
pub(crate) struct ChangeLogs {
    watched: AtomicUsize,
    logs: RwLock<HashMap<TableId, Arc<ChangeLog>>>,
}

/// The noted keys of a table.
pub(crate) struct ChangeLog {
    env: Arc<dyn Env>,
    noted: Mutex<Noted>,
    /// Signals that a piece is full, was taken or was written, or that the watch is over.
    moved: Condvar,
    /// How long a commit waits before it begins, in microseconds.
    pause_us: AtomicU64,
}

struct Noted {
    /// The piece that receives keys.
    keys: Sorter,
    /// Full pieces.
    full: VecDeque<Sorter>,
    /// The keys written to runs; `None` while the thread writes another run.
    written: Option<Sorter>,
    count: u64,
    /// The error because of which keys are missing.
    failed: Option<TableError>,
    /// Writes pieces; started for the first full one.
    thread: Option<Worker>,
    /// Whether no more keys are noted, because the watch has ended or its thread has panicked.
    is_over: bool,
}

/// Watches a table until it is dropped.
pub(crate) struct Watch<'l> {
    logs: &'l ChangeLogs,
    table: TableId,
    log: Arc<ChangeLog>,
}

impl ChangeLogs {
    /// Starts to watch a table, whose gate must be closed.
    pub(crate) fn watch(&self, env: &Arc<dyn Env>, table: TableId) -> Watch<'_> {
        let noted = Noted {
            keys: Sorter::new(env, PIECE),
            full: VecDeque::new(),
            written: Some(Sorter::new(env, 0)),
            count: 0,
            failed: None,
            thread: None,
            is_over: false,
        };
        let log = Arc::new(ChangeLog {
            env: env.clone(),
            noted: Mutex::new(noted),
            moved: Condvar::new(),
            pause_us: AtomicU64::new(0),
        });
        self.logs.write().insert(table, log.clone());
        self.watched.fetch_add(1, Ordering::SeqCst);
        Watch { logs: self, table, log }
    }

    /// Notes the change of an operation of the commit at `ts`, which no snapshot sees yet.
    #[inline]
    pub(crate) fn note(&self, op: &Op, ts: CommitTs) {
        if self.watched.load(Ordering::Acquire) > 0
            && let Op::PutRow { table, key, .. } | Op::DeleteRow { table, key, .. } = op
            && let Some(log) = self.logs.read().get(table)
        {
            log.note(key, ts);
        }
    }
}

impl ChangeLogs {
    /// Makes a commit to these tables wait for the longest pause that a builder has set for one of them.
    #[inline]
    pub(crate) fn pace(&self, tables: &[TableId]) {
        if self.watched.load(Ordering::Acquire) == 0 {
            return;
        }
        let pause = {
            let logs = self.logs.read();
            let pauses = tables.iter().filter_map(|table| logs.get(table));
            pauses.map(|log| log.pause_us.load(Ordering::Relaxed)).max().unwrap_or(0)
        };
        if pause > 0 {
            std::thread::sleep(Duration::from_micros(pause));
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.logs.logs.write().remove(&self.table);
        self.logs.watched.fetch_sub(1, Ordering::SeqCst);
        let thread = {
            let mut noted = self.log.noted.lock();
            noted.is_over = true;
            noted.thread.take()
        };
        self.log.moved.notify_all();
        if let Some(thread) = thread {
            thread.join();
        }
    }
}

impl Watch<'_> {
    /// Takes the keys noted so far: clustered keys in order, each once for every change, followed by a
    /// timestamp of eight bytes.
    pub(crate) fn take(&self) -> Result<Merge<'static>> {
        let ChangeLog { env, noted, moved, .. } = &*self.log;
        let parts = {
            let mut noted = noted.lock();
            while noted.written.is_none() {
                moved.wait(&mut noted);
            }
            noted.count = 0;
            if let Some(error) = noted.failed.take() {
                return Err(error);
            }
            if noted.is_over {
                return Err(TableError::Internal("keys of a build are lost".into()));
            }
            let mut parts: Vec<Sorter> = noted.full.drain(..).collect();
            parts.extend(noted.written.replace(Sorter::new(env, 0)));
            parts.push(std::mem::replace(&mut noted.keys, Sorter::new(env, PIECE)));
            parts
        };
        moved.notify_all();
        Sorter::merge(parts)
    }

    /// Puts back a key that was taken before a snapshot could see its commit.
    pub(crate) fn put_back(&self, key: &[u8], ts: CommitTs) {
        self.log.note(key, ts);
    }

    /// Makes each commit to the table wait for `pause` before it begins.
    pub(crate) fn pace(&self, pause: Duration) {
        self.log.pause_us.store(pause.as_micros() as u64, Ordering::Relaxed);
    }

    /// The number of keys noted and not taken.
    pub(crate) fn noted(&self) -> u64 {
        self.log.noted.lock().count
    }
}

impl ChangeLog {
    fn note(self: &Arc<Self>, key: &[u8], ts: CommitTs) {
        let mut noted = self.noted.lock();
        noted.count += 1;
        while noted.failed.is_none() && !noted.is_over && !noted.keys.push_if_room(key, &ts.0.to_be_bytes()) {
            if noted.full.len() >= MOST_FULL {
                self.moved.wait(&mut noted);
                continue;
            }
            let full = std::mem::replace(&mut noted.keys, Sorter::new(&self.env, PIECE));
            noted.full.push_back(full);
            if noted.thread.is_none() {
                let (log, failed) = (self.clone(), self.clone());
                let on_panic = OnPanic::call(move |text| failed.fail(text));
                match Worker::spawn(ThreadName::NotedKeys, on_panic, move || log.write_full()) {
                    Ok(thread) => noted.thread = Some(thread),
                    Err(error) => {
                        noted.failed = Some(TableError::Internal(format!("no thread for a build: {error}")));
                    }
                }
            }
            self.moved.notify_all();
        }
    }

    /// Marks noted keys as lost: the build fails, and nobody waits for the thread.
    fn fail(&self, panic: &str) {
        let mut noted = self.noted.lock();
        noted.failed =
            Some(TableError::Internal(format!("a panic while keys of a build were written: {panic}")));
        noted.written.get_or_insert_with(|| Sorter::new(&self.env, 0));
        noted.full.clear();
        noted.is_over = true;
        drop(noted);
        self.moved.notify_all();
    }

    /// Writes full pieces until the watch is over.
    fn write_full(&self) {
        let mut noted = self.noted.lock();
        while !noted.is_over {
            let Some(piece) = noted.full.pop_front() else {
                self.moved.wait(&mut noted);
                continue;
            };
            let mut written = noted.written.take().unwrap_or_else(|| Sorter::new(&self.env, 0));
            let outcome = MutexGuard::unlocked(&mut noted, || written.absorb(piece));
            noted.written = Some(written);
            if let Err(error) = outcome {
                noted.failed = Some(error);
                noted.full.clear();
            }
            self.moved.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::EntrySource;
    use leafline_storage::device::{Fault, SimulatedEnv};
    use std::sync::atomic::AtomicBool;
    use std::time::Instant;

    /// Notes many pieces of keys, in several threads.
    fn note_many(watch: &Watch<'_>, keys: u32) {
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    for number in (thread..keys).step_by(4) {
                        let key = number.wrapping_mul(0x9e37_79b1);
                        watch.log.note(&key.to_be_bytes(), CommitTs(u64::from(number)));
                    }
                });
            }
        });
    }

    #[test]
    fn keys_are_sorted_and_written_by_none_of_those_who_note_them() {
        let simulated = SimulatedEnv::new();
        let is_others = Arc::new(AtomicBool::new(false));
        let noticed = is_others.clone();
        let notice: Fault = Arc::new(move |_, _, _| {
            let is_own = ThreadName::NotedKeys.is_current();
            noticed.fetch_or(!is_own, Ordering::Relaxed);
            false
        });
        let env: Arc<dyn Env> = Arc::new(simulated.clone());
        let logs = ChangeLogs::default();
        let watch = logs.watch(&env, TableId(7));
        for keys in [1_000_000, 10, 300_000] {
            simulated.set_fault(Some(notice.clone()));
            note_many(&watch, keys);
            assert!(!is_others.load(Ordering::Relaxed));
            assert_eq!(watch.noted(), u64::from(keys));
            simulated.set_fault(None);
            let mut noted = watch.take().unwrap();
            let (mut count, mut last) = (0, None);
            while let Some((key, ts)) = noted.next().unwrap() {
                let number = u64::from_be_bytes(ts.try_into().unwrap()) as u32;
                assert_eq!(key, number.wrapping_mul(0x9e37_79b1).to_be_bytes());
                assert!(last.replace(key.to_vec()).is_none_or(|last| last.as_slice() < key));
                count += 1;
            }
            assert_eq!((count, watch.noted()), (keys, 0));
        }
        drop(watch);
        assert!(env.list("temp").unwrap().is_empty(), "run files are removed");
    }

    #[test]
    fn a_run_that_cannot_be_written_ends_the_build_alone() {
        let simulated = SimulatedEnv::new();
        let env: Arc<dyn Env> = Arc::new(simulated.clone());
        let logs = ChangeLogs::default();
        let watch = logs.watch(&env, TableId(7));
        simulated.set_fault(Some(Arc::new(|_, _, _| true)));
        note_many(&watch, 1_000_000);
        simulated.set_fault(None);
        assert!(watch.take().is_err());
    }

    #[test]
    fn panic_of_the_thread_ends_the_build_and_nobody_waits_for_it() {
        let simulated = SimulatedEnv::new();
        let env: Arc<dyn Env> = Arc::new(simulated.clone());
        let logs = ChangeLogs::default();
        let watch = logs.watch(&env, TableId(7));
        simulated.set_fault(Some(Arc::new(|_, _, _| {
            assert!(!ThreadName::NotedKeys.is_current(), "planted panic");
            false
        })));
        note_many(&watch, 1_000_000);
        let failed = watch.take().map(drop).unwrap_err().to_string();
        assert!(failed.contains("planted panic"), "{failed}");
        note_many(&watch, 1_000_000);
        assert!(watch.take().is_err());
    }

    #[test]
    fn commits_to_a_watched_table_are_paced_until_it_is_not_watched() {
        let env: Arc<dyn Env> = Arc::new(SimulatedEnv::new());
        let (logs, pause) = (ChangeLogs::default(), Duration::from_millis(5));
        let took = |tables: &[TableId]| {
            let begun = Instant::now();
            logs.pace(tables);
            begun.elapsed()
        };
        let watch = logs.watch(&env, TableId(7));
        watch.pace(pause);
        assert!(took(&[TableId(3), TableId(7)]) >= pause);
        watch.pace(Duration::from_secs(3600));
        // Either call would take an hour if it were paced.
        took(&[TableId(3)]);
        drop(watch);
        took(&[TableId(7)]);
    }
}
