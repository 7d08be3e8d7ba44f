//! One visit of a leaf: what is looked at and copied under its latch.

use crate::constraint::KeyRange;
use crate::error::{AccessError, Result};
use crate::params::{
    BATCH_BYTES, FIRST_BATCH_ENTRIES, LEAP_LEAST_ENTRIES, LEAP_PATIENCE, PASSES_BEFORE_LOOKUP,
    TARGETS_TAKEN_TOGETHER,
};
use crate::path::{AccessPath, FirstOf};
use crate::run::locators::Locators;
use crate::run::targets::{Target, Targets, WalkKind};
use leafline_expr::RowPrefilter;
use leafline_table::{
    Direction, EntryDecoder, EntryRef, EntrySlice, EntryStep, EntryVisitor, MAX_SLICE_ENTRIES, SliceBound,
    locator_of,
};
use leafline_types::key::{prefix_successor, skip_part};
use leafline_types::{DecodedRows, SqlType, extend_short};

/// Columns under construction.
pub(crate) struct Output {
    pub decoded: DecodedRows,
    /// How many rows it has.
    pub rows: usize,
    /// Entries that were looked at for it.
    pub examined: u64,
    /// Rows that runtime filters looked at, and that these removed.
    pub filtered: (u64, u64),
    pub tags: Vec<u32>,
    pub locators: Locators,
    /// The keys of the entries, if they are to be merged with others.
    pub keys: Locators,
}

impl Output {
    /// Empty, with room for some rows.
    pub fn new(decoder: &EntryDecoder, rows: usize) -> Output {
        Output {
            decoded: DecodedRows::new(decoder, rows),
            rows: 0,
            examined: 0,
            filtered: (0, 0),
            tags: Vec::new(),
            locators: Locators::default(),
            keys: Locators::default(),
        }
    }

    /// Whether there is enough of it for a batch of `goal` rows: so many rows, or some if so many entries were looked at, or few
    /// with large values.
    pub fn is_enough(&self, goal: usize) -> bool {
        self.rows >= goal
            || (self.rows > 0 && self.examined >= goal as u64)
            || self.decoded.missing_bytes() >= BATCH_BYTES
    }
}

/// Leaps within targets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leaps {
    /// Leaps that may gain little before entries are tested one by one, in the leaf that is visited; 0: no leap at all.
    pub patience: u8,
    /// How many there were.
    pub count: u64,
    /// The first parts of the last entry that was kept, and how many with these were, where a few are enough.
    kind: Vec<u8>,
    kept: usize,
    /// Entries in a row that passed their tests, and up to where those behind them do; `None`: that is not known.
    passed: u8,
    passes_to: Option<Option<Vec<u8>>>,
    /// One was asked for.
    under_way: bool,
    /// The last one went beyond the leaf.
    pub left_leaf: bool,
    /// Rows have values that are stored outside of them, or it is not known yet.
    pub long_values: bool,
}

impl Leaps {
    /// Of a scan that begins.
    pub fn at_first(decoder: &EntryDecoder) -> Leaps {
        let long_values = decoder.types().iter().any(SqlType::is_large);
        Leaps { patience: LEAP_PATIENCE, long_values, ..Leaps::default() }
    }

    /// An entry fails its tests, or has others to pass.
    fn fails(&mut self) {
        (self.passed, self.passes_to) = (0, None);
    }

    /// Another leaf is visited: leaps are tried again, fewer where they were of no use.
    pub fn renew(&mut self, leaps: bool) {
        self.left_leaf = false;
        self.fails();
        self.patience = if leaps { self.patience.max(1) } else { 0 };
    }
}

