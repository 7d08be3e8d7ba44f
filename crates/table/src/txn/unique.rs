//! Unique checks: they consider what is committed now, whether the transaction sees it or not, and what the
//! transaction itself wrote.
//!
//! A check is made when a row is written, with the key locked, so that nobody else can insert it until the
//! transaction ends. Another transaction may be about to delete a conflicting entry, which no page shows. The check
//! therefore locks the row of the entry shared, and reads it again. An entry may seem not to conflict because of a
//! commit that is not fully applied: see [`super::key_search`].

use super::Transaction;
use super::key_search::KeySearch;
use crate::catalog::{IndexDef, TableDef};
use crate::core::Core;
use crate::error::Result;
use crate::index::entry::{locator_of_entry, unique_prefix};
use crate::mvcc::clock::RegisteredSnapshot;
use crate::write_set::NOW;
use leafline_btree::EntryView;
use std::sync::Arc;

/// The currently committed state of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum CommittedRow {
    /// There is no row, and the snapshot sees none.
    Absent,
    /// There is a row, which the snapshot sees.
    Present(Arc<[u8]>),
    /// There is a row, committed after the snapshot.
    PresentUnseen(Arc<[u8]>),
    /// The row was deleted after the snapshot.
    DeletedUnseen,
}

/// Looks up the currently committed state of a row.
pub(crate) fn check_clustered(
    core: &Core,
    table: &TableDef,
    key: &[u8],
    snapshot: &RegisteredSnapshot,
) -> Result<CommittedRow> {
    // A tree built after the snapshot has no timestamps that would show a change.
    let tree = core.trees.for_snapshot(table.clustered(), snapshot)?;
    let probe = |entry: Option<EntryView<'_>>| match entry {
        None => CommittedRow::Absent,
        Some(entry) => match (entry.is_ghost(), snapshot.sees(entry.commit_ts)) {
            (true, true) => CommittedRow::Absent,
            (true, false) => CommittedRow::DeletedUnseen,
            (false, true) => CommittedRow::Present(entry.payload.into()),
            (false, false) => CommittedRow::PresentUnseen(entry.payload.into()),
        },
    };
    let probe = tree.tree.get(key, probe)?;
    snapshot.check()?;
    Ok(probe)
}

impl Transaction {
    /// Finds a row that has the unique parts of `key` in `index`, and that the transaction has not itself deleted or
    /// moved. The caller has locked the key.
    ///
    /// # Errors
    /// `WriteConflict` if the snapshot sees a row with that primary key which does not exist any more, and the
    /// transaction does not follow changes that its snapshot does not see: it would see two rows. Other unique keys
    /// are not checked like this, as in InnoDB.
    pub(super) fn check_secondary(
        &mut self,
        table: &Arc<TableDef>,
        index: &Arc<IndexDef>,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let Some(prefix) = unique_prefix(index, key)? else { return Ok(None) };
        let mut locator = Vec::new();
        let written = self.writes.read().has_table(table.id);
        if written {
            if !self.writes.read().has_view(table.id, index) {
                self.writes.write().build_view(self.core.write_set_space(), table.id, index)?;
            }
            // Only one of the keys with this prefix can be live, but any number may be ghosts.
            let own = self.writes.read().with_unique_parts(table.id, index.id, prefix)?;
            if let Some(live) = own.iter().find(|entry| entry.state.is_some()) {
                locator_of_entry(index, &live.key, &mut locator)?;
                return Ok(Some(locator));
            }
        }
        let mut search = KeySearch::of_prefix(table, index, prefix.to_vec());
        while let Some(batch) = self.committed_keys(&mut search)? {
            for found in batch.keys {
                let own = self.writes.read().entry(table.id, index.id, &found, NOW)?;
                if !(written && matches!(own, Some(None))) {
                    locator_of_entry(index, &found, &mut locator)?;
                    return Ok(Some(locator));
                }
            }
        }
        if index.is_primary() && search.met_unseen() && !self.follows() {
            return Err(self.core.conflict());
        }
        Ok(None)
    }
}
