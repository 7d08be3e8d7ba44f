//! Candidates that merge indexes, and those that filter the entries of one by the locators of others.
//!
//! Of every index that the conditions bound it is known what it costs to read its entries and how many rows these name. An OR whose
//! branches bound different indexes is a union. Out of these, beginning with what names few rows, sets are intersected as long as the rows
//! that need not be fetched cost more than the entries that are read for it. Conditions on different indexes are taken to be independent.
//!
//! How much is looked at is bounded, whatever the number of conditions: [`MAX_UNIONS`], [`UNION_MAX_BRANCHES`], [`UNION_MAX_CONJUNCTS`],
//! [`MAX_INTERSECTED`].

use super::base_relation::BaseRelation;
use crate::cost::{CostModel, batched_fetch_us, distinct_pages};
use crate::error::Result;
use crate::params::{
    INTERSECTION_LEAST_GAIN, INTERSECTION_STARTS, LOCATOR_PROBE_US, LOCATOR_US, MAX_INTERSECTED, MAX_UNIONS,
    MERGE_LEAST_SEEKS, UNION_MAX_BRANCHES, UNION_MAX_CONJUNCTS, UNION_WEIGHED_BRANCHES,
};
use crate::path::{AccessPath, IndexWalk, ScanOrder, Source};
use crate::path::{Located, LocatorSet};
use crate::plan::candidate::{Candidate, Sizes, index_position, price_of};
use crate::plan::path_builder::PathRequest;
use crate::plan::planner::Planner;
use crate::stats::Extent;
use crate::stats::PartialSelectivity;
use leafline_expr::build::{and, or};
use leafline_expr::{EvalContext, Expr, ExprKind};
use leafline_table::IndexDef;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A set of locators, and what it is expected to be.
#[derive(Clone)]
struct LocatorSource {
    set: LocatorSet,
    /// Per conjunct, whether it was used for the set.
    uses: Vec<bool>,
    /// How many rows it names.
    rows: f64,
    /// The entries that are collected for it: of one index, or of each that a union reads.
    reads: Vec<Read>,
}

/// Entries that are collected.
#[derive(Clone, Copy)]
struct Read {
    entries: Extent,
    /// Ranges that they lie in.
    ranges: f64,
    /// The price of reading them all, microseconds.
    us: f64,
}

impl LocatorSource {
    /// The price of collecting all of it, microseconds.
    fn us(&self) -> f64 {
        self.reads.iter().map(|read| read.us).sum()
    }
}

impl Read {
    /// The price of finding out which of so many locators are among the entries: these are read, or the locators are sought there.
    fn us_within(&self, locators: f64, model: &CostModel) -> f64 {
        let seeks = locators * self.ranges.max(1.0);
        let leaves = distinct_pages(seeks, self.entries.leaves);
        let io = batched_fetch_us(model, leaves, self.entries.leaves, self.entries.resident);
        self.us.min(seeks * model.cpu.seek + io)
    }
}

/// Sets of which the rows that all of them name are looked up.
struct Merged<'s> {
    sources: Vec<&'s LocatorSource>,
    rows: f64,
    sizes: Sizes,
    /// Its price, microseconds.
    total_us: f64,
}

/// Candidates, and what was learnt about the conditions on the bounded_path.
#[derive(Default)]
pub(crate) struct Merges {
    pub candidates: Vec<Candidate>,
    pub known: Vec<PartialSelectivity>,
}

/// A relation about merging, with what is the same for all answers.
struct Merger<'m, 'q> {
    planner: &'m Planner<'m>,
    relation: &'m BaseRelation<'q>,
    /// Rows of the table.
    rows: f64,
    sizes: Sizes,
}

impl Planner<'_> {
    /// Further candidates, beside those that use one index each. `conditions`: those that [`PartialSelectivity`] is about.
    pub(crate) fn merges(
        &self,
        relation: &BaseRelation<'_>,
        found: &[Candidate],
        conditions: &[Expr],
        eval: &mut EvalContext<'_>,
    ) -> Result<Merges> {
        let cheapest =
            found.iter().map(|one| one.price(1.0, self.model).total_us).fold(f64::INFINITY, f64::min);
        let mut merges = Merges::default();
        let demanded = relation.merging.indexes.is_demand();
        if cheapest < MERGE_LEAST_SEEKS * self.model.cpu.seek && !demanded {
            return Ok(merges);
        }
        let table = relation.request.table;
        let merger = Merger {
            planner: self,
            relation,
            rows: self.table_rows(table),
            sizes: self.sizes_of_fetch(table)?,
        };
        let mut sources: Vec<LocatorSource> =
            found.iter().filter_map(|candidate| merger.entries_of(candidate)).collect();
        let mut unions = merger.unions(eval)?;
        for union in &unions {
            merges.known.extend(merger.known(union, conditions));
        }
        unions.retain(|union| relation.merging.allows_set(&union.set));
        sources.append(&mut unions);
        sources.sort_by(|a, b| a.rows.total_cmp(&b.rows));
        merges.candidates = merger.chains(&sources, eval)?;
        if relation.merging.rowid_filter {
            let filtered = found.iter().filter_map(|candidate| merger.filtered(candidate, &sources));
            merges.candidates.extend(filtered);
        }
        Ok(merges)
    }
}

