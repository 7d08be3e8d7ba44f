//! Statistics of an index, from some of its leaves: entries per distinct key prefix, and how its order and that of the rows go together.

use super::sample::leaves_to_sample;
use crate::error::{AccessError, Result};
use crate::params::{INDEX_COLD_LEAVES, INDEX_LEAVES, LOCATED_ENTRIES, LOCATED_LEAVES, REPEATED_ENTRIES};
use leafline_btree::SampledLeaves;
use leafline_storage::PageNo;
use leafline_table::{Core, IndexDef, TableDef, locator_of};
use leafline_types::key::{KeyPart, skip_part};
use std::collections::BTreeSet;

/// Its multiples spread evenly between whole numbers, without a period.
const GOLDEN_RATIO: f64 = 0.618_033_988_749_894_9;

/// The statistics of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexStatistics {
    /// Rows in the table when it was sampled.
    pub rows: f64,
    /// Average number of entries that share the first 1, 2, .. parts.
    pub entries_per_prefix: Vec<f64>,
    /// Distinct leaves of the clustered index per entry, for entries that are neighbours in this index: 1 where rows lie at
    /// random, little where index order follows row order.
    pub row_leaves_per_entry: f64,
}

impl IndexStatistics {
    /// The statistics of a partition, for a table of so many `rows` of which it is the largest: values that come more than once in it are taken to be in
    /// the others, too, unless they are what rows are divided by.
    pub(super) fn of_partitions(&self, rows: f64, table: &TableDef, index: &IndexDef) -> IndexStatistics {
        let times = (rows / self.rows.max(1.0)).max(1.0);
        let dividing =
            table.partitioning.as_ref().map(|all| all.scheme.deciding_columns()).unwrap_or_default();
        let divides = |column: &usize| dividing.contains(column);
        let of_prefix = |(part, entries): (usize, &f64)| {
            let divided = index.key_columns.iter().take(part + 1).any(divides);
            if divided || *entries < REPEATED_ENTRIES { *entries } else { entries * times }
        };
        IndexStatistics {
            rows,
            entries_per_prefix: self.entries_per_prefix.iter().enumerate().map(of_prefix).collect(),
            ..*self
        }
    }

    /// Average number of entries with the same first `parts` parts.
    pub fn entries_per(&self, parts: usize) -> f64 {
        match parts.checked_sub(1) {
            None => self.rows,
            Some(at) => {
                self.entries_per_prefix.get(at).copied().unwrap_or(1.0).clamp(1.0, self.rows.max(1.0))
            }
        }
    }
}

/// Looks at leaves of an index of a table that has so many `rows`.
pub(super) fn sample(
    engine: &Core,
    table: &TableDef,
    index: &IndexDef,
    rows: f64,
) -> Result<IndexStatistics> {
    let parts = &index.key_parts;
    if index.is_words() || !index.is_clustered() && engine.is_quarantined(index) {
        // There are no values to be looked at, or nobody will read them.
        let entries_per_prefix = vec![1.0; parts.len()];
        return Ok(IndexStatistics { rows, entries_per_prefix, row_leaves_per_entry: 1.0 });
    }
    let tree = engine.tree(index)?;
    let mut sampled = Sampled { steps: 0, changes: vec![0; parts.len()], located: Vec::new(), error: None };
    let wants_rows = !index.is_clustered();
    let leaves =
        leaves_to_sample(tree.estimate(&[], None)?.resident_fraction, INDEX_LEAVES, INDEX_COLD_LEAVES);
    let leaves = SampledLeaves { most: leaves, read: true };
    tree.sample(&[], None, leaves, &mut |leaf, slots| {
        let mut previous: Option<Vec<u8>> = None;
        let mut run = LocatedEntries { entries: slots.len(), ..LocatedEntries::default() };
        // Not every so many: rows of a value may come as regularly.
        let place = |number: usize| (number as f64 * GOLDEN_RATIO).fract() * slots.len() as f64;
        let places: BTreeSet<usize> = (0..LOCATED_ENTRIES).map(|number| place(number) as usize).collect();
        for (at, slot) in slots.enumerate() {
            if leaf.entry(slot).is_ghost() {
                continue;
            }
            let mut key = Vec::new();
            leaf.key_into(slot, &mut key);
            if wants_rows && sampled.located.len() < LOCATED_LEAVES {
                if run.neighbours.len() < LOCATED_ENTRIES {
                    run.neighbours.push(key.clone());
                }
                if places.contains(&at) {
                    run.spread.push(key.clone());
                }
            }
            if let Some(previous) = &previous {
                sampled.step(previous, &key, parts);
            }
            previous = Some(key);
        }
        if run.neighbours.len() > 1 {
            sampled.located.push(run);
        }
    })?;
    if let Some(error) = sampled.error {
        return Err(error);
    }
    let entries_per_prefix =
        sampled.changes.iter().map(|changes| entries_per_value(rows, sampled.steps, *changes)).collect();
    let row_leaves_per_entry = located(engine, table, index, &sampled.located)?;
    Ok(IndexStatistics { rows, entries_per_prefix, row_leaves_per_entry })
}

