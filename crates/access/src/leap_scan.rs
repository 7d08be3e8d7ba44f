//! The scan: goes to each target range of an index, walks its entries, keeps those that pass.
//!
//! A target is a key range, tests on the parts behind it, and the number of the outer row it is for. Targets are walked in
//! index order; where an entry lies beyond its target, the scan goes on to the next one, in the same leaf if it is there.
//! Visitors run under a leaf latch: they compare bytes and copy, nothing else. Conditions that need values are
//! evaluated afterwards on the whole batch, and before any row is fetched (see [`crate::path_scan`]).
//!
//! Batches begin small and grow, so that a LIMIT above examines little more than it delivers.

use crate::constraint::{Bounds, KeyRange, PartTest};
use crate::error::{AccessError, Result};
use crate::path::{AccessPath, ScanOrder};
use crate::path_scan::ScanContext;
use crate::read_ahead::ReadAhead;
use leafline_table::{
    Direction, EntryCursor, EntryDecoder, EntryRef, EntryStep, ReadView, entry_decoder, locator_of,
};
use leafline_types::{Batch, DecodedRows};
use std::sync::Arc;

/// Entries in the first batch of a scan.
pub(crate) const FIRST_BATCH: usize = 16;
/// By how much batches grow.
const GROWTH: usize = 4;
/// Entries of a batch for which there is room from the start.
const EXPECTED: usize = 256;
/// A batch is complete when the values outside its rows take so many bytes.
const LARGE_BATCH: usize = 8 << 20;

/// A range to be walked, for some outer rows.
#[derive(Clone, Debug)]
struct Target {
    range: KeyRange,
    tests: Arc<[PartTest]>,
    /// Where its outer rows begin and end in the list of tags.
    tags: (usize, usize),
}

/// Ranges to be walked, in index order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Targets {
    targets: Vec<Target>,
    tags: Vec<u32>,
    exact: bool,
}

impl Targets {
    /// From the bounds for each outer row. Equal ranges are walked once for all of their outer rows.
    pub fn new(bounds: impl IntoIterator<Item = (u32, Bounds)>) -> Targets {
        let mut exact = true;
        let mut single: Vec<(KeyRange, Arc<[PartTest]>, u32)> = Vec::new();
        for (tag, bounds) in bounds {
            exact &= bounds.exact;
            let tests = bounds.tests;
            single.extend(bounds.ranges.into_iter().map(|range| (range, tests.clone(), tag)));
        }
        single.sort_by(|a, b| {
            a.0.lower.cmp(&b.0.lower).then_with(|| a.0.upper.cmp(&b.0.upper)).then(a.2.cmp(&b.2))
        });
        let mut targets: Vec<Target> = Vec::with_capacity(single.len());
        let mut tags = Vec::with_capacity(single.len());
        for (range, tests, tag) in single {
            tags.push(tag);
            match targets.last_mut() {
                Some(last) if last.range == range && same(&last.tests, &tests) => last.tags.1 = tags.len(),
                _ => targets.push(Target { range, tests, tags: (tags.len() - 1, tags.len()) }),
            }
        }
        Targets { targets, tags, exact }
    }

    /// Is every range one whole key of so many parts?
    pub fn are_keys(&self, parts: usize) -> bool {
        self.targets.iter().all(|target| target.range.equal_parts == parts)
    }

    /// How many ranges there are.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Nothing the path's implied conditions reject passes.
    pub fn exact(&self) -> bool {
        self.exact
    }

    /// The starts of the ranges, each as often as it has outer rows, with these: for ranges that are whole keys.
    pub fn into_points(self) -> (Locators, Vec<u32>) {
        let mut locators = Locators::default();
        for target in &self.targets {
            for _ in self.tags_of(target) {
                locators.push(&target.range.lower);
            }
        }
        (locators, self.tags)
    }

    /// A range, by its place in index order.
    pub fn range(&self, position: usize) -> Option<&KeyRange> {
        self.targets.get(position).map(|target| &target.range)
    }

