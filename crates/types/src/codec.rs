//! What can be wrong with the bytes of a key or a row, or with a value that is to become such bytes.
//!
//! Keys and rows are read from pages, so every decoder checks its bounds and returns one of these instead of
//! panicking. `Reader` is the one place where bytes are taken off the front of a slice.

use crate::error::MysqlError;

/// An error of the key or row codec.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The bytes end before the item that was being read.
    #[error("{what}: {needed} bytes needed, {left} left")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// How many bytes it takes.
        needed: usize,
        /// How many there are.
        left: usize,
    },
    /// The bytes do not form a value of the type that was expected.
    #[error("{what}: malformed")]
    Malformed {
        /// What was being read.
        what: &'static str,
    },
    /// The value is not one of the column's type, or out of its range; it should have been converted first.
    #[error("a value of type {value} cannot be written as {ty}")]
    TypeMismatch {
        /// The value's kind.
        value: &'static str,
        /// The type it was to be written as.
        ty: String,
    },
    /// NULL for a column or key part that cannot hold it.
    #[error("NULL for something that is NOT NULL")]
    UnexpectedNull,
    /// The row is longer than its 16-bit offsets can say, or than a batch of columns can hold.
    #[error("{bytes} bytes are too long, {limit} is the limit")]
    TooLong {
        /// The length in bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The row carries a schema version that the table never had.
    #[error("unknown schema version {0} in a row")]
    UnknownVersion(u16),
    /// The value cannot be rebuilt from the key; it is stored beside it.
    #[error("a value of type {0} cannot be rebuilt from its key bytes")]
    NotRestorable(String),
}

impl From<CodecError> for MysqlError {
    fn from(e: CodecError) -> Self {
        match e {
            CodecError::TooLong { limit, .. } => MysqlError::too_big_row_size(limit),
            other => MysqlError::internal(other),
        }
    }
}

/// Takes items off the front of a byte slice, with bounds checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, position: 0 }
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    #[inline]
    pub(crate) fn take(&mut self, n: usize, what: &'static str) -> Result<&'a [u8], CodecError> {
        let end = self.position.checked_add(n);
        match end.and_then(|end| self.bytes.get(self.position..end)) {
            Some(taken) => {
                self.position += n;
                Ok(taken)
            }
            None => Err(CodecError::Truncated { what, needed: n, left: self.bytes.len() - self.position }),
        }
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], CodecError> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N, what)?);
        Ok(out)
    }

    #[inline]
    pub(crate) fn byte(&mut self, what: &'static str) -> Result<u8, CodecError> {
        Ok(self.array::<1>(what)?[0])
    }
}
