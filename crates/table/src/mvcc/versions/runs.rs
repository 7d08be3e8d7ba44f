//! Old versions on disk, in runs that are sorted by table and clustered key. All versions of a row form one entry.
//!
//! An entry's key consists of the table (8 bytes, big-endian) and the clustered key. Its payload contains the
//! versions one after another, oldest first:
//!
//! | bytes | field |
//! |------:|-------|
//! |     8 | `begin`; the highest bit: it was the first version of its row |
//! |     8 | `end` |
//! |     4 | length of the payload; `u32::MAX`: the row was deleted |
//! |       | payload |
//!
//! All integers in the payload are little-endian. The versions of a row in a newer run are newer than those in an
//! older one, and older than those in memory. Versions that nobody needs are left out whenever a run is written or
//! runs are merged, and a run of which nobody needs anything is removed. The memory of a run (the first key of each
//! block, and ten bits per row unless that is too much) counts as memory of old versions.

use super::segment::{RowHash, Segment};
use super::{Found, Version};
use crate::catalog::TableId;
use crate::error::{Result, TableError};
use crate::mvcc::clock::Needed;
use crate::mvcc::history_memory::HistoryMemory;
use crate::mvcc::snapshot::Snapshot;
use crate::run::{EntrySource, IndexedRun, IndexedRunWriter, Merge, filter_bytes};
use leafline_btree::CommitTs;
use leafline_storage::Env;
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;

/// Runs are merged if there are more than this.
const MANY: usize = 4;
/// The maximum number of runs merged at once.
const MAX_FAN_IN: usize = 16;
/// A run is merged with newer ones if it is at most this many times larger than they are together.
const SIMILAR: u64 = 2;
/// The filter of a run takes at most this part of the memory; otherwise there is none, and a few large runs are read
/// in vain.
const FILTER_SHARE: u64 = 8;
/// A filter of up to this many bytes is always made.
const SMALL_FILTER: u64 = 64 << 10;
const HEADER: usize = 20;
const FIRST: u64 = 1 << 63;
const DELETED: u32 = u32::MAX;

#[derive(Debug)]
struct Run {
    entries: IndexedRun,
    versions: u64,
    newest_end: CommitTs,
}

/// The runs, oldest first. The list is replaced as a whole, so that readers hold no lock while they read files.
type VersionRunList = Arc<Vec<Arc<Run>>>;

pub(super) struct Runs {
    env: Arc<dyn Env>,
    memory: Arc<HistoryMemory>,
    list: RwLock<VersionRunList>,
    /// Held while runs are merged, by one thread at a time.
    merging: Mutex<()>,
}

