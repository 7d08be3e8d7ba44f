//! An access path at work: bounds to ranges, ranges to entries, entries through the pushed conditions to rows.
//!
//! ```text
//! bounds -> leap scan -> (conditions on entries) -> row fetch -> conditions on rows -> batches
//!                  covering and clustered paths: ------------------^
//! ```
//! Every delivered row carries a tag, the number of the outer row it was found for; a scan without outer rows has tag 0
//! throughout. A lookup of whole primary keys needs no scan: the keys go straight to the row fetch.

mod partitions;

use crate::error::Result;
use crate::params::{BATCH_GROWTH, BATCH_ROWS, FETCH_ENTRIES, FETCH_ROWS, FIRST_BATCH_ENTRIES};
use crate::path::{AccessPath, ScanOrder, Scores, Searched};
use crate::run::conditions::ConditionSet;
use crate::run::context::{Demand, ScanBatch, ScanContext};
use crate::run::in_order::{FetchedBatches, InOrder};
use crate::run::leap_scan::{Entries, LeapScan};
use crate::run::locators::Locators;
use crate::run::merge_scan::MergeScan;
use crate::run::piece::{Part, ScanPiece};
use crate::run::row_fetch::{Fetched, RowFetch};
use crate::run::runtime_filter::{Lookups, RuntimeFilter};
use crate::run::search::{Ranked, is_zero, score_column, scores_of};
use crate::run::targets::{Targets, WalkKind};
use arrow_array::{ArrayRef, BinaryArray};
use leafline_expr::{Datum, EvalContext, FoundRows, evaluate, evaluate_scalar};
use leafline_table::locator_in_partition;
use leafline_types::{Batch, Value, value_at};
use partitions::PartitionScan;
use std::sync::Arc;

/// Entries whose rows are still to be fetched.
struct Pending {
    locators: Locators,
    tags: Vec<u32>,
    /// Positions of the locators: in the order in which rows are fetched, or, if theirs is to be kept, of the entries.
    order: Vec<u32>,
    next: usize,
    /// Most rows that are fetched at a time: now, and as it grows.
    most: usize,
    largest: usize,
    /// Rows that were fetched, where they are put back into the order of the index.
    ready: Option<InOrder>,
}

impl Pending {
    fn new(locators: Locators, tags: Vec<u32>, path: &AccessPath) -> Pending {
        let mut positions: Vec<u32> = (0..locators.len() as u32).collect();
        if path.batched && path.order == ScanOrder::Any {
            locators.sort(&mut positions);
        }
        // Rows that have to be put back into index order are fetched as a whole.
        let most = if path.restores_order() { FETCH_ENTRIES } else { FETCH_ROWS };
        Pending { locators, tags, order: positions, next: 0, most, largest: most, ready: None }
    }

    /// The next rows as they come, and the positions of their locators.
    fn next_in_any_order(
        &mut self,
        path: &AccessPath,
        fetch: &RowFetch,
        cx: &mut ScanContext<'_, '_>,
    ) -> Result<Option<(Batch, Vec<u32>)>> {
        let end = self.order.len().min(self.next + self.most);
        let positions = &self.order[self.next..end];
        if positions.is_empty() {
            return Ok(None);
        }
        cx.check(0)?;
        let Fetched { batch, positions, examined } = fetch.fetch(path, &self.locators, positions, cx)?;
        self.next += examined;
        self.most = (self.most * BATCH_GROWTH).min(self.largest);
        Ok(Some((batch, positions)))
    }

