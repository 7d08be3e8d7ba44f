//! Entries of an index looked at to learn what share of them a condition lets pass.
//!
//! Conditions are evaluated together, on entries that exist, so that what goes together in the data goes together in the
//! estimate. Ghosts are left out; who may see an entry does not matter here.

use super::extent::Extent;
use crate::constraint::{Bounds, KeyRange};
use crate::error::{AccessError, Result};
use crate::params::{SAMPLE_ENTRIES, SAMPLE_LEAVES, SAMPLE_RANGES, SAMPLE_WARM_SHARE};
use leafline_btree::{LeafView, SampledLeaves};
use leafline_expr::{EvalContext, Expr, evaluate_filter};
use leafline_table::{Core, IndexDef, entry_decoder};
use leafline_types::{Batch, CodecError, DecodedRows, Missing, MysqlError, Warnings};
use std::ops::Range;

/// The result of a sample.
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
/// columns are positions in `columns`, ordinals of the table. What lies `within` the bounds is known. An error of a condition ends the sample: planning does
/// not fail for what execution may never evaluate. Only leaves in memory are looked at: what a statement may read to be planned is for its ranges.
pub(crate) fn sample_rows(
    engine: &Core,
    (index, within): (&IndexDef, Extent),
    bounds: &Bounds,
    columns: &[usize],
    conditions: &[Expr],
    eval: &EvalContext<'_>,
) -> Result<Sample> {
    let per_leaf = SAMPLE_ENTRIES / (within.leaves as usize).clamp(1, SAMPLE_LEAVES);
    let mean = within.entries / within.leaves.max(1.0);
    let most = SampleLimits { leaves: SAMPLE_LEAVES, per_leaf, read: false, mean };
    let looked = look(engine, index, bounds, columns, most)?;
    let Ok(passed) = passing(conditions, &looked.batch, eval) else { return Ok(Sample::default()) };
    let mut sample = Sample::default();
    let (mut entries, mut passing) = (0.0, 0.0);
    for SampledRange { weight, seen, kept } in looked.ranges.into_iter().filter(|range| range.seen > 0) {
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

/// The rows of a batch for which conditions are true. No warning comes of it.
pub(super) fn passing(
    conditions: &[Expr],
    batch: &Batch,
    eval: &EvalContext<'_>,
) -> std::result::Result<Vec<usize>, MysqlError> {
    quietly(eval, |quiet| Ok(evaluate_filter(conditions, batch, quiet)?.indices()))
}

/// Evaluates something for planning, which gives no warnings.
pub(super) fn quietly<R>(eval: &EvalContext<'_>, evaluate: impl FnOnce(&mut EvalContext<'_>) -> R) -> R {
    let mut warnings = Warnings::new();
    let mut quiet = EvalContext::new(eval.now, eval.session, &mut warnings, eval.cancel);
    quiet.parameters = eval.parameters;
    (quiet.utc_now, quiet.zone) = (eval.utc_now, eval.zone);
    quiet.sql_mode = eval.sql_mode;
    evaluate(&mut quiet)
}

/// How much to look at.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleLimits {
    /// Leaves.
    pub leaves: usize,
    /// Entries on each of them.
    pub per_leaf: usize,
    /// Also those that have to be read.
    pub read: bool,
    /// Entries of a leaf, about: ranges of leaves that are not in memory are weighed by it.
    pub mean: f64,
}

/// The entries that were looked at.
pub(super) struct SampledEntries {
    /// In each range.
    pub ranges: Vec<SampledRange>,
    /// The rows.
    pub batch: Batch,
    /// Where in the batch the rows of each leaf end.
    pub leaf_ends: Vec<usize>,
}

/// The entries that were looked at in one range.
pub(super) struct SampledRange {
    /// Entries of the range.
    weight: f64,
    /// The entries that were looked at.
    seen: usize,
    /// The rows of the batch that came of them.
    kept: Range<usize>,
}

/// Entries of an index, spread over the ranges: how many were looked at, and `columns` of those that pass the tests.
pub(super) fn look(
    engine: &Core,
    index: &IndexDef,
    bounds: &Bounds,
    columns: &[usize],
    most: SampleLimits,
) -> Result<SampledEntries> {
    let ranges = spread(&bounds.ranges);
    let mut looked = Vec::with_capacity(ranges.len());
    let decoder = entry_decoder(index, columns)?;
    let mut decoded = DecodedRows::new(&decoder, SAMPLE_ENTRIES);
    let mut taken = DecodeProgress { seen: 0, kept: 0, error: None };
    let mut leaf_ends = Vec::new();
    let tree = engine.tree(index)?;
    for range in &ranges {
        let weight = match ranges.len() {
            1 => 1.0,
            _ => tree.estimate_knowing(&range.lower, range.upper.as_deref(), Some(most.mean))?.entries,
        };
        let before = (taken.seen, taken.kept);
        let leaves = SampledLeaves { most: (most.leaves / ranges.len()).max(1), read: most.read };
        tree.sample(&range.lower, range.upper.as_deref(), leaves, &mut |leaf, slots| {
            let step = slots.len().div_ceil(most.per_leaf.max(1)).max(1);
            for slot in slots.step_by(step) {
                taken.entry(leaf, slot, index, range, &mut |key, payload| {
                    decoded.push(&decoder, key, payload)
                });
            }
            leaf_ends.push(taken.kept);
        })?;
        looked.push(SampledRange { weight, seen: taken.seen - before.0, kept: before.1..taken.kept });
    }
    if let Some(error) = taken.error {
        return Err(AccessError::Codec(error));
    }
    // Overflow values would have to be read: they count as empty.
    let empty = |missing: &[Missing]| Ok::<_, CodecError>(vec![Vec::new(); missing.len()]);
    let columns = decoded.finish(empty)?;
    Ok(SampledEntries { ranges: looked, batch: Batch { columns, rows: taken.kept }, leaf_ends })
}

/// How many leaves of a tree to look at: fewer where they would have to be read, because not enough of it is `resident`.
pub(super) fn leaves_to_sample(resident: f64, warm: usize, cold: usize) -> usize {
    if resident >= SAMPLE_WARM_SHARE { warm } else { cold }
}

/// A few of the ranges, spread evenly.
fn spread(ranges: &[KeyRange]) -> Vec<KeyRange> {
    let step = ranges.len().div_ceil(SAMPLE_RANGES).max(1);
    ranges.iter().step_by(step).cloned().collect()
}

/// Takes a key and a payload.
type Decode<'d> = dyn FnMut(&[u8], &[u8]) -> Result<(), CodecError> + 'd;

struct DecodeProgress {
    seen: usize,
    kept: usize,
    error: Option<CodecError>,
}

impl DecodeProgress {
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
        if range.key_filter.accepts(&index.key_parts, &key, range.equal) {
            match decode(&key, entry.payload) {
                Ok(()) => self.kept += 1,
                Err(error) => self.error = Some(error),
            }
        }
    }
}
