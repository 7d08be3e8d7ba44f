//! The version store: rows as they were before a commit replaced them.
//!
//! In memory only: after a crash no snapshot is left that could ask. The newest committed version of a row is on
//! its page; applying a commit saves what it replaces *before* it changes the page, always, because a snapshot
//! that needs the old version can be taken at any moment until the commit is published. A version is valid from
//! `begin` (the commit that wrote it) until `end` (the one that replaced it) and is freed when no snapshot can ask
//! for it any more: see [`Needed::version`].
//!
//! A version also says whether it was the first one of its row: a snapshot that sees neither it nor what replaced it
//! finds no row. A chain that ends before either is known has lost something, which is an error, never "no row".
//!
//! Versions are keyed by table and clustered key, so they outlive a rebuild of the tree.

use super::clock::Needed;
use super::snapshot::Snapshot;
use crate::catalog::TableId;
use hashbrown::HashMap;
use leafline_btree::CommitTs;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SHARDS: usize = 64;
/// A chain as long as this is pruned when it grows.
const PRUNE_CHAIN_AT: usize = 16;
/// The queue may be this much longer than twice the number of versions: pruning a chain leaves its places behind.
const COMPACT_QUEUE_AT: u64 = 4096;
/// Bytes a version costs beyond its key and payload, roughly.
const VERSION_OVERHEAD: u64 = 96;

/// A replaced version of a row.
#[derive(Clone, Debug)]
struct Version {
    begin: CommitTs,
    end: CommitTs,
    /// There was no row before `begin`.
    first: bool,
    /// `None`: the row was deleted.
    payload: Option<Arc<[u8]>>,
}

/// A version to be saved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replaced<'a> {
    pub(crate) table: TableId,
    pub(crate) key: &'a [u8],
    /// The commit that wrote it.
    pub(crate) begin: CommitTs,
    /// The commit that is about to replace it.
    pub(crate) end: CommitTs,
    /// There was no row before it.
    pub(crate) first: bool,
    /// `None`: a deletion.
    pub(crate) payload: Option<&'a [u8]>,
}

impl Version {
    fn bytes(&self, key: usize) -> u64 {
        VERSION_OVERHEAD + key as u64 + self.payload.as_ref().map_or(0, |payload| payload.len() as u64)
    }
}

/// Versions of one row, oldest first.
type Chain = Vec<Version>;
type RowKey = (TableId, Box<[u8]>);
type Shard = HashMap<RowKey, Chain>;

/// What a snapshot finds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// The row, with this payload.
    Row(Arc<[u8]>),
    /// No row.
    Absent,
    /// The answer is not known, because something was not saved or freed too early: a bug.
    Missing,
}

/// Saved versions of all rows.
#[derive(Debug)]
pub(crate) struct VersionStore {
    hasher: RandomState,
    shards: Vec<Mutex<Shard>>,
    /// What was saved, nearly in the order of `end`; what is out of order waits for what is before it.
    queue: Mutex<VecDeque<(CommitTs, RowKey)>>,
    versions: AtomicU64,
    bytes: AtomicU64,
}