    /// The next rows in the order of the index. All that there is room for are fetched in one sweep over the table before the first of
    /// them is handed on.
    fn next_in_order(
        &mut self,
        path: &AccessPath,
        fetch: &RowFetch,
        cx: &mut ScanContext<'_, '_>,
    ) -> Result<Option<(Batch, Vec<u32>)>> {
        loop {
            if let Some(ready) = &mut self.ready {
                if let Some(rows) = ready.next()? {
                    return Ok(Some(rows));
                }
                self.ready = None;
            }
            let end = self.order.len().min(self.next + self.most);
            let positions = &mut self.order[self.next..end];
            if positions.is_empty() {
                return Ok(None);
            }
            self.locators.sort(positions);
            let mut gathered = FetchedBatches::default();
            while gathered.examined() < positions.len() && (gathered.examined() == 0 || !gathered.is_full()) {
                cx.check(0)?;
                let rest = &positions[gathered.examined()..];
                let some = rest.get(..FETCH_ROWS).unwrap_or(rest);
                gathered.add(fetch.fetch(path, &self.locators, some, cx)?);
            }
            if gathered.examined() == positions.len() {
                self.next = end;
                self.most = (self.most * BATCH_GROWTH).min(self.largest);
                self.ready = Some(gathered.in_order());
                continue;
            }
            // Not all rows that come first in the index are among them: again, with as many of the first as there is room for.
            self.most = gathered.examined().min(positions.len() / 2).max(1);
            self.largest = self.most;
            positions.sort_unstable();
        }
    }

    /// The next locators of rows of which no column is read: these are rows without columns, at their positions.
    fn next_without_columns(&mut self) -> Option<(Batch, Vec<u32>)> {
        let end = self.order.len().min(self.next + BATCH_ROWS);
        let positions = self.order.get(self.next..end).filter(|positions| !positions.is_empty())?.to_vec();
        self.next = end;
        Some((Batch { columns: Vec::new(), rows: positions.len() }, positions))
    }

    /// Of locators in order, each once. Where perhaps not all rows will be asked for, few are fetched at first.
    fn of_set(locators: Locators, order: ScanOrder, demand: Demand) -> Pending {
        let locators = if order == ScanOrder::Reverse { locators.reversed() } else { locators };
        let positions = (0..locators.len() as u32).collect();
        let most = if demand == Demand::All { FETCH_ROWS } else { FIRST_BATCH_ENTRIES };
        let tags = vec![0; locators.len()];
        Pending { locators, tags, order: positions, next: 0, most, largest: FETCH_ROWS, ready: None }
    }
}

/// A running access path. It can be started again with other bounds.
pub struct PathScan {
    path: Arc<AccessPath>,
    leap: Option<LeapScan>,
    /// The scan that walks the index in place of that, if ranges are merged.
    merge: Option<MergeScan>,
    fetch: Option<RowFetch>,
    index_conditions: ConditionSet,
    residual_filter: ConditionSet,
    outer: Option<Batch>,
    /// One partner is enough for each of so many outer rows.
    ends_at_first: Option<usize>,
    /// The bounds came out exact: implied conditions hold.
    exact: bool,
    /// Rows are tested before they are decoded, as far as they can be.
    screened: bool,
    /// The runtime filters that narrow the path, and what they have rows looked up in.
    filters: Vec<Arc<RuntimeFilter>>,
    lookups: Lookups,
    pending: Option<Pending>,
    /// The set that entries are looked up in before their rows are fetched; none if it would be too large.
    filter: Option<Option<Locators>>,
    /// The scan that takes the place of a path whose locators are too many.
    instead: Option<Box<PathScan>>,
    /// The rows that the path's search has found.
    searched: Option<Arc<FoundRows>>,
    /// The part of the rows, in the order of scores, that has been delivered, if others follow.
    rest: Option<Ranked>,
    /// The scan over partitions, if the table is partitioned.
    partitions: Option<Box<PartitionScan>>,
}

impl AccessPath {
    /// The ranges of a path whose bounds depend on no outer row.
    pub(crate) fn targets(&self, eval: &mut EvalContext<'_>) -> Result<Targets> {
        let mut values = Vec::with_capacity(self.constraint.values().len());
        for value in self.constraint.values() {
            values.push(evaluate_scalar(value, eval)?);
        }
        Ok(Targets::new([(0, self.constraint.instantiate(&values))]))
    }

