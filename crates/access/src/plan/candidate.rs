//! A candidate, and what it costs: from the sizes of what it reads to microseconds.

use crate::cost::{CostModel, Sweeps, batched_fetch_us, distinct_pages, point_read_us, scan_us};
use crate::params::{
    BATCH_BYTES, BATCH_GROWTH, BATCH_ROWS, FETCH_ENTRIES, FIRST_BATCH_ENTRIES, LOCATOR_PROBE_US,
    MAX_MERGED_RANGES,
};
use crate::path::{AccessPath, ScanOrder};
use crate::stats::{Extent, KeySpan};
use leafline_table::{IndexDef, TableDef};
use std::sync::Arc;

/// One way to read a table.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The bounded_path.
    pub path: AccessPath,
    /// Entries examined per loop.
    pub examined: f64,
    /// Rows fetched per loop.
    pub fetched: f64,
    /// Rows delivered per loop.
    pub rows: f64,
    /// The conditions contradict each other: there are no rows.
    pub empty: bool,
    /// Positions of the indexes whose parts the conditions bound: EXPLAIN's `possible_keys`.
    pub possible: Arc<[usize]>,
    pub(crate) sizes: Sizes,
}

/// The sizes from which the price of a candidate is computed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sizes {
    /// Ranges per loop.
    pub ranges: f64,
    /// The entries in them, per loop.
    pub entries: Extent,
    /// The index.
    pub index: Extent,
    /// The table.
    pub table: Extent,
    /// Distinct leaves of the table per entry of the index.
    pub row_leaves_per_entry: f64,
    /// Leaps within the ranges, per loop, and the leaves that are visited so.
    pub leaps: f64,
    pub visited: f64,
    /// Comparisons on an entry, and on a row, beyond the one that prices reckon with.
    pub more_comparisons: (f64, f64),
    /// Rows per loop that are rejected before they are decoded.
    pub rejected: f64,
    /// The price of collecting the locators that rows are looked up by, once, microseconds.
    pub set_us: f64,
    /// Entries per loop that are looked up in a set of locators.
    pub probed: f64,
    /// Only the first rows are asked for: they come in batches that begin small.
    pub begins_small: bool,
}

impl Sizes {
    /// Adds a set of locators that names the rows: it costs `set_us` to collect, and `probed` entries per loop are looked up in it.
    pub(crate) fn with_set(self, set_us: f64, probed: f64) -> Sizes {
        Sizes { set_us, probed, ..self }
    }
}

/// A price, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// Until the last row.
    pub total_us: f64,
    /// Until the first row.
    pub startup_us: f64,
}

impl Candidate {
    pub(crate) fn of_one_row(path: AccessPath, position: usize) -> Candidate {
        let one = Extent { entries: 1.0, leaves: 1.0, resident: 0.0 };
        let sizes = Sizes {
            ranges: 1.0,
            entries: one,
            index: one,
            table: one,
            row_leaves_per_entry: 1.0,
            ..Sizes::default()
        };
        let fetched = if path.fetches() { 1.0 } else { 0.0 };
        let possible = [position].into();
        Candidate { path, examined: 1.0, fetched, rows: 1.0, empty: false, possible, sizes }
    }

    pub(crate) fn nothing(path: AccessPath) -> Candidate {
        Candidate {
            path,
            examined: 0.0,
            fetched: 0.0,
            rows: 0.0,
            empty: true,
            possible: Arc::default(),
            sizes: Sizes::default(),
        }
    }

    /// Prices reading the table so, `loops` times: once, or for so many outer rows.
    pub fn price(&self, loops: f64, model: &CostModel) -> Price {
        if self.empty {
            return Price::default();
        }
        price_of(&self.path, (self.examined, self.fetched), &self.sizes, loops, model)
    }

    /// Returns the candidate with its rows in the order of the parts behind the first `parts`: the ranges of each value of these are merged. `None` if they are no single values, or
    /// too many.
    #[must_use]
    pub fn merged(mut self, parts: usize, order: ScanOrder) -> Option<Candidate> {
        let path = &mut self.path;
        let can_be = parts > 0
            && path.constraint.point_parts() >= parts
            && !path.constraint.is_correlated()
            && !path.is_index_merge()
            && path.first_of().is_none()
            && self.sizes.ranges <= MAX_MERGED_RANGES;
        (path.merged, path.order) = (Some(parts), order);
        can_be.then_some(self)
    }

    /// Entries that are examined for locators, before the first of its own.
    pub fn collected(&self) -> f64 {
        self.path.source.locators().map_or(0.0, |set| set.expected())
    }

    /// The first rows of it, a share of all.
    #[must_use]
    pub fn part(&self, share: f64) -> Candidate {
        let mut part = self.clone();
        part.examined *= share;
        part.rows *= share;
        part.fetched *= share;
        if self.path.fetches() && self.path.batched && !self.path.delivers_all() {
            // A batch is fetched whole.
            part.fetched = self.fetched.min(whole_batches(part.fetched));
        }
        let Sizes { ranges, entries, leaps, visited, rejected, probed, begins_small, .. } = &mut part.sizes;
        for size in [ranges, &mut entries.entries, &mut entries.leaves, leaps, visited, rejected, probed] {
            *size *= share;
        }
        *begins_small = true;
        part
    }