impl Merger<'_, '_> {
    /// The conjuncts that the entries of an index decide by themselves.
    fn decided<'e>(
        &self,
        index: &IndexDef,
        conjuncts: impl IntoIterator<Item = &'e Expr>,
    ) -> Vec<(usize, &'e Expr)> {
        let width = self.relation.request.table.columns.len();
        let is_decided = |conjunct: &Expr| {
            let columns = conjunct.columns();
            !conjunct.is_volatile() && columns.iter().all(|column| *column < width) && index.covers(columns)
        };
        conjuncts.into_iter().enumerate().filter(|(_, conjunct)| is_decided(conjunct)).collect()
    }

    /// The path to the locators of the entries that pass conditions that the index decides.
    fn path_to_locators(&self, index: &Arc<IndexDef>, conjuncts: &[Expr]) -> AccessPath {
        self.request(conjuncts).build(index, ScanOrder::Any)
    }

    fn request<'r>(&'r self, conjuncts: &'r [Expr]) -> PathRequest<'r> {
        PathRequest { conjuncts, wanted: &[], deliver_locators: true, ..self.relation.request.clone() }
    }

    /// The locators of the entries that a candidate looks at and whose rows it would fetch.
    fn entries_of(&self, candidate: &Candidate) -> Option<LocatorSource> {
        let path = &candidate.path;
        let is_bound = !path.constraint.is_unbounded() || path.leaps();
        if !path.fetches() || !is_bound || path.constraint.is_correlated() {
            return None;
        }
        let position = index_position(candidate);
        if !self.relation.merging.allows(position) {
            return None;
        }
        let decided = self.decided(&path.index, self.relation.request.conjuncts);
        let mut uses = vec![false; self.relation.request.conjuncts.len()];
        decided.iter().for_each(|(at, _)| uses[*at] = true);
        let conjuncts: Vec<Expr> = decided.into_iter().map(|(_, conjunct)| conjunct.clone()).collect();
        let walk = if path.leaps() { IndexWalk::Leaps } else { IndexWalk::EveryEntry };
        let path = AccessPath { walk, ..self.path_to_locators(&path.index, &conjuncts) };
        let collecting = Candidate { path, ..candidate.clone() };
        Some(self.source(collecting, uses, candidate.fetched))
    }

    /// The locators that a candidate delivers.
    fn source(&self, collecting: Candidate, uses: Vec<bool>, rows: f64) -> LocatorSource {
        let us = collecting.price(1.0, self.planner.model).total_us + rows * LOCATOR_US;
        let Sizes { entries, ranges, .. } = collecting.sizes;
        let reads = vec![Read { entries, ranges, us }];
        let located = Located { expected: collecting.examined, path: Arc::new(collecting.path) };
        LocatorSource { set: LocatorSet::Entries(located), uses, rows, reads }
    }

    /// A union for each OR whose branches bound indexes, not all the same.
    fn unions(&self, eval: &mut EvalContext<'_>) -> Result<Vec<LocatorSource>> {
        let conjuncts = self.relation.request.conjuncts.iter().enumerate();
        let mut ors: Vec<(usize, &[Expr])> = conjuncts
            .filter_map(|(at, conjunct)| match &conjunct.kind {
                ExprKind::Or(branches) if branches.len() <= UNION_MAX_BRANCHES => {
                    Some((at, branches.as_slice()))
                }
                _ => None,
            })
            .collect();
        if ors.len() > MAX_UNIONS {
            ors.sort_by_key(|(_, branches)| branches.len());
            ors.truncate(MAX_UNIONS);
            ors.sort_by_key(|(at, _)| *at);
        }
        let mut unions = Vec::new();
        for (at, branches) in ors {
            unions.extend(self.union(at, branches, eval)?);
        }
        Ok(unions)
    }

    fn union(
        &self,
        at: usize,
        branches: &[Expr],
        eval: &mut EvalContext<'_>,
    ) -> Result<Option<LocatorSource>> {
        let mut by_index: BTreeMap<usize, Vec<Expr>> = BTreeMap::new();
        for branch in branches {
            eval.cancel.check()?;
            let weigh = branches.len() <= UNION_WEIGHED_BRANCHES;
            let Some((position, part)) = self.best_index(branch, weigh, eval)? else { return Ok(None) };
            by_index.entry(position).or_default().push(part);
        }
        if by_index.len() < 2 {
            return Ok(None);
        }
        let request = &self.relation.request;
        let mut uses = vec![false; request.conjuncts.len()];
        uses[at] = true;
        let (mut sets, mut reads, mut others) = (Vec::new(), Vec::new(), 1.0);
        for (position, parts) in by_index {
            let index = &request.table.indexes[position];
            let others_decided = self.decided(index, request.conjuncts);
            let mut conjuncts = vec![or(parts)];
            let others_decided = others_decided.into_iter().filter(|(other, _)| *other != at);
            conjuncts.extend(others_decided.take(UNION_MAX_CONJUNCTS).map(|(_, conjunct)| conjunct.clone()));
            let asked = BaseRelation {
                request: self.request(&conjuncts),
                derived_conjuncts: &[],
                ..self.relation.clone()
            };
            let Some(collecting) = self.planner.collecting(index, &asked, eval)? else { return Ok(None) };
            if collecting.empty {
                continue;
            }
            let rows = collecting.rows;
            let source = self.source(collecting, Vec::new(), rows);
            others *= 1.0 - (rows / self.rows).min(1.0);
            reads.extend(source.reads);
            sets.push(source.set);
        }
        let set = if sets.len() == 1 { sets.pop() } else { Some(LocatorSet::Any(sets)) };
        Ok(set.map(|set| LocatorSource { set, uses, rows: self.rows * (1.0 - others), reads }))
    }

    /// The index that has the fewest entries of a branch of an OR, and what it decides of the branch. Without `weigh` the one most of
    /// whose parts are fixed.
    fn best_index(
        &self,
        branch: &Expr,
        weigh: bool,
        eval: &mut EvalContext<'_>,
    ) -> Result<Option<(usize, Expr)>> {
        let conjuncts = match &branch.kind {
            ExprKind::And(all) => all.as_slice(),
            _ => std::slice::from_ref(branch),
        };
        let table = self.relation.request.table;
        let mut best: Option<(f64, usize, Expr)> = None;
        for (position, index) in table.ordered_indexes().iter().enumerate() {
            let readable = index.is_clustered() || !self.planner.engine.is_quarantined(index);
            let merging = &self.relation.merging;
            if !readable || !self.relation.allowed.allows(position) || !merging.allows(position) {
                continue;
            }
            let decided: Vec<Expr> =
                self.decided(index, conjuncts).into_iter().map(|(_, conjunct)| conjunct.clone()).collect();
            let path = self.path_to_locators(index, &decided);
            if path.constraint.is_unbounded() || path.constraint.is_correlated() {
                continue;
            }
            let entries = match weigh {
                true => self.planner.entries(&path, eval)?,
                false if path.is_unique_lookup() => f64::NEG_INFINITY,
                false => -(path.constraint.equal_parts() as f64),
            };
            if best.as_ref().is_none_or(|(fewest, ..)| entries < *fewest) {
                best = Some((entries, position, and(decided)));
            }
        }
        Ok(best.map(|(_, position, part)| (position, part)))
    }

    /// The selectivity of the conditions that a union knows.
    fn known(&self, union: &LocatorSource, conditions: &[Expr]) -> Option<PartialSelectivity> {
        let conjuncts = self.relation.request.conjuncts.iter().zip(&union.uses);
        let used: Vec<&Expr> = conjuncts.filter(|(_, used)| **used).map(|(conjunct, _)| conjunct).collect();
        let covers: Vec<bool> = conditions.iter().map(|condition| used.contains(&condition)).collect();
        covers.contains(&true).then(|| PartialSelectivity {
            covers,
            share: (union.rows / self.rows).min(1.0),
            is_counted: false,
        })
    }

    /// The rows that all of some sets name, looked up, and what that costs. `scan` is the scan of the table with any set of locators.
    fn merged<'s>(&self, mut sources: Vec<&'s LocatorSource>, scan: &AccessPath) -> Merged<'s> {
        sources.sort_by(|a, b| a.rows.total_cmp(&b.rows));
        let model = self.planner.model;
        let (mut rows, mut us) = (self.rows, 0.0);
        for (at, source) in sources.iter().enumerate() {
            us += match at {
                0 => source.us(),
                _ => {
                    LOCATOR_PROBE_US
                        + source.reads.iter().map(|read| read.us_within(rows, model)).sum::<f64>()
                }
            };
            rows *= (source.rows / self.rows).min(1.0);
        }
        let sizes = self.sizes.with_set(us, 0.0);
        let total_us = price_of(scan, (rows, rows), &sizes, 1.0, model).total_us;
        Merged { sources, rows, sizes, total_us }
    }

    /// The candidate that looks the rows of merged sets up.
    fn candidate(&self, Merged { sources, rows, sizes, .. }: Merged<'_>, scan: &AccessPath) -> Candidate {
        let mut sets: Vec<LocatorSet> = sources.iter().map(|source| source.set.clone()).collect();
        let only = if sets.len() == 1 { sets.pop() } else { None };
        let set = only.unwrap_or(LocatorSet::All(sets));
        let path = AccessPath { source: Source::Merged(Arc::new(set)), ..scan.clone() };
        Candidate { path, examined: rows, fetched: rows, rows, empty: false, possible: Arc::default(), sizes }
    }

    /// Unions, and the intersections that are worth it.
    fn chains(&self, sources: &[LocatorSource], eval: &EvalContext<'_>) -> Result<Vec<Candidate>> {
        let mut found: Vec<Candidate> = Vec::new();
        let Some(any) = sources.first() else { return Ok(found) };
        let source = Source::Merged(Arc::new(any.set.clone()));
        let scan = AccessPath { source, ..self.relation.request.build_scan() };
        for (start, first) in sources.iter().enumerate() {
            eval.cancel.check()?;
            let is_union = matches!(first.set, LocatorSet::Any(_));
            if start >= INTERSECTION_STARTS && !is_union {
                continue;
            }
            let mut best = self.merged(vec![first], &scan);
            while let Some(longer) = self.longer(&best, sources, &scan) {
                best = longer;
            }
            if is_union || best.sources.len() > 1 {
                found.push(self.candidate(best, &scan));
            }
        }
        Ok(found)
    }

    /// An intersection with one set more that says something new, if that is worth it.
    fn longer<'s>(
        &self,
        best: &Merged<'s>,
        sources: &'s [LocatorSource],
        scan: &AccessPath,
    ) -> Option<Merged<'s>> {
        if !self.relation.merging.intersection || best.sources.len() >= MAX_INTERSECTED {
            return None;
        }
        let is_used =
            |at: usize| best.sources.iter().any(|known| known.uses.get(at).is_some_and(|used| *used));
        let is_new =
            |other: &&LocatorSource| other.uses.iter().enumerate().any(|(at, uses)| *uses && !is_used(at));
        let longer = sources.iter().filter(is_new).map(|other| {
            let mut longer = best.sources.clone();
            longer.push(other);
            self.merged(longer, scan)
        });
        let next = longer.min_by(|a, b| a.total_us.total_cmp(&b.total_us))?;
        let is_merged = best.sources.iter().map(|source| source.set.paths().len()).sum::<usize>() > 1;
        let demanded = self.relation.merging.indexes.is_demand() && !is_merged;
        (demanded || next.total_us <= best.total_us * INTERSECTION_LEAST_GAIN).then_some(next)
    }

    /// A candidate whose entries are looked up in the set that spares it most, if order or outer rows make it walk its index as it does.
    fn filtered(&self, candidate: &Candidate, sources: &[LocatorSource]) -> Option<Candidate> {
        let path = &candidate.path;
        let walks = self.relation.every_index || path.constraint.is_correlated();
        if !walks || !path.fetches() || path.first_of().is_some() {
            return None;
        }
        let conjuncts = self.relation.request.conjuncts;
        let says_more = |source: &&LocatorSource| {
            let used = conjuncts.iter().zip(&source.uses).filter(|(_, uses)| **uses);
            used.into_iter().any(|(conjunct, _)| !path.index.covers(conjunct.columns()))
        };
        // For one loop a set that costs more than it saves is not worth it; for many of them the joins compare prices.
        let price = |filtered: &Candidate| {
            let whole = filtered.price(1.0, self.planner.model).total_us;
            if path.constraint.is_correlated() { filtered.fetched } else { whole }
        };
        let filtered = sources.iter().filter(says_more).map(|source| {
            let share = (source.rows / self.rows).min(1.0);
            Candidate {
                path: AccessPath {
                    source: Source::Fetched { rowid_filter: Some(Arc::new(source.set.clone())) },
                    ..path.clone()
                },
                fetched: candidate.fetched * share,
                sizes: candidate.sizes.with_set(source.us(), candidate.fetched),
                ..candidate.clone()
            }
        });
        let best = filtered.min_by(|a, b| price(a).total_cmp(&price(b)))?;
        (price(&best) < price(candidate)).then_some(best)
    }
}
