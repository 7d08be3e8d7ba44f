//! Searches the entries of an index under a key in their current committed state, whatever snapshots see.
//!
//! The searcher has locked the key (a unique key, or the key of a foreign key) against rows that would get it. It has
//! not locked out rows that lose the key, or that keep it and change in other columns of the index: only the row
//! itself is locked for these. While such a commit is being applied, its entry may already be a ghost although
//! snapshots do not see the commit, and the entry that replaces it may be elsewhere and not exist yet. A searcher
//! that relied on this state would show its own commit without the one it depends on, or would miss the row for good.
//! Therefore:
//! - A search that finds a ghost of a commit that was not applied when the search began waits until nobody has the
//!   row locked, which is when the commit is applied, and begins again.
//! - These ghosts cannot disappear before, because the snapshot that tells them from others is in use meanwhile.

use super::{Isolation, Transaction};
use crate::catalog::{IndexDef, TableDef};
use crate::error::Result;
use crate::index::entry::locator_of_entry;
use crate::mvcc::RegisteredSnapshot;
use leafline_btree::{CommitTs, Direction, LeafStep};
use leafline_types::{Value, encode_part, prefix_successor};
use std::sync::Arc;

/// The approximate number of entries read together.
const BATCH: usize = 256;

/// A search for the rows of an index that have a key.
#[derive(Debug)]
pub struct KeySearch {
    table: Arc<TableDef>,
    index: Arc<IndexDef>,
    prefix: Vec<u8>,
    /// The next entry is at or after this key; `None` at the end.
    next: Option<Vec<u8>>,
    /// The snapshot of what was applied before the search began.
    applied: Option<RegisteredSnapshot>,
    /// Whether a ghost was found that the transaction's snapshot sees as a row, or has never seen.
    met_unseen: bool,
}

/// Committed entries between two keys.
pub(super) struct Batch {
    /// The keys of live entries, ascending.
    pub(super) keys: Vec<Vec<u8>>,
    pub(super) from: Vec<u8>,
    /// The key up to which entries were read; `None` for the end of the index.
    pub(super) until: Option<Vec<u8>>,
}

/// The result of visiting leaves.
struct Entries {
    live: Vec<Vec<u8>>,
    /// Ghosts of commits that may not have been applied when the search began.
    ghosts: Vec<(Vec<u8>, CommitTs)>,
    /// Whether an entry was written or deleted by a commit that the snapshot does not see.
    is_unseen: bool,
    /// The key to continue at; `None` at the end.
    next: Option<Vec<u8>>,
}

impl KeySearch {
    /// Makes a search for the rows with `values` in the first columns of `index`. None of the values is NULL.
    ///
    /// # Errors
    /// `Internal` for values of other types.
    pub fn new(table: &Arc<TableDef>, index: &Arc<IndexDef>, values: &[Value]) -> Result<KeySearch> {
        let mut prefix = Vec::new();
        for (part, value) in index.key_parts.iter().zip(values) {
            encode_part(part, value, &mut prefix)?;
        }
        Ok(KeySearch::of_prefix(table, index, prefix))
    }

    /// Makes a search for the rows whose entries begin with `prefix`.
    pub(super) fn of_prefix(table: &Arc<TableDef>, index: &Arc<IndexDef>, prefix: Vec<u8>) -> KeySearch {
        let next = Some(prefix.clone());
        KeySearch {
            table: table.clone(),
            index: index.clone(),
            prefix,
            next,
            applied: None,
            met_unseen: false,
        }
    }

    /// Returns whether a row of the table has the key.
    ///
    /// # Errors
    /// `Internal` for values of other types.
    pub fn has_key(&self, row: &[Value]) -> Result<bool> {
        let mut key = Vec::new();
        for (part, column) in self.index.key_parts.iter().zip(&self.index.key_columns) {
            if key.len() >= self.prefix.len() {
                break;
            }
            encode_part(part, &row[*column], &mut key)?;
        }
        Ok(key == self.prefix)
    }

    pub(super) fn table(&self) -> &Arc<TableDef> {
        &self.table
    }

