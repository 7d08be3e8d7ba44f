//! The version store: rows as they were before a commit replaced them.
//!
//! Not durable: after a crash no snapshot is left that could ask. The newest committed version of a row is on
//! its page; applying a commit saves what it replaces *before* it changes the page, always, because a snapshot
//! that needs the old version can be taken at any moment until the commit is published. A version is valid from
//! `begin` (the commit that wrote it) until `end` (the one that replaced it) and is freed when no snapshot can ask
//! for it any more: see [`Needed::version`].
//!
//! A version also says whether it was the first one of its row: a snapshot that sees neither it nor what replaced it
//! finds no row. A chain that ends before either is known has lost something, which is an error, never "no row".
//!
//! Versions are keyed by table and clustered key, so they outlive a rebuild of the tree.
//!
//! # Where versions are
//! Rows are spread over shards by their hash. A shard appends to one segment ([`segment`]); when that is full it is frozen.
//!
//! | | frees | done by |
//! |---|---|---|
//! | [`VersionStore::reclaim`] | segments and runs of which no snapshot can need anything | the background thread, whoever lacks memory |
//! | [`VersionStore::compact`] | versions between two snapshots, by copying the others into a new segment | the same |
//! | [`VersionStore::spill`] | memory, by writing what is needed to a run ([`runs`]) | whoever lacks memory |
//!
//! Whatever moves is in its new place before it leaves the old one, and what is newer is looked at first. So a reader who
//! looks in the shard and then in the runs finds it. The shard's mutex is never held for I/O: a reader under a page latch
//! looks in memory only ([`VersionStore::find`]), and in the runs after he has let go ([`VersionStore::find_spilled`]).

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
/// Bytes of a segment that is appended to, unless there is little memory.
const SEGMENT_BYTES: u64 = 64 << 10;
/// A segment is copied together with an older one that is not more than this many times larger.
const SIMILAR: u64 = 2;

/// A replaced version of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Version<'a> {
    pub(crate) table: TableId,
    pub(crate) key: &'a [u8],
    /// The commit that wrote it.
    pub(crate) begin: CommitTs,
    /// The commit that replaced it, or is about to.
    pub(crate) end: CommitTs,
    /// There was no row before it.
    pub(crate) first: bool,
    /// `None`: a deletion.
    pub(crate) payload: Option<&'a [u8]>,
}

/// What a snapshot finds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// The row, with this payload.
    Row(Arc<[u8]>),
    /// No row.
    Absent,
    /// Not in memory: [`VersionStore::find_spilled`] knows.
    Spilled,
    /// The answer is not known, because something was not saved or freed too early: a bug, or the snapshot was given up.
    Missing,
}

impl Version<'_> {
    /// What `snapshot` finds if it does not see any newer version; `None` if an older one tells.
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

/// Part of the rows.
#[derive(Debug, Default)]
struct Shard {
    current: Segment,
    /// Oldest first.
    frozen: Vec<Arc<Segment>>,
}

impl Shard {
    fn freeze(&mut self) {
        if !self.current.is_empty() {
            self.frozen.push(Arc::new(std::mem::take(&mut self.current)));
        }
    }
}

/// How much there is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct VersionCounts {
    /// Versions in memory, and bytes they take.
    pub(crate) in_memory: (u64, u64),
    /// Versions in runs, and bytes of their files.
    pub(crate) in_runs: (u64, u64),
    /// Number of runs.
    pub(crate) runs: u64,
}

/// Saved versions of all rows.
pub(crate) struct VersionStore {
    hasher: RandomState,
    shards: Vec<Mutex<Shard>>,
    segment_bytes: usize,
    runs: Runs,
    memory: Arc<HistoryMemory>,
    /// Held while segments are copied or written: by one at a time.
    moving: Mutex<()>,
    versions: AtomicU64,
    bytes: AtomicU64,
}

impl VersionStore {
    /// A store whose runs are in `env`.
    pub(crate) fn new(env: &Arc<dyn Env>, memory: &Arc<HistoryMemory>) -> VersionStore {
        // A quarter of the memory at most is in segments that are not full.
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

    /// Saves the version that the commit at its end is about to replace. Saving it again changes nothing that is found, so
    /// that a page change may be tried more than once.
    pub(crate) fn save(&self, version: &Version<'_>) {
        let mut shard = self.shard(self.hash(version.table, version.key)).lock();
        let before = shard.current.memory();
        let added = shard.current.push(version, &|table, key| self.hash(table, key));
        // The index may grow although nothing is added.
        let grown = shard.current.memory() - before;
        self.versions.fetch_add(u64::from(added), Ordering::Relaxed);
        self.bytes.fetch_add(grown, Ordering::Relaxed);
        self.memory.add(grown);
        if shard.current.len() >= self.segment_bytes {
            shard.freeze();
        }
    }

    /// The row as `snapshot` sees it, given that it does not see the version on the page; looked for in memory only.
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

    /// The same where [`find`](Self::find) has not found it in memory. Reads files: the caller holds no latch.
    pub(crate) fn find_spilled(&self, table: TableId, key: &[u8], snapshot: &Snapshot) -> Result<Found> {
        self.runs.find(table, key, snapshot)
    }

    /// Frees segments and runs of which everything was replaced before `bound`, so that nobody can ask for it.
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

    /// Copies what is needed of frozen segments into new ones: of the newer ones, as long as that pays, or of `all`.
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

    /// Puts segments in the place of others.
    fn replace(&self, shard: &Mutex<Shard>, old: &[Arc<Segment>], new: Vec<Segment>) {
        let mut shard = shard.lock();
        let is_old = |segment: &Arc<Segment>| old.iter().any(|old| Arc::ptr_eq(old, segment));
        // If none is left, nobody needs anything of them any more.
        let Some(at) = shard.frozen.iter().position(is_old) else { return };
        shard.frozen.extract_if(.., |segment| is_old(segment)).for_each(|segment| self.forget(&segment));
        for segment in &new {
            self.versions.fetch_add(segment.versions(), Ordering::Relaxed);
            self.bytes.fetch_add(segment.memory(), Ordering::Relaxed);
            self.memory.add(segment.memory());
        }
        shard.frozen.splice(at..at, new.into_iter().map(Arc::new));
    }

    /// Writes what is needed of what is in memory to a run.
    ///
    /// # Errors
    /// What writing returns: everything is in memory then.
    pub(crate) fn spill(&self, needed: &Needed) -> Result<()> {
        let moving = self.moving.lock();
        let mut written = Vec::with_capacity(SHARDS);
        for shard in &self.shards {
            // So that a row's versions are in few segments.
            self.compact_shard(shard, needed, true, &moving);
            written.push(shard.lock().frozen.clone());
        }
        self.runs.write(&written, needed, &|table, key| self.hash(table, key))?;
        for (shard, segments) in self.shards.iter().zip(&written) {
            self.replace(shard, segments, Vec::new());
        }
        Ok(())
    }

    /// Merges runs where there are many.
    ///
    /// # Errors
    /// What reading and writing return: the runs are as they were then.
    pub(crate) fn merge_runs(&self, needed: &Needed) -> Result<()> {
        self.runs.merge(needed)
    }

    /// Whether there is nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.versions.load(Ordering::Relaxed) == 0 && self.runs.is_empty()
    }

    /// How much there is.
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
        // Other bits than those by which a segment finds its rows.
        &self.shards[(hash >> 40) as usize % SHARDS]
    }
}