    /// Whether they are whole primary keys.
    pub(crate) fn looks_up(&self, targets: &Targets) -> bool {
        self.is_clustered() && self.is_unique_lookup() && targets.are_keys(self.index.key_parts.len())
    }

    /// The locators of the primary keys that a path without outer rows looks up, in order, if that is all it does.
    ///
    /// # Errors
    /// The errors of the bounds.
    pub fn looked_up(&self, eval: &mut EvalContext<'_>) -> Result<Option<Vec<Vec<u8>>>> {
        if !(self.is_clustered() && self.is_unique_lookup()) {
            return Ok(None);
        }
        let partition = match (&self.table.partitioning, &self.pruning) {
            (Some(partitioning), Some(pruning)) => {
                let possible = pruning.possible(partitioning, eval)?;
                let mut left = partitioning.partitions.iter().filter(|part| possible.has(part.number));
                match (left.next(), left.next()) {
                    (Some(only), None) => Some(only.number),
                    _ => return Ok(None),
                }
            }
            _ => None,
        };
        let targets = self.targets(eval)?;
        if !self.looks_up(&targets) {
            return Ok(None);
        }
        let (keys, _) = targets.into_points();
        let locator = |key: &[u8]| match partition {
            Some(number) => locator_in_partition(number, key),
            None => key.to_vec(),
        };
        Ok(Some((0..keys.len()).map(|key| locator(keys.get(key))).collect()))
    }
}

impl PathScan {
    /// A scan of a path, not started.
    pub fn new(path: &Arc<AccessPath>) -> PathScan {
        PathScan {
            leap: None,
            merge: None,
            fetch: None,
            index_conditions: ConditionSet::new(&path.index_conditions, path.index_condition_columns.len()),
            residual_filter: ConditionSet::new(&path.residual_filter, path.columns.len()),
            outer: None,
            ends_at_first: None,
            exact: false,
            screened: false,
            filters: Vec::new(),
            lookups: Lookups::new(),
            pending: None,
            filter: None,
            instead: None,
            searched: None,
            rest: None,
            partitions: PartitionScan::new(path).map(Box::new),
            path: path.clone(),
        }
    }

    /// A scan of a path, not started, for rows that are looked up in sets before they are decoded.
    pub(crate) fn with_lookups(path: &Arc<AccessPath>, lookups: &Lookups) -> PathScan {
        PathScan { lookups: lookups.clone(), ..PathScan::new(path) }
    }

    /// From the next start on it is a scan of `path`, for rows that runtime filters let pass; about so many entries would be examined without
    /// them.
    pub fn narrow(
        &mut self,
        path: &Arc<AccessPath>,
        filters: Vec<Arc<RuntimeFilter>>,
        examined: f64,
        cx: &mut ScanContext<'_, '_>,
    ) {
        let known = self.filters.len() == filters.len()
            && self.filters.iter().zip(&filters).all(|(a, b)| Arc::ptr_eq(a, b));
        if known {
            return;
        }
        let mut narrowed = PathScan::new(path);
        if !filters.is_empty() {
            let (path, lookups) = path.narrowed_by(&filters, examined);
            (narrowed.path, narrowed.lookups, narrowed.filters) = (Arc::new(path), lookups, filters);
            narrowed.partitions = PartitionScan::new(&narrowed.path).map(Box::new);
            if let Some(partitions) = &mut narrowed.partitions {
                partitions.set_lookups(&narrowed.lookups);
            }
            cx.counters.leafline_scans_narrowed += 1;
        }
        *self = narrowed;
    }

    /// Starts it with bounds that depend on no outer row.
    pub fn start(&mut self, demand: Demand, cx: &mut ScanContext<'_, '_>) -> Result<()> {
        if let Some(partitions) = &mut self.partitions {
            return partitions.start(demand, cx);
        }
        self.outer = None;
        self.ends_at_first = None;
        self.filter = None;
        if self.path.is_index_merge() {
            return self.merge(demand, cx);
        }
        let targets = self.path.targets(cx.eval)?;
        self.begin(targets, demand, WalkKind::default(), cx)
    }

