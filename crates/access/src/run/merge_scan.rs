//! `k IN (..) ORDER BY v LIMIT n` off an index of both: the entries of each `k` are in order, and are merged (k-way merge).
//!
//! Each value of the parts before has a scan of its own, which reads few entries at first; a heap has the next key of each. So about as many entries are examined as rows
//! are asked for and values there are. Where a value turns out not to be one (a bound that its column cannot hold), all entries are read and sorted.

use crate::error::Result;
use crate::params::{BATCH_GROWTH, BATCH_ROWS, FIRST_BATCH_ENTRIES};
use crate::path::{AccessPath, ScanOrder};
use crate::run::context::ScanContext;
use crate::run::leap_scan::{Entries, LeapScan};
use crate::run::locators::Locators;
use crate::run::targets::{Target, Targets, WalkKind};
use arrow_array::{Array, ArrayRef};
use arrow_select::interleave::interleave;
use leafline_types::{Batch, MysqlError, skip_part};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Scans that are merged.
pub(crate) struct MergeScan {
    path: Arc<AccessPath>,
    parts: usize,
    streams: Vec<Stream>,
    heap: BinaryHeap<Next>,
    begun: bool,
    goal: usize,
}

/// One of the scans.
struct Stream {
    scan: LeapScan,
    entries: Option<Arc<Entries>>,
    /// The next of the entries.
    at: usize,
}

/// The next entry of a stream.
#[derive(PartialEq, Eq)]
pub(crate) struct Next {
    /// The key behind the parts that are different.
    pub(crate) key: Vec<u8>,
    pub(crate) stream: usize,
    pub(crate) reverse: bool,
}

impl Ord for Next {
    /// The greatest comes first.
    fn cmp(&self, other: &Next) -> Ordering {
        let keys = self.key.cmp(&other.key);
        let keys = if self.reverse { keys } else { keys.reverse() };
        keys.then_with(|| other.stream.cmp(&self.stream))
    }
}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Next) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The bytes of the first parts of a key.
fn prefix_of<'k>(path: &AccessPath, parts: usize, key: &'k [u8]) -> Result<&'k [u8]> {
    let mut end = 0;
    for part in path.index.key_parts.iter().take(parts) {
        end += skip_part(part, key.get(end..).unwrap_or_default()).map_err(MysqlError::internal)?;
    }
    Ok(key.get(..end).unwrap_or(key))
}

impl MergeScan {
    /// A scan of a path that merges what differs in its first `parts` parts, decodes `columns` of each entry, and gives so many of them
    /// first, if that is said.
    pub fn new(
        path: &Arc<AccessPath>,
        parts: usize,
        targets: &Targets,
        (columns, goal): (&[usize], Option<usize>),
        kind: WalkKind,
        cx: &ScanContext<'_, '_>,
    ) -> Result<MergeScan> {
        let mut groups: Vec<Vec<Target>> = Vec::new();
        let merges = targets.all().iter().all(|target| target.range.equal.parts >= parts);
        let mut last: Option<&[u8]> = None;
        for target in targets.all() {
            let prefix = if merges { prefix_of(path, parts, &target.range.lower)? } else { &[] };
            match groups.last_mut().filter(|_| last == Some(prefix)) {
                Some(group) => group.push(target.clone()),
                None => groups.push(vec![target.clone()]),
            }
            last = Some(prefix);
        }
        let first = if groups.len() > 1 { 1 } else { FIRST_BATCH_ENTRIES };
        let mut streams = Vec::with_capacity(groups.len());
        for group in groups {
            let mut scan = LeapScan::new(path, columns, FIRST_BATCH_ENTRIES, cx)?;
            scan.start(targets.of(group), Some(first), WalkKind { is_part: true, ..kind }, cx)?;
            streams.push(Stream { scan, entries: None, at: 0 });
        }
        let heap = BinaryHeap::new();
        let goal = goal.unwrap_or(FIRST_BATCH_ENTRIES).clamp(1, BATCH_ROWS);
        let mut merged = MergeScan { path: path.clone(), parts, streams, heap, begun: false, goal };
        if !merges {
            merged.parts = 0;
        }
        Ok(merged)
    }

