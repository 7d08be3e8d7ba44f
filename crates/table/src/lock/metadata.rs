//! Locks on tables by name: the definitions that a transaction uses do not change until it ends.
//!
//! A *use* (reading or writing) is compatible with every other use. A use is therefore recorded only in its session,
//! in a list that no other thread normally reads. That takes a few nanoseconds, in memory that threads do not share.
//! A lock that excludes uses (DDL, LOCK TABLES) is rare. Its owner first announces it: later uses then go through the
//! lock table, and the uses already recorded in sessions are moved there. The owner then waits in the lock table as
//! for any other lock: first come, first served, and deadlocks are found whatever kinds of locks they involve. This
//! is PostgreSQL's fast path for relation locks (`src/backend/storage/lmgr/README`).
//!
//! | mode | for | excludes |
//! |---|---|---|
//! | `Read` | statements that read | `Exclusive` |
//! | `Write` | statements that write or lock rows for it | `NoWrite`, `Exclusive` |
//! | `NoWrite` | LOCK TABLES .. READ, building an index, FLUSH TABLES WITH READ LOCK | `Write`, `Exclusive` |
//! | `Exclusive` | other DDL, LOCK TABLES .. WRITE | everything |
//!
//! # Latch order
//! The list of sessions, then a session's uses, then a shard of the lock table.

use super::owner_state::{LockKey, OwnerState};
use super::table::LockTable;
use super::{LockError, LockLimits, LockMode, Modes};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// The cost of rolling an owner back rises by this much while it does DDL. Others are chosen as victims before it, as
/// in MySQL.
const DDL_WEIGHT: u64 = 1 << 40;

/// The object of a metadata lock: a table by its name, a change of a table's definition, a database, or everything.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MetadataKey(LockKey);

/// The purpose of a metadata lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetadataMode {
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Excludes other writers.
    NoWrite,
    /// Excludes all other uses.
    Exclusive,
}

impl MetadataMode {
    fn lock_mode(self) -> LockMode {
        match self {
            MetadataMode::Read => LockMode::IntentionShared,
            MetadataMode::Write => LockMode::IntentionExclusive,
            MetadataMode::NoWrite => LockMode::Shared,
            MetadataMode::Exclusive => LockMode::Exclusive,
        }
    }
}

/// The sessions, and the number of locks that exclude uses.
#[derive(Debug, Default)]
pub(crate) struct Metadata {
    excluding: AtomicUsize,
    sessions: Mutex<Vec<Weak<Uses>>>,
}

#[derive(Debug)]
struct Use {
    key: LockKey,
    modes: Modes,
    /// Whether the lock table contains it.
    in_lock_table: bool,
}

/// The uses of a session's transaction.
#[derive(Debug)]
struct Uses {
    state: Arc<OwnerState>,
    uses: Mutex<Vec<Use>>,
}

/// The locks of one session. They share their owner with the locks of the session's transactions, so that the lock
/// table sees a deadlock between both kinds.
#[derive(Debug)]
pub struct SessionLocks {
    table: Arc<LockTable>,
    metadata: Arc<Metadata>,
    uses: Arc<Uses>,
    /// The excluding locks held: keys and modes.
    held: Mutex<Vec<(LockKey, Modes)>>,
}

/// Locks that exclude uses; dropping it releases them.
#[derive(Debug)]
pub struct Excluding {
    locks: Arc<SessionLocks>,
    keys: Vec<LockKey>,
}

impl SessionLocks {
    pub(crate) fn new(table: &Arc<LockTable>, metadata: &Arc<Metadata>) -> Arc<SessionLocks> {
        let uses = Arc::new(Uses { state: table.new_owner(), uses: Mutex::default() });
        let mut sessions = metadata.sessions.lock();
        sessions.retain(|session| session.strong_count() > 0);
        sessions.push(Arc::downgrade(&uses));
        drop(sessions);
        let (table, metadata) = (table.clone(), metadata.clone());
        Arc::new(SessionLocks { table, metadata, uses, held: Mutex::default() })
    }

    pub(super) fn state(&self) -> &Arc<OwnerState> {
        &self.uses.state
    }

    /// The key of a table.
    pub fn table_key(&self, database: &str, name: &str) -> MetadataKey {
        MetadataKey(self.table.named(&[database, name]))
    }

    /// The key of changing a table. A session that changes the table's definition locks it, also while others still
    /// use the table.
    pub fn change_key(&self, database: &str, name: &str) -> MetadataKey {
        MetadataKey(self.table.named(&[database, name, "change"]))
    }

    /// The key of a database.
    pub fn database_key(&self, database: &str) -> MetadataKey {
        MetadataKey(self.table.named(&[database]))
    }

    /// The key of all tables together.
    pub fn global_key(&self) -> MetadataKey {
        MetadataKey(self.table.named(&[]))
    }

