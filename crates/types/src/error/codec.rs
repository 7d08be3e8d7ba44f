//! Errors of the codecs for keys and rows: malformed bytes, or a value that cannot become such bytes.
//!
//! Keys and rows are read from pages, so every decoder checks its bounds and returns one of these errors instead of
//! panicking.

use super::{MysqlError, errno};
use std::fmt;

/// An error of the key or row codec.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The bytes end before the item that was being read.
    #[error("{what}: {needed} bytes needed, {left} left")]
    Truncated {
        /// The item that was being read.
        what: &'static str,
        /// The number of bytes that the item takes.
        needed: usize,
        /// The number of bytes that are left.
        left: usize,
    },
    /// The bytes do not form a value of the type that was expected.
    #[error("{what}: malformed")]
    Malformed {
        /// The item that was being read.
        what: &'static str,
    },
    /// The value does not have the column's type, or is out of its range; the caller should have converted it first.
    #[error("a value of type {value} cannot be written as {ty}")]
    TypeMismatch {
        /// The kind of the value.
        value: &'static str,
        /// The type that it was to be written as.
        ty: String,
    },
    /// The value is NULL, for a column or key part that cannot hold it.
    #[error("NULL for something that is NOT NULL")]
    UnexpectedNull,
    /// The row is longer than its 16-bit offsets can address.
    #[error("{bytes} bytes are too long, {limit} is the limit")]
    TooLong {
        /// The length in bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A column of a batch in memory has no room for `bytes` more bytes.
    #[error("{bytes} bytes more are too many for a batch in memory")]
    BatchFull {
        /// The number of bytes to be added.
        bytes: usize,
    },
    /// The server refused the memory.
    #[error("{0}")]
    OutOfMemory(Box<MysqlError>),
    /// The row carries a schema version that the table did not have when its definition was looked up.
    #[error("unknown schema version {0} in a row")]
    UnknownVersion(u16),
    /// The row holds a reference in place of the value: see [`crate::row::OverflowRef`].
    #[error("a value is stored outside its row")]
    InOverflow,
    /// The key does not determine the value, so the entry stores the value beside the key.
    #[error("a value of type {0} cannot be rebuilt from its key bytes")]
    NotRestorable(String),
}

impl CodecError {
    /// Makes the error for a value of the kind `value`, which is not of the type `ty`.
    pub(crate) fn mismatch(value: &'static str, ty: impl fmt::Display) -> Self {
        CodecError::TypeMismatch { value, ty: ty.to_string() }
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
