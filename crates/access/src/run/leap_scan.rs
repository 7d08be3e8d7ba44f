//! The scan: goes to each target range of an index, walks its entries, keeps those that pass.
//!
//! A target is a key range, tests on the parts behind it, and the number of the outer row it is for. Targets are walked in
//! index order; where an entry lies beyond its target, the scan goes on to the next one, in the same leaf if it is there.
//! Visitors ([`crate::walk`]) run under a leaf latch: they compare bytes and copy, nothing else. Conditions that need values are
//! evaluated afterwards on the whole batch, and before any row is fetched (see [`crate::path_scan`]); in a long scan of rows
//! those that can be tested on the bytes are, before anything is copied.
//!
//! Batches begin small and grow, so that a LIMIT above examines little more than it delivers.

use crate::counters::Counters;
use crate::error::Result;
use crate::params::{
    BATCH_GROWTH, EXPECTED_BATCH_ENTRIES, FILTER_LEAST_PART, FILTER_TRIAL_ROWS, FIRST_BATCH_ENTRIES,
    MERGED_BATCH_GROWTH, SHORT_SCAN_LEAVES, TARGETS_IN_PAGE_ORDER,
};
use crate::path::{AccessPath, ScanOrder};
use crate::run::context::ScanContext;
use crate::run::locators::Locators;
use crate::run::page_order::{NextTarget, PageOrder};
use crate::run::read_ahead::ReadAhead;
use crate::run::targets::{Targets, WalkKind};
use crate::run::walk::{Leaps, Output, Walk, mark};
use leafline_expr::RowPrefilter;
use leafline_table::{Direction, EntryCursor, EntryDecoder, ReadView, entry_decoder};
use leafline_types::Batch;
use std::sync::Arc;

/// Entries that lie in the ranges and pass the tests.
pub(crate) struct Entries {
    /// The columns asked for.
    pub batch: Batch,
    /// Per entry, the outer row it is for.
    pub tags: Vec<u32>,
    /// Per entry, the clustered key of its row, if rows are wanted.
    pub locators: Locators,
    /// Per entry, its key, if entries are merged with those of other scans.
    pub keys: Locators,
}

/// Whether the rest of a scan may be walked in the order of its pages.
enum PageOrderState {
    No,
    /// If it turns out to be more than a short one: it began when the cursor had come to so many leaves.
    IfLong(u64),
    /// Targets behind these are to be put in order.
    Behind(PageOrder),
}

/// A scan in progress.
pub(crate) struct LeapScan {
    path: Arc<AccessPath>,
    /// The columns that are decoded.
    columns: Vec<usize>,
    decoder: EntryDecoder,
    /// Tests on rows, before they are decoded.
    screen: RowPrefilter,
    /// Rows that runtime filters looked at, and that they removed.
    filtered: (u64, u64),
    cursor: EntryCursor,
    targets: Targets,
    /// The target that is walked, counted in the direction of the scan.
    current: usize,
    /// The cursor stands inside the current target.
    inside: bool,
    done: bool,
    /// It goes back, for the last entries of each kind, after it went there for the first.
    turned: bool,
    kind: WalkKind,
    /// The targets that may be put in the order of their pages.
    page_order: PageOrderState,
    goal: usize,
    most: usize,
    /// Rows that the next batch is expected to have.
    expected: usize,
    read_ahead: ReadAhead,
    leaps: Leaps,
    /// For lookups that the first partner ends: per outer row, whether it has one.
    matched: Option<Vec<bool>>,
    /// Whether its targets have to be registered before they are read.
    registers: bool,
}

impl LeapScan {
    /// A scan of a path's index that decodes `columns` of each entry. Batches hold up to `most` entries.
    pub fn new(
        path: &Arc<AccessPath>,
        columns: &[usize],
        most: usize,
        cx: &ScanContext<'_, '_>,
    ) -> Result<LeapScan> {
        let decoder = entry_decoder(&path.index, columns)?;
        Ok(LeapScan {
            columns: columns.to_vec(),
            leaps: Leaps::at_first(&decoder),
            decoder,
            cursor: cx.view.entries(&path.table, &path.index)?,
            targets: Targets::default(),
            current: 0,
            inside: false,
            done: true,
            turned: false,
            kind: WalkKind::default(),
            page_order: PageOrderState::No,
            goal: FIRST_BATCH_ENTRIES,
            most,
            expected: FIRST_BATCH_ENTRIES,
            screen: RowPrefilter::default(),
            filtered: (0, 0),
            read_ahead: ReadAhead::new(cx.view),
            matched: None,
            registers: cx.view.registers_reads(),
            path: path.clone(),
        })
    }

