//! The external sort.

use super::file::{RunFile, RunReader, RunWriter};
use super::merge::{EntrySource, Merge, first_bytes};
use crate::error::Result;
use leafline_storage::Env;
use leafline_types::memory::server;
use std::sync::Arc;

/// The maximum number of runs merged at once; each needs a read buffer.
const MAX_FAN_IN: usize = 64;

/// The place of an entry in the arena. The head decides most comparisons without access to the arena.
#[derive(Clone, Copy)]
struct Span {
    head: u128,
    begin: usize,
    key: u32,
    payload: u32,
}

/// Collects entries in any order and returns them in key order.
pub struct Sorter {
    env: Arc<dyn Env>,
    /// The maximum memory of the arena and the spans, in bytes.
    memory: usize,
    arena: Vec<u8>,
    spans: Vec<Span>,
    runs: Vec<RunFile>,
    /// The length of the longest entry in bytes.
    longest: usize,
}

impl Sorter {
    /// Makes a sorter that uses up to `memory` bytes before it writes a run.
    pub(crate) fn new(env: &Arc<dyn Env>, memory: u64) -> Sorter {
        let memory = usize::try_from(memory).unwrap_or(usize::MAX);
        Sorter {
            env: env.clone(),
            memory,
            arena: Vec::new(),
            spans: Vec::new(),
            runs: Vec::new(),
            longest: 0,
        }
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// Errors of writing a run.
    pub fn push(&mut self, key: &[u8], payload: &[u8]) -> Result<()> {
        if !self.push_if_room(key, payload) {
            self.spill()?;
            self.add(key, payload);
        }
        Ok(())
    }

    /// Adds an entry if there is room in memory, as there always is for the first one. Returns false if it
    /// was not added.
    pub(crate) fn push_if_room(&mut self, key: &[u8], payload: &[u8]) -> bool {
        let has_room = self.make_room(key.len() + payload.len()) || self.spans.is_empty();
        if has_room {
            self.add(key, payload);
        }
        has_room
    }

    fn add(&mut self, key: &[u8], payload: &[u8]) {
        self.longest = self.longest.max(key.len() + payload.len());
        let begin = self.arena.len();
        self.arena.extend_from_slice(key);
        self.arena.extend_from_slice(payload);
        self.spans.push(Span {
            head: first_bytes(key),
            begin,
            key: key.len() as u32,
            payload: payload.len() as u32,
        });
    }

    /// Takes over the entries of another sorter, and writes those that are in its memory. This sorter has
    /// no entries in memory, and keeps none.
    ///
    /// # Errors
    /// Errors of writing a run.
    pub(crate) fn absorb(&mut self, other: Sorter) -> Result<()> {
        self.runs.extend(other.runs);
        self.longest = self.longest.max(other.longest);
        (self.arena, self.spans) = (other.arena, other.spans);
        let spilled = if self.spans.is_empty() { Ok(()) } else { self.spill() };
        (self.arena, self.spans) = (Vec::new(), Vec::new());
        spilled
    }

    /// Makes room in memory for an entry. Returns false if the memory limit does not allow it. Vectors that
    /// double would take up to twice the limit.
    fn make_room(&mut self, bytes: usize) -> bool {
        let (arena, spans) = (self.arena.len() + bytes, self.spans.len() + 1);
        if arena <= self.arena.capacity() && spans <= self.spans.capacity() {
            return true;
        }
        // By a half, or by less if that is too much.
        for part in [2, 16] {
            let wanted =
                |needed: usize, now: usize| if needed > now { needed.max(now + now / part) } else { now };
            let arena = wanted(arena, self.arena.capacity());
            let spans = wanted(spans, self.spans.capacity());
            if arena + spans * size_of::<Span>() <= self.memory {
                self.arena.reserve_exact(arena - self.arena.len());
                self.spans.reserve_exact(spans - self.spans.len());
                return true;
            }
        }
        false
    }

    /// Returns all entries in key order.
    ///
    /// # Errors
    /// Errors of reading runs.
    pub fn finish(self) -> Result<Merge<'static>> {
        Sorter::merge(vec![self])
    }

