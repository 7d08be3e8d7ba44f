//! Compiles conditions on one key part to tests of its bytes: index condition pushdown without decoding.

use super::byte_range::{self, ByteRange};
use super::domain::{ColumnRange, column_range, like_range, non_null_range, null_range};
use super::ir::{CompareDomain, CompareOp, Expr, ExprKind};
use super::normalize::push_down_not;
use leafline_types::key::KeyPart;
use leafline_types::value::Value;

/// A condition on one key part as ranges of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedTest {
    ranges: Vec<ByteRange>,
}

impl EncodedTest {
    /// Compiles a test that is true exactly where `condition`, a condition on `column` alone, is TRUE; None if the
    /// bytes of `part` do not decide it. Handles comparisons with literals, `IN`, `IS [NOT] NULL`, `LIKE 'prefix%'`,
    /// and AND, OR and NOT of them. Parameters must have been bound.
    pub fn compile(condition: &Expr, column: usize, part: &KeyPart) -> Option<Self> {
        if part.prefix.is_some() {
            return None;
        }
        let ranges = match &condition.kind {
            ExprKind::Not(_) => ranges_of(&push_down_not(condition.clone()), column, part),
            _ => ranges_of(condition, column, part),
        }?;
        Some(EncodedTest { ranges })
    }

    /// Whether a key part with these bytes satisfies the condition; `part` holds no other parts.
    #[inline]
    pub fn matches(&self, part: &[u8]) -> bool {
        byte_range::contains(&self.ranges, part)
    }

    /// Returns the ranges: sorted, disjoint.
    pub fn ranges(&self) -> &[ByteRange] {
        &self.ranges
    }
}

fn from_column_range(range: ColumnRange, part: &KeyPart) -> Option<Vec<ByteRange>> {
    match range {
        ColumnRange::Empty => Some(Vec::new()),
        ColumnRange::AllNonNull => Some(vec![non_null_range(part)]),
        ColumnRange::Ranges(ranges) => Some(ranges),
        ColumnRange::NotConvertible => None,
    }
}

/// Returns the bytes for which a condition is TRUE.
fn ranges_of(condition: &Expr, column: usize, part: &KeyPart) -> Option<Vec<ByteRange>> {
    let is_column = |e: &Expr| e.as_column() == Some(column);
    match &condition.kind {
        ExprKind::Compare { op, left, right, domain } => {
            let (op, constant) = match (left.as_literal(), right.as_literal()) {
                (None, Some(constant)) if is_column(left) => (*op, constant),
                (Some(constant), None) if is_column(right) => (op.swapped(), constant),
                _ => return None,
            };
            from_column_range(column_range(part, op, constant, *domain), part)
        }
        ExprKind::InList { needle, list, negated, domain, .. } if is_column(needle) => {
            let values = list.iter().map(Expr::as_literal).collect::<Option<Vec<_>>>()?;
            in_list(part, &values, *negated, *domain)
        }
        ExprKind::IsNull { operand, negated } if is_column(operand) => Some(match (negated, part.nullable) {
            (true, _) => vec![non_null_range(part)],
            (false, true) => vec![null_range(part)],
            (false, false) => Vec::new(),
        }),
        ExprKind::Like { value, negated: false, collation, compiled: Some(pattern), .. }
            if is_column(value) =>
        {
            match like_range(part, pattern, *collation) {
                Some((range, true)) => Some(vec![range]),
                _ => None,
            }
        }
        ExprKind::And(list) => {
            let mut all: Option<Vec<ByteRange>> = None;
            for c in list {
                let ranges = ranges_of(c, column, part)?;
                all = Some(match all {
                    None => ranges,
                    Some(so_far) => byte_range::intersection(&so_far, &ranges),
                });
            }
            all
        }
        ExprKind::Or(list) => {
            let mut any = Vec::new();
            for c in list {
                any.extend(ranges_of(c, column, part)?);
            }
            Some(byte_range::union(any))
        }
        _ => None,
    }
}

/// Handles `[NOT] IN`: any of the points, or none of them (and no value at all for NOT IN a list with NULL).
fn in_list(
    part: &KeyPart,
    values: &[&Value],
    negated: bool,
    domain: CompareDomain,
) -> Option<Vec<ByteRange>> {
    if negated && values.iter().any(|v| v.is_null()) {
        return Some(Vec::new());
    }
    let mut points = Vec::new();
    for v in values {
        points.extend(from_column_range(column_range(part, CompareOp::Eq, v, domain), part)?);
    }
    let points = byte_range::union(points);
    Some(if negated { byte_range::complement(&points, non_null_range(part)) } else { points })
}
