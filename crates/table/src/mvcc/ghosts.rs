//! The queue of ghosts: deleted rows and entries that wait to be removed, nearly in the order of their timestamps.
//!
//! A crash loses the queue; later writes to a page remove older ghosts from it. The queue may therefore also drop
//! ghosts when temporary space is full; they only take space for longer.
//!
//! | part | contents | locked by |
//! |---|---|---|
//! | front | chunks in memory, then files, both in order | the removal of ghosts, and spilling |
//! | back | chunks in memory, newer than those in files | commits, briefly |
//!
//! A chunk contains ghosts one after another: timestamp (8 bytes), tree (8), length of the key (4), key.

use super::history_memory::HistoryMemory;
use crate::error::Result;
use crate::run::{RunFile, RunWriter};
use leafline_btree::CommitTs;
use leafline_storage::device::AlignedBuf;
use leafline_storage::{Env, SegmentId};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The maximum size of a chunk in bytes, unless it contains a single ghost.
const CHUNK_BYTES: usize = 16 << 10;
const HEADER: usize = 20;

/// A deleted row or entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ghost<'a> {
    /// The commit that deleted it.
    pub(crate) ts: CommitTs,
    pub(crate) tree: SegmentId,
    pub(crate) key: &'a [u8],
}

/// Some ghosts, in order.
pub(crate) struct GhostChunk {
    bytes: Vec<u8>,
    /// The position of the first remaining ghost.
    first: usize,
    memory: Arc<HistoryMemory>,
    /// The number of bytes counted as used.
    counted: u64,
}

impl GhostChunk {
    fn new(memory: &Arc<HistoryMemory>, bytes: Vec<u8>) -> GhostChunk {
        let mut chunk = GhostChunk { bytes, first: 0, memory: memory.clone(), counted: 0 };
        chunk.count();
        chunk
    }

    fn push(&mut self, ghost: Ghost<'_>) {
        self.bytes.extend_from_slice(&ghost.ts.0.to_le_bytes());
        self.bytes.extend_from_slice(&ghost.tree.0.to_le_bytes());
        self.bytes.extend_from_slice(&(ghost.key.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(ghost.key);
        self.count();
    }

    fn count(&mut self) {
        let bytes = self.bytes.capacity() as u64;
        if bytes > self.counted {
            self.memory.add(bytes - self.counted);
            self.counted = bytes;
        }
    }

    /// The first ghost.
    pub(crate) fn first(&self) -> Option<Ghost<'_>> {
        let (header, rest) = self.bytes.get(self.first..)?.split_first_chunk::<HEADER>()?;
        let u64_at = |at: usize| header.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let length = header.get(16..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))?;
        let (ts, tree) = (CommitTs(u64_at(0)?), SegmentId(u64_at(8)?));
        Some(Ghost { ts, tree, key: rest.get(..length as usize)? })
    }

    /// Removes the first ghost.
    pub(crate) fn pop(&mut self) {
        let ghost = self.first().expect("a chunk is left when its last ghost has gone");
        self.first += HEADER + ghost.key.len();
    }

    fn len(&self) -> u64 {
        let mut rest = &self.bytes[self.first..];
        let mut count = 0;
        while let Some(length) = rest.get(16..HEADER).and_then(|length| length.first_chunk()) {
            rest = rest.get(HEADER + u32::from_le_bytes(*length) as usize..).unwrap_or_default();
            count += 1;
        }
        count
    }
}

impl Drop for GhostChunk {
    fn drop(&mut self) {
        self.memory.remove(self.counted);
    }
}

/// Chunks in a file, and the position of the next one.
struct ChunkFile {
    run: RunFile,
    next: u64,
    /// The number of ghosts from that position on.
    ghosts: u64,
}

#[derive(Default)]
struct Front {
    chunks: VecDeque<GhostChunk>,
    files: VecDeque<ChunkFile>,
}

/// The size of the queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct GhostCounts {
    /// The number of waiting ghosts.
    pub(crate) waiting: u64,
    /// The size of the queue's files in bytes.
    pub(crate) file_bytes: u64,
    /// The number of ghosts left to later writes for lack of temporary space.
    pub(crate) forgotten: u64,
}

