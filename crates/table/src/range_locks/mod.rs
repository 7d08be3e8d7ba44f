//! Range locks: at REPEATABLE READ with InnoDB's meaning (`innodb_snapshot_isolation` OFF), nobody writes a row into a
//! range of keys that another transaction has read to change or lock rows, until that transaction has ended. What was read
//! cannot gain rows meanwhile, as with InnoDB's gap locks. Ranges exclude writers only, not each other.
//!
//! Row locks are hashes of keys, and uncommitted rows stand in private write sets. So both sides look for each other:
//!
//! | reader of a range | writer of a row |
//! |---|---|
//! | 1. publishes the range | 1. looks for ranges with an entry of the row, and waits for their owners to end |
//! | 2. looks through the write sets of open transactions | 2. writes the row to its write set |
//! | 3. waits for an owner of a row in the range | 3. looks again if a range was published meanwhile |
//! | 4. fails with a conflict if its snapshot does not see what was committed there: the statement runs again | |
//!
//! Each publishes first and looks afterwards, so one of the two finds the other. Sometimes both do; the search for
//! deadlocks ends that. Waiting means to want a lock that its owner holds until its transaction has ended
//! ([`LockOwner::wait_for_end`]).
//!
//! A row counts in every index by its entry, whether the write changes that or not: another column may now meet a
//! condition. A range of an index that is read for several rows is the range that the conditions give.

mod writers;

use crate::catalog::{IndexDef, TableDef, TableId};
use crate::error::Result;
use crate::index::entry::RowEntries;
use crate::lock::{LockLimits, LockMode, LockOwner};
use crate::mvcc::RegisteredSnapshot;
use crate::serial::{KeyBounds, KeyRanges};
use crate::write_set::WriteSet;
use hashbrown::HashMap;
use leafline_btree::CommitTs;
use leafline_storage::SegmentId;
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use writers::{Writer, Writers};

/// The number of ranges of an index beyond which a transaction locks all keys between the first and the last.
const MOST_RANGES: usize = 4096;

/// The ranges that transactions of an engine have locked, and the transactions that write.
#[derive(Default)]
pub(crate) struct RangeLocks {
    held: Mutex<HashMap<TableId, Vec<HeldRanges>>>,
    /// The number of [`HeldRanges`].
    owners: AtomicUsize,
    /// The number of ranges that were ever locked.
    locked: AtomicU64,
    writers: Writers,
}

/// The ranges of one table that a transaction has locked, by the tree of their index.
struct HeldRanges {
    owner: Arc<LockOwner>,
    trees: BTreeMap<SegmentId, KeyRanges>,
}

impl RangeLocks {
    /// The number of ranges that were ever locked. A writer that sees the same number before and after its write has
    /// missed none.
    pub(crate) fn locked(&self) -> u64 {
        fence(Ordering::SeqCst);
        self.locked.load(Ordering::SeqCst)
    }

    /// Returns whether a transaction has locked ranges.
    fn has_owners(&self) -> bool {
        self.owners.load(Ordering::SeqCst) > 0
    }

