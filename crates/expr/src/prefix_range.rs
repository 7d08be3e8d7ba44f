//! Ranges of a key part that has the beginning of a string only: `KEY (name(10))`.
//!
//! The key is that of the string's first `n` characters, as if it had no more. Under collations with weights a character has none, one
//! or several on the first level, so that equal strings may be cut at different places: with `n` = 1 `ß` gives the weights of
//! `ss`, and `ss`, which is equal, that of `s`. What is certain of a string `s` whose weights on the first level are `P(s)`, the two
//! of an implicit pair taken together:
//!
//! * Only characters that have a weight are counted ([`Collation::beginning`]). So the beginning of `s` is all of it, or has `n`
//!   weights or more, and these are what `P(s)` begins with.
//! * A constant `t` with fewer than `n` weights has a key of its own. A string that is cut has `n` weights at least: where it
//!   differs from `t` on the first level, in its beginning or by being longer, its key differs in the same direction, and it cannot be equal.
//!   A string that is not cut has the key that it would have in a key of whole strings. So ranges are those of whole strings.
//! * Of a constant with `n` weights or more let `q` be the first `n`. `s < t`, `s = t` and `s > t` imply that the first `n` weights of `s` are
//!   at most, equal to, or at least `q`, and the key of `s` begins with them. What keys begin with that begin with `q` bounds the
//!   range, included. Further levels come behind the first in a key, so that they do not matter here.
//! * PAD SPACE: both go on with spaces for ever. A string may agree with a shorter `t` up to where it is cut and differ behind a
//!   long run of spaces: its key is that of `t`. So `t` itself is included in `<` and `>`, and `<>` excludes nothing.
//!
//! The ranges hold every string that satisfies the comparison, and perhaps others: it has to be evaluated.

use std::ops::Bound;

use super::byte_range::ByteRange;
use super::domain::{non_null_range, ranges};
use super::ir::CompareOp;
use leafline_types::collation::Collation;
use leafline_types::key::{KeyPart, encode_part, encode_prefix, prefix_successor};
use leafline_types::value::Value;

/// Where the strings are that are `op` a constant of the part's type, which is not NULL.
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

/// The keys that begin with these bytes.
pub(super) fn beginning_with(bytes: Vec<u8>) -> ByteRange {
    let upper = prefix_successor(&bytes).map_or(Bound::Unbounded, Bound::Excluded);
    ByteRange { lower: Bound::Included(bytes), upper }
}

/// The values of a part that are `op` some value whose bytes begin so.
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
