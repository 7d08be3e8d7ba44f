//! Ranges of a key part that holds only the beginning of strings: `KEY (name(10))`.
//!
//! The key is that of the string's first `n` characters, as if the string ended there. Under collations with weights
//! a character has no, one or several weights on the first level, so that equal strings may be cut at different
//! places: with `n` = 1 `ß` gives the weights of `ss`, but `ss`, which is equal, gives that of `s`. Let `P(s)` be the
//! weights of a string `s` on the first level, with the two weights of an implicit pair taken as one. Then:
//!
//! * Only characters with a weight count ([`Collation::beginning`]). So the beginning of `s` is all of it, or has `n`
//!   weights or more, which are the first of `P(s)`.
//! * A constant `t` with fewer than `n` weights has a key of its own. A string that is cut has at least `n` weights:
//!   where it differs from `t` on the first level, in its beginning or by being longer, its key differs in the same
//!   direction, and it cannot equal `t`. A string that is not cut has the key of the whole string. So the ranges are
//!   those of whole strings.
//! * For a constant with `n` weights or more let `q` be the first `n`. `s < t`, `s = t` and `s > t` imply that the
//!   first `n` weights of `s` are at most, equal to, or at least `q`, and the key of `s` begins with them. The common
//!   prefix of all keys that begin with `q` bounds the range and is included. Further levels follow the first in a
//!   key, so that they do not matter here.
//! * Under PAD SPACE both strings go on with spaces. A string may agree with a shorter `t` up to its cut and differ
//!   behind a long run of spaces; then its key is that of `t`. So `<` and `>` include `t` itself, and `<>` excludes
//!   nothing.
//!
//! The ranges hold every string that satisfies the comparison, and perhaps others, so the comparison has to be
//! evaluated, too.

use std::ops::Bound;

use super::byte_range::ByteRange;
use super::ir::CompareOp;
use super::part_range::{non_null_range, ranges};
use leafline_types::collation::Collation;
use leafline_types::key::{KeyPart, encode_part, encode_prefix, prefix_successor};
use leafline_types::value::Value;

/// Returns ranges with all strings that are `op` a constant, which has the part's type and is not NULL.
pub(super) fn prefix_ranges(part: &KeyPart, op: CompareOp, constant: &Value) -> Option<Vec<ByteRange>> {
    let (s, collation) = match constant {
        Value::String(s) => (s.as_bytes(), part.collation),
        Value::Bytes(b) => (&b[..], Collation::Binary),
        _ => return None,
    };
    let mut lower = Vec::new();
    if encode_prefix(part, s, &mut lower).ok()? {
        return Some(from_beginning(part, op, lower));
    }
    let op = match op {
        CompareOp::Lt if collation.pads_space() => CompareOp::Le,
        CompareOp::Gt if collation.pads_space() => CompareOp::Ge,
        CompareOp::Ne if collation.pads_space() => return Some(vec![non_null_range(part)]),
        op => op,
    };
    let mut bytes = Vec::new();
    encode_part(part, constant, &mut bytes).ok()?;
    Some(ranges(part, op, bytes))
}

/// Returns the range of keys that begin with these bytes.
pub(super) fn beginning_with(bytes: Vec<u8>) -> ByteRange {
    let upper = prefix_successor(&bytes).map_or(Bound::Unbounded, Bound::Excluded);
    ByteRange { lower: Bound::Included(bytes), upper }
}

/// Returns the values of a part that are `op` some value whose bytes begin with `bytes`.
fn from_beginning(part: &KeyPart, op: CompareOp, bytes: Vec<u8>) -> Vec<ByteRange> {
    let all = non_null_range(part);
    let equal = beginning_with(bytes);
    let range = match if part.descending { op.swapped() } else { op } {
        CompareOp::Eq | CompareOp::NullSafeEq => equal,
        CompareOp::Ne => all,
        CompareOp::Lt | CompareOp::Le => ByteRange { lower: all.lower, upper: equal.upper },
        CompareOp::Gt | CompareOp::Ge => ByteRange { lower: equal.lower, upper: all.upper },
    };
    vec![range]
}

#[cfg(test)]
mod tests;
