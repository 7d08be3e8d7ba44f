//! Rows of an index looked at to learn what share of them a condition lets pass.
//!
//! Conditions are evaluated together, on entries that exist, so that what goes together in the data goes together in the
//! estimate. Ghosts are left out; who may see an entry does not matter here.

use crate::constraint::{Bounds, KeyRange};
use crate::error::{AccessError, Result};
use leafline_btree::LeafView;
use leafline_table::{Engine, IndexDef, TableDef, entry_decoder};
use leafline_types::expr::{EvalContext, Expr, evaluate_filter};
use leafline_types::key::{KeyPart, encode_part};
use leafline_types::{Batch, CodecError, DecodedRows, Missing, Warnings, value_at};
use std::collections::HashMap;
use std::ops::Range;

/// Leaves a sample looks at, where they are in memory.
const LEAVES: usize = 16;
/// Leaves a sample looks at where each may be a read from the device.
const COLD_LEAVES: usize = 4;
/// Share of the leaves that have to be in memory for the larger sample.
const WARM: f64 = 0.9;
/// Entries a sample looks at, at most.
const ENTRIES: usize = 256;
/// Ranges a sample looks into, at most.
const RANGES: usize = 4;

/// What a sample showed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Entries looked at.
    pub seen: usize,
    /// The share of entries for which the conditions are true, each range counting by what lies in it.
    pub share: f64,
}

impl Sample {
    /// The share that passed. Where none did, half an entry is assumed; where nothing was seen, `otherwise`.
    pub fn selectivity(&self, otherwise: f64) -> f64 {
        match (self.seen, self.share) {
            (0, _) => otherwise,
            (seen, 0.0) => otherwise.min(0.5 / seen as f64),
            (_, share) => share,
        }
    }
}

/// Looks at entries of an index, spread over the ranges of `bounds`, and counts those that pass its tests and `conditions`, whose
/// columns are positions in `columns`, ordinals of the table. An error of a condition ends the sample: planning does
/// not fail for what execution may never evaluate. Where little of the index is `resident` in memory, less is looked at.
pub fn sample_rows(
    engine: &Engine,
    (index, resident): (&IndexDef, f64),
    bounds: &Bounds,
    columns: &[usize],
    conditions: &[Expr],
    eval: &EvalContext<'_>,
) -> Result<Sample> {
    let (looked, batch) = look(engine, (index, resident), bounds, columns)?;
    let mut warnings = Warnings::new();
    let mut quiet = EvalContext::new(eval.now, eval.session, &mut warnings, eval.cancel);
    quiet.parameters = eval.parameters;
    (quiet.utc_now, quiet.zone) = (eval.utc_now, eval.zone);
    quiet.sql_mode = eval.sql_mode;
    let passed = match evaluate_filter(conditions, &batch, &mut quiet) {
        Ok(selection) => selection.indices(),
        Err(_) => return Ok(Sample::default()),
    };
    let mut sample = Sample::default();
    let (mut entries, mut passing) = (0.0, 0.0);
    for Looked { weight, seen, kept } in looked.into_iter().filter(|looked| looked.seen > 0) {
        let passed = passed.iter().filter(|row| kept.contains(row)).count();
        sample.seen += seen;
        entries += weight;
        passing += weight * passed as f64 / seen as f64;
    }
    if entries > 0.0 {
        sample.share = passing / entries;
    }
    Ok(sample)
}

/// How many distinct values a column has, NULL among them, judged by a sample of rows: the estimator Duj1 of Haas and Stokes (JASA
/// 1998). `None` where no row was seen.
pub(super) fn sample_distinct(
    engine: &Engine,
    table: &TableDef,
    column: usize,
    rows: f64,
) -> Result<Option<f64>> {
    let Some(definition) = table.columns.get(column) else { return Ok(None) };
    let resident = engine.tree(table.clustered())?.estimate(&[], None)?.resident_fraction;
    let (_, batch) = look(engine, (table.clustered(), resident), &Bounds::all(), &[column])?;
    let (Some(values), true) = (batch.columns.first(), batch.rows > 0) else { return Ok(None) };
    let part = KeyPart {
        ty: definition.ty.clone(),
        collation: definition.collation,
        nullable: true,
        descending: false,
        prefix: None,
    };
    let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
    for row in 0..batch.rows {
        let mut bytes = Vec::new();
        encode_part(&part, &value_at(values, row, &definition.ty), &mut bytes)?;
        *counts.entry(bytes).or_default() += 1;
    }
    let once = counts.values().filter(|count| **count == 1).count();
    Ok(Some(distinct(counts.len() as f64, once as f64, batch.rows as f64, rows)))
}

