//! The searches for words that have run in an execution.

use leafline_expr::FoundRows;
use std::cell::RefCell;
use std::sync::Arc;

/// The searches that have run.
#[derive(Default)]
pub(super) struct Searches(RefCell<Vec<KnownSearch>>);

/// A search that has run.
struct KnownSearch {
    key: SearchKey,
    /// The number of rows that were asked for.
    most: Option<usize>,
    rows: Arc<FoundRows>,
}

/// Identifies a search.
#[derive(PartialEq)]
pub(super) struct SearchKey {
    /// The index.
    pub index: u64,
    /// IN BOOLEAN MODE.
    pub is_boolean: bool,
    /// The words that are sought.
    pub text: String,
    /// The words that were collected, WITH QUERY EXPANSION.
    pub expansion: Vec<u8>,
}

impl Searches {
    /// Returns the rows of a search, if it has found as many as are asked for.
    pub(super) fn known(&self, key: &SearchKey, most: Option<usize>) -> Option<Arc<FoundRows>> {
        let is_enough = |known: &KnownSearch| match (known.most, most) {
            (None, _) => true,
            (Some(known), Some(most)) => known >= most,
            (Some(_), None) => false,
        };
        let known = self.0.borrow();
        let found = known.iter().find(|known| known.key == *key && is_enough(known));
        found.map(|known| known.rows.clone())
    }

    /// Keeps the rows of a search that asked for `most`.
    pub(super) fn add(&self, key: SearchKey, most: Option<usize>, rows: &Arc<FoundRows>) {
        self.0.borrow_mut().push(KnownSearch { key, most, rows: rows.clone() });
    }
}