    /// Returns the candidate for loops whose keys lie in a part of the index.
    #[must_use]
    pub fn within(&self, span: KeySpan) -> Candidate {
        let mut narrowed = self.clone();
        let Sizes { entries, index, .. } = &mut narrowed.sizes;
        index.entries *= span.share;
        index.leaves = (index.leaves * span.share).max(1.0);
        entries.resident = span.resident;
        narrowed
    }

    /// Returns the candidate with its rows in the order of the index.
    #[must_use]
    pub fn ordered(mut self, order: ScanOrder) -> Candidate {
        self.path.order = order;
        self
    }
}

/// Prices `loops` reads of a table along a path, each of which examines and fetches so many entries and rows.
pub(crate) fn price_of(
    path: &AccessPath,
    (examined_per_loop, fetched_per_loop): (f64, f64),
    sizes: &Sizes,
    loops: f64,
    model: &CostModel,
) -> Price {
    let cpu = &model.cpu;
    let seeks = loops * sizes.ranges;
    let examined = loops * examined_per_loop;
    // A long range is read in order, many short ones in sorted batches. Where a leap goes is known when the entry before it was read.
    let walked = if path.leaps() { sizes.visited } else { sizes.entries.leaves };
    let within = (loops * walked).min(sizes.index.leaves);
    let leaves = distinct_pages(seeks, sizes.index.leaves).max(within);
    let one_by_one = loops > 1.0 && !path.batched;
    let io = if path.leaps() || one_by_one {
        leaves * point_read_us(model, sizes.entries.resident)
    } else if seeks > 1.0 {
        batched_fetch_us(model, leaves, sizes.index.leaves, sizes.entries.resident)
    } else {
        scan_us(model, leaves, sizes.entries.resident)
    };
    // All ranges that are merged are begun for the first row.
    let begun = if path.merged.is_some() { sizes.ranges } else { 1.0 };
    let startup_us = sizes.set_us + begun * (cpu.seek + io / leaves.max(1.0));
    let mut total_us = sizes.set_us + io + seeks * cpu.seek + leaves * cpu.leaf + examined * cpu.entry;
    if path.merged.is_some() {
        total_us += examined * (cpu.row + sizes.ranges.max(2.0).log2() * cpu.sort);
    }
    if path.leaps() {
        total_us += loops * (sizes.leaps * cpu.leap + sizes.visited * cpu.seek);
    }
    let delivered = if path.fetches() {
        let fetched = loops * fetched_per_loop;
        let row_bytes = model.page_bytes * sizes.table.leaves / sizes.table.entries.max(1.0);
        let most = match path.order {
            // All of them are known before the first is fetched.
            _ if path.is_index_merge() => fetched,
            ScanOrder::Any => FETCH_ENTRIES as f64,
            // They wait for their turn.
            _ => (BATCH_BYTES as f64 / row_bytes.max(1.0)).clamp(1.0, FETCH_ENTRIES as f64),
        };
        // A join looks up a batch of outer rows at a time.
        let batch = if loops > 1.0 { most.min(BATCH_ROWS as f64 * fetched_per_loop) } else { most };
        let per_seek = if fetched > 0.0 { seeks.min(fetched) / fetched } else { 0.0 };
        let sweeps = Sweeps {
            rows: fetched,
            batch,
            pages: sizes.table.leaves,
            resident: sizes.table.resident,
            pages_per_row: sizes.row_leaves_per_entry.max(per_seek),
        };
        let (pages, io) = match path.batched {
            true if sizes.begins_small => {
                sweeps.growing(model, FIRST_BATCH_ENTRIES as f64, BATCH_GROWTH as f64)
            }
            true => sweeps.cost(model),
            false => sweeps.one_by_one(model),
        };
        if path.pushes_conditions() {
            total_us += examined * (cpu.condition + sizes.more_comparisons.0 * cpu.filter);
        }
        total_us += loops * sizes.probed * LOCATOR_PROBE_US;
        let find = if path.batched { cpu.fetch } else { cpu.seek };
        total_us += io + fetched * find + pages * cpu.leaf;
        fetched
    } else {
        examined
    };
    total_us += (delivered - loops * sizes.rejected).max(0.0) * cpu.decode;
    if path.residual_filter.iter().any(|condition| !condition.implied) {
        total_us += delivered * cpu.filter * (1.0 + sizes.more_comparisons.1);
    }
    Price { total_us, startup_us }
}

/// Rounds a number of rows up to whole batches, which begin small and grow, the last of them full.
fn whole_batches(rows: f64) -> f64 {
    let (mut batch, mut sum) = (FIRST_BATCH_ENTRIES as f64, FIRST_BATCH_ENTRIES as f64);
    while sum < rows {
        batch *= BATCH_GROWTH as f64;
        sum += batch;
    }
    sum
}

/// The index that a candidate uses, by position in its table.
pub fn index_position(candidate: &Candidate) -> usize {
    position_in(&candidate.path.table, &candidate.path.index)
}

/// An index, by position in its table.
pub(crate) fn position_in(table: &TableDef, index: &IndexDef) -> usize {
    let position = table.indexes.iter().position(|known| known.id == index.id);
    position.expect("the index is one of the table")
}