    /// From now on, these columns of each entry are decoded.
    pub fn decode(&mut self, columns: &[usize]) -> Result<()> {
        if self.columns != columns {
            self.decoder = entry_decoder(&self.path.index, columns)?;
            self.columns = columns.to_vec();
        }
        Ok(())
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
    pub fn start(
        &mut self,
        targets: Targets,
        first: Option<usize>,
        kind: WalkKind,
        cx: &ScanContext<'_, '_>,
    ) -> Result<()> {
        self.register(&targets)?;
        self.leaps = Leaps::at_first(&self.decoder);
        self.turned = false;
        if let Some(first) = first {
            self.goal = first.clamp(1, self.most);
        }
        let may_sort = kind.all
            && !kind.is_part
            && targets.len() <= TARGETS_IN_PAGE_ORDER
            && self.matched.is_none()
            && self.path.may_go_by_page(cx.view);
        self.page_order =
            if may_sort { PageOrderState::IfLong(self.cursor.leaf().0) } else { PageOrderState::No };
        self.walk(targets, kind);
        Ok(())
    }

    /// Registers the targets, if the transaction is SERIALIZABLE. Whatever they become later is a part of them.
    fn register(&mut self, targets: &Targets) -> Result<()> {
        if !self.registers {
            return Ok(());
        }
        let ranges = targets.all().iter().map(|target| &target.range);
        let ranges: Vec<_> = ranges.map(|range| (range.lower.as_slice(), range.upper.as_deref())).collect();
        Ok(self.cursor.read_only_in(&ranges)?)
    }

    /// Goes on with these targets.
    fn walk(&mut self, targets: Targets, kind: WalkKind) {
        self.done = targets.len() == 0;
        self.kind = kind;
        self.current = 0;
        self.inside = false;
        self.read_ahead.start(&targets, kind);
        self.targets = targets;
    }

    /// Where the scan may go from page to page and has come so far that this may pay: what is left of it is put in that order.
    fn sort_rest(&mut self, cx: &ScanContext<'_, '_>) -> Result<()> {
        if let PageOrderState::IfLong(begun) = self.page_order {
            if !self.inside || self.cursor.leaf().0 < begun + SHORT_SCAN_LEAVES {
                return Ok(());
            }
            let Some(position) = self.cursor.position().filter(|_| self.cursor.is_exact()) else {
                return Ok(());
            };
            let mut rest = self.targets.all()[self.current..].to_vec();
            if let Some(first) = rest.first_mut() {
                first.continues = true;
                first.range.lower = position.to_vec();
            }
            self.page_order = PageOrderState::Behind(PageOrder::new(rest));
        } else if !self.done {
            return Ok(());
        }
        let PageOrderState::Behind(order) = &mut self.page_order else { return Ok(()) };
        match order.next(&self.targets, self.cursor.tree(), cx.view)? {
            Some(NextTarget::ByPage(targets)) => self.walk(targets, WalkKind { by_page: true, ..self.kind }),
            Some(NextTarget::ByKey(targets)) if self.kind.by_page => {
                self.walk(targets, WalkKind { by_page: false, ..self.kind });
            }
            // It stands where they begin.
            Some(NextTarget::ByKey(_)) | None => self.page_order = PageOrderState::No,
        }
        Ok(())
    }

    /// Whether it is more than a short one, so that testing rows before they are decoded may pay.
    pub fn is_long(&self) -> bool {
        self.goal > FIRST_BATCH_ENTRIES
    }

    /// From now on, rows are tested before they are decoded, as far as that is quick. Whoever gets them evaluates the conditions again.
    pub fn set_screen(&mut self, screen: RowPrefilter) {
        self.screen = screen;
    }

    fn direction(&self) -> Direction {
        match (self.path.order, self.turned) {
            (ScanOrder::Any | ScanOrder::Forward, false) | (ScanOrder::Reverse, true) => Direction::Forward,
            (ScanOrder::Reverse, false) | (ScanOrder::Any | ScanOrder::Forward, true) => Direction::Reverse,
        }
    }

    /// Goes back through the same targets, if the last entries of each kind are wanted, too, and the first were found.
    fn turn(&mut self) -> bool {
        let both_ends = self.path.first_of().is_some_and(|first_of| first_of.both_ends);
        // Where the bounds are not exact, every entry was kept.
        if !both_ends || self.turned || !self.targets.exact() {
            return false;
        }
        self.turned = true;
        self.leaps = Leaps::at_first(&self.decoder);
        let targets = std::mem::take(&mut self.targets);
        self.walk(targets, self.kind);
        !self.done
    }

    /// The next entries; `None` when all targets are walked.
    pub fn next(&mut self, cx: &mut ScanContext<'_, '_>) -> Result<Option<Entries>> {
        if self.done && !self.turn() {
            return Ok(None);
        }
        let direction = self.direction();
        let mut output = Output::new(&self.decoder, self.expected.min(self.goal));
        while !self.done && !output.is_enough(self.goal) {
            cx.check(output.examined)?;
            if !self.inside {
                self.enter(direction, cx);
            }
            let at = (direction, self.current);
            self.read_ahead.advance(&self.cursor, &self.path, &self.targets, at, cx.counters)?;
            self.leaps.renew(self.path.leaps());
            let mut walk = Walk {
                path: &self.path,
                decoder: &self.decoder,
                screen: &self.screen,
                targets: &self.targets,
                kind: self.kind,
                direction,
                current: self.current,
                goal: self.goal,
                entered: 0,
                behind: false,
                locator: Vec::new(),
                key: Vec::new(),
                error: None,
                output: &mut output,
                leaps: &mut self.leaps,
                first_of: self.path.first_of().filter(|_| self.targets.exact()),
                matched: self.matched.as_mut(),
                entries_match: self.targets.exact() && self.path.delivers_all(),
            };
            let more = self.cursor.visit_with(direction, &mut walk)?;
            let Walk { current, entered, behind, error, .. } = walk;
            self.leaps.long_values = output.decoded.missing_bytes() > 0;
            if let Some(error) = error {
                return Err(error);
            }
            let leaps = std::mem::take(&mut self.leaps.count);
            cx.counters.handler_read_key += entered + leaps;
            cx.counters.leafline_leaps += leaps;
            cx.counters.leafline_covering_lookups += self.cursor.take_rows_visited();
            if self.leaps.left_leaf && self.path.first_of().is_some() {
                self.read_ahead.leapt();
            }
            self.current = current;
            self.inside = !behind;
            self.done = current >= self.targets.len();
            let at_end = !more && !output.is_enough(self.goal);
            if !self.done && (at_end || self.inside && self.is_past(direction)) {
                // The end of the tree, or of the leaf, ends this target; those behind it may begin before it.
                self.current += 1;
                self.inside = false;
                self.done = self.current >= self.targets.len();
            }
            self.sort_rest(cx)?;
        }
        let state = (self.targets.exact(), self.done && !self.kind.goes_on);
        count_entries(&self.path, state, output.examined, direction, cx.counters);
        self.note_filtered(output.filtered, cx.counters);
        // Of scans that are merged each gives a part of the rows.
        let growth = if self.path.merged.is_some() { MERGED_BATCH_GROWTH } else { BATCH_GROWTH };
        self.goal = (self.goal * growth).min(self.most);
        self.expected = (output.rows + output.rows / 4).max(EXPECTED_BATCH_ENTRIES);
        if output.rows == 0 && self.done {
            return if self.turn() { self.next(cx) } else { Ok(None) };
        }
        self.finish(output, cx.view).map(Some)
    }

    /// Runtime filters looked at so many rows of a batch and removed so many. Where they turn out to be of no use they are given up.
    fn note_filtered(&mut self, (looked_at, removed): (u64, u64), counters: &mut Counters) {
        counters.leafline_runtime_filtered += removed;
        self.filtered.0 += looked_at;
        self.filtered.1 += removed;
        let (looked_at, removed) = self.filtered;
        if looked_at >= FILTER_TRIAL_ROWS && removed * FILTER_LEAST_PART < looked_at {
            self.screen.forget_members();
        }
    }

    /// Whether nothing is left of the current target where the cursor stands.
    fn is_past(&self, direction: Direction) -> bool {
        let Some(target) = self.targets.at(direction, self.current).filter(|_| self.cursor.is_exact()) else {
            return false;
        };
        match (direction, self.cursor.position(), target.range.upper.as_deref()) {
            (Direction::Forward, Some(position), Some(upper)) => position >= upper,
            (Direction::Reverse, Some(position), _) => position <= target.range.lower.as_slice(),
            _ => false,
        }
    }

    fn finish(&self, output: Output, view: &ReadView) -> Result<Entries> {
        let columns = view.complete(&self.path.table, output.decoded)?;
        Ok(Entries {
            batch: Batch { columns, rows: output.rows },
            tags: output.tags,
            locators: output.locators,
            keys: output.keys,
        })
    }

    /// Positions the cursor at the beginning of the current target.
    fn enter(&mut self, direction: Direction, cx: &mut ScanContext<'_, '_>) {
        let Some(target) = self.targets.at(direction, self.current) else { return };
        match direction {
            Direction::Forward => self.cursor.seek(&target.range.lower),
            Direction::Reverse => self.cursor.seek_before(target.range.upper.as_deref()),
        }
        self.inside = true;
        if target.continues {
            return;
        }
        count_entry(&self.path, direction, cx.counters);
    }
}

/// Counts that a scan goes to the beginning of a range.
pub(crate) fn count_entry(path: &AccessPath, direction: Direction, counters: &mut Counters) {
    counters.handler_read_key += 1;
    if path.constraint.is_unbounded() {
        match direction {
            Direction::Forward => counters.handler_read_first += 1,
            Direction::Reverse => counters.handler_read_last += 1,
        }
    }
}

/// Counts entries that were examined, as MySQL would have counted the calls. For an index whose conditions are pushed
/// down only the entries that pass are seen above the engine: they are counted by whoever evaluates these.
pub(crate) fn count_entries(
    path: &AccessPath,
    (exact, ended): (bool, bool),
    examined: u64,
    direction: Direction,
    counters: &mut Counters,
) {
    counters.leafline_entries_examined += examined;
    if path.is_table_scan() {
        counters.handler_read_rnd_next += examined + u64::from(ended);
    } else if path.evaluates_on_entries(exact) {
        counters.handler_icp_attempts += examined;
    } else if !path.is_unique_lookup() {
        match direction {
            Direction::Forward => counters.handler_read_next += examined,
            Direction::Reverse => counters.handler_read_prev += examined,
        }
    }
}