impl Runs {
    pub(super) fn new(env: &Arc<dyn Env>, memory: &Arc<HistoryMemory>) -> Runs {
        let (env, memory) = (env.clone(), memory.clone());
        Runs { env, memory, list: RwLock::default(), merging: Mutex::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.read().is_empty()
    }

    /// The number of runs, the number of versions in them, and the bytes of their files.
    pub(super) fn counts(&self) -> (u64, (u64, u64)) {
        let list = self.list.read().clone();
        let versions = list.iter().map(|run| run.versions).sum();
        (list.len() as u64, (versions, list.iter().map(|run| run.entries.file_bytes()).sum()))
    }

    pub(super) fn find(&self, table: TableId, key: &[u8], snapshot: &Snapshot) -> Result<Found> {
        let list = self.list.read().clone();
        let run_key = run_key(table, key);
        for run in list.iter().rev() {
            let Some(payload) = run.entries.get(&run_key)? else { continue };
            let versions: Vec<Version<'_>> = versions_in(table, key, &payload).collect::<Result<_>>()?;
            if let Some(found) = versions.iter().rev().find_map(|version| version.shown_to(snapshot)) {
                return Ok(found);
            }
        }
        Ok(Found::Missing)
    }

    /// Removes the runs in which every version was replaced before `bound`.
    pub(super) fn reclaim(&self, bound: CommitTs) {
        if self.list.read().iter().any(|run| run.newest_end < bound) {
            self.change(|list| list.retain(|run| run.newest_end >= bound));
        }
    }

    /// Writes the needed versions of segments, given by shard, oldest first, to a new run.
    pub(super) fn write(
        &self,
        shards: &[Vec<Arc<Segment>>],
        needed: &Needed,
        hash: RowHash<'_>,
    ) -> Result<()> {
        let segments: Vec<(&Segment, &[Arc<Segment>])> = shards
            .iter()
            .flat_map(|shard| shard.iter().map(|segment| (&**segment, shard.as_slice())))
            .collect();
        // Segment and offset. The memory for sorting does not count as memory of versions, so that it must be small.
        let mut rows: Vec<(u32, u32)> = Vec::new();
        for (number, (segment, _)) in (0..).zip(&segments) {
            rows.extend(segment.rows().map(|offset| (number, offset)));
        }
        let row = |&(segment, offset): &(u32, u32)| segments.get(segment as usize)?.0.row(offset);
        rows.sort_unstable_by(|a, b| row(a).cmp(&row(b)));
        rows.dedup_by(|a, b| row(a) == row(b));
        let mut writer = self.writer(rows.len() as u64);
        let mut versions = Vec::new();
        for at in &rows {
            let (Some((table, key)), Some((_, shard))) = (row(at), segments.get(at.0 as usize)) else {
                continue;
            };
            versions.clear();
            let hash = hash(table, key);
            for segment in shard.iter().rev() {
                versions.extend(segment.of_row(hash, table, key));
            }
            versions.reverse();
            writer.push(&run_key(table, key), &versions, needed)?;
        }
        if let Some(run) = writer.finish()? {
            self.change(|list| list.push(Arc::new(run)));
        }
        Ok(())
    }

    /// Merges the newest runs into one if there are many.
    pub(super) fn merge(&self, needed: &Needed) -> Result<()> {
        let _merging = self.merging.lock();
        let list = self.list.read().clone();
        if list.len() <= MANY {
            return Ok(());
        }
        let mut bytes = 0;
        let similar = list.iter().rev().enumerate().take_while(|(at, run)| {
            let take = *at < 2 || run.entries.file_bytes() <= SIMILAR * bytes;
            bytes += run.entries.file_bytes();
            take
        });
        let count = similar.count().min(MAX_FAN_IN);
        let old = &list[list.len() - count..];
        let entries = old.iter().map(|run| run.entries.entries()).sum();
        let merged = merged(self.writer(entries), old, needed)?;
        self.change(|list| {
            let is_old = |run: &Arc<Run>| old.iter().any(|old| Arc::ptr_eq(old, run));
            // If none of them is left, nobody needs their versions any more.
            let Some(at) = list.iter().position(is_old) else { return };
            list.retain(|run| !is_old(run));
            if let Some(merged) = merged {
                list.insert(at, Arc::new(merged));
            }
        });
        Ok(())
    }

    /// Makes a writer for up to `rows` rows.
    fn writer(&self, rows: u64) -> Writer<'_> {
        let most = (self.memory.limit() / FILTER_SHARE).max(SMALL_FILTER);
        let filtered = if filter_bytes(rows) <= most { rows } else { 0 };
        let (newest_end, payload) = (CommitTs::NONE, Vec::new());
        Writer { env: &self.env, filtered, entries: None, versions: 0, newest_end, payload }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Run>>)) {
        let memory = |list: &[Arc<Run>]| list.iter().map(|run| run.entries.memory_bytes()).sum::<u64>();
        let mut list = self.list.write();
        let mut changed = list.to_vec();
        change(&mut changed);
        self.memory.add(memory(&changed));
        self.memory.remove(memory(&list));
        let old = std::mem::replace(&mut *list, Arc::new(changed));
        drop(list);
        // Removes files that nobody reads any more, while nothing is locked.
        drop(old);
    }
}

