//! The one error type of this crate.

use leafline_btree::BtreeError;
use leafline_storage::StorageError;
use leafline_table::TableError;
use leafline_types::{CodecError, MysqlError};

/// `Result` with an [`AccessError`].
pub type Result<T, E = AccessError> = std::result::Result<T, E>;

/// Errors between a predicate and its rows.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// The table layer failed.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A tree failed.
    #[error(transparent)]
    Tree(#[from] BtreeError),
    /// The storage layer failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// An expression failed, or the statement was cancelled.
    #[error(transparent)]
    Sql(#[from] MysqlError),
    /// More entries were to be examined than the plan was chosen for; whoever set the budget has another.
    #[error("more entries would be examined than a plan was given")]
    OverBudget,
    /// A row or an entry cannot be decoded.
    #[error(transparent)]
    Codec(#[from] CodecError),
}

impl From<AccessError> for MysqlError {
    fn from(error: AccessError) -> MysqlError {
        match error {
            AccessError::Table(error) => error.into(),
            AccessError::Tree(error) => TableError::from(error).into(),
            AccessError::Storage(error) => TableError::from(error).into(),
            AccessError::Sql(error) => error,
            AccessError::Codec(error) => error.into(),
            error @ AccessError::OverBudget => MysqlError::internal(error),
        }
    }
}