    /// Adds ranges to those of `owner`. Returns false if it had locked all of them.
    fn add(&self, owner: &Arc<LockOwner>, table: TableId, tree: SegmentId, ranges: &[KeyBounds<'_>]) -> bool {
        let mut held = self.held.lock();
        let of_table = held.entry(table).or_default();
        let at = of_table.iter().position(|held| Arc::ptr_eq(&held.owner, owner)).unwrap_or_else(|| {
            of_table.push(HeldRanges { owner: owner.clone(), trees: BTreeMap::new() });
            self.owners.fetch_add(1, Ordering::SeqCst);
            of_table.len() - 1
        });
        let known = of_table[at].trees.entry(tree).or_default();
        if ranges.iter().all(|(lower, upper)| known.covers(lower, *upper)) {
            return false;
        }
        ranges.iter().for_each(|(lower, upper)| known.insert(lower, *upper));
        if known.len() > MOST_RANGES {
            known.become_hull();
        }
        self.locked.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        true
    }

    /// Removes the ranges of an owner.
    fn remove(&self, owner: &Arc<LockOwner>) {
        self.held.lock().retain(|_, of_table| {
            let before = of_table.len();
            of_table.retain(|held| !Arc::ptr_eq(&held.owner, owner));
            self.owners.fetch_sub(before - of_table.len(), Ordering::SeqCst);
            !of_table.is_empty()
        });
    }

    /// Returns another owner that has locked a range with an entry of the row.
    fn owner_of(
        &self,
        own: &Arc<LockOwner>,
        table: &TableDef,
        (key, payload): (&[u8], &[u8]),
    ) -> Result<Option<Arc<LockOwner>>> {
        let held = self.held.lock();
        let Some(of_table) = held.get(&table.id) else { return Ok(None) };
        let mut entries = RowEntries::default();
        entries.begin_row(table);
        for held in of_table.iter().filter(|held| !Arc::ptr_eq(&held.owner, own) && !held.owner.is_over()) {
            for (tree, ranges) in &held.trees {
                if is_in(table, *tree, (key, payload), &mut entries, &|key| ranges.contains(key))? {
                    return Ok(Some(held.owner.clone()));
                }
            }
        }
        Ok(None)
    }
}

/// Returns whether the entry of a row in the index with this tree is in a range.
fn is_in(
    table: &TableDef,
    tree: SegmentId,
    (key, payload): (&[u8], &[u8]),
    entries: &mut RowEntries,
    contains: &dyn Fn(&[u8]) -> bool,
) -> Result<bool> {
    let Some(index) = table.indexes.iter().find(|index| index.tree == tree && !index.is_words()) else {
        return Ok(false);
    };
    if index.is_clustered() {
        return Ok(contains(key));
    }
    Ok(contains(&entries.entry(table, index, key, payload)?.key))
}

/// A transaction as its counterparts see it: its writes, and the ranges that it has locked. Dropping it, after the
/// transaction has ended, removes both.
pub(crate) struct RangeOwner {
    all: Arc<RangeLocks>,
    locks: Arc<LockOwner>,
    writes: Arc<RwLock<WriteSet>>,
    writer: OnceLock<(u64, Arc<Writer>)>,
    has_ranges: AtomicBool,
}

impl RangeOwner {
    /// Makes the entry of a transaction that has neither written nor read anything.
    pub(crate) fn new(
        all: &Arc<RangeLocks>,
        locks: &Arc<LockOwner>,
        writes: &Arc<RwLock<WriteSet>>,
    ) -> Arc<RangeOwner> {
        Arc::new(RangeOwner {
            all: all.clone(),
            locks: locks.clone(),
            writes: writes.clone(),
            writer: OnceLock::new(),
            has_ranges: AtomicBool::new(false),
        })
    }

    /// Calls `write`, which writes a row to the write set, when no other transaction has locked a range with an entry of
    /// the row.
    ///
    /// # Errors
    /// The errors of waiting for another transaction, and of `write`.
    pub(crate) fn write_outside_ranges(
        &self,
        table: &TableDef,
        (key, payload): (&[u8], Option<&[u8]>),
        limits: &LockLimits,
        write: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        if table.is_private || table.is_overflow {
            return write();
        }
        self.writer.get_or_init(|| {
            let writer = Writer::new(&self.writes, &self.locks);
            (self.all.writers.add(writer.clone()), writer)
        });
        let Some(payload) = payload else { return write() };
        let before = self.all.locked();
        if before > 0 && self.all.has_owners() {
            self.wait_for_ranges(table, (key, payload), limits)?;
        }
        write()?;
        if self.all.locked() != before {
            self.wait_for_ranges(table, (key, payload), limits)?;
        }
        Ok(())
    }

    #[cold]
    fn wait_for_ranges(&self, table: &TableDef, row: (&[u8], &[u8]), limits: &LockLimits) -> Result<()> {
        while let Some(other) = self.all.owner_of(&self.locks, table, row)? {
            self.locks.wait_for_end(&other, Some(limits))?;
        }
        Ok(())
    }

    /// Notes that everything that the transaction has written is committed and applied.
    pub(crate) fn set_applied(&self, ts: CommitTs) {
        if let Some((_, writer)) = self.writer.get() {
            writer.set_ts(ts);
        }
    }

