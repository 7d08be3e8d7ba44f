//! Compares new trees with the rows they were built from, before anybody uses them.
//!
//! Each tree is read once more, and the sum of its entries' hashes is compared with the sum for the entries
//! derived from the rows, as in CHECK TABLE.

use crate::build::{STEP, TreeSource};
use crate::check::Sum;
use crate::error::{Result, TableError};
use crate::run::EntrySource;
use leafline_btree::Tree;
use leafline_types::CancelToken;

/// The sum of the entries of a tree that nobody changes.
pub(crate) fn sum_of_tree(tree: &Tree, cancel: &CancelToken) -> Result<Sum> {
    let mut found = Sum::default();
    let mut entries = TreeSource::new(tree);
    while let Some((key, payload)) = entries.next()? {
        if found.entries.is_multiple_of(STEP) {
            cancel.check()?;
        }
        found.add(key, payload);
    }
    Ok(found)
}

/// The error for a tree whose entries are not those derived from the rows.
pub(crate) fn disagreement(index: &str, rows: u64, entries: u64) -> TableError {
    TableError::Internal(format!(
        "index {index} does not agree with the rows it was built from: {entries} entries of {rows} rows"
    ))
}