    fn tags_of(&self, target: &Target) -> &[u32] {
        self.tags.get(target.tags.0..target.tags.1).unwrap_or_default()
    }
}

fn same(a: &Arc<[PartTest]>, b: &Arc<[PartTest]>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

/// Byte strings one behind the other: the clustered keys of entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locators {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Locators {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The locator at a position.
    pub fn get(&self, position: usize) -> &[u8] {
        let start = position.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[position]]
    }

    /// Appends a locator.
    pub fn push(&mut self, locator: &[u8]) {
        self.bytes.extend_from_slice(locator);
        self.ends.push(self.bytes.len());
    }
}

/// Entries that lie in the ranges and pass the tests.
pub(crate) struct Entries {
    /// The columns asked for.
    pub batch: Batch,
    /// Per entry, the outer row it is for.
    pub tags: Vec<u32>,
    /// Per entry, the clustered key of its row, if rows are wanted.
    pub locators: Locators,
}

/// A scan in progress.
pub(crate) struct LeapScan {
    path: Arc<AccessPath>,
    decoder: EntryDecoder,
    cursor: EntryCursor,
    targets: Targets,
    /// The target that is walked, counted in the direction of the scan.
    current: usize,
    /// The cursor stands inside the current target.
    inside: bool,
    done: bool,
    goal: usize,
    most: usize,
    read_ahead: ReadAhead,
    /// For lookups that the first partner ends: per outer row, whether it has one.
    matched: Option<Vec<bool>>,
}

impl LeapScan {
    /// A scan of a path's index that decodes `columns` of each entry. Batches hold up to `most` entries.
    pub fn new(
        path: &Arc<AccessPath>,
        columns: &[usize],
        most: usize,
        cx: &ScanContext<'_, '_>,
    ) -> Result<LeapScan> {
        Ok(LeapScan {
            decoder: entry_decoder(&path.index, columns)?,
            cursor: cx.view.entries(&path.table, &path.index)?,
            targets: Targets::default(),
            current: 0,
            inside: false,
            done: true,
            goal: FIRST_BATCH,
            most,
            read_ahead: ReadAhead::new(path, cx.view.engine()),
            matched: None,
            path: path.clone(),
        })
    }

    /// From now on, one partner is enough for each of so many outer rows; `None`: all partners are wanted.
    pub fn end_at_first(&mut self, outer_rows: Option<usize>) {
        self.matched = outer_rows.map(|rows| vec![false; rows]);
    }

    /// These outer rows have a partner.
    pub fn add_matched(&mut self, tags: &[u32]) {
        if let Some(matched) = &mut self.matched {
            mark(matched, tags);
        }
    }

    /// Begins a walk of `targets`. The first batch has up to `first` entries, if that is said.
    pub fn start(&mut self, targets: Targets, first: Option<usize>) {
        self.done = targets.len() == 0;
        self.current = 0;
        self.inside = false;
        if let Some(first) = first {
            self.goal = first.clamp(1, self.most);
        }
        self.read_ahead.start(self.direction());
        self.targets = targets;
    }

    fn direction(&self) -> Direction {
        match self.path.order {
            ScanOrder::Any | ScanOrder::Forward => Direction::Forward,
            ScanOrder::Reverse => Direction::Reverse,
        }
    }