/// Distinct values of `rows` rows of which `seen` had `found` values, `once` of them once.
fn distinct(found: f64, once: f64, seen: f64, rows: f64) -> f64 {
    let rows = rows.max(seen);
    (seen * found / (seen - once + once * seen / rows)).clamp(found, rows)
}

/// What was looked at in one range.
struct Looked {
    /// Entries of the range.
    weight: f64,
    /// Those that were looked at.
    seen: usize,
    /// The rows of the batch that came of them.
    kept: Range<usize>,
}

/// Entries of an index, spread over the ranges: how many were looked at, and `columns` of those that pass the tests.
fn look(
    engine: &Engine,
    (index, resident): (&IndexDef, f64),
    bounds: &Bounds,
    columns: &[usize],
) -> Result<(Vec<Looked>, Batch)> {
    let ranges = spread(&bounds.ranges);
    let mut looked = Vec::with_capacity(ranges.len());
    let decoder = entry_decoder(index, columns)?;
    let mut decoded = DecodedRows::new(&decoder, ENTRIES);
    let mut taken = Taken { seen: 0, kept: 0, error: None };
    let tree = engine.tree(index)?;
    let all_leaves = leaves_to_sample(resident, LEAVES, COLD_LEAVES);
    for range in &ranges {
        let weight = match ranges.len() {
            1 => 1.0,
            _ => tree.estimate(&range.lower, range.upper.as_deref())?.entries,
        };
        let before = (taken.seen, taken.kept);
        let leaves = (all_leaves / ranges.len()).max(1);
        let per_leaf = (ENTRIES / all_leaves).max(1);
        tree.sample(&range.lower, range.upper.as_deref(), leaves, &mut |leaf, slots| {
            let step = (slots.len() / per_leaf).max(1);
            for slot in slots.step_by(step).take(per_leaf) {
                taken.entry(leaf, slot, index, range, &mut |key, payload| {
                    decoded.push(&decoder, key, payload)
                });
            }
        })?;
        looked.push(Looked { weight, seen: taken.seen - before.0, kept: before.1..taken.kept });
    }
    if let Some(error) = taken.error {
        return Err(AccessError::Codec(error));
    }
    // What is not in the rows would have to be read: it counts as empty.
    let empty = |missing: &[Missing]| Ok::<_, CodecError>(vec![Vec::new(); missing.len()]);
    let columns = decoded.finish(empty)?;
    Ok((looked, Batch { columns, rows: taken.kept }))
}

/// How many leaves of a tree to look at: fewer where they would have to be read, because not enough of it is `resident`.
pub(super) fn leaves_to_sample(resident: f64, warm: usize, cold: usize) -> usize {
    if resident >= WARM { warm } else { cold }
}

/// A few of the ranges, spread evenly.
fn spread(ranges: &[KeyRange]) -> Vec<KeyRange> {
    let step = ranges.len().div_ceil(RANGES).max(1);
    ranges.iter().step_by(step).cloned().collect()
}

/// Takes a key and a payload.
type Decode<'d> = dyn FnMut(&[u8], &[u8]) -> Result<(), CodecError> + 'd;

struct Taken {
    seen: usize,
    kept: usize,
    error: Option<CodecError>,
}

impl Taken {
    fn entry(
        &mut self,
        leaf: &LeafView<'_>,
        slot: usize,
        index: &IndexDef,
        range: &KeyRange,
        decode: &mut Decode<'_>,
    ) {
        let entry = leaf.entry(slot);
        if entry.is_ghost() || self.error.is_some() {
            return;
        }
        let mut key = Vec::new();
        leaf.key_into(slot, &mut key);
        self.seen += 1;
        if range.rest.accepts(&index.key_parts, &key, range.equal) {
            match decode(&key, entry.payload) {
                Ok(()) => self.kept += 1,
                Err(error) => self.error = Some(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_values_are_judged_by_how_many_come_once() {
        // Few values, all seen often; all different; half and half.
        assert_eq!(distinct(4.0, 0.0, 256.0, 600_000.0), 4.0);
        assert!((distinct(256.0, 256.0, 256.0, 600_000.0) - 600_000.0).abs() < 1.0);
        let some = distinct(200.0, 150.0, 256.0, 600_000.0);
        assert!(some > 300.0 && some < 1_000.0, "{some}");
        // The whole table was seen.
        assert_eq!(distinct(7.0, 3.0, 10.0, 10.0), 7.0);
    }
}