    /// Starts it on a piece of the scan, all of whose rows will be asked for.
    pub fn start_piece(&mut self, piece: ScanPiece, cx: &mut ScanContext<'_, '_>) -> Result<()> {
        self.outer = None;
        self.ends_at_first = None;
        match piece.0 {
            Part::Walk { .. } if self.path.is_index_merge() => {
                let mut instead = Box::new(PathScan::new(&Arc::new(self.path.without_merge())));
                instead.start_piece(piece, cx)?;
                self.instead = Some(instead);
                Ok(())
            }
            Part::Walk { targets, kind } => self.begin(targets, Demand::All, kind, cx),
            Part::Rows { locators, exact } => {
                self.leap = None;
                self.exact = exact;
                self.look_up(locators, Demand::All)
            }
        }
    }

    /// Starts it for the rows of `outer`. With `first_only`, nothing but whether a row has a partner is asked for: what comes
    /// behind the first may be left out.
    pub fn start_for(
        &mut self,
        outer: Batch,
        first_only: bool,
        demand: Demand,
        cx: &mut ScanContext<'_, '_>,
    ) -> Result<()> {
        if let Some(partitions) = &mut self.partitions {
            return partitions.start_for(outer, first_only, demand, cx);
        }
        let path = self.path.clone();
        let constraint = &path.constraint;
        let mut columns = Vec::with_capacity(constraint.values().len());
        for value in constraint.values() {
            columns.push((evaluate(value, &outer, cx.eval)?, &value.ty.sql));
        }
        let mut values: Vec<Value> = columns
            .iter()
            .map(|(column, _)| match column {
                Datum::Scalar(value) => value.clone(),
                Datum::Array(_) => Value::Null,
            })
            .collect();
        let is_fixed = |slot: usize| matches!(columns.get(slot), Some((Datum::Scalar(_), _)));
        let fixed = constraint.fix(&values, &is_fixed);
        let mut bounds = Vec::with_capacity(outer.rows);
        for row in 0..outer.rows {
            for ((column, ty), value) in columns.iter().zip(&mut values) {
                if let Datum::Array(array) = column {
                    *value = value_at(array, row, ty);
                }
            }
            let found = constraint.instantiate_with(&fixed, &values);
            if !found.ranges.is_empty() {
                bounds.push((row as u32, found));
            }
        }
        let demand = if first_only { Demand::Unknown } else { demand };
        self.ends_at_first = first_only.then_some(outer.rows);
        self.outer = Some(outer);
        self.begin(Targets::new(bounds), demand, WalkKind::default(), cx)
    }

    /// Forgets what was read before: parameters may have changed.
    pub fn reset(&mut self) {
        if let Some(partitions) = &mut self.partitions {
            partitions.reset();
        }
        self.filter = None;
    }

    /// Looks up the rows that several indexes name.
    fn merge(&mut self, demand: Demand, cx: &mut ScanContext<'_, '_>) -> Result<()> {
        (self.pending, self.instead, self.exact, self.rest) = (None, None, false, None);
        let path = self.path.clone();
        if let Some(searched) = path.search() {
            return self.search(searched, demand, cx);
        }
        let Some(set) = path.source.locators() else { return Ok(()) };
        match set.collect(None, cx)? {
            Some(locators) => self.look_up(locators, demand),
            None => self.scan_instead(demand, cx),
        }
    }

    /// Looks up the rows that a search finds.
    fn search(&mut self, searched: &Searched, demand: Demand, cx: &mut ScanContext<'_, '_>) -> Result<()> {
        let scores = self.path.scores;
        let Some(found) = searched.collect(scores.and_then(|scores| scores.most), cx)? else {
            if let Some(Scores { number, .. }) = scores {
                self.searched = Some(cx.eval.search(number, None)?);
            }
            return self.scan_instead(demand, cx);
        };
        cx.counters.leafline_locators_collected += found.locators.len() as u64;
        self.exact = true;
        let locators = match scores {
            Some(Scores { in_order: true, all_rows, .. }) => {
                self.rest = all_rows.then_some(Ranked::Above);
                found.by_score(if all_rows { Ranked::Above } else { Ranked::All })
            }
            _ => found.locators,
        };
        self.searched = scores.map(|_| found.rows);
        self.look_up(locators, demand)
    }

