//! Enforcing foreign keys: locks on the keys by which rows refer to others, and the search for rows by key in their
//! current state.
//!
//! A *reference key* is what a foreign key compares: the values of the referenced columns of a parent table, encoded
//! as an index of these columns would encode them. A transaction that makes a row refer to a key locks the key shared
//! before it looks for the parent. A transaction that adds, removes or moves a parent row locks its key exclusively
//! before it looks for referring rows. Both read what is committed now, and their own writes, whatever their
//! snapshots show. Locks are held until a commit is applied. A transaction that gets one therefore sees the changes
//! of the others, and no row is left that refers to no row. A change of a row's clustered key counts as a move on
//! both sides, because referring rows that must change are found by that key. A transaction that removes a reference,
//! or changes other columns of an index, locks only the row: [`super::key_search`] describes how such rows are not
//! missed. Other changes of a parent row conflict with nobody.

use super::Transaction;
use super::key_search::KeySearch;
use crate::catalog::TableDef;
use crate::error::Result;
use crate::index::entry::locator_of_entry;
use crate::lock::LockStrength;
use crate::write_set::NOW;
use leafline_types::{KeyPart, Value, encode_part};
use std::collections::BTreeSet;

/// The first bytes of a reference key among the locks on a table, which tell it from the keys of the table's rows.
const REFERENCE: &[u8] = b"\xff\xffreference";

impl Transaction {
    /// Locks a reference key of `parent`: `values` in its `columns`, none of them NULL.
    ///
    /// # Errors
    /// The errors of [`RowLocker::lock`](super::RowLocker::lock).
    pub fn lock_reference(
        &mut self,
        parent: &TableDef,
        columns: &[usize],
        values: &[Value],
        strength: LockStrength,
    ) -> Result<()> {
        let mut key = REFERENCE.to_vec();
        for (at, value) in columns.iter().zip(values) {
            let column = &parent.columns[*at];
            key.extend_from_slice(&(*at as u16).to_be_bytes());
            let part = KeyPart {
                ty: column.ty.clone(),
                collation: column.collation,
                nullable: false,
                descending: false,
                prefix: None,
            };
            encode_part(&part, value, &mut key)?;
        }
        self.locks.lock(parent.id, parent.id.0, &key, strength, Some(&self.limits))?;
        Ok(())
    }

    /// Returns the clustered keys of the next rows of a search, as they are committed now or written by the
    /// transaction; empty if there are no more.
    ///
    /// # Errors
    /// The errors of [`RowLocker::lock`](super::RowLocker::lock).
    pub fn find_rows(&mut self, search: &mut KeySearch) -> Result<Vec<Vec<u8>>> {
        let mut locators = Vec::new();
        while locators.is_empty()
            && let Some(keys) = self.live_keys(search)?
        {
            for key in keys {
                let mut locator = Vec::new();
                locator_of_entry(search.index(), &key, &mut locator)?;
                locators.push(locator);
            }
        }
        Ok(locators)
    }

    /// Returns whether a search finds a row that no other transaction is about to delete. It locks the row shared.
    ///
    /// # Errors
    /// The errors of [`RowLocker::lock`](super::RowLocker::lock).
    pub fn has_row(&mut self, search: &mut KeySearch) -> Result<bool> {
        while let Some(mut keys) = self.live_keys(search)? {
            let Some(key) = keys.pop_first() else { continue };
            let mut locator = Vec::new();
            locator_of_entry(search.index(), &key, &mut locator)?;
            let table = search.table().clone();
            if self.writes.read().row(table.id, &locator, NOW)?.is_some() {
                return Ok(true);
            }
            self.lock_duplicate(&table, &locator)?;
            let tree = self.core.trees.latest(search.index().tree)?;
            if tree.tree.get(&key, |entry| entry.is_some_and(|entry| !entry.is_ghost()))? {
                return Ok(true);
            }
            // The row may still have the key, under an entry that the search has passed.
            search.restart();
        }
        Ok(false)
    }

    /// Notes that the client will be told what was found committed, or not found. That must be durable before.
    pub fn note_told(&mut self) {
        self.writes.write().note_seen(self.core.store.log_end());
    }

    /// The next batch of keys of live entries; `None` at the end of the search.
    fn live_keys(&mut self, search: &mut KeySearch) -> Result<Option<BTreeSet<Vec<u8>>>> {
        let Some(batch) = self.committed_keys(search)? else { return Ok(None) };
        let mut keys: BTreeSet<Vec<u8>> = batch.keys.into_iter().collect();
        let (table, index) = (search.table().id, search.index());
        if self.writes.read().has_table(table) {
            if !self.writes.read().has_view(table, index) {
                self.writes.write().build_view(self.core.write_set_space(), table, index)?;
            }
            let range = (batch.from.as_slice(), batch.until.as_deref());
            for own in self.writes.read().overlay(table, index, range, false, NOW, usize::MAX)? {
                if own.state.is_some() {
                    keys.insert(own.key);
                } else {
                    keys.remove(&own.key);
                }
            }
        }
        Ok(Some(keys))
    }
}