    /// The next entries; `None` when there are no more.
    pub fn next(&mut self, cx: &mut ScanContext<'_, '_>) -> Result<Option<Entries>> {
        if self.parts == 0 {
            return self.sorted(cx);
        }
        if !std::mem::replace(&mut self.begun, true) {
            for stream in 0..self.streams.len() {
                self.advance(stream, cx)?;
            }
        }
        let (mut held, mut picks) = (HeldEntries::default(), Vec::new());
        while picks.len() < self.goal
            && let Some(Next { stream, .. }) = self.heap.pop()
        {
            let from = &mut self.streams[stream];
            let entries = from.entries.as_ref().expect("a stream in the heap has an entry");
            picks.push((held.number(stream, entries), from.at));
            from.at += 1;
            self.advance(stream, cx)?;
        }
        self.goal = (self.goal * BATCH_GROWTH).min(BATCH_ROWS);
        held.picked(&picks)
    }

    /// Puts what a stream has next into the heap.
    fn advance(&mut self, number: usize, cx: &mut ScanContext<'_, '_>) -> Result<()> {
        let stream = &mut self.streams[number];
        while stream.entries.as_ref().is_none_or(|entries| stream.at >= entries.keys.len()) {
            let Some(entries) = stream.scan.next(cx)? else { return Ok(()) };
            (stream.entries, stream.at) = (Some(Arc::new(entries)), 0);
        }
        if let Some(entries) = &stream.entries {
            let key = entries.keys.get(stream.at);
            let prefix = prefix_of(&self.path, self.parts, key)?.len();
            let key = key.get(prefix..).unwrap_or_default().to_vec();
            self.heap.push(Next { key, stream: number, reverse: self.path.order == ScanOrder::Reverse });
        }
        Ok(())
    }

    /// All entries at once, sorted by the parts behind the first.
    fn sorted(&mut self, cx: &mut ScanContext<'_, '_>) -> Result<Option<Entries>> {
        let parts = self.path.merged.unwrap_or(0);
        let (mut held, mut order) = (HeldEntries::default(), Vec::new());
        for stream in &mut self.streams {
            while let Some(entries) = stream.scan.next(cx)? {
                let entries = Arc::new(entries);
                let number = held.add(&entries);
                for (at, key) in entries.keys.iter().enumerate() {
                    let prefix = prefix_of(&self.path, parts, key)?.len();
                    order.push((key[prefix..].to_vec(), (number, at)));
                }
            }
        }
        order.sort_unstable();
        if self.path.order == ScanOrder::Reverse {
            order.reverse();
        }
        let picks: Vec<(usize, usize)> = order.into_iter().map(|(_, pick)| pick).collect();
        held.picked(&picks)
    }
}

/// Entries that rows are picked from.
#[derive(Default)]
struct HeldEntries {
    entries: Vec<Arc<Entries>>,
    /// Per stream, the number of those that are picked from now.
    of_stream: Vec<Option<usize>>,
}

impl HeldEntries {
    fn add(&mut self, entries: &Arc<Entries>) -> usize {
        self.entries.push(entries.clone());
        self.entries.len() - 1
    }

    /// The number of the entries of a stream.
    fn number(&mut self, stream: usize, entries: &Arc<Entries>) -> usize {
        if self.of_stream.len() <= stream {
            self.of_stream.resize(stream + 1, None);
        }
        let same = |number: &usize| Arc::ptr_eq(&self.entries[*number], entries);
        let number = self.of_stream[stream].filter(same).unwrap_or_else(|| self.add(entries));
        self.of_stream[stream] = Some(number);
        number
    }

    /// The picked entries; `None` if there are none.
    fn picked(&self, picks: &[(usize, usize)]) -> Result<Option<Entries>> {
        let Some(first) = self.entries.first().filter(|_| !picks.is_empty()) else { return Ok(None) };
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(first.batch.columns.len());
        for column in 0..first.batch.columns.len() {
            let sources: Vec<&dyn Array> = self
                .entries
                .iter()
                .filter_map(|entries| entries.batch.columns.get(column).map(AsRef::as_ref))
                .collect();
            columns.push(interleave(&sources, picks).map_err(MysqlError::internal)?);
        }
        let (mut tags, mut locators) = (Vec::with_capacity(picks.len()), Locators::default());
        for (number, at) in picks {
            let entries = &self.entries[*number];
            tags.push(entries.tags[*at]);
            if *at < entries.locators.len() {
                locators.push(entries.locators.get(*at));
            }
        }
        let batch = Batch { columns, rows: picks.len() };
        Ok(Some(Entries { batch, tags, locators, keys: Locators::default() }))
    }
}