/// The queue.
pub(crate) struct GhostQueue {
    env: Arc<dyn Env>,
    memory: Arc<HistoryMemory>,
    front: Mutex<Front>,
    back: Mutex<VecDeque<GhostChunk>>,
    waiting: AtomicU64,
    file_bytes: AtomicU64,
    forgotten: AtomicU64,
}

impl GhostQueue {
    pub(crate) fn new(env: &Arc<dyn Env>, memory: &Arc<HistoryMemory>) -> GhostQueue {
        GhostQueue {
            env: env.clone(),
            memory: memory.clone(),
            front: Mutex::default(),
            back: Mutex::default(),
            waiting: AtomicU64::new(0),
            file_bytes: AtomicU64::new(0),
            forgotten: AtomicU64::new(0),
        }
    }

    /// Adds the ghosts of the commit at `ts`, one of the newest.
    pub(crate) fn add<'a>(&self, ts: CommitTs, ghosts: impl Iterator<Item = (SegmentId, &'a [u8])>) {
        let mut ghosts = ghosts.map(|(tree, key)| Ghost { ts, tree, key }).peekable();
        if ghosts.peek().is_none() {
            return;
        }
        let mut back = self.back.lock();
        for ghost in ghosts {
            let bytes = HEADER + ghost.key.len();
            if back.back().is_none_or(|chunk| chunk.bytes.len() + bytes > CHUNK_BYTES) {
                back.push_back(GhostChunk::new(&self.memory, Vec::new()));
            }
            if let Some(chunk) = back.back_mut() {
                chunk.push(ghost);
                self.waiting.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Takes the oldest ghosts out if the first of them is from before `bound`. The caller reports each ghost it has
    /// removed ([`removed`](Self::removed)), and puts back the rest.
    pub(crate) fn take(&self, bound: CommitTs) -> Option<GhostChunk> {
        let mut front = self.front.lock();
        if front.chunks.is_empty() {
            self.fill(&mut front);
        }
        let old = front.chunks.front().and_then(GhostChunk::first).is_some_and(|ghost| ghost.ts < bound);
        if old { front.chunks.pop_front() } else { None }
    }

    /// Puts back the rest of a chunk.
    pub(crate) fn put_back(&self, chunk: GhostChunk) {
        if chunk.first().is_some() {
            self.front.lock().chunks.push_front(chunk);
        }
    }

    /// Notes that a ghost of a chunk that was taken out is removed.
    pub(crate) fn removed(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Gets the next chunks from a file, or else from the back.
    fn fill(&self, front: &mut Front) {
        while let Some(file) = front.files.front_mut() {
            let chunks = file.next_chunks(&self.memory).unwrap_or_default();
            if !chunks.is_empty() {
                front.chunks.extend(chunks);
                return;
            }
            // The rest of an unreadable file is dropped.
            self.forget(file.ghosts);
            self.file_bytes.fetch_sub(file.run.bytes(), Ordering::Relaxed);
            front.files.pop_front();
        }
        front.chunks.append(&mut self.back.lock());
    }

    /// Writes the chunks in memory, except the next one, to a file. Drops them if that fails.
    pub(crate) fn spill(&self) {
        let mut front = self.front.lock();
        let mut chunks = std::mem::take(&mut *self.back.lock());
        if front.files.is_empty() {
            // Chunks that have already come to the front.
            let next = front.chunks.len().min(1);
            let mut at_front = front.chunks.split_off(next);
            at_front.append(&mut chunks);
            chunks = at_front;
        }
        if chunks.is_empty() {
            return;
        }
        let ghosts = chunks.iter().map(GhostChunk::len).sum();
        match write(&self.env, &chunks) {
            Ok(run) => {
                self.file_bytes.fetch_add(run.bytes(), Ordering::Relaxed);
                front.files.push_back(ChunkFile { run, next: 0, ghosts });
            }
            Err(_) => self.forget(ghosts),
        }
    }

    fn forget(&self, ghosts: u64) {
        self.waiting.fetch_sub(ghosts, Ordering::Relaxed);
        self.forgotten.fetch_add(ghosts, Ordering::Relaxed);
    }

    /// The size of the queue.
    pub(crate) fn counts(&self) -> GhostCounts {
        GhostCounts {
            waiting: self.waiting.load(Ordering::Relaxed),
            file_bytes: self.file_bytes.load(Ordering::Relaxed),
            forgotten: self.forgotten.load(Ordering::Relaxed),
        }
    }
}

impl ChunkFile {
    /// The chunks of the next block; empty at the end.
    fn next_chunks(&mut self, memory: &Arc<HistoryMemory>) -> Result<Vec<GhostChunk>> {
        let mut buffer = AlignedBuf::zeroed(0);
        let mut chunks = Vec::new();
        if let Some(mut block) = self.run.read_block(self.next, &mut buffer)? {
            self.next = block.next;
            while let Some((_, bytes)) = block.next_entry(&buffer)? {
                let chunk = GhostChunk::new(memory, bytes.to_vec());
                self.ghosts = self.ghosts.saturating_sub(chunk.len());
                chunks.push(chunk);
            }
        }
        Ok(chunks)
    }
}

fn write(env: &Arc<dyn Env>, chunks: &VecDeque<GhostChunk>) -> Result<RunFile> {
    let mut writer = RunWriter::create(env)?;
    for chunk in chunks {
        writer.push(&[], &chunk.bytes[chunk.first..])?;
    }
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_storage::device::SimulatedEnv;

    fn fixture() -> (SimulatedEnv, Arc<HistoryMemory>, GhostQueue) {
        let env = SimulatedEnv::new();
        let memory = Arc::new(HistoryMemory::new(None, 1 << 20));
        let queue = GhostQueue::new(&(Arc::new(env.clone()) as Arc<dyn Env>), &memory);
        (env, memory, queue)
    }

    fn add(queue: &GhostQueue, numbers: std::ops::Range<u64>) {
        for ts in numbers {
            let key = format!("key number {ts}");
            queue.add(CommitTs(ts), std::iter::once((SegmentId(ts % 3), key.as_bytes())));
        }
    }

    /// Takes ghosts from before `bound`, up to `most`.
    fn take(queue: &GhostQueue, bound: u64, most: usize) -> Vec<u64> {
        let mut taken = Vec::new();
        while let Some(mut chunk) = queue.take(CommitTs(bound)) {
            while let Some(ghost) = chunk.first() {
                if ghost.ts >= CommitTs(bound) || taken.len() == most {
                    queue.put_back(chunk);
                    return taken;
                }
                assert_eq!(ghost.key, format!("key number {}", ghost.ts.0).as_bytes());
                assert_eq!(ghost.tree, SegmentId(ghost.ts.0 % 3));
                taken.push(ghost.ts.0);
                chunk.pop();
                queue.removed();
            }
        }
        taken
    }

    #[test]
    fn ghosts_come_back_in_order_through_files() {
        let (env, memory, queue) = fixture();
        add(&queue, 0..3000);
        assert_eq!(take(&queue, 10, 100), (0..10).collect::<Vec<_>>());
        assert_eq!(take(&queue, 10, 100), [0; 0]);
        queue.spill();
        let in_memory = memory.used();
        assert!(in_memory <= CHUNK_BYTES as u64 && queue.counts().file_bytes > 0, "{in_memory}");
        add(&queue, 3000..6000);
        assert_eq!(take(&queue, 1000, 500), (10..510).collect::<Vec<_>>());
        queue.spill();
        add(&queue, 6000..7000);
        assert_eq!(queue.counts().waiting, 6490);
        assert_eq!(take(&queue, 6500, usize::MAX), (510..6500).collect::<Vec<_>>());
        assert_eq!(take(&queue, 8000, usize::MAX), (6500..7000).collect::<Vec<_>>());
        assert_eq!((queue.counts(), memory.used()), (GhostCounts::default(), 0));
        assert!(env.list("temp").unwrap().is_empty());
    }

    #[test]
    fn ghosts_without_space_are_dropped() {
        let (env, memory, queue) = fixture();
        add(&queue, 0..3000);
        env.set_space_limit(Some(0));
        queue.spill();
        let counts = queue.counts();
        assert_eq!((counts.waiting, counts.forgotten), (0, 3000));
        assert_eq!(memory.used(), 0);
        add(&queue, 3000..3100);
        assert_eq!(take(&queue, 9000, usize::MAX), (3000..3100).collect::<Vec<_>>());
    }
}
