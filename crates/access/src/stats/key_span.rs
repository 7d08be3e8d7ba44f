//! Where the keys lie that rows of one table look up in another: orders of one day belong to neighbours among the customers' payments, if
//! both were numbered as they came.

use super::sample::{SampleLimits, look};
use crate::constraint::Bounds;
use crate::error::Result;
use leafline_table::{Core, IndexDef, TableDef};
use leafline_types::key::{encode_part, prefix_successor};
use leafline_types::{Value, value_at};

/// Leaves of the outer index that are looked at, and entries on each.
const MOST: SampleLimits = SampleLimits { leaves: 8, per_leaf: 32, read: true, mean: 1.0 };

/// A part of an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeySpan {
    /// Its share of the entries.
    pub share: f64,
    /// The share of its leaves that is in memory.
    pub resident: f64,
}

/// The part of `inner` from the least to the greatest of the keys that entries of an index of `outer` look up by a column: seen from some of
/// those within `bounds`, and a little more, as others may lie outside. `None` where the column is no part of the index, or of
/// another type than the first part of `inner`.
///
/// # Errors
/// The errors of reading pages.
pub fn key_span(
    engine: &Core,
    (outer, index, bounds): (&TableDef, &IndexDef, &Bounds),
    column: usize,
    inner: &IndexDef,
) -> Result<Option<KeySpan>> {
    let (Some(definition), Some(part)) = (outer.columns.get(column), inner.key_parts.first()) else {
        return Ok(None);
    };
    let same = definition.ty == part.ty && definition.collation == part.collation;
    if !same || part.prefix.is_some() || !index.covers([column]) {
        return Ok(None);
    }
    let looked = look(engine, index, bounds, &[column], MOST)?;
    let Some(values) = looked.batch.columns.first() else { return Ok(None) };
    let mut keys = Vec::with_capacity(looked.batch.rows);
    for row in 0..looked.batch.rows {
        let value = value_at(values, row, &definition.ty);
        if value != Value::Null {
            let mut key = Vec::new();
            encode_part(part, &value, &mut key)?;
            keys.push(key);
        }
    }
    let (Some(least), Some(greatest)) = (keys.iter().min(), keys.iter().max()) else { return Ok(None) };
    let tree = engine.tree(inner)?;
    // Leaves are counted from the branches; of these none is read for it.
    let found = tree.estimate_knowing(least, prefix_successor(greatest).as_deref(), Some(1.0))?;
    let whole = tree.estimate_knowing(&[], None, Some(1.0))?;
    // Of n values drawn at random a range of length 1 has (n - 1) / (n + 1) between the first and the last.
    let seen = keys.len() as f64;
    let outside = (seen + 1.0) / (seen - 1.0).max(1.0);
    let share = (found.leaves / whole.leaves.max(1.0) * outside).min(1.0);
    Ok(Some(KeySpan { share, resident: found.resident_fraction }))
}
