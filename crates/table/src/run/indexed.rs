//! Runs that are searched, by key and by cursors that move in both directions.
//!
//! The file has the format of other runs (see [`super::file`]), with smaller blocks, because most searches
//! need a single entry of a block. Memory holds the first key of every block and a Bloom filter over all
//! keys. A look-up therefore reads one block, and none for most absent keys. Keys are unique and ascend.
//!
//! The index has a maximum size. When it is reached, every other key is removed, and from then on a group
//! of twice as many blocks is read at once: 64 KiB for a run of 1 GB with keys of 30 bytes.
//! twice as many blocks: with keys of 30 bytes 64 KiB for a run of a GB.

use super::EntrySource;
use super::file::{RunFile, RunReader, RunWriter};
use super::filter::BloomFilter;
use crate::error::{Result, TableError};
use leafline_storage::Env;
use parking_lot::Mutex;
use std::sync::Arc;

/// The size of a block with more than one entry, in bytes.
const BLOCK_BYTES: usize = 16 << 10;
/// The number of recently read groups of blocks that each run keeps, for cursors that return: one in each
/// direction.
const RECENT: usize = 2;
/// The maximum size of a run's index, in bytes.
const MOST_INDEX_BYTES: usize = if cfg!(test) { 512 } else { 1 << 20 };

/// The place of a group of blocks, and of its first key in the index's bytes. The key ends where the next
/// one begins.
#[derive(Clone, Copy)]
struct GroupStart {
    offset: u64,
    key: usize,
}

/// The first keys of groups of consecutive blocks, in order.
struct SparseIndex {
    groups: Vec<GroupStart>,
    keys: Vec<u8>,
    /// The number of blocks in a group; the last group may have fewer.
    blocks_of_group: usize,
    /// The number of blocks.
    blocks: usize,
}

impl SparseIndex {
    fn new() -> SparseIndex {
        SparseIndex { groups: Vec::new(), keys: Vec::new(), blocks_of_group: 1, blocks: 0 }
    }

    /// Adds the next block, which begins at `offset` with `key`.
    fn push(&mut self, offset: u64, key: &[u8]) {
        if self.blocks.is_multiple_of(self.blocks_of_group) {
            self.groups.push(GroupStart { offset, key: self.keys.len() });
            self.keys.extend_from_slice(key);
        }
        self.blocks += 1;
        if self.bytes() > MOST_INDEX_BYTES && self.groups.len() > 1 {
            self.join_groups();
        }
    }

    /// Joins the groups in pairs.
    fn join_groups(&mut self) {
        let (mut groups, mut keys) = (Vec::new(), Vec::new());
        for (number, start) in self.groups.iter().enumerate().step_by(2) {
            groups.push(GroupStart { offset: start.offset, key: keys.len() });
            keys.extend_from_slice(self.first_key(number));
        }
        (self.groups, self.keys) = (groups, keys);
        self.blocks_of_group *= 2;
    }

    fn bytes(&self) -> usize {
        self.keys.len() + self.groups.len() * size_of::<GroupStart>()
    }

    fn first_key(&self, group: usize) -> &[u8] {
        let begin = self.groups.get(group).map_or(self.keys.len(), |start| start.key);
        let end = self.groups.get(group + 1).map_or(self.keys.len(), |start| start.key);
        &self.keys[begin..end]
    }

    /// The group that contains `key`, if one does.
    fn find(&self, key: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (0, self.groups.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.first_key(middle) <= key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.checked_sub(1)
    }
}

/// A group of blocks in memory.
struct Loaded {
    number: usize,
    /// The entries: length of the key (4 bytes), key, payload.
    bytes: Vec<u8>,
    /// The beginnings of the entries, and the end of the last one.
    bounds: Vec<u32>,
}

impl Loaded {
    fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The entry in a slot below [`len`](Self::len): key and payload.
    fn entry(&self, slot: usize) -> (&[u8], &[u8]) {
        let entry = &self.bytes[self.bounds[slot] as usize..self.bounds[slot + 1] as usize];
        let (length, entry) = entry.split_first_chunk().expect("an entry begins with the length of its key");
        entry.split_at(u32::from_le_bytes(*length) as usize)
    }

    /// The first slot whose key is not below `key`.
    fn lower_bound(&self, key: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.entry(middle).0 < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// A finished run that can be searched. Its file is removed when it is dropped.
pub(crate) struct IndexedRun {
    file: Arc<RunFile>,
    index: SparseIndex,
    last_key: Vec<u8>,
    filter: Option<BloomFilter>,
    entries: u64,
    /// The groups read recently, the latest one first.
    recent: Mutex<[Option<Arc<Loaded>>; RECENT]>,
}

impl IndexedRun {
    /// Returns whether there may be an entry that was added to the filter as `key`.
    pub(crate) fn may_contain(&self, key: &[u8]) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.may_contain(key))
    }

