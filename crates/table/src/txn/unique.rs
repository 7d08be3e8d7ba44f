//! Unique checks: what is committed now, whether the transaction sees it or not, and what it wrote itself.
//!
//! They are made when a row is written, with the key locked, so that nobody else can insert it until the transaction ends.
//! An entry that is in the way may be one that another transaction is about to delete, of which no page tells: so its
//! row is locked shared, and looked at again. One that is in nobody's way may be so because of a commit that is not applied in
//! full: see [`super::key_search`].

use super::Transaction;
use super::clock::RegisteredSnapshot;
use super::key_search::KeySearch;
use super::write_set::NOW;
use crate::catalog::{IndexDef, TableDef};
use crate::core::Core;
use crate::error::Result;
use crate::index::entry::{locator_of_entry, unique_prefix};
use leafline_btree::EntryView;
use std::sync::Arc;

/// A row as it is committed now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Probe {
    /// There is none, and the snapshot agrees.
    Absent,
    /// It is there, as the snapshot sees it.
    Present(Arc<[u8]>),
    /// It is there, committed after the snapshot.
    PresentUnseen(Arc<[u8]>),
    /// It was deleted after the snapshot.
    DeletedUnseen,
}

/// Looks a row up as it is committed now.
pub(crate) fn check_clustered(
    core: &Core,
    table: &TableDef,
    key: &[u8],
    snapshot: &RegisteredSnapshot,
) -> Result<Probe> {
    // A tree built after the snapshot has no timestamps that could tell of a change.
    let tree = core.trees.for_snapshot(table.clustered(), snapshot)?;
    let probe = |entry: Option<EntryView<'_>>| match entry {
        None => Probe::Absent,
        Some(entry) => match (entry.is_ghost(), snapshot.sees(entry.commit_ts)) {
            (true, true) => Probe::Absent,
            (true, false) => Probe::DeletedUnseen,
            (false, true) => Probe::Present(entry.payload.into()),
            (false, false) => Probe::PresentUnseen(entry.payload.into()),
        },
    };
    let probe = tree.tree.get(key, probe)?;
    snapshot.check()?;
    Ok(probe)
}

impl Transaction {
    /// The row, if any, that has the unique parts of `key` in `index` and that the transaction has not itself deleted
    /// or moved away. The caller has locked these.
    ///
    /// # Errors
    /// `WriteConflict` if the snapshot shows a row with that primary key, which is there no more, to a transaction that does not follow
    /// what it does not see: it would see two. Other unique keys are not looked at so, as in InnoDB.
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
                self.writes.write().build_view(&self.core, table.id, index)?;
            }
            // Of the keys with this prefix only one can be live, but any number may be gone.
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