    /// Goes on, behind a part of the rows in the order of scores, with those that are not found, then with those whose scores are
    /// below 0. False if there are no more.
    fn next_rank(&mut self, cx: &mut ScanContext<'_, '_>) -> Result<bool> {
        let path = self.path.clone();
        let (Some(part), Some(searched)) = (self.rest.take(), path.search()) else { return Ok(false) };
        if part == Ranked::Above {
            // Of the best rows only those above 0 have been delivered.
            self.searched = Some(cx.eval.search(searched.number, None)?);
            self.rest = Some(Ranked::Below);
            self.scan_instead(Demand::Unknown, cx)?;
            return Ok(true);
        }
        self.instead = None;
        let Some(found) = searched.collect(None, cx)? else { return Ok(false) };
        self.look_up(found.by_score(Ranked::Below), Demand::Unknown)?;
        Ok(true)
    }

    /// Scans the table, where a set of locators does not say enough.
    fn scan_instead(&mut self, demand: Demand, cx: &mut ScanContext<'_, '_>) -> Result<()> {
        let mut instead = Box::new(PathScan::new(&Arc::new(self.path.without_merge())));
        instead.start(demand, cx)?;
        self.instead = Some(instead);
        Ok(())
    }

    /// Goes on with the rows of a set of locators.
    fn look_up(&mut self, locators: Locators, demand: Demand) -> Result<()> {
        let columns = self.path.columns_read(self.exact);
        if self.path.search().is_some() && columns.is_empty() {
            self.fetch = None;
        } else if self.fetch.as_ref().is_none_or(|fetch| !fetch.decodes(columns.len())) {
            self.fetch = Some(RowFetch::new(&self.path, columns)?);
        }
        self.pending = Some(Pending::of_set(locators, self.path.order, demand));
        Ok(())
    }

    fn begin(
        &mut self,
        targets: Targets,
        demand: Demand,
        kind: WalkKind,
        cx: &mut ScanContext<'_, '_>,
    ) -> Result<()> {
        self.pending = None;
        self.exact = targets.exact();
        if let (Some(set), None) = (self.path.rowid_filter(), &self.filter) {
            self.filter = Some(set.collect(None, cx)?);
        }
        // Whole primary keys are looked up as rows, without a cursor.
        let whole_keys = self.path.looks_up(&targets);
        if self.fetch.is_none() && (self.path.fetches() || whole_keys) {
            self.fetch = Some(RowFetch::new(&self.path, &self.path.columns)?);
        }
        if whole_keys {
            cx.counters.handler_read_key += targets.len() as u64;
            let (locators, tags) = targets.into_points();
            cx.view.register_keys(&self.path.table, locators.iter())?;
            self.pending = Some(Pending::new(locators, tags, &self.path));
            self.leap = None;
            return Ok(());
        }
        let columns = match self.path.fetches() {
            true => self.path.index_condition_columns.as_slice(),
            false => self.path.columns_read(self.exact),
        };
        let first = match demand {
            Demand::All if self.path.fetches() => Some(usize::MAX),
            Demand::Rows(rows) if self.exact && self.path.delivers_all() => {
                Some(rows.min(FIRST_BATCH_ENTRIES))
            }
            // A scan that is started again begins small again; for more outer rows it goes on growing.
            Demand::Unknown if self.outer.is_none() => Some(FIRST_BATCH_ENTRIES),
            Demand::All | Demand::Rows(_) | Demand::Unknown => None,
        };
        if let Some(parts) = self.path.merged {
            let kind = WalkKind { all: demand == Demand::All, ..kind };
            let first = match demand {
                Demand::Rows(rows) if self.exact && self.path.delivers_all() => Some(rows),
                _ => first,
            };
            self.merge = Some(MergeScan::new(&self.path, parts, &targets, (columns, first), kind, cx)?);
            return Ok(());
        }
        if self.leap.is_none() {
            let most = if self.path.batched && self.path.fetches() { FETCH_ENTRIES } else { BATCH_ROWS };
            self.leap = Some(LeapScan::new(&self.path, columns, most, cx)?);
        }
        if let Some(leap) = &mut self.leap {
            leap.decode(columns)?;
            leap.end_at_first(self.ends_at_first);
            let all = demand == Demand::All;
            leap.start(targets, first, WalkKind { all, ..kind }, cx)?;
        }
        Ok(())
    }