    pub(super) fn index(&self) -> &Arc<IndexDef> {
        &self.index
    }

    /// Returns whether a row has lost the key by a commit that the transaction's snapshot does not see.
    pub(super) fn met_unseen(&self) -> bool {
        self.met_unseen
    }

    /// Restarts the search.
    pub(super) fn restart(&mut self) {
        self.next = Some(self.prefix.clone());
    }
}

impl Transaction {
    /// Returns the next live committed entries of a search, whoever has written them; `None` at the end.
    ///
    /// # Errors
    /// The errors of [`RowLocker::lock`](super::RowLocker::lock). At SERIALIZABLE, `WriteConflict` if the snapshot does
    /// not see what is found, or that something is not there any more.
    pub(super) fn committed_keys(&mut self, search: &mut KeySearch) -> Result<Option<Batch>> {
        if search.applied.is_none() {
            let (table, index) = (search.table.clone(), search.index.clone());
            let end = prefix_successor(&search.prefix);
            self.note_read(&table, &index, &search.prefix, end.as_deref())?;
        }
        while let Some(from) = search.next.take() {
            let applied = search.applied.get_or_insert_with(|| self.snapshot()).clone();
            let found = self.visit_entries(search, &from, &applied)?;
            if found.is_unseen && self.isolation == Isolation::Serializable {
                return Err(self.core.conflict());
            }
            if found.ghosts.is_empty() && applied.check().is_ok() {
                let until = found.next.clone().or_else(|| prefix_successor(&search.prefix));
                search.next = found.next;
                return Ok(Some(Batch { keys: found.live, from, until }));
            }
            // The first attempt reads at the transaction's own snapshot.
            search.met_unseen |= !found.ghosts.is_empty();
            search.applied = Some(self.wait_until_applied(search, &found.ghosts)?);
            search.restart();
        }
        Ok(None)
    }

    /// Waits for the commits of ghosts. Returns the snapshot that shows which ghosts the restarted search need not
    /// wait for.
    fn wait_until_applied(
        &self,
        search: &KeySearch,
        ghosts: &[(Vec<u8>, CommitTs)],
    ) -> Result<RegisteredSnapshot> {
        // If the store has stopped, a commit that could not be applied never will be.
        self.core.store.check_running()?;
        let applied = self.core.applied_snapshot();
        let mut locator = Vec::new();
        for (key, _) in ghosts.iter().filter(|(_, ts)| !applied.sees(*ts)) {
            locator_of_entry(&search.index, key, &mut locator)?;
            let lock = self.lock_duplicate(&search.table, &locator)?;
            self.locks.unlock(lock);
        }
        Ok(applied)
    }

    /// Reads the entries of a search from `from` on, up to a number of them, or up to the first leaf with ghosts.
    fn visit_entries(
        &self,
        search: &KeySearch,
        from: &[u8],
        applied: &RegisteredSnapshot,
    ) -> Result<Entries> {
        let tree = self.core.trees.latest(search.index.tree)?;
        let mut cursor = tree.tree.cursor();
        cursor.seek(from);
        let mut found = Entries { live: Vec::new(), ghosts: Vec::new(), is_unseen: false, next: None };
        let mut key = Vec::new();
        let mut done = false;
        while !done && found.live.len() < BATCH && found.ghosts.is_empty() {
            let more = cursor.visit_leaf(Direction::Forward, |leaf, slots| {
                for slot in slots {
                    leaf.key_into(slot, &mut key);
                    if !key.starts_with(&search.prefix) {
                        done = true;
                        return LeafStep::Stop;
                    }
                    let entry = leaf.entry(slot);
                    found.is_unseen |= !applied.sees(entry.commit_ts);
                    if !entry.is_ghost() {
                        found.live.push(key.clone());
                    } else if !applied.sees(entry.commit_ts) {
                        found.ghosts.push((key.clone(), entry.commit_ts));
                    }
                }
                LeafStep::NextLeaf
            })?;
            done |= !more;
        }
        found.next = match found.live.last() {
            Some(last) if !done => Some([last.as_slice(), &[0]].concat()),
            _ => None,
        };
        Ok(found)
    }
}
