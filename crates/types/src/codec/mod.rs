//! What can be wrong with the bytes of a key or a row, or with a value that is to become such bytes.
//!
//! Keys and rows are read from pages, so every decoder checks its bounds and returns one of these instead of
//! panicking. `fixed` says how values of the fixed-width types become integers of a few bytes, which a key holds
//! big-endian and in order, a row little-endian.

pub mod fixed;
pub mod narrow;
mod short;

pub use short::extend_short;

use crate::error::{MysqlError, errno};
use crate::value::{SqlType, Value};

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
    /// The row is longer than its 16-bit offsets can say.
    #[error("{bytes} bytes are too long, {limit} is the limit")]
    TooLong {
        /// The length in bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A column of a batch in memory has no room for so many bytes more.
    #[error("{bytes} bytes more are too many for a batch in memory")]
    BatchFull {
        /// How many more.
        bytes: usize,
    },
    /// The server has no memory for so many bytes more.
    #[error("{0}")]
    OutOfMemory(Box<MysqlError>),
    /// The row carries a schema version that the table did not have when its definition was looked up.
    #[error("unknown schema version {0} in a row")]
    UnknownVersion(u16),
    /// The value is not in the row: see [`crate::row::OverflowRef`].
    #[error("a value is stored outside its row")]
    InOverflow,
    /// The value cannot be rebuilt from the key; it is stored beside it.
    #[error("a value of type {0} cannot be rebuilt from its key bytes")]
    NotRestorable(String),
}

impl CodecError {
    pub(crate) fn mismatch(value: &Value, ty: &SqlType) -> Self {
        CodecError::TypeMismatch { value: value.kind(), ty: ty.to_string() }
    }
}

impl From<CodecError> for MysqlError {
    fn from(e: CodecError) -> Self {
        match e {
            CodecError::TooLong { limit, .. } => MysqlError::too_big_row_size(limit),
            full @ CodecError::BatchFull { .. } => {
                MysqlError::with_message(errno::ER_OUT_OF_SORTMEMORY, format!("Out of memory: {full}"))
            }
            CodecError::OutOfMemory(error) => *error,
            other => MysqlError::internal(other),
        }
    }
}
