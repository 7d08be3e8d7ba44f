//! The writes of a transaction to the keys of one index: the newest in memory, older ones in runs.
//!
//! When memory is short, everything in memory is *frozen*: written to a run, with an entry for each key. A key may
//! then have writes in several layers (memory, and any number of runs). The writes in a newer layer are later than
//! those in an older one. If a layer knows the contents before the transaction's writes ([`Base::Is`]), older layers
//! do not count for the key.
//!
//! [`FAN_IN`] runs of the same level are merged into one of the next level. The number of runs therefore grows with
//! the logarithm of the amount written, and each write is written once per level. Writes that were rolled back are
//! left out when a run is written. A run in which all writes were rolled back is removed at once.

use super::history::{Aborted, Base, Encoded, KeyWrites, combine};
use super::key_map::{Iter, KeyMap};
use super::{NOW, State};
use crate::catalog::IndexDef;
use crate::error::{Result, TableError};
use crate::index::entry::unique_prefix;
use crate::run::{EntrySource, IndexedRun, IndexedRunWriter, Merge};
use leafline_storage::{Env, StorageError};
use std::cmp::Ordering;
use std::sync::Arc;

/// The number of runs of one level that are merged into one. It is small in tests, so that they have merges.
const FAN_IN: usize = if cfg!(test) { 3 } else { 16 };

/// The approximate memory of a key beyond itself, and of a write beyond its payload, in bytes: places in chunks,
/// vectors, reference counts and the allocator's overhead.
const KEY_OVERHEAD: u64 = 144;
const WRITE_OVERHEAD: u64 = 48;

/// A run, with its figures.
#[derive(Debug)]
pub(super) struct Frozen {
    pub(super) run: Arc<IndexedRun>,
    level: u32,
    /// Its first sequence number.
    first: u64,
}

/// The terms of writing a run.
#[derive(Clone, Copy)]
pub(super) struct Spill<'a> {
    pub(super) env: &'a Arc<dyn Env>,
    /// Whether there is memory for filters.
    pub(super) filtered: bool,
    /// The maximum size of the writes to one key, in bytes.
    pub(super) max_history: u64,
}

impl Spill<'_> {
    fn writer(&self, keys: u64) -> Result<IndexedRunWriter> {
        IndexedRunWriter::create(self.env, if self.filtered { keys } else { 0 })
    }

    fn push(
        &self,
        writer: &mut IndexedRunWriter,
        unique: Option<&IndexDef>,
        key: &[u8],
        payload: &[u8],
    ) -> Result<()> {
        let (size, limit) = (payload.len() as u64, self.max_history);
        if size > limit {
            return Err(TableError::TransactionTooLarge { size, limit });
        }
        match unique_parts(unique, key)? {
            Some(parts) => writer.push_as(key, parts, payload),
            None => writer.push(key, payload),
        }
    }
}

/// The unique parts of a key, if it has any. Filters contain them, so that keys can be searched for by them.
fn unique_parts<'a>(unique: Option<&IndexDef>, key: &'a [u8]) -> Result<Option<&'a [u8]>> {
    unique.map_or(Ok(None), |index| unique_prefix(index, key))
}

/// The writes to the keys of one index.
#[derive(Debug)]
pub(super) struct Layers {
    pub(super) memory: KeyMap<KeyWrites>,
    /// The approximate size of the writes in memory, in bytes.
    bytes: u64,
    /// The first sequence number in memory.
    first: u64,
    /// The index, if it is a secondary index whose keys have unique parts.
    unique: Option<Arc<IndexDef>>,
    /// The runs, oldest first; their levels do not ascend.
    pub(super) runs: Vec<Frozen>,
}

impl Default for Layers {
    fn default() -> Layers {
        Layers { memory: KeyMap::default(), bytes: 0, first: NOW, unique: None, runs: Vec::new() }
    }
}