    /// Records that the transaction uses an object, until [`end_uses`](Self::end_uses). Calls `limits` only if it has
    /// to wait.
    ///
    /// # Errors
    /// `LockWaitTimeout` (1205), `Deadlock` (1213), 1317 if the statement is killed, `LockTableFull` (1206).
    pub fn note_use(
        &self,
        key: MetadataKey,
        writes: bool,
        limits: impl FnOnce() -> LockLimits,
    ) -> Result<(), crate::error::TableError> {
        let mode = if writes { MetadataMode::Write } else { MetadataMode::Read }.lock_mode();
        {
            let mut uses = self.uses.uses.lock();
            let known = uses.iter_mut().find(|known| known.key == key.0);
            if known.as_ref().is_some_and(|known| known.modes.cover(mode)) {
                return Ok(());
            }
            let is_excluded = self.metadata.excluding.load(Ordering::SeqCst) > 0;
            match known {
                Some(known) if !is_excluded && !known.in_lock_table => {
                    known.modes.add(mode);
                    return Ok(());
                }
                None if !is_excluded => {
                    uses.push(Use { key: key.0, modes: Modes::of(mode), in_lock_table: false });
                    return Ok(());
                }
                Some(known) => known.move_to_lock_table(&self.table, &self.uses.state)?,
                None => {}
            }
        }
        if self.held.lock().iter().any(|(held, _)| *held == key.0) {
            return Ok(());
        }
        self.table.acquire(&self.uses.state, key.0, mode, Some(&limits()))?;
        let mut uses = self.uses.uses.lock();
        match uses.iter_mut().find(|known| known.key == key.0) {
            Some(known) => known.modes.add(mode),
            None => uses.push(Use { key: key.0, modes: Modes::of(mode), in_lock_table: true }),
        }
        Ok(())
    }

    /// Forgets all uses, because the transaction has ended.
    pub fn end_uses(&self) {
        let mut uses = self.uses.uses.lock();
        for ended in uses.drain(..).filter(|ended| ended.in_lock_table) {
            self.table.release(self.uses.state.id, ended.key);
        }
    }

    /// Takes locks that exclude uses; locks that the session already holds are skipped. The session's transaction
    /// must have ended its uses.
    ///
    /// # Errors
    /// The errors of [`note_use`](Self::note_use).
    pub fn exclude(
        self: &Arc<Self>,
        wanted: &[(MetadataKey, MetadataMode)],
        limits: &LockLimits,
    ) -> Result<Excluding, crate::error::TableError> {
        Ok(self.take(wanted, Some(limits))?)
    }

    /// Takes a lock like [`exclude`](Self::exclude) if it need not wait; otherwise returns `None`. The session's
    /// transaction may use the object, and that use ends with the lock.
    ///
    /// # Errors
    /// `LockTableFull` (1206).
    pub fn try_exclude(
        self: &Arc<Self>,
        key: MetadataKey,
        mode: MetadataMode,
    ) -> Result<Option<Excluding>, crate::error::TableError> {
        match self.take(&[(key, mode)], None) {
            Err(LockError::WouldWait) => Ok(None),
            taken => Ok(Some(taken?)),
        }
    }

    /// Returns whether the session excludes others from the object in this mode.
    pub fn excludes(&self, key: MetadataKey, mode: MetadataMode) -> bool {
        let mode = mode.lock_mode();
        self.held.lock().iter().any(|(held, modes)| *held == key.0 && modes.cover(mode))
    }

    fn take(
        self: &Arc<Self>,
        wanted: &[(MetadataKey, MetadataMode)],
        limits: Option<&LockLimits>,
    ) -> Result<Excluding, LockError> {
        // A fixed order, so that sessions that want the same locks do not wait for each other in a cycle.
        let mut wanted: Vec<(LockKey, LockMode)> =
            wanted.iter().map(|(key, mode)| (key.0, mode.lock_mode())).collect();
        wanted.sort_by_key(|(key, mode)| (*key, *mode != LockMode::Exclusive));
        wanted.dedup_by_key(|(key, _)| *key);
        let mut taken = Excluding { locks: self.clone(), keys: Vec::new() };
        self.announce(&wanted)?;
        let state = &self.uses.state;
        state.add_weight(DDL_WEIGHT);
        for (key, mode) in wanted {
            let has = self.held.lock().iter().any(|(held, modes)| *held == key && modes.cover(mode));
            if !has {
                self.table.acquire(state, key, mode, limits)?;
                self.held.lock().push((key, Modes::of(mode)));
                taken.keys.push(key);
            }
        }
        Ok(taken)
    }

    /// Makes further uses go through the lock table, and moves the existing uses of the wanted objects there.
    fn announce(&self, wanted: &[(LockKey, LockMode)]) -> Result<(), LockError> {
        let sessions = self.metadata.sessions.lock();
        self.metadata.excluding.fetch_add(1, Ordering::SeqCst);
        for session in sessions.iter().filter_map(Weak::upgrade) {
            let mut uses = session.uses.lock();
            for found in uses.iter_mut().filter(|found| wanted.iter().any(|(key, _)| *key == found.key)) {
                found.move_to_lock_table(&self.table, &session.state)?;
            }
        }
        Ok(())
    }
}

