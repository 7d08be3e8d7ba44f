//! Candidates: every way to read a table under some conditions, with what each examines, delivers and costs.
//!
//! The optimizer of joins asks for the candidates of a table alone and, with outer columns in the conditions, as the inner side
//! of a lookup join, and compares prices. Rows come from dives into the ranges; what conditions on index columns let pass
//! is found by evaluating them on sampled entries, so that of two indexes with the same leading column the one whose
//! other columns filter more is seen to fetch less.

use super::base_relation::BaseRelation;
use crate::constraint::{Bounds, Built, Implied};
use crate::cost::{CostModel, distinct_pages};
use crate::error::Result;
use crate::params::{FIRST_BATCH_ENTRIES, SAMPLE_LEAST_ENTRIES, SAMPLE_LEAST_ROWS};
use crate::path::{AccessPath, FirstOf, IndexWalk, PathKind, ScanOrder, more_comparisons};
use crate::plan::candidate::{Candidate, Sizes, index_position};
use crate::plan::condition_list::ConditionList;
use crate::plan::leap_estimate::LeapEstimate;
use crate::plan::path_builder::PathRequest;
use crate::stats::Extent;
use crate::stats::{KeySpan, PartialSelectivity, Sample, Selectivity, StatementSamples, Statistics};
use crate::stats::{joint_selectivity, key_span, largest_with, sample_rows};
use leafline_expr::RowPrefilter;
use leafline_expr::domain::null_range;
use leafline_expr::{EvalContext, Expr, bind_parameters, evaluate_scalar};
use leafline_table::{Core, IndexDef, TableDef};
use leafline_types::Value;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

/// Plans how tables are read, from the data, the prices and what was sampled before.
#[derive(Clone, Copy)]
pub struct Planner<'a> {
    /// The database.
    pub engine: &'a Core,
    /// Prices.
    pub model: &'a CostModel,
    /// Sampled statistics.
    pub statistics: &'a Statistics,
    /// The sampled rows that the statement's conditions let pass, as far as it was asked.
    pub samples: &'a StatementSamples,
}

