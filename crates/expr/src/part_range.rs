//! Ranges of the bytes of one key part.

use std::ops::Bound;

use super::byte_range::ByteRange;
use super::ir::CompareOp;
use leafline_types::key::KeyPart;

/// Returns the bytes of NULL in a nullable part.
pub fn null_range(part: &KeyPart) -> ByteRange {
    ByteRange::point(vec![if part.descending { 0xff } else { 0 }])
}

/// Returns the range of all values of a part except NULL.
pub fn non_null_range(part: &KeyPart) -> ByteRange {
    let (mut lower, mut upper) = (Bound::Unbounded, Bound::Unbounded);
    match (part.nullable, part.descending) {
        (false, _) => {}
        (true, false) => lower = Bound::Excluded(vec![0]),
        (true, true) => upper = Bound::Excluded(vec![0xff]),
    }
    ByteRange { lower, upper }
}

/// Returns the values of a part that are `op` the value with these bytes.
pub(super) fn ranges(part: &KeyPart, op: CompareOp, bytes: Vec<u8>) -> Vec<ByteRange> {
    let op = if part.descending { op.swapped() } else { op };
    let ByteRange { lower, upper } = non_null_range(part);
    match op {
        CompareOp::Eq | CompareOp::NullSafeEq => vec![ByteRange::point(bytes)],
        CompareOp::Ne => vec![
            ByteRange { lower, upper: Bound::Excluded(bytes.clone()) },
            ByteRange { lower: Bound::Excluded(bytes), upper },
        ],
        CompareOp::Lt => vec![ByteRange { lower, upper: Bound::Excluded(bytes) }],
        CompareOp::Le => vec![ByteRange { lower, upper: Bound::Included(bytes) }],
        CompareOp::Gt => vec![ByteRange { lower: Bound::Excluded(bytes), upper }],
        CompareOp::Ge => vec![ByteRange { lower: Bound::Included(bytes), upper }],
    }
}