impl Layers {
    /// Makes empty layers for the keys of a secondary index.
    pub(super) fn of_index(index: &Arc<IndexDef>) -> Layers {
        Layers { unique: index.is_unique().then(|| index.clone()), ..Layers::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.memory.is_empty() && self.runs.is_empty()
    }

    /// Returns whether there are runs.
    pub(super) fn has_runs(&self) -> bool {
        !self.runs.is_empty()
    }

    /// The bytes of memory that freezing returns.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The memory of the runs in bytes.
    pub(super) fn run_bytes(&self) -> u64 {
        self.runs.iter().map(|frozen| frozen.run.memory_bytes()).sum()
    }

    /// The maximum number of entries that freezing now writes to one run.
    pub(super) fn next_entries(&self) -> u64 {
        let merges = self.runs.iter().filter(|frozen| frozen.level == 0).count() + 1 >= FAN_IN;
        let merged = self.runs.iter().filter(|_| merges).map(|frozen| frozen.run.entries());
        self.memory.len() as u64 + merged.sum::<u64>()
    }

    /// The newest write to a key before `as_of`.
    pub(super) fn newest(&self, key: &[u8], as_of: u64, aborted: &Aborted) -> Result<Option<State>> {
        if let Some(writes) = self.memory.get(key) {
            if let Some(state) = writes.newest(as_of, aborted) {
                return Ok(Some(state.clone()));
            }
            if matches!(writes.base, Base::Is(_)) {
                return Ok(None);
            }
        }
        if self.runs.is_empty() {
            return Ok(None);
        }
        let parts = unique_parts(self.unique.as_deref(), key)?;
        for frozen in self.runs.iter().rev() {
            let payload = match parts {
                Some(parts) => frozen.run.get_as(key, parts)?,
                None => frozen.run.get(key)?,
            };
            let Some(payload) = payload else { continue };
            let encoded = Encoded::new(&payload)?;
            if let Some(state) = encoded.newest(as_of, aborted)? {
                return Ok(Some(state.map(Into::into)));
            }
            if encoded.base.is_some() {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Adds a write, and returns the contents before it. `base` contains the contents under the key if it was not
    /// written before, or if all writes were rolled back (the transaction may see a different row by now).
    pub(super) fn put(
        &mut self,
        key: &[u8],
        base: State,
        seq: u64,
        after: State,
        aborted: &Aborted,
    ) -> Result<State> {
        let earlier = match self.runs.is_empty() {
            true => None,
            false => self.newest(key, NOW, aborted)?,
        };
        if earlier.is_none() {
            let (writes, is_new) = self.memory.get_or_insert(key, || KeyWrites::new(Base::Is(None)));
            let newest = (!is_new).then(|| writes.newest(NOW, aborted).cloned()).flatten();
            let before = newest.unwrap_or_else(|| {
                if !is_new {
                    self.bytes -= size_of_key(key, writes);
                }
                *writes = KeyWrites::new(Base::Is(base.clone()));
                self.bytes += size_of_key(key, writes);
                base
            });
            self.first = self.first.min(seq);
            self.bytes += size_of_write(&after);
            writes.push(seq, after);
            return Ok(before);
        }
        self.push(key, seq, after);
        Ok(earlier.flatten())
    }

    /// Adds a write, whatever was there before.
    pub(super) fn push(&mut self, key: &[u8], seq: u64, state: State) {
        self.first = self.first.min(seq);
        self.bytes += size_of_write(&state);
        let (writes, is_new) = self.memory.get_or_insert(key, || KeyWrites::new(Base::Below));
        if is_new {
            self.bytes += KEY_OVERHEAD + key.len() as u64;
        }
        writes.push(seq, state);
    }

    /// Removes the layers in which all writes were rolled back, after all writes from `seq` on were.
    pub(super) fn forget_from(&mut self, seq: u64) {
        if self.first >= seq {
            self.clear_memory();
        }
        while self.runs.last().is_some_and(|frozen| frozen.first >= seq) {
            self.runs.pop();
        }
    }

    fn clear_memory(&mut self) {
        self.memory.clear();
        (self.bytes, self.first) = (0, NOW);
    }

    /// Removes writes in memory that were rolled back.
    pub(super) fn prune(&mut self, aborted: &Aborted) {
        self.memory.retain(|writes| writes.prune(aborted));
        self.bytes = self.memory.iter().map(|(key, writes)| size_of_key(key, writes)).sum();
        let seqs = self.memory.iter().flat_map(|(_, writes)| writes.iter()).map(|(seq, _)| *seq);
        self.first = seqs.min().unwrap_or(NOW);
    }

    /// Moves the writes in memory to a run. No write is lost if that fails.
    pub(super) fn freeze(&mut self, aborted: &Aborted, spill: Spill<'_>) -> Result<()> {
        if self.memory.is_empty() {
            return Ok(());
        }
        let mut writer = spill.writer(self.memory.len() as u64)?;
        let mut payload = Vec::new();
        for (key, writes) in self.memory.iter() {
            payload.clear();
            if writes.encode(aborted, &mut payload) {
                spill.push(&mut writer, self.unique.as_deref(), key, &payload)?;
            }
        }
        let first = self.first;
        self.add_run(writer, 0, first)?;
        self.clear_memory();
        Ok(())
    }

    fn add_run(&mut self, writer: IndexedRunWriter, level: u32, first: u64) -> Result<()> {
        let run = writer.finish()?;
        if run.entries() > 0 {
            self.runs.push(Frozen { run: Arc::new(run), level, first });
        }
        Ok(())
    }

    /// Merges runs if there are many. On a full disk it does nothing, and tries again when there are as many more.
    pub(super) fn merge_runs(&mut self, aborted: &Aborted, spill: Spill<'_>) -> Result<()> {
        while let Some(level) = self.runs.last().map(|frozen| frozen.level) {
            let from = self.runs.partition_point(|frozen| frozen.level > level);
            let merged = &self.runs[from..];
            if !merged.len().is_multiple_of(FAN_IN) {
                break;
            }
            let run = match merge(merged, self.unique.as_deref(), aborted, spill) {
                Err(TableError::Storage(StorageError::DiskFull)) => break,
                run => run?,
            };
            let first = merged.iter().map(|frozen| frozen.first).min().unwrap_or(NOW);
            self.runs.truncate(from);
            if run.entries() > 0 {
                self.runs.push(Frozen { run: Arc::new(run), level: level + 1, first });
            }
        }
        Ok(())
    }

    /// The writes in memory, in key order.
    pub(super) fn memory(&self) -> Iter<'_, KeyWrites> {
        self.memory.iter()
    }

    /// The writes in runs, in key order; memory must be empty.
    pub(super) fn groups(&self) -> Result<Groups> {
        debug_assert!(self.memory.is_empty());
        Groups::new(&self.runs)
    }

    /// Makes the layers of a secondary index with one run, which contains the writes of `sorted`: an entry each, key
    /// and [`encode_write`](super::history::encode_write), in key order. There are at most `entries` of them.
    pub(super) fn from_sorted(
        index: &Arc<IndexDef>,
        sorted: &mut dyn EntrySource,
        entries: u64,
        spill: Spill<'_>,
    ) -> Result<Layers> {
        let mut layers = Layers::of_index(index);
        let unique = layers.unique.clone();
        let mut writer = spill.writer(entries)?;
        let mut of_key: Vec<Vec<u8>> = Vec::new();
        let (mut key, mut first) = (Vec::new(), NOW);
        let mut write_key = |key: &[u8], of_key: &mut Vec<Vec<u8>>| -> Result<()> {
            // Sequence numbers are little-endian.
            let seq = |write: &[u8]| {
                let seq = write.first_chunk().expect("a write begins with its sequence number");
                u64::from_le_bytes(*seq)
            };
            of_key.sort_by_key(|write| seq(write));
            first = first.min(of_key.first().map_or(NOW, |write| seq(write)));
            // The flags: older layers know the base.
            let payload: Vec<u8> = [0].into_iter().chain(of_key.drain(..).flatten()).collect();
            spill.push(&mut writer, unique.as_deref(), key, &payload)
        };
        while let Some((next, write)) = sorted.next()? {
            if next != key.as_slice() {
                if !of_key.is_empty() {
                    write_key(&key, &mut of_key)?;
                }
                key.clear();
                key.extend_from_slice(next);
            }
            of_key.push(write.to_vec());
        }
        if !of_key.is_empty() {
            write_key(&key, &mut of_key)?;
        }
        // The run counts as merged from everything there was.
        layers.add_run(writer, u32::MAX, first)?;
        Ok(layers)
    }
}

fn merge(
    runs: &[Frozen],
    unique: Option<&IndexDef>,
    aborted: &Aborted,
    spill: Spill<'_>,
) -> Result<IndexedRun> {
    let mut writer = spill.writer(runs.iter().map(|frozen| frozen.run.entries()).sum())?;
    let mut groups = Groups::new(runs)?;
    while groups.next(aborted)? {
        spill.push(&mut writer, unique, &groups.key, &groups.payload)?;
    }
    writer.finish()
}

fn size_of_write(state: &State) -> u64 {
    WRITE_OVERHEAD + state.as_ref().map_or(0, |state| state.len() as u64)
}

fn size_of_key(key: &[u8], writes: &KeyWrites) -> u64 {
    let base = match &writes.base {
        Base::Is(Some(base)) => base.len() as u64,
        Base::Is(None) | Base::Below => 0,
    };
    let states: u64 = writes.iter().map(|(_, state)| size_of_write(state)).sum();
    KEY_OVERHEAD + key.len() as u64 + base + states
}

/// The keys of several runs in order, each with the writes in all of them.
pub(super) struct Groups {
    merge: Merge<'static>,
    /// The entry after the last one of the key.
    ahead: Option<(Vec<u8>, Vec<u8>)>,
    parts: Vec<Vec<u8>>,
    /// The key.
    pub(super) key: Vec<u8>,
    /// Its writes, as [`Encoded`].
    pub(super) payload: Vec<u8>,
}

impl Groups {
    fn new(runs: &[Frozen]) -> Result<Groups> {
        // The merge returns equal keys in the order of the sources.
        let sources = runs.iter().rev().map(|frozen| Box::new(frozen.run.reader()) as Box<dyn EntrySource>);
        let mut merge = Merge::new(sources.collect())?;
        let ahead = owned(merge.next()?);
        Ok(Groups { merge, ahead, parts: Vec::new(), key: Vec::new(), payload: Vec::new() })
    }

    /// Moves to the next key with writes that were not rolled back. Returns false at the end.
    pub(super) fn next(&mut self, aborted: &Aborted) -> Result<bool> {
        while let Some((key, payload)) = self.ahead.take() {
            self.parts.clear();
            self.parts.push(payload);
            self.key = key;
            while let Some((key, payload)) = self.merge.next()? {
                match key.cmp(&self.key) {
                    Ordering::Equal => self.parts.push(payload.to_vec()),
                    _ => {
                        self.ahead = Some((key.to_vec(), payload.to_vec()));
                        break;
                    }
                }
            }
            self.payload.clear();
            if combine(&self.parts, aborted, &mut self.payload)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn owned(entry: Option<(&[u8], &[u8])>) -> Option<(Vec<u8>, Vec<u8>)> {
    entry.map(|(key, payload)| (key.to_vec(), payload.to_vec()))
}

#[cfg(test)]
mod tests;