impl Default for VersionStore {
    fn default() -> VersionStore {
        VersionStore {
            hasher: RandomState::new(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            queue: Mutex::default(),
            versions: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }
}

impl VersionStore {
    /// Saves the version that the commit at `end` is about to replace. Saving it again changes nothing, so that
    /// a page change may be tried more than once.
    pub(crate) fn save(&self, replaced: Replaced<'_>, needed: &dyn Fn() -> Needed) {
        let Replaced { table, key, begin, end, first, payload } = replaced;
        let version = Version { begin, end, first, payload: payload.map(Arc::from) };
        let bytes = version.bytes(key.len());
        let row = (table, Box::from(key));
        {
            let mut shard = self.shard(table, key).lock();
            let chain = shard.entry(row.clone()).or_default();
            if chain.last().is_some_and(|last| last.end == end) {
                return;
            }
            if chain.len() >= PRUNE_CHAIN_AT && chain.len().is_power_of_two() {
                let needed = needed();
                self.prune(key.len(), chain, &needed);
            }
            chain.push(version);
        }
        let versions = self.versions.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let mut queue = self.queue.lock();
        queue.push_back((end, row));
        if queue.len() as u64 > 2 * versions + COMPACT_QUEUE_AT {
            queue.retain(|(end, row)| {
                let shard = self.shard(row.0, &row.1).lock();
                shard.get(row).is_some_and(|chain| chain.iter().any(|version| version.end == *end))
            });
        }
    }

    /// Whether anything was replaced before `bound`.
    pub(crate) fn has_before(&self, bound: CommitTs) -> bool {
        self.queue.lock().front().is_some_and(|(end, _)| *end < bound)
    }

    /// The row as `snapshot` sees it, given that it does not see the version on the page.
    pub(crate) fn find(&self, table: TableId, key: &[u8], snapshot: &Snapshot) -> Found {
        let shard = self.shard(table, key).lock();
        let Some(chain) = shard.get(&BorrowedKey(table, key)) else { return Found::Missing };
        for version in chain.iter().rev() {
            if snapshot.sees(version.begin) {
                return match &version.payload {
                    Some(payload) if !snapshot.sees(version.end) => Found::Row(payload.clone()),
                    _ => Found::Absent,
                };
            }
            if version.first {
                return Found::Absent;
            }
        }
        Found::Missing
    }

    /// Frees versions that nobody can ask for, looking at up to `max` rows, oldest replacements first. Returns
    /// whether there may be more to free.
    pub(crate) fn reclaim(&self, bound: CommitTs, needed: &Needed, max: usize) -> bool {
        for _ in 0..max {
            let row = {
                let mut queue = self.queue.lock();
                match queue.front() {
                    Some((end, _)) if *end < bound => queue.pop_front(),
                    _ => None,
                }
            };
            let Some((_, row)) = row else { return false };
            let mut shard = self.shard(row.0, &row.1).lock();
            if let Some(chain) = shard.get_mut(&row) {
                self.prune(row.1.len(), chain, needed);
                if chain.is_empty() {
                    shard.remove(&row);
                }
            }
        }
        true
    }

    /// Number of versions kept.
    pub(crate) fn versions(&self) -> u64 {
        self.versions.load(Ordering::Relaxed)
    }

    /// Memory they take, roughly.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn prune(&self, key: usize, chain: &mut Chain, needed: &Needed) {
        let (mut versions, mut bytes) = (0, 0);
        chain.retain(|version| {
            let keep = needed.version(version.begin, version.end, version.first);
            if !keep {
                versions += 1;
                bytes += version.bytes(key);
            }
            keep
        });
        self.versions.fetch_sub(versions, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn shard(&self, table: TableId, key: &[u8]) -> &Mutex<Shard> {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u64(table.0);
        hasher.write(key);
        let at = hasher.finish() as usize % SHARDS;
        &self.shards[at]
    }
}

/// A row key for look-ups, without a copy of the key. Hashes as [`RowKey`] does.
#[derive(Hash)]
struct BorrowedKey<'a>(TableId, &'a [u8]);

impl hashbrown::Equivalent<RowKey> for BorrowedKey<'_> {
    fn equivalent(&self, row: &RowKey) -> bool {
        self.0 == row.0 && *self.1 == *row.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(7);

    fn snapshot(high: u64) -> Snapshot {
        Snapshot { low: CommitTs(high), high: CommitTs(high), exceptions: [].into() }
    }

    fn save(store: &VersionStore, begin: u64, end: u64, first: bool, payload: Option<&[u8]>) {
        let none = || Needed { low: CommitTs(0), snapshots: Vec::new() };
        let (begin, end) = (CommitTs(begin), CommitTs(end));
        store.save(Replaced { table: TABLE, key: b"k", begin, end, first, payload }, &none);
    }

    #[test]
    fn the_version_that_was_valid_at_the_snapshot_is_found() {
        let store = VersionStore::default();
        save(&store, 10, 20, true, Some(b"a"));
        save(&store, 20, 30, false, None);
        save(&store, 30, 40, false, Some(b"c"));
        let found = |high| store.find(TABLE, b"k", &snapshot(high));
        assert_eq!(found(10), Found::Absent);
        assert_eq!(found(11), Found::Row(b"a"[..].into()));
        assert_eq!(found(21), Found::Absent);
        assert_eq!(found(31), Found::Row(b"c"[..].into()));
        assert_eq!(store.find(TABLE, b"x", &snapshot(31)), Found::Missing);
        assert_eq!(store.find(TableId(8), b"k", &snapshot(31)), Found::Missing);
    }

    #[test]
    fn a_row_that_was_deleted_and_forgotten_is_not_found_again() {
        let store = VersionStore::default();
        save(&store, 10, 20, true, Some(b"a"));
        // Deleted at 20, the ghost removed, inserted at 40, updated at 50.
        save(&store, 40, 50, true, Some(b"b"));
        assert_eq!(store.find(TABLE, b"k", &snapshot(30)), Found::Absent);
    }

    #[test]
    fn a_chain_with_a_hole_is_noticed() {
        let store = VersionStore::default();
        save(&store, 30, 40, false, Some(b"c"));
        assert_eq!(store.find(TABLE, b"k", &snapshot(20)), Found::Missing);
    }

    #[test]
    fn saving_twice_keeps_one() {
        let store = VersionStore::default();
        save(&store, 10, 20, true, Some(b"a"));
        save(&store, 10, 20, true, Some(b"a"));
        assert_eq!(store.versions(), 1);
    }

    #[test]
    fn only_what_a_snapshot_can_ask_for_is_kept() {
        let store = VersionStore::default();
        for ts in 1..=10 {
            save(&store, ts * 10, ts * 10 + 10, false, Some(b"v"));
        }
        let needed = Needed { low: CommitTs(105), snapshots: vec![snapshot(35)] };
        store.reclaim(CommitTs(35), &needed, 100);
        let bytes = store.bytes();
        assert_eq!(store.versions(), 2, "[30, 40) for the snapshot, [100, 110) for the next one");
        assert_eq!(store.find(TABLE, b"k", &snapshot(35)), Found::Row(b"v"[..].into()));
        let needed = Needed { low: CommitTs(200), snapshots: Vec::new() };
        assert!(!store.reclaim(CommitTs(200), &needed, 100));
        assert_eq!((store.versions(), store.bytes()), (0, 0));
        assert!(bytes > 0);
    }
}
