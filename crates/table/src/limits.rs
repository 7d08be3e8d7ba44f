//! Limits that follow from the page size, the log and memory.

use leafline_btree::policy;
use leafline_storage::Store;

/// What keys, rows and commits may be at most, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// An index's declared parts, and a key in a tree.
    pub max_key: usize,
    /// An entry, key and payload together.
    pub max_entry: usize,
    /// A commit record.
    pub max_commit: usize,
    /// The writes of one transaction, in memory.
    pub max_write_set: u64,
}

impl Limits {
    pub(crate) fn new(store: &Store, max_write_set: u64) -> Limits {
        Limits {
            max_key: policy::max_key_len(store.page_size()),
            max_entry: policy::max_entry_len(store.page_size()),
            max_commit: store.max_logical_payload(),
            max_write_set,
        }
    }
}