impl Use {
    /// Puts the use into the lock table. No conflicting lock can be there, because an excluding owner lists the uses
    /// first.
    fn move_to_lock_table(&mut self, table: &LockTable, state: &Arc<OwnerState>) -> Result<(), LockError> {
        if !self.in_lock_table {
            let writes = self.modes.cover(LockMode::IntentionExclusive);
            let mode = if writes { LockMode::IntentionExclusive } else { LockMode::IntentionShared };
            table.acquire(state, self.key, mode, None)?;
            self.in_lock_table = true;
        }
        Ok(())
    }
}

impl Excluding {
    /// Returns whether the lock on `key` is one of these.
    pub fn holds(&self, key: MetadataKey) -> bool {
        self.keys.contains(&key.0)
    }
}

impl Drop for Excluding {
    fn drop(&mut self) {
        let SessionLocks { table, metadata, uses, held } = &*self.locks;
        held.lock().retain(|(key, _)| !self.keys.contains(key));
        for key in self.keys.drain(..) {
            table.release(uses.state.id, key);
        }
        uses.state.take_weight(DDL_WEIGHT);
        metadata.excluding.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for SessionLocks {
    fn drop(&mut self) {
        self.end_uses();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::TableError;
    use std::time::Duration;

    fn limits(millis: u64) -> LockLimits {
        LockLimits { timeout: Duration::from_millis(millis), ..LockLimits::default() }
    }

    fn sessions<const N: usize>() -> [Arc<SessionLocks>; N] {
        let table = Arc::new(LockTable::new(None, 1000));
        let metadata = Arc::new(Metadata::default());
        [(); N].map(|()| SessionLocks::new(&table, &metadata))
    }

    #[test]
    fn a_used_table_is_not_excluded_until_the_transaction_ends() {
        let [reader, writer, ddl] = sessions();
        let t = ddl.table_key("d", "t");
        let long = limits(60_000);
        reader.note_use(t, false, || long.clone()).unwrap();
        writer.note_use(t, true, || long.clone()).unwrap();
        writer.end_uses();
        let shared = ddl.exclude(&[(t, MetadataMode::NoWrite)], &long).unwrap();
        assert!(matches!(writer.note_use(t, true, || limits(1)), Err(TableError::LockWaitTimeout)));
        writer.note_use(t, false, || long.clone()).unwrap();
        writer.end_uses();
        drop(shared);
        let refused = ddl.exclude(&[(t, MetadataMode::Exclusive)], &limits(1));
        assert!(matches!(refused, Err(TableError::LockWaitTimeout)));
        reader.end_uses();
        let alone = ddl.exclude(&[(t, MetadataMode::Exclusive)], &long).unwrap();
        assert!(matches!(reader.note_use(t, false, || limits(1)), Err(TableError::LockWaitTimeout)));
        // The session's own uses do not block it, nor do uses of other tables.
        ddl.note_use(t, true, || long.clone()).unwrap();
        reader.note_use(ddl.table_key("d", "u"), true, || long.clone()).unwrap();
        drop(alone);
        reader.note_use(t, true, || long.clone()).unwrap();
        assert_eq!(ddl.metadata.excluding.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn new_uses_do_not_overtake_a_waiting_exclusion() {
        let [first, second, ddl] = sessions();
        let t = ddl.table_key("d", "t");
        first.note_use(t, false, || limits(60_000)).unwrap();
        std::thread::scope(|scope| {
            let waiting =
                scope.spawn(|| ddl.exclude(&[(t, MetadataMode::Exclusive)], &limits(60_000)).map(drop));
            while ddl.table.stats().waiting == 0 {
                std::thread::yield_now();
            }
            assert!(matches!(second.note_use(t, false, || limits(1)), Err(TableError::LockWaitTimeout)));
            first.end_uses();
            waiting.join().unwrap().unwrap();
        });
        second.note_use(t, false, || limits(60_000)).unwrap();
    }

    #[test]
    fn uses_and_exclusion_at_once() {
        let [ddl, other, workers @ ..]: [_; 5] = sessions();
        let t = ddl.table_key("d", "t");
        let inside = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for worker in &workers {
                let inside = &inside;
                scope.spawn(move || {
                    for number in 0..3000 {
                        worker.note_use(t, number % 2 == 0, || limits(60_000)).unwrap();
                        inside.fetch_add(1, Ordering::SeqCst);
                        assert!(inside.load(Ordering::SeqCst) < 1000);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        worker.end_uses();
                    }
                });
            }
            for session in [&ddl, &other] {
                let inside = &inside;
                scope.spawn(move || {
                    for _ in 0..300 {
                        let alone = session.exclude(&[(t, MetadataMode::Exclusive)], &limits(60_000));
                        let alone = alone.unwrap();
                        assert_eq!(inside.fetch_add(1000, Ordering::SeqCst), 0);
                        inside.fetch_sub(1000, Ordering::SeqCst);
                        drop(alone);
                    }
                });
            }
        });
        assert_eq!(ddl.table.stats().held, 0);
    }
}