/// One visit: what is looked at and changed under the leaf's latch.
pub(crate) struct Walk<'s> {
    pub path: &'s AccessPath,
    pub decoder: &'s EntryDecoder,
    /// Tests on rows, before they are decoded.
    pub screen: &'s RowPrefilter,
    pub targets: &'s Targets,
    pub kind: WalkKind,
    pub direction: Direction,
    pub current: usize,
    pub goal: usize,
    /// Targets that were begun without a seek from outside.
    pub entered: u64,
    /// The current target begins before the last one ended: the cursor has to go back.
    pub behind: bool,
    pub locator: Vec<u8>,
    /// A key of a slice.
    pub key: Vec<u8>,
    pub error: Option<AccessError>,
    pub output: &'s mut Output,
    pub leaps: &'s mut Leaps,
    /// Of which entries a few are enough.
    pub first_of: Option<&'s FirstOf>,
    /// Outer rows that need no more partners.
    pub matched: Option<&'s mut Vec<bool>>,
    /// Every entry that is kept is a partner.
    pub entries_match: bool,
}

/// Notes that outer rows have a partner.
pub(crate) fn mark(matched: &mut [bool], tags: &[u32]) {
    for tag in tags {
        if let Some(matched) = matched.get_mut(*tag as usize) {
            *matched = true;
        }
    }
}

impl EntryVisitor for Walk<'_> {
    fn entry(&mut self, entry: EntryRef<'_>) -> EntryStep {
        let target = loop {
            let Some(target) = self.targets.at(self.direction, self.current) else {
                return EntryStep::Stop;
            };
            if !self.is_settled(target) && !self.is_beyond(entry.key, target) {
                break target;
            }
            self.current += 1;
            self.leaps.fails();
            let Some(next) = self.targets.at(self.direction, self.current) else {
                return EntryStep::Stop;
            };
            if self.overlap(target, next) {
                self.behind = true;
                return EntryStep::Pause;
            }
            self.entered += u64::from(!next.continues);
            if let Some(step) = self.leap(entry.key, next) {
                return step;
            }
        };
        self.output.examined += 1;
        let range = &target.range;
        if !range.key_filter.accepts(&self.path.index.key_parts, entry.key, range.equal) {
            return self.leap_from(entry.key, range);
        }
        let kept = self.keep(&entry, target);
        if let (true, Some(matched)) = (self.entries_match, &mut self.matched) {
            mark(matched, self.targets.tags_of(target));
        }
        match kept {
            Ok(()) => match self.go_on_behind(entry.key) {
                EntryStep::Next => self.go_on_passing(entry.key, range),
                step => step,
            },
            Err(error) => self.fail(error),
        }
    }

    /// Entries of a few long targets come together, once the scan has turned out to be more than short.
    fn slice_bound(&self) -> Option<SliceBound<'_>> {
        let are_short = self.targets.len() > TARGETS_TAKEN_TOGETHER && !self.kind.by_page;
        if self.goal <= FIRST_BATCH_ENTRIES || are_short || self.matched.is_some() {
            return None;
        }
        // A slice is taken as a whole. Where values are long, that would be far more than a batch.
        if self.leaps.long_values || self.output.decoded.missing_bytes() > 0 {
            return None;
        }
        let target = self.targets.at(self.direction, self.current)?;
        if self.first_of.is_some() || self.path.merged.is_some() || self.targets.tags_of(target).len() != 1 {
            return None;
        }
        let range = &target.range;
        let passes_to = match &self.leaps.passes_to {
            Some(end) => end.as_deref(),
            None if range.key_filter.accepts_all() => None,
            None => return None,
        };
        let until = match self.direction {
            Direction::Forward => [range.upper.as_deref(), passes_to].into_iter().flatten().min(),
            Direction::Reverse => {
                Some(range.lower.as_slice()).max(passes_to).filter(|lower| !lower.is_empty())
            }
        };
        let entries = self.goal.saturating_sub(self.output.rows).max(1);
        let counted = self.screen.is_empty() && !self.wants_locators() && self.decoder.types().is_empty();
        Some(SliceBound { entries, until, counted })
    }

    fn counted(&mut self, entries: usize) -> EntryStep {
        self.output.examined += entries as u64;
        self.kept(entries);
        self.go_on()
    }

    fn visit_slice(&mut self, slice: &EntrySlice<'_>) -> EntryStep {
        self.output.examined += slice.entries.len() as u64;
        match self.keep_all(slice) {
            Ok(()) => self.go_on(),
            Err(error) => self.fail(error),
        }
    }

    fn leapt(&mut self, over: usize, leaves: bool) {
        // Steps from target to target are none of these.
        if !std::mem::take(&mut self.leaps.under_way) {
            return;
        }
        self.leaps.left_leaf |= leaves;
        self.leaps.patience = match leaves || over >= LEAP_LEAST_ENTRIES {
            true => LEAP_PATIENCE,
            false => self.leaps.patience.saturating_sub(1),
        };
    }
}