impl Planner<'_> {
    /// The candidates, at least one: the table scan, unless the index hints say otherwise and leave another. A unique key
    /// that constants identify is the only candidate, and found without a look at the data.
    pub fn candidates(
        &self,
        relation: &BaseRelation<'_>,
        eval: &mut EvalContext<'_>,
    ) -> Result<Vec<Candidate>> {
        match relation.request.narrowed_table(eval)? {
            None => self.candidates_over(relation, eval),
            Some(table) => {
                let request = PathRequest { table: &table, ..relation.request.clone() };
                let none_left = table.partitioning.as_ref().is_some_and(|left| left.partitions.is_empty());
                match none_left {
                    // No row can pass, and there is no tree to look into.
                    true if relation.request.is_pruned_by_literals() => {
                        Ok(vec![Candidate::nothing(request.build_scan())])
                    }
                    // The plan is kept for other values of its parameters, which will find some.
                    true => self.candidates_over(relation, eval),
                    false => self.candidates_over(&BaseRelation { request, ..relation.clone() }, eval),
                }
            }
        }
    }

    /// The candidates over those partitions of the table that are left, if it has any.
    fn candidates_over(
        &self,
        relation: &BaseRelation<'_>,
        eval: &mut EvalContext<'_>,
    ) -> Result<Vec<Candidate>> {
        let request = &relation.request;
        let table = request.table;
        let mut bounded = Vec::new();
        for (position, index) in table.ordered_indexes().iter().enumerate() {
            eval.cancel.check()?;
            // One that is quarantined cannot be read, whatever hints say.
            let readable = index.is_clustered() || !is_quarantined(self.engine, table, position);
            let allowed = readable && relation.allowed.allows(position);
            let (path, ranged) = match (index.is_clustered(), allowed) {
                (true, false) => (request.build_scan(), vec![false; request.conjuncts.len()]),
                (false, false) => continue,
                (_, true) => {
                    let built = request.constrain(index);
                    let ranged = by_ranges(&built);
                    (request.build_with(index, ScanOrder::Any, built), ranged)
                }
            };
            if path.is_unique_lookup() && !path.constraint.is_correlated() {
                return Ok(vec![Candidate::of_one_row(path, position)]);
            }
            let leaps =
                relation.skip_scan.allows(position) && path.constraint.first_filtered_part().is_some();
            if leaps || is_useful(&path, relation) {
                let bounded_path = self.bounded_path(path, ranged, eval)?;
                if bounded_path.bounds.as_ref().is_some_and(|bounds| bounds.ranges.is_empty()) {
                    // No row can pass, so the other bounded need no look.
                    let possible = [position].into();
                    return Ok(vec![Candidate { possible, ..Candidate::nothing(bounded_path.path) }]);
                }
                bounded.push(bounded_path);
            }
        }
        let conditions = self.own_conditions(relation);
        let mut found = Vec::with_capacity(bounded.len());
        let mut known = Vec::new();
        for bounded_path in bounded {
            eval.cancel.check()?;
            let (candidate, knows) = self.price(bounded_path, relation, &conditions, eval)?;
            known.extend(knows);
            if candidate.path.leaps() || is_useful(&candidate.path, relation) {
                found.push(candidate);
            }
        }
        let mut merges = self.merges(relation, &found, &conditions, eval)?;
        found.append(&mut merges.candidates);
        known.append(&mut merges.known);
        found.append(&mut self.searches(relation, eval)?);
        self.agree_on_rows(&mut found, &known, relation, &conditions, eval)?;
        Self::retain_searches(&mut found);
        let bounded = |candidate: &Candidate| {
            bounds_or_leaps(&candidate.path)
                || candidate.path.is_covering()
                || candidate.path.is_index_merge()
        };
        retain_demanded(&mut found, relation);
        if relation.allowed.avoids_scan() && found.iter().any(bounded) {
            found.retain(|candidate| !candidate.path.is_table_scan());
        }
        let bounded = found.iter().filter(|candidate| bounds_or_leaps(&candidate.path));
        let merged = found.iter().filter_map(|candidate| candidate.path.source.locators());
        let position = |index: &Arc<IndexDef>| table.indexes.iter().position(|known| known.id == index.id);
        let merged = merged.flat_map(|set| set.indexes()).filter_map(position);
        let possible: BTreeSet<usize> = bounded.map(index_position).chain(merged).collect();
        let possible: Arc<[usize]> = possible.into_iter().collect();
        found.iter_mut().for_each(|candidate| candidate.possible = possible.clone());
        Ok(found)
    }

    /// Returns the candidate for a caller to whom the first few rows of each value of the first parts are enough, or with `skips_nulls` the
    /// first that has no NULL in the part behind them, if there is one. `None` if the candidate looks at more than the entries.
    ///
    /// # Errors
    /// The errors of sampling.
    pub fn first_of(
        &self,
        candidate: &Candidate,
        (parts, count, both_ends): (usize, usize, bool),
        skips_nulls: bool,
        order: ScanOrder,
    ) -> Result<Option<Candidate>> {
        let path = &candidate.path;
        let others = path.table.is_partitioned() || path.is_index_merge();
        if path.evaluates() || path.constraint.is_correlated() || candidate.empty || others {
            return Ok(None);
        }
        let statistics = self.statistics.index(self.engine, &path.table, &path.index)?;
        let Extent { entries, leaves, .. } = candidate.sizes.entries;
        let groups =
            (entries / statistics.entries_per(parts)).max(candidate.sizes.ranges).min(entries.max(1.0));
        let ends = if both_ends { 2.0 } else { 1.0 };
        let leaps = (ends * groups * if path.constraint.has_key_filter() { 2.0 } else { 1.0 }).min(entries);
        let behind = path.index.key_parts.get(parts).filter(|part| skips_nulls && part.nullable);
        let null = behind.and_then(|part| match null_range(part).lower {
            Bound::Included(bytes) => Some(bytes),
            _ => None,
        });
        let rows = (ends * groups * count as f64).min(candidate.rows.max(1.0));
        let walk = IndexWalk::FirstOf(FirstOf { parts, count, both_ends, null });
        Ok(Some(Candidate {
            path: AccessPath { walk, order, ..path.clone() },
            examined: (leaps + rows).min(entries),
            fetched: if path.fetches() { rows } else { 0.0 },
            rows,
            sizes: Sizes { leaps, visited: distinct_pages(leaps, leaves).max(1.0), ..candidate.sizes },
            ..candidate.clone()
        }))
    }

    /// A candidate that is looked into by a `column` of the rows of another, as it is for these: the keys of a range may lie close together.
    pub fn for_rows_of(
        &self,
        outer: &Candidate,
        column: usize,
        candidate: &Candidate,
        eval: &mut EvalContext<'_>,
    ) -> Result<Candidate> {
        let path = &outer.path;
        let unknown = |path: &AccessPath| path.index.is_hypothetical() || path.table.is_partitioned();
        let unknown = unknown(path) || unknown(&candidate.path);
        if path.constraint.is_unbounded() || path.constraint.is_correlated() || outer.empty || unknown {
            return Ok(candidate.clone());
        }
        let bounds = self.bounds(path, eval)?.without_key_filter();
        let span = key_span(self.engine, (&path.table, &path.index, &bounds), column, &candidate.path.index)?;
        Ok(span.map_or_else(|| candidate.clone(), |span| candidate.within(span)))
    }

    /// The share of the rows of a table, in the order of a column or its reverse, that holds the share `wanted` of those for which conditions on
    /// them hold.
    ///
    /// # Errors
    /// The errors of sampling.
    pub fn share_in_order(
        &self,
        table: &TableDef,
        order: (usize, bool),
        conditions: &[Expr],
        wanted: f64,
        eval: &EvalContext<'_>,
    ) -> Result<f64> {
        if self.table_rows(table) < SAMPLE_LEAST_ROWS {
            return Ok(wanted);
        }
        let known = |condition: &&Expr| !condition.is_volatile() && condition.is_constant_for_planning();
        let conditions: Vec<Expr> = conditions.iter().filter(known).cloned().collect();
        let sample = self.samples.sample(table, || self.statistics.rows(self.engine, table))?;
        self.samples.share_in_order(&sample, table, order, (&conditions, wanted), eval)
    }

    /// A candidate that is looked into by a `column` of the first rows of another, a share of all in an order, as it is for these: their keys may lie
    /// close together.
    ///
    /// # Errors
    /// The errors of sampling.
    pub fn for_first_rows_of(
        &self,
        table: &TableDef,
        order: (usize, bool),
        share: f64,
        column: usize,
        candidate: &Candidate,
    ) -> Result<Candidate> {
        if self.table_rows(table) < SAMPLE_LEAST_ROWS {
            return Ok(candidate.clone());
        }
        let sample = self.samples.sample(table, || self.statistics.rows(self.engine, table))?;
        let share = self.samples.span_in_order(&sample, table, order, share, column)?;
        let resident = self.whole(&candidate.path.table, &candidate.path.index)?.resident;
        Ok(candidate.within(KeySpan { share, resident }))
    }

    /// The entries that a path whose bounds need no outer row has to examine.
    pub fn entries(&self, path: &AccessPath, eval: &mut EvalContext<'_>) -> Result<f64> {
        self.samples.note_price();
        let bounds = self.bounds(path, eval)?;
        if let (Some(partitioning), Some(pruning)) = (&path.table.partitioning, &path.pruning) {
            let possible = pruning.possible(partitioning, eval)?;
            let left = path.table.with_partitions(|number| possible.has(number));
            return Ok(self.extent(&left, &path.index, &bounds)?.entries);
        }
        Ok(self.extent(&path.table, &path.index, &bounds)?.entries)
    }

    /// However the rows are found, there are as many: what all paths together know of them. A path that depends on outer rows
    /// keeps what it expects for one of them.
    fn agree_on_rows(
        &self,
        candidates: &mut [Candidate],
        known: &[PartialSelectivity],
        relation: &BaseRelation<'_>,
        conditions: &[Expr],
        eval: &EvalContext<'_>,
    ) -> Result<()> {
        let table = relation.request.table;
        let share = joint_selectivity(conditions, known, &self.selectivity(relation), eval)?;
        let rows = self.table_rows(table) * share;
        for candidate in candidates.iter_mut().filter(|candidate| !candidate.path.constraint.is_correlated())
        {
            candidate.rows = rows.min(candidate.examined);
        }
        Ok(())
    }

    /// The way along an index as the relation asks for it, with its price, if it has bounds that depend on no outer row.
    pub(crate) fn collecting(
        &self,
        index: &Arc<IndexDef>,
        relation: &BaseRelation<'_>,
        eval: &mut EvalContext<'_>,
    ) -> Result<Option<Candidate>> {
        let built = relation.request.constrain(index);
        let ranged = by_ranges(&built);
        let path = relation.request.build_with(index, ScanOrder::Any, built);
        if path.constraint.is_unbounded() || path.constraint.is_correlated() {
            return Ok(None);
        }
        let conditions = self.own_conditions(relation);
        let bounded_path = self.bounded_path(path, ranged, eval)?;
        Ok(Some(self.price(bounded_path, relation, &conditions, eval)?.0))
    }

    /// The sizes of rows of a table that are looked up.
    pub(crate) fn sizes_of_fetch(&self, table: &TableDef) -> Result<Sizes> {
        let whole = self.whole(table, table.clustered())?;
        Ok(Sizes { index: whole, table: whole, row_leaves_per_entry: 1.0, ..Sizes::default() })
    }

    /// Returns what answers how many rows conditions on the table let pass.
    fn selectivity<'s>(&'s self, relation: &BaseRelation<'s>) -> Selectivity<'s> {
        let table = relation.request.table;
        let looks = relation.sample_rows || self.table_rows(table) >= SAMPLE_LEAST_ROWS;
        Selectivity::new(self.engine, (self.statistics, self.samples), table, looks)
    }

    pub(crate) fn table_rows(&self, table: &TableDef) -> f64 {
        (self.engine.rows_of(table) as f64).max(1.0)
    }

    /// The conditions, hints included, that read no outer column.
    fn own_conditions(&self, relation: &BaseRelation<'_>) -> Vec<Expr> {
        let width = relation.request.table.columns.len();
        let known = |condition: &&Expr| {
            condition.columns().iter().all(|column| *column < width)
                && !condition.is_volatile()
                && condition.is_constant_for_planning()
        };
        relation.request.conjuncts.iter().chain(relation.derived_conjuncts).filter(known).cloned().collect()
    }

    /// A path with its bounds, if these depend on no outer row.
    fn bounded_path(
        &self,
        mut path: AccessPath,
        ranged: Vec<bool>,
        eval: &mut EvalContext<'_>,
    ) -> Result<BoundedPath> {
        let unknown = |value: &Expr| !value.columns().is_empty() || !value.is_constant_for_planning();
        let correlated = path.constraint.values().iter().any(unknown);
        let bounds = if correlated { None } else { Some(self.bounds(&path, eval)?) };
        if bounds.as_ref().is_some_and(|bounds| !bounds.exact) {
            path.evaluate_all();
        }
        Ok(BoundedPath { path, ranged, bounds })
    }

    /// Prices a path; returns also the selectivity that it knows, if it depends on no outer row.
    fn price(
        &self,
        BoundedPath { path, ranged, bounds }: BoundedPath,
        relation: &BaseRelation<'_>,
        conditions: &[Expr],
        eval: &mut EvalContext<'_>,
    ) -> Result<(Candidate, Option<PartialSelectivity>)> {
        self.samples.note_price();
        let table = path.table.clone();
        let rows = self.table_rows(&table);
        let whole = Extent { entries: rows, ..self.whole(&table, &path.index)? };
        let (entries, ranges) = match &bounds {
            Some(bounds) if bounds.ranges.is_empty() => return Ok((Candidate::nothing(path), None)),
            Some(_) if path.constraint.is_unbounded() => (whole, 1.0),
            Some(bounds) => (self.extent(&table, &path.index, bounds)?, bounds.ranges.len() as f64),
            None => (self.per_key(&path, relation, whole, rows)?, 1.0),
        };
        let passing = if path.is_table_scan() {
            EntrySelectivity { selectivity: 1.0, sampled: 1.0, remaining: 1.0, covers: Vec::new() }
        } else {
            self.entry_selectivity(&path, &ranged, relation, conditions, bounds.as_ref(), entries, eval)?
        };
        let passed = entries.entries * passing.selectivity;
        let fetched = if path.fetches() { passed } else { 0.0 };
        let covered = (entries.entries * passing.sampled / rows).min(1.0);
        let is_counted = passing.sampled >= 1.0;
        // The figures of a hypothetical index were guessed from the rows that the other indexes look at, too.
        let knows = bounds.is_some() && !path.index.is_hypothetical();
        let known =
            knows.then_some(PartialSelectivity { covers: passing.covers, share: covered, is_counted });
        let more_comparisons =
            (more_comparisons(&path.index_conditions), more_comparisons(&path.residual_filter));
        let mut sizes = Sizes {
            ranges,
            entries,
            index: whole,
            table: whole,
            row_leaves_per_entry: 1.0,
            more_comparisons,
            ..Sizes::default()
        };
        if path.fetches() {
            sizes.table = self.whole(&table, table.clustered())?;
            sizes.row_leaves_per_entry =
                self.statistics.index(self.engine, &table, &path.index)?.row_leaves_per_entry;
        }
        if path.is_clustered() && bounds.is_some() {
            // Entries of the first batch are not tested so.
            let tested = (entries.entries - FIRST_BATCH_ENTRIES as f64).max(0.0);
            sizes.rejected = tested * self.rejected_on_bytes(relation, conditions, eval)?;
        }
        let mut candidate = Candidate {
            examined: entries.entries,
            fetched,
            rows: passed * passing.remaining,
            empty: false,
            possible: Arc::default(),
            path,
            sizes,
        };
        if relation.skip_scan.allows(index_position(&candidate)) {
            let leaps = self.leaps(&candidate, bounds.as_ref(), relation, conditions, eval)?;
            if let Some(leaps) = leaps {
                self.leap_where_it_pays(&mut candidate, leaps, passed, relation.skip_scan.is_demand());
            }
        }
        Ok((candidate, known))
    }

    /// The share of rows that a scan of the clustered index rejects by their bytes, before they are decoded.
    fn rejected_on_bytes(
        &self,
        relation: &BaseRelation<'_>,
        conditions: &[Expr],
        eval: &mut EvalContext<'_>,
    ) -> Result<f64> {
        let table = relation.request.table;
        let columns: Vec<usize> = (0..table.columns.len()).collect();
        let mut tested = Vec::new();
        for condition in conditions.iter().take_while(|condition| !condition.may_raise()) {
            let Ok(bound) = bind_parameters(condition, eval) else { break };
            if !RowPrefilter::new(&table.clustered().format, &columns, [&bound]).is_empty() {
                tested.push(condition);
            }
        }
        Ok(1.0 - self.selectivity(relation).of_all(tested, eval)?)
    }

    /// How often the scan of a candidate leaps if it may; `None`: there is nothing to leap for.
    fn leaps(
        &self,
        candidate: &Candidate,
        bounds: Option<&Bounds>,
        relation: &BaseRelation<'_>,
        conditions: &[Expr],
        eval: &EvalContext<'_>,
    ) -> Result<Option<f64>> {
        let AccessPath { table, index, constraint, .. } = &candidate.path;
        let statistics = self.statistics.index(self.engine, table, index)?;
        let selectivity = self.selectivity(relation);
        let share = |part: usize| {
            let column = index.key_columns.get(part);
            let of_part = |condition: &&Expr| condition.columns().iter().all(|read| Some(read) == column);
            selectivity.of_all(conditions.iter().filter(of_part), eval).unwrap_or(1.0)
        };
        let estimate = LeapEstimate { statistics: &statistics, share: &share };
        Ok(match bounds {
            Some(bounds) => estimate.leaps(bounds, candidate.examined),
            None => {
                let tested = constraint.first_filtered_part();
                tested.map(|part| estimate.leaps_to_one_place(part, candidate.examined))
            }
        })
    }

    /// Lets a scan leap, so many times, if it costs less so, or where it is `demanded`.
    fn leap_where_it_pays(&self, candidate: &mut Candidate, leaps: f64, passed: f64, demanded: bool) {
        let examined = candidate.examined;
        let landed = (leaps + passed).min(examined);
        let pages = candidate.sizes.entries.leaves;
        let per_page = examined / pages.max(1.0);
        let visited = distinct_pages(leaps, pages).max(1.0) + passed / per_page.max(1.0);
        let leaping = Candidate {
            path: AccessPath { walk: IndexWalk::Leaps, ..candidate.path.clone() },
            examined: landed,
            sizes: Sizes { leaps, visited: visited.min(pages), ..candidate.sizes },
            ..candidate.clone()
        };
        let pays = leaping.price(1.0, self.model).total_us < candidate.price(1.0, self.model).total_us;
        if demanded || pays {
            *candidate = leaping;
        }
    }

    fn bounds(&self, path: &AccessPath, eval: &mut EvalContext<'_>) -> Result<Bounds> {
        let mut values: Vec<Value> = Vec::new();
        for value in path.constraint.values() {
            match evaluate_scalar(value, eval) {
                Ok(value) => values.push(value),
                // It will fail again, in its place, when it is evaluated for the rows.
                Err(_) => return Ok(Bounds { exact: false, ..Bounds::all() }),
            }
        }
        Ok(path.constraint.instantiate(&values))
    }

    /// Estimates the share of entries that pass the conditions on entries, and the share of these that pass the others.
    #[expect(clippy::too_many_arguments, reason = "what pricing has found out so far")]
    fn entry_selectivity(
        &self,
        path: &AccessPath,
        ranged: &[bool],
        relation: &BaseRelation<'_>,
        own: &[Expr],
        bounds: Option<&Bounds>,
        entries: Extent,
        eval: &EvalContext<'_>,
    ) -> Result<EntrySelectivity> {
        let conjuncts = relation.request.conjuncts;
        let exact = bounds.is_some_and(|bounds| bounds.exact);
        let by_ranges = ConditionList::of(
            conjuncts.iter().zip(ranged).filter(|(_, ranged)| exact && **ranged).map(|(c, _)| c),
        );
        let on_entries: Vec<Expr> = own
            .iter()
            .filter(|condition| !by_ranges.contains(condition))
            .filter(|condition| path.index.covers(relation.request.own_columns(condition)))
            .filter(|_| relation.request.pushes(&path.index) || !path.fetches())
            .cloned()
            .collect();
        let (tested, all) = (ConditionList::of(&on_entries), ConditionList::of(own));
        let rest =
            own.iter().filter(|condition| !tested.contains(condition) && !by_ranges.contains(condition));
        let correlated = conjuncts
            .iter()
            .filter(|conjunct| !all.contains(conjunct) && relation.derived_conjuncts.is_empty());
        let selectivity = self.selectivity(relation);
        let remaining = selectivity.of_all(rest, eval)?
            * selectivity.of_all(correlated.skip(path.constraint.equal_parts()), eval)?;
        let mut covers: Vec<bool> = own.iter().map(|condition| by_ranges.contains(condition)).collect();
        if on_entries.is_empty() {
            return Ok(EntrySelectivity { selectivity: 1.0, sampled: 1.0, remaining, covers });
        }
        let everything = Bounds::all();
        let bounds = bounds.unwrap_or(&everything);
        // Entries of a leaf lie close together in the columns of the index; rows of the table are a better sample of all of it.
        let of_rows = match path.constraint.is_unbounded() {
            true => selectivity.hits(&[], &on_entries, eval)?.filter(|hits| hits.seen > 0),
            false => None,
        };
        let otherwise = selectivity.of_all(&on_entries, eval)?;
        let looks = !path.index.is_hypothetical()
            && (entries.entries >= SAMPLE_LEAST_ENTRIES || bounds == &everything);
        let sample = if let Some(hits) = of_rows {
            Sample { seen: hits.seen, share: hits.bound(otherwise) }
        } else if !looks {
            Sample::default()
        } else {
            let columns: Vec<usize> = (0..relation.request.table.columns.len()).collect();
            let (columns, conditions) = compact(&columns, &on_entries);
            let within = bounds.clone().without_key_filter();
            let index = largest_with(self.engine, &path.table, &path.index);
            sample_rows(self.engine, (&*index, entries), &within, &columns, &conditions, eval)?
        };
        let selectivity = sample.selectivity(otherwise);
        let sampled = if sample.seen > 0 { selectivity } else { 1.0 };
        if sample.seen > 0 {
            for (covered, condition) in covers.iter_mut().zip(own) {
                *covered |= tested.contains(condition);
            }
        }
        Ok(EntrySelectivity { selectivity, sampled, remaining, covers })
    }
}

