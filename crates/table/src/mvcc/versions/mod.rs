//! The version store: rows as they were before a commit replaced them.
//!
//! The store is not durable, because after a crash no snapshot is left that could ask. The newest committed version
//! of a row is on its page. A commit saves every version it replaces *before* it changes the page, because a snapshot
//! that needs the old version can be taken at any moment until the commit is published. A version is valid from
//! `begin` (the commit that wrote it) until `end` (the commit that replaced it). It is freed when no snapshot can
//! need it any more: see [`Needed::version`].
//!
//! A version also says whether it was the first one of its row: a snapshot that sees neither it nor its successor
//! finds no row. A chain that ends before that is known has lost a version, which is an error and never means "no
//! row".
//!
//! Versions are keyed by table and clustered key, so that they survive a rebuild of the tree.
//!
//! # Where versions are
//! Rows are spread over shards by their hash. A shard appends to one segment ([`segment`]), which is frozen when it
//! is full.
//!
//! | | frees | called by |
//! |---|---|---|
//! | [`VersionStore::reclaim`] | segments and runs of which no snapshot can need anything | the background thread, and threads that need memory |
//! | [`VersionStore::compact`] | versions between two snapshots, by copying the others into a new segment | the same |
//! | [`VersionStore::spill`] | memory, by writing needed versions to a run ([`runs`]) | threads that need memory |
//!
//! A version that moves is in its new place before it leaves the old one, and newer places are searched first. A
//! reader that searches the shard and then the runs therefore finds it. The shard's mutex is never held for I/O: a
//! reader under a page latch searches only memory ([`VersionStore::find`]), and searches the runs after it has
//! released the latch ([`VersionStore::find_spilled`]).

mod runs;
mod segment;
#[cfg(test)]
mod tests;

use super::clock::Needed;
use super::history_memory::HistoryMemory;
use super::snapshot::Snapshot;
use crate::catalog::TableId;
use crate::error::Result;
use leafline_btree::CommitTs;
use leafline_storage::Env;
use parking_lot::{Mutex, MutexGuard};
use runs::Runs;
use segment::Segment;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SHARDS: usize = 16;
/// The size of a segment that is appended to, in bytes, unless there is little memory.
const SEGMENT_BYTES: u64 = 64 << 10;
/// A segment is copied together with an older one that is at most this many times larger.
const SIMILAR: u64 = 2;

/// A replaced version of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Version<'a> {
    pub(crate) table: TableId,
    pub(crate) key: &'a [u8],
    /// The commit that wrote it.
    pub(crate) begin: CommitTs,
    /// The commit that has replaced it, or is about to.
    pub(crate) end: CommitTs,
    /// Whether there was no row before it.
    pub(crate) first: bool,
    /// The payload; `None` for a deletion.
    pub(crate) payload: Option<&'a [u8]>,
}

/// The result of a search for a snapshot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// The row, with this payload.
    Row(Arc<[u8]>),
    /// No row.
    Absent,
    /// Not in memory: [`VersionStore::find_spilled`] must search.
    Spilled,
    /// Unknown, because a version was not saved, or was freed too early (a bug), or because the snapshot was given
    /// up.
    Missing,
}

impl Version<'_> {
    /// The result for `snapshot`, if it sees no newer version; `None` if an older version decides.
    fn shown_to(&self, snapshot: &Snapshot) -> Option<Found> {
        match (snapshot.sees(self.begin), self.payload) {
            (true, _) if snapshot.sees(self.end) => None,
            (true, Some(payload)) => Some(Found::Row(payload.into())),
            (true, None) => Some(Found::Absent),
            (false, _) => self.first.then_some(Found::Absent),
        }
    }

    fn is_needed(&self, needed: &Needed) -> bool {
        needed.version(self.begin, self.end, self.first)
    }
}

/// A part of the rows.
#[derive(Debug, Default)]
struct Shard {
    current: Segment,
    /// The full segments, oldest first.
    frozen: Vec<Arc<Segment>>,
}

