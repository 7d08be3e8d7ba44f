//! Locks on tables by name: what a transaction has used stays as it is until it ends.
//!
//! A *use* (reading or writing) is compatible with every other use, so uses are noted with their session alone, where nobody else
//! looks: in a few nanoseconds, on memory that threads do not share. What excludes uses (DDL, LOCK TABLES) is rare. It announces itself, which sends
//! further uses to the lock table, moves the uses it finds at sessions there, and then waits in the lock table like any other lock: first
//! come, first served, with deadlocks found whatever locks they are made of. It is PostgreSQL's fast path for relation
//! locks (`src/backend/storage/lmgr/README`).
//!
//! | mode | for | excludes |
//! |---|---|---|
//! | `Read` | statements that read | `Exclusive` |
//! | `Write` | statements that write or lock rows for it | `NoWrite`, `Exclusive` |
//! | `NoWrite` | LOCK TABLES .. READ, building an index, FLUSH TABLES WITH READ LOCK | `Write`, `Exclusive` |
//! | `Exclusive` | other DDL, LOCK TABLES .. WRITE | everything |
//!
//! # Order
//! the list of sessions | a session's uses | a shard of the lock table.

use super::owner::OwnerState;
use super::table::{LockKey, LockTable};
use super::{LockError, LockLimits, LockMode, Modes};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// Added to what rolling an owner back would cost while it does DDL: others give way, as in MySQL.
const DDL_WEIGHT: u64 = 1 << 40;

/// What is locked: a table by its name, a database, or everything.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MetadataKey(LockKey);

/// What the lock is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetadataMode {
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Nobody else writes.
    NoWrite,
    /// Nobody else uses it.
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

/// The sessions, and how many locks there are that exclude uses.
#[derive(Debug, Default)]
pub(crate) struct Metadata {
    excluding: AtomicUsize,
    sessions: Mutex<Vec<Weak<Uses>>>,
}

#[derive(Debug)]
struct Use {
    key: LockKey,
    modes: Modes,
    /// It is in the lock table.
    listed: bool,
}

/// What a session's transaction uses.
#[derive(Debug)]
struct Uses {
    state: Arc<OwnerState>,
    uses: Mutex<Vec<Use>>,
}

/// The locks of one session; those of its transactions are taken in its name, so that a deadlock is seen whatever it is made of.
#[derive(Debug)]
pub struct SessionLocks {
    table: Arc<LockTable>,
    metadata: Arc<Metadata>,
    uses: Arc<Uses>,
    /// What it holds that excludes others: keys and modes.
    held: Mutex<Vec<(LockKey, Modes)>>,
}

/// Locks that exclude uses; given back when dropped.
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

    /// The key of changing a table: whoever changes its definition has it, also while others still use the table.
    pub fn change_key(&self, database: &str, name: &str) -> MetadataKey {
        MetadataKey(self.table.named(&[database, name, "change"]))
    }

    /// The key of a database.
    pub fn database_key(&self, database: &str) -> MetadataKey {
        MetadataKey(self.table.named(&[database]))
    }

    /// The key of all tables.
    pub fn global_key(&self) -> MetadataKey {
        MetadataKey(self.table.named(&[]))
    }

    /// Notes that the transaction uses something, until [`end_uses`](Self::end_uses). Who has to wait asks for the limits.
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
                Some(known) if !is_excluded && !known.listed => {
                    known.modes.add(mode);
                    return Ok(());
                }
                None if !is_excluded => {
                    uses.push(Use { key: key.0, modes: Modes::of(mode), listed: false });
                    return Ok(());
                }
                Some(known) => known.list(&self.table, &self.uses.state)?,
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
            None => uses.push(Use { key: key.0, modes: Modes::of(mode), listed: true }),
        }
        Ok(())
    }

    /// The transaction is over.
    pub fn end_uses(&self) {
        let mut uses = self.uses.uses.lock();
        for ended in uses.drain(..).filter(|ended| ended.listed) {
            self.table.release(self.uses.state.id, ended.key);
        }
    }

    /// Takes locks that exclude uses; what the session holds already, it keeps. Its own uses have ended.
    ///
    /// # Errors
    /// As [`note_use`](Self::note_use).
    pub fn exclude(
        self: &Arc<Self>,
        wanted: &[(MetadataKey, MetadataMode)],
        limits: &LockLimits,
    ) -> Result<Excluding, crate::error::TableError> {
        Ok(self.take(wanted, Some(limits))?)
    }

    /// As [`exclude`](Self::exclude), if nobody has to be waited for. The session may have a use of it, which ends with the lock.
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

    /// Whether the session keeps others away from it in that way.
    pub fn excludes(&self, key: MetadataKey, mode: MetadataMode) -> bool {
        let mode = mode.lock_mode();
        self.held.lock().iter().any(|(held, modes)| *held == key.0 && modes.cover(mode))
    }

    fn take(
        self: &Arc<Self>,
        wanted: &[(MetadataKey, MetadataMode)],
        limits: Option<&LockLimits>,
    ) -> Result<Excluding, LockError> {
        // Always in one order, so that those who want the same do not wait for each other in a circle.
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

    /// From now on uses go through the lock table, where those there are of what is wanted are put.
    fn announce(&self, wanted: &[(LockKey, LockMode)]) -> Result<(), LockError> {
        let sessions = self.metadata.sessions.lock();
        self.metadata.excluding.fetch_add(1, Ordering::SeqCst);
        for session in sessions.iter().filter_map(Weak::upgrade) {
            let mut uses = session.uses.lock();
            for found in uses.iter_mut().filter(|found| wanted.iter().any(|(key, _)| *key == found.key)) {
                found.list(&self.table, &session.state)?;
            }
        }
        Ok(())
    }
}

impl Use {
    /// Puts it in the lock table. Nothing there is in its way: who excludes it lists it before.
    fn list(&mut self, table: &LockTable, state: &Arc<OwnerState>) -> Result<(), LockError> {
        if !self.listed {
            let writes = self.modes.cover(LockMode::IntentionExclusive);
            let mode = if writes { LockMode::IntentionExclusive } else { LockMode::IntentionShared };
            table.acquire(state, self.key, mode, None)?;
            self.listed = true;
        }
        Ok(())
    }
}

impl Excluding {
    /// Whether it holds this lock.
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
    fn what_is_used_is_not_excluded_until_the_transaction_ends() {
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
        // Its own uses are not in its way, nor are those of other tables.
        ddl.note_use(t, true, || long.clone()).unwrap();
        reader.note_use(ddl.table_key("d", "u"), true, || long.clone()).unwrap();
        drop(alone);
        reader.note_use(t, true, || long.clone()).unwrap();
        assert_eq!(ddl.metadata.excluding.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn who_waits_to_exclude_is_not_passed_by_new_uses() {
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