/// Average number of entries with the same value where `changes` of the `steps` from an entry to the next that were looked at
/// lead to another value. It begins with one value, and as many come as the index has such steps.
fn entries_per_value(rows: f64, steps: usize, changes: usize) -> f64 {
    let all = (rows - 1.0).max(0.0);
    let steps = steps as f64;
    // Seen as a whole, an index has the values that were seen; of a part without change it is only known that there are few.
    let changes = if steps < all { (changes as f64).max(0.5) } else { changes as f64 };
    let distinct = 1.0 + if steps > 0.0 { (all * changes / steps).min(all) } else { all };
    rows.max(1.0) / distinct
}

/// Entries of a leaf whose rows are located.
#[derive(Default)]
struct LocatedEntries {
    /// The first ones.
    neighbours: Vec<Vec<u8>>,
    /// Some from all over the leaf.
    spread: Vec<Vec<u8>>,
    /// How many the leaf has.
    entries: usize,
}

/// Counts over pairs of neighbouring entries.
struct Sampled {
    steps: usize,
    /// Per part, how often it or one before it changed.
    changes: Vec<usize>,
    located: Vec<LocatedEntries>,
    error: Option<AccessError>,
}

impl Sampled {
    fn step(&mut self, previous: &[u8], key: &[u8], parts: &[KeyPart]) {
        self.steps += 1;
        let common = previous.iter().zip(key).take_while(|(a, b)| a == b).count();
        let mut end = 0;
        for (position, part) in parts.iter().enumerate() {
            match skip_part(part, key.get(end..).unwrap_or_default()) {
                Ok(length) => end += length,
                Err(error) => {
                    self.error.get_or_insert(error.into());
                    return;
                }
            }
            if common < end {
                for changes in self.changes.iter_mut().skip(position) {
                    *changes += 1;
                }
                return;
            }
        }
    }
}

/// Distinct leaves of the clustered index per entry. Neighbours show it where rows lie at random; where even rows of entries far apart share
/// leaves, these do.
fn located(engine: &Core, table: &TableDef, index: &IndexDef, runs: &[LocatedEntries]) -> Result<f64> {
    let clustered = engine.tree(table.clustered())?;
    let mut locator = Vec::new();
    let mut leaves_of = |keys: &[Vec<u8>]| -> Result<f64> {
        let mut pages: BTreeSet<PageNo> = BTreeSet::new();
        for key in keys {
            locator_of(index, key, &mut locator)?;
            pages.insert(clustered.leaf_of(&locator)?);
        }
        Ok(pages.len() as f64)
    };
    let (mut near, mut neighbours, mut far, mut spread, mut entries) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for run in runs {
        near += leaves_of(&run.neighbours)?;
        neighbours += run.neighbours.len() as f64;
        far += leaves_of(&run.spread)?;
        spread += run.spread.len() as f64;
        entries += run.entries as f64;
    }
    Ok(match neighbours > 0.0 {
        true if far * 2.0 <= spread => (near / neighbours).min(far / entries),
        true => near / neighbours,
        false => 1.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_small_index_are_counted() {
        let distinct = |rows: f64, steps, changes| (rows / entries_per_value(rows, steps, changes)).round();
        // Unique, whatever was looked at.
        assert_eq!(distinct(4.0, 3, 3), 4.0);
        assert_eq!(distinct(100_000.0, 500, 500), 100_000.0);
        assert_eq!(distinct(1.0, 0, 0), 1.0);
        assert_eq!(distinct(0.0, 0, 0), 0.0);
        // Seen as a whole.
        assert_eq!(distinct(6.0, 5, 0), 1.0);
        assert_eq!(distinct(6.0, 5, 2), 3.0);
        // Seen in part.
        assert_eq!(distinct(1_001.0, 100, 10), 101.0);
        assert!(distinct(1_001.0, 100, 0) < 10.0);
    }
}