fn merged(mut writer: Writer<'_>, runs: &[Arc<Run>], needed: &Needed) -> Result<Option<Run>> {
    let sources = runs.iter().map(|run| Box::new(run.entries.reader()) as Box<dyn EntrySource>);
    let mut merge = Merge::new(sources.collect())?;
    let (mut row, mut payload) = (Vec::new(), Vec::new());
    loop {
        let next = merge.next()?;
        if let Some((key, more)) = next
            && *key == row
        {
            // Sources with equal keys come in their order, the older run first.
            payload.extend_from_slice(more);
            continue;
        }
        if !row.is_empty() {
            let versions: Vec<_> = versions_in(TableId(0), &[], &payload).collect::<Result<_>>()?;
            writer.push(&row, &versions, needed)?;
        }
        let Some((key, first)) = next else { return writer.finish() };
        row.clear();
        row.extend_from_slice(key);
        payload.clear();
        payload.extend_from_slice(first);
    }
}

/// Writes a run of needed versions. Without any there is no file.
struct Writer<'a> {
    env: &'a Arc<dyn Env>,
    /// The maximum number of rows, or 0 for no filter.
    filtered: u64,
    entries: Option<IndexedRunWriter>,
    versions: u64,
    newest_end: CommitTs,
    payload: Vec<u8>,
}

impl Writer<'_> {
    /// Adds the versions of a row, oldest first.
    fn push(&mut self, key: &[u8], versions: &[Version<'_>], needed: &Needed) -> Result<()> {
        self.payload.clear();
        for version in versions.iter().filter(|version| version.is_needed(needed)) {
            let begin = version.begin.0 | if version.first { FIRST } else { 0 };
            let length = version.payload.map_or(DELETED, |payload| payload.len() as u32);
            self.payload.extend_from_slice(&begin.to_le_bytes());
            self.payload.extend_from_slice(&version.end.0.to_le_bytes());
            self.payload.extend_from_slice(&length.to_le_bytes());
            self.payload.extend_from_slice(version.payload.unwrap_or_default());
            self.versions += 1;
            self.newest_end = self.newest_end.max(version.end);
        }
        if self.payload.is_empty() {
            return Ok(());
        }
        let entries = match &mut self.entries {
            Some(entries) => entries,
            none => none.insert(IndexedRunWriter::create(self.env, self.filtered)?),
        };
        entries.push(key, &self.payload)
    }

    fn finish(self) -> Result<Option<Run>> {
        let Writer { entries, versions, newest_end, .. } = self;
        let entries = entries.map(IndexedRunWriter::finish).transpose()?;
        Ok(entries.map(|entries| Run { entries, versions, newest_end }))
    }
}

fn run_key(table: TableId, key: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 + key.len());
    bytes.extend_from_slice(&table.0.to_be_bytes());
    bytes.extend_from_slice(key);
    bytes
}

fn versions_in<'a>(
    table: TableId,
    key: &'a [u8],
    mut bytes: &'a [u8],
) -> impl Iterator<Item = Result<Version<'a>>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let Some((version, rest)) = decode(table, key, bytes) else {
            bytes = &[];
            return Some(Err(TableError::Corrupt("an old version in a run is cut off".into())));
        };
        bytes = rest;
        Some(Ok(version))
    })
}

/// Decodes the first version, and returns the bytes after it.
fn decode<'a>(table: TableId, key: &'a [u8], bytes: &'a [u8]) -> Option<(Version<'a>, &'a [u8])> {
    let (header, rest) = bytes.split_first_chunk::<HEADER>()?;
    let u64_at = |at: usize| header.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let length = header.get(16..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))?;
    let begin = u64_at(0)?;
    let (payload, rest) = if length == DELETED {
        (None, rest)
    } else {
        let (payload, rest) = rest.split_at_checked(length as usize)?;
        (Some(payload), rest)
    };
    let (end, first) = (CommitTs(u64_at(8)?), begin & FIRST != 0);
    Some((Version { table, key, begin: CommitTs(begin & !FIRST), end, first, payload }, rest))
}
