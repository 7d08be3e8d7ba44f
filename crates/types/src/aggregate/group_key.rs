//! Rows of values as byte strings: to group, join, make distinct and sort by.

use crate::error::MysqlError;
use crate::expr::Datum;
use crate::key::KeyPart;
use crate::value::ExprType;

/// Turns columns into keys whose `memcmp` order is the order of the rows, and whose equality is that of the values
/// under their collations (NULL equals NULL).
#[derive(Debug, Clone)]
pub struct KeyEncoder {
    parts: Vec<KeyPart>,
}

/// The keys of the rows of a batch.
#[derive(Debug, Clone, Default)]
pub struct EncodedKeys {
    bytes: Vec<u8>,
    offsets: Vec<usize>,
}

impl KeyEncoder {
    /// For grouping, joining and DISTINCT.
    pub fn new<'t>(types: impl IntoIterator<Item = &'t ExprType>) -> Self {
        Self::ordered(types.into_iter().map(|ty| (ty, false)))
    }

    /// For ORDER BY: each type with whether it is descending. NULL is the least value.
    pub fn ordered<'t>(types: impl IntoIterator<Item = (&'t ExprType, bool)>) -> Self {
        let part = |(ty, descending): (&ExprType, bool)| KeyPart {
            ty: ty.sql.clone(),
            collation: ty.collation,
            nullable: true,
            descending,
        };
        KeyEncoder { parts: types.into_iter().map(part).collect() }
    }

    /// The parts of the keys.
    pub fn parts(&self) -> &[KeyPart] {
        &self.parts
    }

    /// Replaces `keys` by the keys of `rows` rows.
    pub fn encode(
        &self,
        _columns: &[Datum],
        _rows: usize,
        _keys: &mut EncodedKeys,
    ) -> Result<(), MysqlError> {
        todo!()
    }
}

impl EncodedKeys {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key of a row.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        &self.bytes[self.offsets[row]..self.offsets[row + 1]]
    }

    /// Whether a part of the row's key is NULL: such a row joins nothing.
    pub fn has_null(&self, _row: usize) -> bool {
        todo!()
    }
}