    /// The next entries; `None` when all targets are walked.
    pub fn next(&mut self, cx: &mut ScanContext<'_, '_>) -> Result<Option<Entries>> {
        if self.done {
            return Ok(None);
        }
        let direction = self.direction();
        let mut output = Output::new(self);
        let mut examined = 0;
        while !self.done && output.rows < self.goal && !output.is_large() {
            cx.eval.cancel.check()?;
            self.read_ahead.leaf(&self.targets, self.current, cx)?;
            if !self.inside {
                self.enter(direction, cx);
            }
            let mut walk = Walk {
                path: &self.path,
                decoder: &self.decoder,
                targets: &self.targets,
                direction,
                current: self.current,
                goal: self.goal,
                examined: 0,
                entered: 0,
                behind: false,
                locator: Vec::new(),
                error: None,
                output: &mut output,
                matched: self.matched.as_mut(),
                entries_match: self.targets.exact && self.path.delivers_all(),
            };
            let more = self.cursor.visit(direction, &mut |entry| walk.entry(&entry))?;
            let Walk { current, examined: seen, entered, behind, error, .. } = walk;
            if let Some(error) = error {
                return Err(error);
            }
            examined += seen;
            cx.counters.handler_read_key += entered;
            self.current = current;
            self.inside = !behind;
            self.done = current >= self.targets.len();
            if !more && !self.done && output.rows < self.goal && !output.is_large() {
                // The end of the tree ends this target; those behind it may begin before it, if targets overlap.
                self.current += 1;
                self.inside = false;
                self.done = self.current >= self.targets.len();
            }
        }
        self.count(examined, direction, cx);
        self.goal = (self.goal * GROWTH).min(self.most);
        if output.rows == 0 && self.done {
            return Ok(None);
        }
        Ok(Some(output.finish(self, cx.view)?))
    }

    /// Positions the cursor at the beginning of the current target.
    fn enter(&mut self, direction: Direction, cx: &mut ScanContext<'_, '_>) {
        let Some(target) = target_at(&self.targets, direction, self.current) else { return };
        match direction {
            Direction::Forward => self.cursor.seek(&target.range.lower),
            Direction::Reverse => self.cursor.seek_before(target.range.upper.as_deref()),
        }
        self.inside = true;
        cx.counters.handler_read_key += 1;
        if self.path.constraint.is_unbounded() {
            match direction {
                Direction::Forward => cx.counters.handler_read_first += 1,
                Direction::Reverse => cx.counters.handler_read_last += 1,
            }
        }
    }

    /// Counts entries that were examined, as MySQL would have counted the calls. For an index whose conditions are pushed
    /// down only the entries that pass are seen above the engine: they are counted by whoever evaluates these.
    fn count(&self, examined: u64, direction: Direction, cx: &mut ScanContext<'_, '_>) {
        cx.counters.leafline_entries_examined += examined;
        if self.path.is_table_scan() {
            cx.counters.handler_read_rnd_next += examined + u64::from(self.done);
        } else if self.path.evaluates_on_entries(self.targets.exact()) {
            cx.counters.handler_icp_attempts += examined;
        } else if !self.path.is_unique_lookup() {
            match direction {
                Direction::Forward => cx.counters.handler_read_next += examined,
                Direction::Reverse => cx.counters.handler_read_prev += examined,
            }
        }
    }
}

/// The target at a position counted in the direction of the scan.
fn target_at(targets: &Targets, direction: Direction, position: usize) -> Option<&Target> {
    match direction {
        Direction::Forward => targets.targets.get(position),
        Direction::Reverse => {
            targets.targets.len().checked_sub(position + 1).and_then(|at| targets.targets.get(at))
        }
    }
}

/// Columns under construction.
struct Output {
    decoded: DecodedRows,
    rows: usize,
    tags: Vec<u32>,
    locators: Locators,
}

impl Output {
    fn new(scan: &LeapScan) -> Output {
        Output {
            decoded: DecodedRows::new(&scan.decoder, scan.goal.min(EXPECTED)),
            rows: 0,
            tags: Vec::new(),
            locators: Locators::default(),
        }
    }

    /// Whether there is enough of it, however few rows.
    fn is_large(&self) -> bool {
        self.decoded.missing_bytes() >= LARGE_BATCH
    }

    fn finish(self, scan: &LeapScan, view: &ReadView) -> Result<Entries> {
        let columns = view.complete(&scan.path.table, self.decoded)?;
        Ok(Entries { batch: Batch { columns, rows: self.rows }, tags: self.tags, locators: self.locators })
    }
}