    /// The payload under `key`.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.get_as(key, key)
    }

    /// The payload under `key`, which was added to the filter as `filtered`.
    pub(crate) fn get_as(&self, key: &[u8], filtered: &[u8]) -> Result<Option<Vec<u8>>> {
        if key > self.last_key.as_slice() || key < self.index.first_key(0) || !self.may_contain(filtered) {
            return Ok(None);
        }
        let Some(number) = self.index.find(key) else { return Ok(None) };
        let block = self.load(number)?;
        let slot = block.lower_bound(key);
        let found = (slot < block.len()).then(|| block.entry(slot)).filter(|(found, _)| *found == key);
        Ok(found.map(|(_, payload)| payload.to_vec()))
    }

    /// Makes a cursor before the first entry.
    pub(crate) fn cursor(self: &Arc<Self>) -> RunCursor {
        RunCursor { run: self.clone(), loaded: None, group: 0, slot: 0 }
    }

    /// Reads all entries, in large pieces.
    pub(crate) fn reader(&self) -> impl EntrySource + use<> {
        RunReader::new(self.file.clone())
    }

    /// The number of entries.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// The size of the file in bytes.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// The memory of the index, the filter and the recent groups of blocks, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let filter = self.filter.as_ref().map_or(0, BloomFilter::bytes);
        let recent = RECENT * self.index.blocks_of_group * BLOCK_BYTES;
        (self.index.bytes() + self.last_key.len() + recent) as u64 + filter
    }

    fn load(&self, number: usize) -> Result<Arc<Loaded>> {
        let mut recent = self.recent.lock();
        let at = recent.iter().position(|block| block.as_ref().is_some_and(|block| block.number == number));
        recent[..=at.unwrap_or(RECENT - 1)].rotate_right(1);
        if at.is_some()
            && let Some(block) = &recent[0]
        {
            return Ok(block.clone());
        }
        recent[0] = None;
        // Other readers need not wait for this read.
        drop(recent);
        let block = Arc::new(self.read(number)?);
        self.recent.lock()[0] = Some(block.clone());
        Ok(block)
    }

    fn read(&self, number: usize) -> Result<Loaded> {
        let offset =
            |number: usize| self.index.groups.get(number).map_or(self.file.bytes(), |start| start.offset);
        let (begin, end) = (offset(number), offset(number + 1));
        let (mut bytes, mut bounds) = (Vec::with_capacity((end - begin) as usize), vec![0]);
        self.file.read_blocks(begin, end, &mut |key, payload| {
            bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
            bytes.extend_from_slice(key);
            bytes.extend_from_slice(payload);
            bounds.push(bytes.len() as u32);
        })?;
        Ok(Loaded { number, bytes, bounds })
    }
}

impl std::fmt::Debug for IndexedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexedRun")
            .field("entries", &self.entries)
            .field("bytes", &self.file_bytes())
            .finish()
    }
}

/// A position between two entries of a run, before the first one, or after the last one.
pub(crate) struct RunCursor {
    run: Arc<IndexedRun>,
    /// The group of blocks read last.
    loaded: Option<Arc<Loaded>>,
    group: usize,
    /// The slot in the group. The group's length is the same position as the beginning of the next group.
    slot: usize,
}

impl RunCursor {
    /// Goes to the first entry whose key is not below `key`: [`next`](Self::next) returns it, and
    /// [`previous`](Self::previous) the one before.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        if key > self.run.last_key.as_slice() {
            self.seek_end();
            return Ok(());
        }
        (self.group, self.slot) = match self.run.index.find(key) {
            None => (0, 0),
            Some(group) => (group, self.load(group)?.lower_bound(key)),
        };
        Ok(())
    }

    /// Goes to the end, after the last entry.
    pub(crate) fn seek_end(&mut self) {
        (self.group, self.slot) = (self.run.index.groups.len(), 0);
    }

    /// Returns the entry after the position, and moves past it.
    pub(crate) fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        loop {
            if self.group >= self.run.index.groups.len() {
                return Ok(None);
            }
            if self.slot < self.load(self.group)?.len() {
                break;
            }
            (self.group, self.slot) = (self.group + 1, 0);
        }
        let slot = self.slot;
        self.slot += 1;
        Ok(self.loaded.as_ref().map(|block| block.entry(slot)))
    }

    /// Returns the entry before the position, and moves before it.
    pub(crate) fn previous(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        while self.slot == 0 {
            let Some(group) = self.group.checked_sub(1) else { return Ok(None) };
            (self.group, self.slot) = (group, self.load(group)?.len());
        }
        self.slot -= 1;
        let (group, slot) = (self.group, self.slot);
        Ok(Some(self.load(group)?.entry(slot)))
    }

    fn load(&mut self, number: usize) -> Result<&Loaded> {
        let block = match self.loaded.take().filter(|block| block.number == number) {
            Some(block) => block,
            None => self.run.load(number)?,
        };
        Ok(self.loaded.insert(block))
    }
}