    /// Empties the write set, whose changes a commit has taken over, if only this transaction uses it. Others then count it
    /// as having written everywhere.
    pub(crate) fn empty_write_set(&self) {
        let own = 2 + usize::from(self.writer.get().is_some());
        if Arc::strong_count(&self.writes) == own {
            self.writer.get().into_iter().for_each(|(_, writer)| writer.set_emptied());
            *self.writes.write() = WriteSet::default();
        }
    }
}

impl Drop for RangeOwner {
    fn drop(&mut self) {
        // The transaction counts as ended before its writes and ranges are gone.
        self.locks.release_all();
        if let Some((number, _)) = self.writer.get() {
            self.all.writers.remove(*number);
        }
        if self.has_ranges.load(Ordering::Relaxed) {
            self.all.remove(&self.locks);
        }
    }
}

impl std::fmt::Debug for RangeOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RangeOwner").field("has_ranges", &self.has_ranges).finish_non_exhaustive()
    }
}

/// Locks the ranges that a statement reads.
#[derive(Debug)]
pub(crate) struct RangeLocker {
    owner: Arc<RangeOwner>,
    /// The limits of its waits; `None` if it does not wait.
    limits: Option<LockLimits>,
    begun: u64,
}

impl RangeLocker {
    /// Begins a statement, before its snapshot is taken.
    pub(crate) fn new(owner: &Arc<RangeOwner>, limits: Option<LockLimits>) -> Arc<RangeLocker> {
        let begun = owner.all.writers.begin_statement();
        Arc::new(RangeLocker { owner: owner.clone(), limits, begun })
    }

    /// Locks ranges of an index that are about to be read at `snapshot`. Waits for transactions that have written rows into
    /// them. Returns whether `snapshot` sees everything that was committed there.
    ///
    /// # Errors
    /// The errors of waiting.
    pub(crate) fn lock(
        &self,
        table: &TableDef,
        index: &IndexDef,
        ranges: &[KeyBounds<'_>],
        snapshot: &RegisteredSnapshot,
    ) -> Result<bool> {
        let owner = &self.owner;
        if table.is_private || table.is_overflow || ranges.is_empty() {
            return Ok(true);
        }
        // A transaction that fills or changes the table as a whole has it locked.
        owner.locks.lock_table(table.id, LockMode::IntentionShared, self.limits.as_ref())?;
        owner.has_ranges.store(true, Ordering::Relaxed);
        if !owner.all.add(&owner.locks, table.id, index.tree, ranges) {
            return Ok(true);
        }
        let Some(writers) = owner.all.writers.since(self.begun, &owner.locks) else { return Ok(false) };
        for writer in writers {
            loop {
                let ts = writer.ts();
                if ts.is_some_and(|ts| snapshot.sees(ts)) || !has_row_in(&writer, table, index, ranges)? {
                    break;
                }
                if ts.is_some() {
                    return Ok(false);
                }
                let waited = owner.locks.wait_for_end(&writer.locks, self.limits.as_ref())?;
                if !waited && writer.ts().is_none() {
                    // It was rolled back.
                    break;
                }
            }
        }
        Ok(true)
    }
}

impl Drop for RangeLocker {
    fn drop(&mut self) {
        self.owner.all.writers.end_statement(self.begun);
    }
}

/// Returns whether a transaction has written a row into a range.
fn has_row_in(writer: &Writer, table: &TableDef, index: &IndexDef, ranges: &[KeyBounds<'_>]) -> Result<bool> {
    let contains = |key: &[u8]| {
        ranges.iter().any(|(lower, upper)| *lower <= key && upper.is_none_or(|upper| key < upper))
    };
    let writes = writer.writes.read();
    // Rows that are on disk already are not looked at one by one.
    let changes = if writer.is_emptied() { None } else { writes.changes_in_memory(table.id) };
    let Some(mut changes) = changes else { return Ok(true) };
    let mut entries = RowEntries::default();
    while let Some(change) = changes.next()? {
        let Some(after) = change.after else { continue };
        entries.begin_row(table);
        if is_in(table, index.tree, (change.key, after), &mut entries, &contains)? {
            return Ok(true);
        }
    }
    Ok(false)
}