impl Shard {
    fn freeze(&mut self) {
        if !self.current.is_empty() {
            self.frozen.push(Arc::new(std::mem::take(&mut self.current)));
        }
    }
}

/// The size of the version store.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct VersionCounts {
    /// The number of versions in memory, and their bytes.
    pub(crate) in_memory: (u64, u64),
    /// The number of versions in runs, and the bytes of their files.
    pub(crate) in_runs: (u64, u64),
    /// The number of runs.
    pub(crate) runs: u64,
}

/// Saved versions of all rows.
pub(crate) struct VersionStore {
    hasher: RandomState,
    shards: Vec<Mutex<Shard>>,
    segment_bytes: usize,
    runs: Runs,
    memory: Arc<HistoryMemory>,
    /// Held while segments are copied or written, by one thread at a time.
    moving: Mutex<()>,
    versions: AtomicU64,
    bytes: AtomicU64,
}

impl VersionStore {
    /// Makes a store with runs in `env`.
    pub(crate) fn new(env: &Arc<dyn Env>, memory: &Arc<HistoryMemory>) -> VersionStore {
        // At most a quarter of the memory is in segments that are not full.
        let segment_bytes = (memory.limit() / (4 * SHARDS as u64)).clamp(64, SEGMENT_BYTES) as usize;
        VersionStore {
            hasher: RandomState::new(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            segment_bytes,
            runs: Runs::new(env, memory),
            memory: memory.clone(),
            moving: Mutex::default(),
            versions: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// Saves the version that the commit at its end is about to replace. Saving it again has no effect, so that a
    /// page change may be tried more than once.
    pub(crate) fn save(&self, version: &Version<'_>) {
        let mut shard = self.shard(self.hash(version.table, version.key)).lock();
        let before = shard.current.memory();
        let added = shard.current.push(version, &|table, key| self.hash(table, key));
        // The index may grow even if no version is added.
        let grown = shard.current.memory() - before;
        self.versions.fetch_add(u64::from(added), Ordering::Relaxed);
        self.bytes.fetch_add(grown, Ordering::Relaxed);
        self.memory.add(grown);
        if shard.current.len() >= self.segment_bytes {
            shard.freeze();
        }
    }

    /// Finds, in memory only, the row as `snapshot` sees it. The snapshot must not see the version on the page.
    pub(crate) fn find(&self, table: TableId, key: &[u8], snapshot: &Snapshot) -> Found {
        let hash = self.hash(table, key);
        {
            let shard = self.shard(hash).lock();
            let frozen = shard.frozen.iter().rev().map(|segment| &**segment);
            for segment in std::iter::once(&shard.current).chain(frozen) {
                let found = segment.of_row(hash, table, key).find_map(|version| version.shown_to(snapshot));
                if let Some(found) = found {
                    return found;
                }
            }
        }
        if self.runs.is_empty() { Found::Missing } else { Found::Spilled }
    }

    /// Finds a row that [`find`](Self::find) has not found in memory. Reads files; the caller holds no latch.
    pub(crate) fn find_spilled(&self, table: TableId, key: &[u8], snapshot: &Snapshot) -> Result<Found> {
        self.runs.find(table, key, snapshot)
    }

    /// Frees segments and runs in which every version was replaced before `bound`, so that nobody can need them.
    pub(crate) fn reclaim(&self, bound: CommitTs) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            let dead = |segment: &Segment| segment.newest_end() < bound;
            if !shard.current.is_empty() && dead(&shard.current) {
                self.forget(&std::mem::take(&mut shard.current));
            }
            let freed = shard.frozen.extract_if(.., |segment| dead(segment));
            freed.for_each(|segment| self.forget(&segment));
        }
        self.runs.reclaim(bound);
    }

    /// Copies the needed versions of frozen segments into new ones: of the newer segments, as long as that pays, or
    /// of `all`.
    pub(crate) fn compact(&self, needed: &Needed, all: bool) {
        let moving = self.moving.lock();
        for shard in &self.shards {
            self.compact_shard(shard, needed, all, &moving);
        }
    }

    fn compact_shard(&self, shard: &Mutex<Shard>, needed: &Needed, all: bool, _: &MutexGuard<'_, ()>) {
        let old: Vec<Arc<Segment>> = {
            let mut shard = shard.lock();
            if all {
                shard.freeze();
            }
            let mut bytes = 0;
            let newer = shard.frozen.iter().rev().take_while(|segment| {
                let take = all || bytes == 0 || segment.memory() <= SIMILAR * bytes;
                bytes += segment.memory();
                take
            });
            let count = newer.count();
            shard.frozen[shard.frozen.len() - count..].to_vec()
        };
        if old.is_empty() || (old.len() == 1 && !all) {
            return;
        }
        let hash = |table: TableId, key: &[u8]| self.hash(table, key);
        let mut new = vec![Segment::default()];
        for version in old.iter().flat_map(|segment| segment.all()) {
            if version.is_needed(needed) {
                if !new.last().is_some_and(|segment| segment.has_room_for(version.bytes())) {
                    new.push(Segment::default());
                }
                if let Some(segment) = new.last_mut() {
                    segment.push(&version, &hash);
                }
            }
        }
        new.retain(|segment| !segment.is_empty());
        new.iter_mut().for_each(|segment| segment.shrink(&hash));
        self.replace(shard, &old, new);
    }

    /// Replaces segments with others.
    fn replace(&self, shard: &Mutex<Shard>, old: &[Arc<Segment>], new: Vec<Segment>) {
        let mut shard = shard.lock();
        let is_old = |segment: &Arc<Segment>| old.iter().any(|old| Arc::ptr_eq(old, segment));
        // If none of them is left, nobody needs their versions any more.
        let Some(at) = shard.frozen.iter().position(is_old) else { return };
        shard.frozen.extract_if(.., |segment| is_old(segment)).for_each(|segment| self.forget(&segment));
        for segment in &new {
            self.versions.fetch_add(segment.versions(), Ordering::Relaxed);
            self.bytes.fetch_add(segment.memory(), Ordering::Relaxed);
            self.memory.add(segment.memory());
        }
        shard.frozen.splice(at..at, new.into_iter().map(Arc::new));
    }

    /// Writes the needed versions in memory to a run.
    ///
    /// # Errors
    /// Errors of writing; every version is then still in memory.
    pub(crate) fn spill(&self, needed: &Needed) -> Result<()> {
        let moving = self.moving.lock();
        let mut written = Vec::with_capacity(SHARDS);
        for shard in &self.shards {
            // Collects a row's versions in few segments.
            self.compact_shard(shard, needed, true, &moving);
            written.push(shard.lock().frozen.clone());
        }
        self.runs.write(&written, needed, &|table, key| self.hash(table, key))?;
        for (shard, segments) in self.shards.iter().zip(&written) {
            self.replace(shard, segments, Vec::new());
        }
        Ok(())
    }

    /// Merges runs if there are many.
    ///
    /// # Errors
    /// Errors of reading and writing; the runs are then unchanged.
    pub(crate) fn merge_runs(&self, needed: &Needed) -> Result<()> {
        self.runs.merge(needed)
    }

    /// Returns whether it contains no versions.
    pub(crate) fn is_empty(&self) -> bool {
        self.versions.load(Ordering::Relaxed) == 0 && self.runs.is_empty()
    }

    /// The size of the version store.
    pub(crate) fn counts(&self) -> VersionCounts {
        let in_memory = (self.versions.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        let (runs, in_runs) = self.runs.counts();
        VersionCounts { in_memory, in_runs, runs }
    }

    fn forget(&self, segment: &Segment) {
        self.versions.fetch_sub(segment.versions(), Ordering::Relaxed);
        self.bytes.fetch_sub(segment.memory(), Ordering::Relaxed);
        self.memory.remove(segment.memory());
    }

    fn hash(&self, table: TableId, key: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u64(table.0);
        hasher.write(key);
        hasher.finish()
    }

    fn shard(&self, hash: u64) -> &Mutex<Shard> {
        // Other bits than those with which a segment finds its rows.
        &self.shards[(hash >> 40) as usize % SHARDS]
    }
}
