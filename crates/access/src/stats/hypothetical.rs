//! The statistics of an index that is not built: its keys are made of the sampled rows of the table.
//!
//! How many entries share a prefix, and lie in a range, comes of histograms of the bytes that the keys of these rows have: of each
//! prefix, and of each part by itself for ranges behind a prefix that few of the rows have. Its size comes of the lengths of these
//! entries, less what neighbours have in common. How its order follows that of the rows is seen from how far apart rows lie that follow each
//! other in it: of rows that were drawn evenly, neighbours in the index lie as many rows apart for each entry between them
//! as they are places apart in the sample. As much of it is taken to be in memory as of the table.

use super::histogram::{Histogram, ValueCounter};
use super::index::IndexStatistics;
use super::table::{Hits, TableSample};
use crate::constraint::{KeyRange, KeyStart, Link};
use crate::error::Result;
use crate::params::{HYPOTHETICAL_LEAST_ROWS, LOCATED_ENTRIES};
use leafline_btree::node::{SLOT, leaf_cell_len};
use leafline_btree::{Estimate, policy};
use leafline_table::build::FILL_PERCENT;
use leafline_table::{Core, IndexDef, TableDef};
use leafline_types::Value;
use leafline_types::key::{prefix_successor, skip_part};

/// An index that could be.
#[derive(Debug)]
pub struct HypotheticalIndex {
    /// As of one that is there.
    pub(super) statistics: IndexStatistics,
    /// All of it.
    pub(super) size: Estimate,
    /// The keys of the sampled rows, ascending.
    keys: Vec<Vec<u8>>,
    /// The spread of the bytes of the first 1, 2, .. parts.
    prefixes: Vec<Histogram>,
    /// The histogram of each part by itself.
    parts: Vec<Histogram>,
    /// Every row was looked at.
    is_all: bool,
}

/// The key that a sampled row would have.
struct Entry {
    key: Vec<u8>,
    /// Where each part of the key ends.
    ends: Vec<usize>,
    payload: usize,
    /// The leaf of the table that the row is on, and its place among the sampled rows.
    leaf: usize,
    place: usize,
}

impl HypotheticalIndex {
    /// An index of a table of this size, of which rows were sampled.
    ///
    /// # Errors
    /// Values that are not of their column's type.
    pub(super) fn new(
        engine: &Core,
        (table, of_table): (&TableDef, Estimate),
        index: &IndexDef,
        sample: &TableSample,
    ) -> Result<HypotheticalIndex> {
        let mut entries = entries(table, index, sample)?;
        entries.sort_unstable_by(|a, b| (&a.key, a.place).cmp(&(&b.key, b.place)));
        let (seen, rows) = sample.counts();
        let count = index.key_parts.len();
        let prefixes: Vec<Histogram> = (0..count).map(|at| spread(sample, &entries, 0, at)).collect();
        let parts: Vec<Histogram> = (0..count).map(|at| spread(sample, &entries, at, at)).collect();
        let distinct = |spread: &Histogram| spread.distinct() + f64::from(u8::from(spread.nulls() > 0.0));
        let mut values: f64 = 1.0;
        let mut entries_per_prefix = Vec::with_capacity(count);
        for (prefix, part) in prefixes.iter().zip(&parts) {
            values = values.max(distinct(prefix)).max(distinct(part)).min(rows.max(1.0));
            entries_per_prefix.push(rows.max(1.0) / values);
        }
        let leaves = leaves(engine.store().page_size(), &entries, rows);
        let size = Estimate {
            entries: rows,
            leaves,
            resident_fraction: of_table.resident_fraction,
            depth: of_table.depth,
            exact: false,
        };
        let rows_per_leaf = (rows / of_table.leaves.max(1.0)).max(1.0);
        let row_leaves_per_entry =
            scattering(&entries, rows_per_leaf).min(of_table.leaves.max(1.0) / LOCATED_ENTRIES as f64);
        Ok(HypotheticalIndex {
            statistics: IndexStatistics { rows, entries_per_prefix, row_leaves_per_entry },
            size,
            keys: entries.into_iter().map(|entry| entry.key).collect(),
            prefixes,
            parts,
            is_all: seen as f64 >= rows,
        })
    }

    /// The entries of a range, and the leaves that they would be on.
    pub(crate) fn estimate(&self, range: &KeyRange) -> Estimate {
        let start = &range.lower[..range.equal.bytes];
        let of_start = match range.equal.parts.checked_sub(1) {
            None => 1.0,
            Some(at) => self.prefixes.get(at).map_or(1.0, |spread| spread.share_of_value(start)),
        };
        let end = if start.is_empty() { None } else { prefix_successor(start) };
        let share = match range.lower.len() == start.len() && range.upper == end {
            true => of_start,
            false => of_start * self.share_behind(start, end, range),
        };
        let least = if range.equal.parts > 0 { 1.0 } else { 0.0 };
        let entries = (self.size.entries * share).max(least).min(self.size.entries);
        let per_leaf = (self.size.entries / self.size.leaves).max(1.0);
        let leaves = (entries / per_leaf).max(1.0).min(self.size.leaves);
        Estimate { entries, leaves, ..self.size }
    }