/// A path that is to be priced.
struct BoundedPath {
    path: AccessPath,
    /// Per conjunct, whether the ranges see to it.
    ranged: Vec<bool>,
    /// The ranges; `None` if they depend on outer rows.
    bounds: Option<Bounds>,
}

/// The shares of the entries in the ranges that pass conditions.
struct EntrySelectivity {
    /// The share that passes the conditions on entries.
    selectivity: f64,
    /// The part of it that is not guessed.
    sampled: f64,
    /// The share of those that is guessed to pass the others.
    remaining: f64,
    /// Per condition, whether ranges and sample say what it lets pass.
    covers: Vec<bool>,
}

/// Whether an index of the table, or of a partition of it, is quarantined.
fn is_quarantined(engine: &Core, table: &Arc<TableDef>, position: usize) -> bool {
    let mut indexes = table.stored().filter_map(|table| table.indexes.get(position));
    indexes.any(|index| engine.is_quarantined(index))
}

/// Whether only a part of the index is read.
fn bounds_or_leaps(path: &AccessPath) -> bool {
    !path.constraint.is_unbounded() || path.leaps()
}

/// Leaves only what hints demand, if there is any of it.
fn retain_demanded(found: &mut Vec<Candidate>, relation: &BaseRelation<'_>) {
    let mut retain = |demanded: bool, is_it: fn(&AccessPath) -> bool| {
        if demanded && found.iter().any(|candidate| is_it(&candidate.path)) {
            found.retain(|candidate| is_it(&candidate.path));
        }
    };
    retain(relation.merging.indexes.is_demand(), AccessPath::is_index_merge);
    retain(relation.skip_scan.is_demand(), |path| path.kind() == PathKind::SkipScan);
}

/// Per conjunct, whether entries of the ranges satisfy it, or nearly all do.
fn by_ranges(built: &Built) -> Vec<bool> {
    built.implied.iter().map(|implied| matches!(implied, Implied::ByRanges | Implied::Nearly)).collect()
}

/// Whether a path is worth a look, even if it does not leap.
fn is_useful(path: &AccessPath, relation: &BaseRelation<'_>) -> bool {
    !path.constraint.is_unbounded() || path.is_covering() || relation.every_index || path.is_table_scan()
}

/// The columns that conditions read, and the conditions with their positions among these.
fn compact(columns: &[usize], conditions: &[Expr]) -> (Vec<usize>, Vec<Expr>) {
    let used: Vec<usize> = columns
        .iter()
        .copied()
        .filter(|column| conditions.iter().any(|c| c.columns().contains(column)))
        .collect();
    let renumber = |condition: &Expr| {
        condition.map_columns(&mut |column| {
            used.iter().position(|known| *known == column).expect("conditions are on columns that are read")
        })
    };
    let conditions = conditions.iter().map(renumber).collect();
    (used, conditions)
}
