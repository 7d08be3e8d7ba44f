//! Which rows of a table are changed while something is built from it.
//!
//! Who builds *watches* the table, with its gate closed for that moment, so that no commit is half through. From then on every commit that
//! changes a row of the table notes the row's clustered key, with its timestamp, before any snapshot shows the commit. A commit
//! that no watched table concerns looks at one flag.
//!
//! What is noted is kept in memory, beyond [`MEMORY`] in sorted runs. It is not logged: a crash ends the build. A run that cannot be written
//! ends it as well, and not the commit that noted the row.
//!
//! Who builds may have commits to the table *paced*: each waits a little before it begins, so that what they change in a while can be caught
//! up with in less.

use crate::catalog::TableId;
use crate::error::{Result, TableError};
use crate::run::{Merge, Sorter};
use crate::txn::op::Op;
use hashbrown::HashMap;
use leafline_btree::CommitTs;
use leafline_storage::Env;
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Bytes of noted keys in memory.
const MEMORY: u64 = 8 << 20;

/// The tables that are watched.
#[derive(Default)]
pub(crate) struct ChangeLogs {
    watched: AtomicUsize,
    logs: RwLock<HashMap<TableId, Arc<ChangeLog>>>,
}

/// What has been noted of a table.
pub(crate) struct ChangeLog {
    env: Arc<dyn Env>,
    noted: Mutex<Noted>,
    /// How long a commit waits before it begins, in microseconds.
    pause_us: AtomicU64,
}

struct Noted {
    keys: Sorter,
    count: u64,
    /// Why something is missing.
    failed: Option<TableError>,
}

/// Watches a table until it is dropped.
pub(crate) struct Watch<'l> {
    logs: &'l ChangeLogs,
    table: TableId,
    log: Arc<ChangeLog>,
}

impl ChangeLogs {
    /// Watches a table. Its gate is closed.
    pub(crate) fn watch(&self, env: &Arc<dyn Env>, table: TableId) -> Watch<'_> {
        let noted = Mutex::new(Noted::new(env));
        let log = Arc::new(ChangeLog { env: env.clone(), noted, pause_us: AtomicU64::new(0) });
        self.logs.write().insert(table, log.clone());
        self.watched.fetch_add(1, Ordering::SeqCst);
        Watch { logs: self, table, log }
    }

    /// Notes what an operation of the commit at `ts` changes. The commit is not shown to anybody before.
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
    /// Has a commit to some tables wait as long as the slowest of those who build from them needs.
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
    }
}

impl Watch<'_> {
    /// Takes what has been noted so far: clustered keys in order, each as often as it was, with timestamps of eight bytes.
    pub(crate) fn take(&self) -> Result<Merge<'static>> {
        let fresh = Noted::new(&self.log.env);
        let taken = std::mem::replace(&mut *self.log.noted.lock(), fresh);
        match taken.failed {
            Some(error) => Err(error),
            None => taken.keys.finish(),
        }
    }

    /// Puts back a key that was taken before its commit was shown.
    pub(crate) fn put_back(&self, key: &[u8], ts: CommitTs) {
        self.log.note(key, ts);
    }

    /// Has each commit to the table wait so long before it begins.
    pub(crate) fn pace(&self, pause: Duration) {
        self.log.pause_us.store(pause.as_micros() as u64, Ordering::Relaxed);
    }

    /// How many keys have been noted and not taken.
    pub(crate) fn noted(&self) -> u64 {
        self.log.noted.lock().count
    }
}

impl ChangeLog {
    fn note(&self, key: &[u8], ts: CommitTs) {
        let mut noted = self.noted.lock();
        noted.count += 1;
        if noted.failed.is_none()
            && let Err(error) = noted.keys.push(key, &ts.0.to_be_bytes())
        {
            noted.failed = Some(error);
        }
    }
}

impl Noted {
    fn new(env: &Arc<dyn Env>) -> Noted {
        Noted { keys: Sorter::new(env, MEMORY), count: 0, failed: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_storage::device::SimulatedEnv;
    use std::time::Instant;

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
        // Would not come back.
        took(&[TableId(3)]);
        drop(watch);
        took(&[TableId(7)]);
    }
}