    /// Of the entries that begin with `start`, and are less than `end`, the share that lies in a range of the part behind.
    fn share_behind(&self, start: &[u8], end: Option<Vec<u8>>, range: &KeyRange) -> f64 {
        let behind = |key: &Vec<u8>| key.strip_prefix(start).map(<[u8]>::to_vec);
        let within = KeyRange {
            lower: behind(&range.lower).unwrap_or_default(),
            upper: range.upper.as_ref().and_then(behind),
            equal: KeyStart::default(),
            key_filter: Link::Accept,
        };
        let by_itself = self.parts.get(range.equal.parts).map_or(1.0, |spread| spread.share_of(&[within]));
        let below = |key: &[u8]| self.keys.partition_point(|known| known.as_slice() < key);
        let below_end = |end: &Option<Vec<u8>>| end.as_deref().map_or(self.keys.len(), below);
        let seen = below_end(&end).saturating_sub(below(start));
        let passed = below_end(&range.upper).saturating_sub(below(&range.lower));
        match seen {
            HYPOTHETICAL_LEAST_ROWS.. => Hits { passed, seen, is_all: self.is_all }.bound(by_itself),
            _ => by_itself,
        }
    }
}

fn entries(table: &TableDef, index: &IndexDef, sample: &TableSample) -> Result<Vec<Entry>> {
    let mut entries = Vec::with_capacity(sample.counts().0);
    for (place, (leaf, row)) in sample.places().enumerate() {
        let values = sample.row(table, row, &index.key_columns);
        let hidden = [Value::UInt(place as u64)];
        let hidden = if index.hidden_row_id { &hidden[..] } else { &[] };
        let (mut key, mut payload) = (Vec::new(), Vec::new());
        index.format.encode_key(&values, hidden, &mut key)?;
        index.format.encode_payload(&values, &mut payload)?;
        let mut ends = Vec::with_capacity(index.key_parts.len());
        let mut end = 0;
        for part in &index.key_parts {
            end += skip_part(part, key.get(end..).unwrap_or_default())?;
            ends.push(end);
        }
        entries.push(Entry { key, ends, payload: payload.len(), leaf, place });
    }
    Ok(entries)
}

/// The spread of the bytes that entries have in the parts from `first` to `last`.
fn spread(sample: &TableSample, entries: &[Entry], first: usize, last: usize) -> Histogram {
    let end = |entry: &Entry, part: usize| entry.ends.get(part).copied().unwrap_or(entry.key.len());
    let bytes = |entry: &Entry| {
        let start = first.checked_sub(1).map_or(0, |before| end(entry, before));
        let bytes = entry.key.get(start..end(entry, last)).unwrap_or_default().to_vec();
        (bytes, entry.leaf)
    };
    let mut all: Vec<(Vec<u8>, usize)> = entries.iter().map(bytes).collect();
    all.sort_unstable();
    let mut counting = ValueCounter::default();
    all.into_iter().for_each(|(key, leaf)| {
        counting.add(key, leaf);
    });
    sample.spread(&counting)
}

/// Leaves of an index of so many `rows`, if these are some of its entries, ascending, and leaves are filled as builds do.
fn leaves(page_size: usize, entries: &[Entry], rows: f64) -> f64 {
    let room = policy::capacity(page_size) as f64 * f64::from(FILL_PERCENT) / 100.0;
    let count = entries.len().max(1) as f64;
    let cell = |entry: &Entry| leaf_cell_len(false, entry.key.len(), entry.payload) + SLOT;
    let whole = entries.iter().map(cell).sum::<usize>() as f64 / count;
    // A leaf holds the common prefix of its keys once. The sample estimates it from two keys as far apart as the ends of a leaf.
    let per_leaf = room / whole.max(1.0);
    let step = ((per_leaf * count / rows.max(1.0)) as usize).max(1);
    let common = |(a, b): (&Entry, &Entry)| a.key.iter().zip(&b.key).take_while(|(a, b)| a == b).count();
    let pairs = entries.iter().zip(entries.iter().skip(step));
    let saved = pairs.map(common).sum::<usize>() as f64 / count;
    (rows * (whole - saved).max(SLOT as f64 + 1.0) / room).ceil().max(1.0)
}

/// Distinct leaves of the table per entry among neighbours in the order of the index.
fn scattering(entries: &[Entry], rows_per_leaf: f64) -> f64 {
    let steps = entries.len().saturating_sub(1);
    if steps == 0 {
        return 1.0;
    }
    let leaves = |(a, b): (&Entry, &Entry)| (a.place.abs_diff(b.place) as f64 / rows_per_leaf).min(1.0);
    entries.iter().zip(entries.iter().skip(1)).map(leaves).sum::<f64>() / steps as f64
}
