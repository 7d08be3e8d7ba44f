//! The error type of this crate.

use leafline_storage::{PageNo, StorageError};

use crate::node::NodeFault;

/// `Result` with a [`BtreeError`].
pub type Result<T, E = BtreeError> = std::result::Result<T, E>;

/// An error of a tree.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BtreeError {
    /// The storage layer failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A page of a tree has an invalid content.
    #[error("tree page {page} is damaged: {what}")]
    Corrupt {
        /// The page.
        page: PageNo,
        /// A description of the damage.
        what: String,
    },
    /// The key is longer than the page size allows.
    #[error("key of {len} bytes is longer than the limit of {limit}")]
    KeyTooLong {
        /// Length of the key in bytes.
        len: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// Key and payload together are larger than half a page.
    #[error("entry of {len} bytes is larger than the limit of {limit}")]
    EntryTooLarge {
        /// Bytes of key and payload.
        len: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// Keys were not pushed in ascending order.
    #[error("bulk build: keys do not ascend")]
    NotAscending,
    /// The store's pages have a size that trees cannot use.
    #[error("trees cannot use pages of {0} bytes")]
    PageSize(usize),
}

impl BtreeError {
    pub(crate) fn corrupt(page: PageNo, fault: NodeFault) -> BtreeError {
        BtreeError::Corrupt { page, what: fault.0.into() }
    }
}

/// Adds the page number to a fault found in a page's bytes.
pub(crate) trait OnPage<T> {
    fn on(self, page: PageNo) -> Result<T>;
}

impl<T> OnPage<T> for Result<T, NodeFault> {
    #[inline]
    fn on(self, page: PageNo) -> Result<T> {
        self.map_err(|fault| BtreeError::corrupt(page, fault))
    }
}