/// Writes a run that can be searched.
pub(crate) struct IndexedRunWriter {
    file: RunWriter,
    index: SparseIndex,
    last_key: Vec<u8>,
    filter: Option<BloomFilter>,
    entries: u64,
}

impl IndexedRunWriter {
    /// Creates a temporary run, with a filter for up to `filtered` keys, whose size is
    /// [`filter_bytes`](super::filter_bytes). With 0 there is no filter, and the look-up of an absent key
    /// reads a block too.
    pub(crate) fn create(env: &Arc<dyn Env>, filtered: u64) -> Result<IndexedRunWriter> {
        Ok(IndexedRunWriter {
            file: RunWriter::create_with_blocks(env, BLOCK_BYTES)?,
            index: SparseIndex::new(),
            last_key: Vec::new(),
            filter: BloomFilter::new(filtered),
            entries: 0,
        })
    }

    /// Adds an entry, whose key must be greater than the last one.
    pub(crate) fn push(&mut self, key: &[u8], payload: &[u8]) -> Result<()> {
        self.push_as(key, key, payload)
    }

    /// Adds an entry like [`push`](Self::push), with the key `filtered` in the filter.
    pub(crate) fn push_as(&mut self, key: &[u8], filtered: &[u8], payload: &[u8]) -> Result<()> {
        if self.entries > 0 && key <= self.last_key.as_slice() {
            return Err(TableError::Internal("the keys of a run do not ascend".into()));
        }
        if let Some(offset) = self.file.push(key, payload)? {
            self.index.push(offset, key);
        }
        if let Some(filter) = &mut self.filter {
            filter.add(filtered);
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        self.entries += 1;
        Ok(())
    }

    /// Writes the remaining entries.
    pub(crate) fn finish(mut self) -> Result<IndexedRun> {
        self.index.keys.shrink_to_fit();
        self.index.groups.shrink_to_fit();
        Ok(IndexedRun {
            file: Arc::new(self.file.finish()?),
            index: self.index,
            last_key: self.last_key,
            filter: self.filter,
            entries: self.entries,
            recent: Mutex::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Merge, TEMP};
    use leafline_storage::device::SimulatedEnv;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    use std::collections::BTreeMap;
    use std::ops::Bound;

    type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

    fn random_entries(random: &mut SmallRng, count: usize) -> Entries {
        let entry = |random: &mut SmallRng| {
            let mut key = vec![0; random.random_range(0..6)];
            random.fill(&mut key[..]);
            let largest = if random.random_range(0..100) == 0 { 40_000 } else { 300 };
            (key, vec![random.random(); random.random_range(0..largest)])
        };
        (0..count).map(|_| entry(random)).collect()
    }

    fn write(env: &Arc<dyn Env>, entries: &Entries, filtered: u64) -> Arc<IndexedRun> {
        let mut writer = IndexedRunWriter::create(env, filtered).unwrap();
        entries.iter().for_each(|(key, payload)| writer.push(key, payload).unwrap());
        Arc::new(writer.finish().unwrap())
    }

    fn owned(entry: Option<(&[u8], &[u8])>) -> Option<(Vec<u8>, Vec<u8>)> {
        entry.map(|(key, payload)| (key.to_vec(), payload.to_vec()))
    }

    #[test]
    fn cursors_and_look_ups_agree_with_a_map() {
        let seed = crate::testing::seed();
        let mut random = SmallRng::seed_from_u64(seed);
        for round in 0..10 * crate::testing::scale() {
            let env: Arc<dyn Env> = Arc::new(SimulatedEnv::new());
            let count = [0, 1, 50, 1500, 6000][round as usize % 5];
            let entries = random_entries(&mut random, count);
            let filtered = if random.random() { entries.len() as u64 } else { 0 };
            let run = write(&env, &entries, filtered);
            assert_eq!(run.entries(), entries.len() as u64);
            assert!(run.index.bytes() <= MOST_INDEX_BYTES, "seed {seed}");
            assert!(run.index.blocks_of_group <= 16 && (count < 6000 || run.index.blocks_of_group > 2));
            let mut reader = run.reader();
            for (key, payload) in &entries {
                assert_eq!(reader.next().unwrap(), Some((&key[..], &payload[..])), "seed {seed}");
                assert_eq!(run.get(key).unwrap().as_ref(), Some(payload), "seed {seed}");
            }
            assert_eq!(reader.next().unwrap(), None);
            drop(reader);
            let mut cursor = run.cursor();
            let mut gap: Option<Vec<u8>> = Some(Vec::new());
            for _ in 0..2000 {
                let mut target = vec![0; random.random_range(0..4)];
                random.fill(&mut target[..]);
                assert_eq!(run.get(&target).unwrap().as_ref(), entries.get(&target), "seed {seed}");
                match random.random_range(0..20) {
                    0..=2 => {
                        cursor.seek(&target).unwrap();
                        gap = Some(target);
                    }
                    3 => {
                        cursor.seek_end();
                        gap = None;
                    }
                    4..12 => {
                        let after = gap.clone().and_then(|gap| entries.range(gap..).next());
                        let after = after.map(|(key, payload)| (key.clone(), payload.clone()));
                        assert_eq!(owned(cursor.next().unwrap()), after, "seed {seed}");
                        gap = after.map(|(mut key, _)| {
                            key.push(0);
                            key
                        });
                    }
                    _ => {
                        let bound = gap.clone().map_or(Bound::Unbounded, Bound::Excluded);
                        let before = entries.range((Bound::Unbounded, bound)).next_back();
                        let before = before.map(|(key, payload)| (key.clone(), payload.clone()));
                        assert_eq!(owned(cursor.previous().unwrap()), before, "seed {seed}");
                        gap = Some(before.map_or(Vec::new(), |(key, _)| key));
                    }
                }
            }
            drop((cursor, run));
            assert!(env.list(TEMP).unwrap().is_empty(), "the file is removed");
        }
    }

    #[test]
    fn absent_keys_cost_no_reads() {
        let simulated = SimulatedEnv::new();
        let env: Arc<dyn Env> = Arc::new(simulated.clone());
        let key = |number: u32| number.to_be_bytes().to_vec();
        let entries = (0..20_000).map(|number| (key(2 * number), vec![1; 20])).collect();
        let run = write(&env, &entries, 20_000);
        // An index, groups of two blocks, and ten bits a key.
        let most = 20_000 * 10 / 8 + (MOST_INDEX_BYTES + RECENT * 2 * BLOCK_BYTES) as u64;
        assert!(run.memory_bytes() < most, "{} bytes", run.memory_bytes());
        let before = simulated.counts().reads;
        for number in 0..20_000 {
            assert_eq!(run.get(&key(2 * number + 1)).unwrap(), None);
        }
        let reads = simulated.counts().reads - before;
        assert!(reads < 1000, "{reads} reads");
        assert_eq!(run.get(&key(60_000)).unwrap(), None);
        assert_eq!(run.get(&[]).unwrap(), None);
        // Keys in order: each block is read once.
        let before = simulated.counts().reads;
        (0..20_000).for_each(|number| assert!(run.get(&key(2 * number)).unwrap().is_some()));
        assert!(simulated.counts().reads - before <= run.file_bytes() / 4096);
    }

    #[test]
    fn damage_and_wrong_order_are_errors() {
        let simulated = SimulatedEnv::new();
        let env: Arc<dyn Env> = Arc::new(simulated.clone());
        let entries: Entries = (0..200u8).map(|number| (vec![number], vec![number; 1000])).collect();
        let run = write(&env, &entries, 0);
        let name = format!("{TEMP}/{}", env.list(TEMP).unwrap()[0]);
        simulated.damage(&name, 20 << 10, &mut |block| block[0] ^= 1).unwrap();
        assert_eq!(run.get(&[0]).unwrap(), Some(vec![0; 1000]));
        assert!(matches!(run.get(&[17]), Err(TableError::Corrupt(_))));
        let mut cursor = run.cursor();
        let mut seen = 0;
        let failed = loop {
            match cursor.next() {
                Ok(entry) => seen += usize::from(entry.is_some()),
                Err(error) => break error,
            }
        };
        assert!(matches!(failed, TableError::Corrupt(_)));
        assert!((10..20).contains(&seen), "{seen} entries before the damage");
        cursor.seek(&[150]).unwrap();
        assert_eq!(cursor.next().unwrap().unwrap().0, [150]);
        let mut merge = Merge::new(vec![Box::new(run.reader())]).unwrap();
        assert!((0..200).any(|_| merge.next().is_err()));
        let mut writer = IndexedRunWriter::create(&env, 0).unwrap();
        writer.push(&[2], &[]).unwrap();
        assert!(matches!(writer.push(&[2], &[]), Err(TableError::Internal(_))));
        assert!(matches!(writer.push(&[1], &[]), Err(TableError::Internal(_))));
    }
}
