//! What was built against the rows it was built from, before anybody sees it.
//!
//! Each tree is read once more, and the sum of the hashes of its entries compared with that of the entries derived from the rows, as
//! CHECK TABLE does it.

use super::catch_up::Built;
use super::source::SnapshotSource;
use crate::build::source::TreeSource;
use crate::catalog::TableDef;
use crate::check::Sum;
use crate::error::{Result, TableError};
use crate::index::entry::entry_of_row;
use crate::read::ReadView;
use crate::run::EntrySource;
use leafline_types::CancelToken;
use std::sync::Arc;

/// Rows between two looks at whether to go on.
const STEP: u64 = 1024;

/// Compares indexes that are those of the rows of `view`.
pub(super) fn verify(
    view: &ReadView,
    table: &Arc<TableDef>,
    built: &[Built],
    cancel: &CancelToken,
) -> Result<()> {
    let mut derived = vec![Sum::default(); built.len()];
    let mut rows = SnapshotSource::new(view, table)?;
    let mut count = 0u64;
    while let Some((key, payload)) = rows.next()? {
        count += 1;
        if count.is_multiple_of(STEP) {
            cancel.check()?;
        }
        for (built, sum) in built.iter().zip(&mut derived) {
            let entry = entry_of_row(table, &built.index, key, payload)?;
            sum.add(&entry.key, &entry.payload);
        }
    }
    for (built, derived) in built.iter().zip(derived) {
        let mut found = Sum::default();
        let mut entries = TreeSource::new(&built.tree);
        while let Some((key, payload)) = entries.next()? {
            if found.entries.is_multiple_of(STEP) {
                cancel.check()?;
            }
            found.add(key, payload);
        }
        if found != derived {
            let (index, rows, entries) = (&built.index.name, derived.entries, found.entries);
            let what = format!(
                "index {index} does not agree with the rows it was built from: {entries} entries of {rows} rows"
            );
            return Err(TableError::Internal(what));
        }
    }
    Ok(())
}
