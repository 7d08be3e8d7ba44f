//! From `column op constant` to ranges of the column's key bytes.
//!
//! The constant goes into the column's domain with a direction: `int < 1.5` is `int <= 1`, `int = 1.5` is empty,
//! and a constant out of the type's range makes all or nothing. NULL is in no range but that of `<=> NULL`.

use std::ops::Bound;

use super::ir::{CompareDomain, CompareOp};
use crate::error::MysqlError;
use crate::key::KeyPart;
use crate::value::Value;

/// A range of the bytes of one key part, as [`crate::key::encode_part`] writes them: the marker of a nullable part
/// and the inversion of a descending one are included. Bounds are in the order of the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByteRange {
    /// Where it begins.
    pub lower: Bound<Vec<u8>>,
    /// Where it ends.
    pub upper: Bound<Vec<u8>>,
}

/// Which values of a key part satisfy a comparison with a constant. Exact: no other value does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnRange {
    /// No value.
    Empty,
    /// Every value but NULL.
    AllNonNull,
    /// The values in these ranges: sorted, disjoint, not empty.
    Ranges(Vec<ByteRange>),
    /// MySQL compares in another domain: the comparison is no constraint on the key and must be evaluated.
    NotConvertible,
}

/// The values of `part` for which `part op constant` is TRUE, where both are compared in `domain`.
pub fn column_range(
    _part: &KeyPart,
    _op: CompareOp,
    _constant: &Value,
    _domain: CompareDomain,
) -> Result<ColumnRange, MysqlError> {
    todo!()
}
