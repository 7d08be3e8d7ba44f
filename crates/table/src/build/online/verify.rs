//! What was built against the rows it was built from, before anybody sees it.
//!
//! Each tree is read once more, and the sum of the hashes of its entries compared with that of the entries derived from the rows, as
//! CHECK TABLE does it.

use crate::build::{STEP, TreeSource};
use crate::check::Sum;
use crate::error::{Result, TableError};
use crate::run::EntrySource;
use leafline_btree::Tree;
use leafline_types::CancelToken;

/// What is in a tree that nobody changes.
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

/// The error for a tree that has other entries than those derived from the rows.
pub(crate) fn disagreement(index: &str, rows: u64, entries: u64) -> TableError {
    TableError::Internal(format!(
        "index {index} does not agree with the rows it was built from: {entries} entries of {rows} rows"
    ))
}