    /// Returns the entries of several sorters in key order.
    ///
    /// # Errors
    /// Errors of reading runs.
    pub(crate) fn merge(parts: Vec<Sorter>) -> Result<Merge<'static>> {
        let mut sources: Vec<Box<dyn EntrySource>> = Vec::new();
        for mut part in parts {
            part.sort();
            // Each merged run keeps an entry in memory. If entries are long, only a few runs are merged at
            // a time.
            let left = server::limit().saturating_sub(server::used());
            let fan_in = (left / 4 / part.longest.max(1)).clamp(2, MAX_FAN_IN);
            while part.runs.len() > fan_in {
                let merged = part.runs.drain(..fan_in).collect();
                part.runs.push(write_run(&part.env, &mut merge_of(merged)?)?);
            }
            for run in part.runs {
                sources.push(Box::new(RunReader::new(Arc::new(run))));
            }
            if !part.spans.is_empty() {
                sources.push(Box::new(MemoryRun { arena: part.arena, spans: part.spans, next: 0 }));
            }
        }
        Merge::new(sources)
    }

    /// Sorts the entries in memory.
    pub(crate) fn sort(&mut self) {
        let arena = &self.arena;
        let key = |span: &Span| &arena[span.begin..span.begin + span.key as usize];
        let in_order = |a: &Span, b: &Span| (a.head, key(a)) <= (b.head, key(b));
        if !self.spans.is_sorted_by(in_order) {
            self.spans.sort_unstable_by(|a, b| a.head.cmp(&b.head).then_with(|| key(a).cmp(key(b))));
        }
    }

    fn spill(&mut self) -> Result<()> {
        self.sort();
        if self.runs.len() >= MAX_FAN_IN {
            let merged = std::mem::take(&mut self.runs);
            self.runs.push(write_run(&self.env, &mut merge_of(merged)?)?);
        }
        let (arena, spans) = (std::mem::take(&mut self.arena), std::mem::take(&mut self.spans));
        let mut memory = MemoryRun { arena, spans, next: 0 };
        self.runs.push(write_run(&self.env, &mut memory)?);
        // The memory is used again, unless its division between bytes and spans suited other entries.
        if (memory.arena.len() + memory.spans.len() * size_of::<Span>()) * 2 >= self.memory {
            (self.arena, self.spans) = (memory.arena, memory.spans);
            self.arena.clear();
            self.spans.clear();
        }
        Ok(())
    }
}

/// Merges runs in key order.
fn merge_of(runs: Vec<RunFile>) -> Result<Merge<'static>> {
    let sources = runs.into_iter().map(|run| Box::new(RunReader::new(Arc::new(run))) as Box<dyn EntrySource>);
    Merge::new(sources.collect())
}

fn write_run(env: &Arc<dyn Env>, source: &mut dyn EntrySource) -> Result<RunFile> {
    let mut writer = RunWriter::create(env)?;
    while let Some((key, payload)) = source.next()? {
        writer.push(key, payload)?;
    }
    writer.finish()
}

/// Sorted entries in memory.
struct MemoryRun {
    arena: Vec<u8>,
    spans: Vec<Span>,
    next: usize,
}

impl EntrySource for MemoryRun {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let Some(span) = self.spans.get(self.next) else { return Ok(None) };
        self.next += 1;
        let entry = &self.arena[span.begin..span.begin + span.key as usize + span.payload as usize];
        Ok(Some(entry.split_at(span.key as usize)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_storage::device::SimulatedEnv;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    fn check(memory: u64, count: usize, expect_runs: bool) {
        let seed = crate::testing::seed();
        let mut random = SmallRng::seed_from_u64(seed);
        let env: Arc<dyn Env> = Arc::new(SimulatedEnv::new());
        let mut sorter = Sorter::new(&env, memory);
        let mut expected = Vec::new();
        for _ in 0..count {
            let mut key = vec![0; random.random_range(0..12)];
            random.fill(&mut key[..]);
            let payload = vec![7; random.random_range(0..300)];
            sorter.push(&key, &payload).unwrap();
            let taken = sorter.arena.capacity() + sorter.spans.capacity() * size_of::<Span>();
            assert!(taken as u64 <= memory, "seed {seed}: {taken}");
            expected.push((key, payload));
        }
        assert_eq!(!sorter.runs.is_empty(), expect_runs);
        expected.sort();
        let mut merge = sorter.finish().unwrap();
        let mut found = Vec::new();
        while let Some((key, payload)) = merge.next().unwrap() {
            found.push((key.to_vec(), payload.to_vec()));
        }
        assert!(found.is_sorted_by_key(|entry| &entry.0));
        found.sort();
        assert_eq!(found, expected, "seed {seed}");
        drop(merge);
        if expect_runs {
            assert!(env.list(super::super::TEMP).unwrap().is_empty(), "run files are removed");
        }
    }

    #[test]
    fn sorts_in_memory() {
        check(1 << 20, 300, false);
    }

    #[test]
    fn sorts_through_runs() {
        check(8192, 1000, true);
    }

    #[test]
    fn merges_runs_when_there_are_many() {
        check(2048, 1000, true);
    }
}