    /// The next rows; `None` when there are no more. A batch is never empty.
    pub fn next(&mut self, cx: &mut ScanContext<'_, '_>) -> Result<Option<ScanBatch>> {
        if let Some(partitions) = &mut self.partitions {
            return partitions.next(cx);
        }
        loop {
            if let Some(instead) = &mut self.instead {
                match instead.next(cx)? {
                    Some(found) => match self.with_scores(found)? {
                        Some(found) => return Ok(Some(found)),
                        None => continue,
                    },
                    None if self.next_rank(cx)? => {}
                    None => return Ok(None),
                }
            }
            if let Some(found) = self.fetch_pending(cx)? {
                if !found.tags.is_empty() {
                    self.note_partners(&found.tags);
                    return Ok(Some(found));
                }
                continue;
            }
            if self.next_rank(cx)? {
                continue;
            }
            if self.path.fetches() {
                let Some((locators, tags)) = self.named_rows(cx)? else { return Ok(None) };
                self.pending = Some(Pending::new(locators, tags, &self.path));
                continue;
            }
            let Some(entries) = self.next_entries(cx)? else { return Ok(None) };
            let Entries { batch, tags, locators, .. } = entries;
            let located = self.path.deliver_locators;
            let locators = located.then(|| (0..locators.len()).map(|at| locators.get(at)));
            let locators = locators.map(|keys| Arc::new(BinaryArray::from_iter_values(keys)) as ArrayRef);
            let found = self.deliver(batch, tags, locators.into_iter().collect(), self.exact, cx)?;
            if !found.tags.is_empty() {
                self.note_partners(&found.tags);
                return Ok(Some(found));
            }
        }
    }

    /// Of a path that fetches rows: the locators of the next entries that pass the conditions on them and are in the set that filters
    /// them, each with the outer row that it is for.
    pub(crate) fn named_rows(
        &mut self,
        cx: &mut ScanContext<'_, '_>,
    ) -> Result<Option<(Locators, Vec<u32>)>> {
        let Some(entries) = self.next_entries(cx)? else { return Ok(None) };
        let outer = self.outer.as_ref();
        let exact = self.exact;
        let passed = self.index_conditions.filter(&entries.batch, &entries.tags, outer, exact, cx.eval)?;
        if self.path.evaluates_on_entries(exact) {
            let passed = passed.count() as u64;
            cx.counters.handler_icp_match += passed;
            if !self.path.is_unique_lookup() {
                match self.path.order {
                    ScanOrder::Reverse => cx.counters.handler_read_prev += passed,
                    _ => cx.counters.handler_read_next += passed,
                }
            }
        }
        let mut locators = Locators::default();
        let mut tags = Vec::with_capacity(passed.count());
        let filter = self.filter.as_ref().and_then(Option::as_ref);
        for entry in passed.indices() {
            let locator = entries.locators.get(entry);
            if filter.is_none_or(|filter| filter.contains(locator)) {
                locators.push(locator);
                tags.push(entries.tags[entry]);
            }
        }
        Ok(Some((locators, tags)))
    }

    /// Whether implied conditions hold for what it reads.
    pub(crate) fn is_exact(&self) -> bool {
        self.exact
    }