/// One visit: what is looked at and changed under the leaf's latch.
struct Walk<'s> {
    path: &'s AccessPath,
    decoder: &'s EntryDecoder,
    targets: &'s Targets,
    direction: Direction,
    current: usize,
    goal: usize,
    examined: u64,
    /// Targets that were begun without a seek from outside.
    entered: u64,
    /// The current target begins before the last one ended: the cursor has to go back.
    behind: bool,
    locator: Vec<u8>,
    error: Option<AccessError>,
    output: &'s mut Output,
    /// Outer rows that need no more partners.
    matched: Option<&'s mut Vec<bool>>,
    /// Every entry that is kept is a partner.
    entries_match: bool,
}

/// Notes that outer rows have a partner.
fn mark(matched: &mut [bool], tags: &[u32]) {
    for tag in tags {
        if let Some(matched) = matched.get_mut(*tag as usize) {
            *matched = true;
        }
    }
}

impl Walk<'_> {
    fn entry(&mut self, entry: &EntryRef<'_>) -> EntryStep {
        let target = loop {
            let Some(target) = target_at(self.targets, self.direction, self.current) else {
                return EntryStep::Stop;
            };
            if !self.is_settled(target) && !self.is_beyond(entry.key, target) {
                break target;
            }
            self.current += 1;
            let Some(next) = target_at(self.targets, self.direction, self.current) else {
                return EntryStep::Stop;
            };
            if self.overlap(target, next) {
                self.behind = true;
                return EntryStep::Pause;
            }
            self.entered += 1;
            if let Some(step) = self.leap(entry.key, next) {
                return step;
            }
        };
        self.examined += 1;
        if !PartTest::all_pass(&target.tests, &self.path.index.key_parts, entry.key) {
            return EntryStep::Next;
        }
        let kept = self.keep(entry, target);
        if let (true, Some(matched)) = (self.entries_match, &mut self.matched) {
            mark(matched, self.targets.tags_of(target));
        }
        match kept {
            Ok(()) if self.output.rows >= self.goal || self.output.is_large() => EntryStep::Pause,
            Ok(()) => EntryStep::Next,
            Err(error) => {
                self.error = Some(error);
                EntryStep::Stop
            }
        }
    }

    /// Have all outer rows of a target the partner they need?
    fn is_settled(&self, target: &Target) -> bool {
        let Some(matched) = &self.matched else { return false };
        let has = |tag: &u32| matched.get(*tag as usize).copied().unwrap_or(false);
        self.targets.tags_of(target).iter().all(has)
    }

    fn is_beyond(&self, key: &[u8], target: &Target) -> bool {
        match self.direction {
            Direction::Forward => target.range.upper.as_ref().is_some_and(|upper| key >= upper.as_slice()),
            Direction::Reverse => key < target.range.lower.as_slice(),
        }
    }

    /// Does `next` begin before `last` ends?
    fn overlap(&self, last: &Target, next: &Target) -> bool {
        let (before, behind) = match self.direction {
            Direction::Forward => (last, next),
            Direction::Reverse => (next, last),
        };
        before.range.upper.as_ref().is_none_or(|upper| behind.range.lower < *upper)
    }

    /// From a key beyond the last target to `next`: nothing to do if the key is not short of it.
    fn leap(&self, key: &[u8], next: &Target) -> Option<EntryStep> {
        match self.direction {
            Direction::Forward => {
                let lower = next.range.lower.as_slice();
                (key < lower).then(|| EntryStep::SeekTo(lower.to_vec()))
            }
            Direction::Reverse => {
                let upper = next.range.upper.as_deref()?;
                (key >= upper).then(|| EntryStep::SeekTo(upper.to_vec()))
            }
        }
    }

    fn keep(&mut self, entry: &EntryRef<'_>, target: &Target) -> Result<()> {
        let output = &mut *self.output;
        let wants_locators = self.path.fetches() || self.path.deliver_locators;
        if wants_locators {
            locator_of(&self.path.index, entry.key, &mut self.locator)?;
        }
        for tag in self.targets.tags_of(target) {
            output.decoded.push(self.decoder, entry.key, entry.payload)?;
            if wants_locators {
                output.locators.push(&self.locator);
            }
            output.tags.push(*tag);
            output.rows += 1;
        }
        Ok(())
    }
}