impl Walk<'_> {
    fn go_on(&self) -> EntryStep {
        if self.output.is_enough(self.goal) { EntryStep::Pause } else { EntryStep::Next }
    }

    fn fail(&mut self, error: AccessError) -> EntryStep {
        self.error = Some(error);
        EntryStep::Stop
    }

    /// Keeps the entries of a slice that pass.
    fn keep_all(&mut self, slice: &EntrySlice<'_>) -> Result<()> {
        let mut payloads: [&[u8]; MAX_SLICE_ENTRIES] = [&[]; MAX_SLICE_ENTRIES];
        let payloads = &mut payloads[..slice.entries.len()];
        payloads.iter_mut().zip(slice.entries).for_each(|(to, (_, payload))| *to = payload);
        let mut suffixes: [&[u8]; MAX_SLICE_ENTRIES] = [&[]; MAX_SLICE_ENTRIES];
        let suffixes = &mut suffixes[..slice.entries.len()];
        let wants_locators = self.wants_locators();
        let wants_keys = wants_locators || self.decoder.reads_keys();
        if wants_keys {
            suffixes.iter_mut().zip(slice.entries).for_each(|(to, (suffix, _))| *to = suffix);
        }
        let mut kept = slice.entries.len();
        if !self.screen.is_empty() {
            let (mut passing, removed) = self.screen.passing(payloads);
            let (looked_at, rows) = &mut self.output.filtered;
            *looked_at += u64::from(removed.of);
            *rows += u64::from(removed.rows);
            kept = 0;
            while passing != 0 {
                let at = passing.trailing_zeros() as usize;
                passing &= passing - 1;
                payloads.swap(kept, at);
                suffixes.swap(kept, at);
                kept += 1;
            }
        }
        let (payloads, suffixes) = (&payloads[..kept], &suffixes[..kept]);
        let read = if wants_keys { suffixes } else { &[] };
        let output = &mut *self.output;
        output.decoded.push_all(self.decoder, slice.prefix, read, payloads)?;
        if wants_locators {
            for suffix in suffixes {
                self.key.clear();
                extend_short(&mut self.key, slice.prefix);
                extend_short(&mut self.key, suffix);
                locator_of(&self.path.index, &self.key, &mut self.locator)?;
                output.locators.push(&self.locator);
            }
        }
        self.kept(kept);
        Ok(())
    }

    /// Whether the clustered keys of rows are wanted.
    fn wants_locators(&self) -> bool {
        self.path.fetches() || self.path.deliver_locators
    }

    /// So many rows of the current target, which is for one outer row, were kept.
    fn kept(&mut self, rows: usize) {
        let tags = self.targets.at(self.direction, self.current).map(|target| self.targets.tags_of(target));
        let tag = tags.and_then(<[u32]>::first).copied().unwrap_or(0);
        self.output.tags.extend(std::iter::repeat_n(tag, rows));
        self.output.rows += rows;
    }

    /// Have all outer rows of a target the partner they need?
    fn is_settled(&self, target: &Target) -> bool {
        let Some(matched) = &self.matched else { return false };
        let has = |tag: &u32| matched[*tag as usize];
        self.targets.tags_of(target).iter().all(has)
    }

    fn is_beyond(&self, key: &[u8], target: &Target) -> bool {
        match self.direction {
            Direction::Forward => target.range.upper.as_ref().is_some_and(|upper| key >= upper.as_slice()),
            Direction::Reverse => key < target.range.lower.as_slice(),
        }
    }

    /// Goes on behind an entry that passes the tests of its range. Where several have, those that do without a doubt are taken together.
    fn go_on_passing(&mut self, key: &[u8], range: &KeyRange) -> EntryStep {
        if range.key_filter.accepts_all() || self.leaps.passes_to.is_some() || self.first_of.is_some() {
            return EntryStep::Next;
        }
        self.leaps.passed += 1;
        if self.leaps.passed < PASSES_BEFORE_LOOKUP {
            return EntryStep::Next;
        }
        let parts = &self.path.index.key_parts;
        self.leaps.passes_to = Some(match self.direction {
            Direction::Forward => range.key_filter.accepted_below(parts, key, range.equal),
            Direction::Reverse => Some(range.key_filter.accepted_from(parts, key, range.equal)),
        });
        EntryStep::AskAnew
    }

    /// Goes from an entry that fails to where the next one can be that does not. Where leaps gained nothing, to the next entry.
    fn leap_from(&mut self, key: &[u8], range: &KeyRange) -> EntryStep {
        self.leaps.fails();
        if self.leaps.patience == 0 {
            return EntryStep::Next;
        }
        let parts = &self.path.index.key_parts;
        let next = match self.direction {
            Direction::Forward => range.key_filter.next_from(parts, key, range.equal),
            Direction::Reverse => range.key_filter.next_before(parts, key, range.equal),
        };
        self.leap_to(next)
    }

    /// Goes on behind an entry that was kept: where those kept of its kind are enough, with the next kind.
    fn go_on_behind(&mut self, key: &[u8]) -> EntryStep {
        let step = self.go_on();
        let Some(first_of) = self.first_of else { return step };
        let parts = self.path.index.key_parts.iter().take(first_of.parts);
        let end = parts.into_iter().try_fold(0, |end, part| {
            skip_part(part, key.get(end..).unwrap_or_default()).map(|length| end + length)
        });
        let Ok(mut end) = end else { return step };
        let kind = key.get(..end).unwrap_or_default();
        if self.leaps.kept == 0 || self.leaps.kind != kind {
            self.leaps.kept = 0;
            self.leaps.kind.clear();
            self.leaps.kind.extend_from_slice(kind);
        }
        self.leaps.kept += 1;
        if self.leaps.kept < first_of.count || step != EntryStep::Next || self.leaps.patience == 0 {
            return step;
        }
        if let Some(null) = &first_of.null
            && key.get(end..).is_some_and(|rest| rest.starts_with(null))
        {
            end += null.len();
        }
        let kind = key.get(..end).unwrap_or_default();
        self.leap_to(match self.direction {
            Direction::Forward => prefix_successor(kind),
            Direction::Reverse => Some(kind.to_vec()),
        })
    }

    /// Leaps within the target. To nothing: nothing lies behind it in the index.
    fn leap_to(&mut self, next: Option<Vec<u8>>) -> EntryStep {
        let Some(next) = next else { return EntryStep::Stop };
        self.leaps.count += 1;
        self.leaps.under_way = true;
        EntryStep::SeekTo(next)
    }

    /// Whether `next` begins before `last` ends.
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
        let wants_locators = self.wants_locators();
        let output = &mut *self.output;
        if wants_locators {
            locator_of(&self.path.index, entry.key, &mut self.locator)?;
        }
        for tag in self.targets.tags_of(target) {
            output.decoded.push(self.decoder, entry.key, entry.payload)?;
            if wants_locators {
                output.locators.push(&self.locator);
            }
            if self.path.merged.is_some() {
                output.keys.push(entry.key);
            }
            output.tags.push(*tag);
            output.rows += 1;
        }
        Ok(())
    }
}