    /// Returns the entries that the walk of the index finds next.
    fn next_entries(&mut self, cx: &mut ScanContext<'_, '_>) -> Result<Option<Entries>> {
        if let Some(merge) = &mut self.merge {
            return merge.next(cx);
        }
        let Some(leap) = &mut self.leap else { return Ok(None) };
        if !self.screened && leap.is_long() && self.path.is_clustered() {
            self.screened = true;
            let mut screen = self.residual_filter.screen(&self.path, self.exact, cx.eval);
            for (column, numbers) in &self.lookups {
                screen.require(&self.path.index.format, *column, numbers);
            }
            leap.set_screen(screen);
        }
        leap.next(cx)
    }

    fn note_partners(&mut self, tags: &[u32]) {
        if let (Some(_), Some(leap)) = (self.ends_at_first, &mut self.leap) {
            leap.add_matched(tags);
        }
    }

    /// Rows of the entries that wait for theirs, as many as a batch holds, less what the conditions reject.
    fn fetch_pending(&mut self, cx: &mut ScanContext<'_, '_>) -> Result<Option<ScanBatch>> {
        let Some(pending) = &mut self.pending else { return Ok(None) };
        let fetched = match &self.fetch {
            None => pending.next_without_columns(),
            Some(fetch) if self.path.restores_order() => pending.next_in_order(&self.path, fetch, cx)?,
            Some(fetch) => pending.next_in_any_order(&self.path, fetch, cx)?,
        };
        let Some((batch, positions)) = fetched else {
            self.pending = None;
            return Ok(None);
        };
        let tags = positions.iter().map(|at| pending.tags[*at as usize]).collect();
        let keys = || positions.iter().map(|position| pending.locators.get(*position as usize));
        let locators = self.path.deliver_locators;
        let locators = locators.then(|| Arc::new(BinaryArray::from_iter_values(keys())) as ArrayRef);
        let scores = self.searched.as_ref().map(|searched| score_column(searched, keys()));
        let hidden = locators.into_iter().chain(scores).collect();
        self.deliver(batch, tags, hidden, self.exact, cx).map(Some)
    }

    /// Puts scores in the place of the locators, or behind them if these are delivered, too. Where rows come in the order of the
    /// scores, those that are found are left out: they stand elsewhere.
    fn with_scores(&self, mut found: ScanBatch) -> Result<Option<ScanBatch>> {
        let (Some(searched), Some(scores)) = (&self.searched, self.path.scores) else {
            return Ok(Some(found));
        };
        let columns = &mut found.batch.columns;
        let values = columns.last().map(|locators| scores_of(searched, locators)).transpose()?;
        if !self.path.deliver_locators {
            columns.pop();
        }
        let zero = values.as_ref().map(is_zero).filter(|_| scores.all_rows);
        columns.extend(values);
        let Some(zero) = zero else { return Ok(Some(found)) };
        let tags =
            (0..).zip(&found.tags).filter(|(row, _)| zero.contains(*row)).map(|(_, tag)| *tag).collect();
        let batch = zero.apply(&found.batch)?;
        Ok((batch.rows > 0).then_some(ScanBatch { batch, tags }))
    }

    /// Applies the conditions on rows, cuts the columns that served them only, and adds the `hidden` ones: locators
    /// and scores.
    fn deliver(
        &self,
        mut batch: Batch,
        mut tags: Vec<u32>,
        hidden: Vec<ArrayRef>,
        exact: bool,
        cx: &mut ScanContext<'_, '_>,
    ) -> Result<ScanBatch> {
        let selection = self.residual_filter.filter(&batch, &tags, self.outer.as_ref(), exact, cx.eval)?;
        batch.columns.truncate(self.path.delivered);
        batch.columns.extend(hidden);
        if selection.count() == batch.rows {
            return Ok(ScanBatch { batch, tags });
        }
        tags = selection.indices().into_iter().filter_map(|row| tags.get(row).copied()).collect();
        Ok(ScanBatch { batch: selection.apply(&batch)?, tags })
    }
}
