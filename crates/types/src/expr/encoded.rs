//! Conditions on one key part compiled to tests of its bytes.

use super::domain::ByteRange;
use super::ir::Expr;
use crate::key::KeyPart;

/// A condition on one key part as ranges of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedTest {
    ranges: Vec<ByteRange>,
}

impl EncodedTest {
    /// The test that is true exactly where `condition`, a condition on `column` alone, is TRUE; None where the bytes
    /// of `part` do not tell. Comparisons with literals, `IN`, `IS [NOT] NULL`, and AND and OR of them.
    pub fn compile(_condition: &Expr, _column: usize, _part: &KeyPart) -> Option<Self> {
        todo!()
    }

    /// Whether a key part with these bytes (only its own) satisfies the condition.
    #[inline]
    pub fn matches(&self, _part: &[u8]) -> bool {
        todo!()
    }

    /// The ranges: sorted, disjoint.
    pub fn ranges(&self) -> &[ByteRange] {
        &self.ranges
    }
}
