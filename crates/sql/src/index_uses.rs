//! Which indexes plans have used that were run, since the database was opened: what `sys.schema_unused_indexes` knows.
//!
//! A plan tells once, when it is run for the first time, so that reads that are repeated touch nothing that is shared.

use parking_lot::RwLock;
use std::collections::HashSet;

/// The numbers of the indexes.
#[derive(Debug, Default)]
pub(crate) struct IndexUses(RwLock<HashSet<u64>>);

impl IndexUses {
    /// These have been used.
    pub fn note(&self, indexes: &[u64]) {
        let is_news = {
            let known = self.0.read();
            indexes.iter().any(|index| !known.contains(index))
        };
        if is_news {
            self.0.write().extend(indexes);
        }
    }

    /// Whether an index was used.
    pub fn has(&self, index: u64) -> bool {
        self.0.read().contains(&index)
    }
}
