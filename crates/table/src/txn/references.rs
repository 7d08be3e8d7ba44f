//! Foreign keys at work: locks on the keys that rows refer by, and rows found by key as they are now.
//!
//! A *reference key* is what a foreign key compares: the values of the referenced columns of a parent table, encoded as these
//! columns would be in an index. Who makes a row refer to it locks it shared before looking for the parent; who adds, removes or
//! moves a parent row with it locks it exclusively before looking for rows that refer. Both look at what is committed now, and at
//! their own writes, whatever their snapshots show. Locks are held until a commit is applied, so whoever gets one sees what the
//! others have done, and no row is left that refers to nothing. A row whose clustered key changes counts as moved on both sides, because
//! who is to change the rows that refer looks for them by that key. Who takes a reference away locks only its row, and so does who changes other columns of an
//! index: see [`super::key_search`] for how they are not missed. Other changes of a parent row are in nobody's way.

use super::Transaction;
use super::key_search::KeySearch;
use super::write_set::NOW;
use crate::catalog::TableDef;
use crate::error::Result;
use crate::index::entry::locator_of_entry;
use crate::lock::LockStrength;
use leafline_types::{KeyPart, Value, encode_part};
use std::collections::BTreeSet;

/// What the bytes of a reference key begin with among the locks on a table: its rows' keys have their own bytes.
const REFERENCE: &[u8] = b"\xff\xffreference";

impl Transaction {
    /// Locks a reference key of `parent`: `values` in its `columns`, none of them NULL.
    ///
    /// # Errors
    /// Those of [`RowLocker::lock`](super::RowLocker::lock).
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

    /// The clustered keys of more rows that a search finds, as they are committed now or written by the transaction; empty when
    /// there are no more.
    ///
    /// # Errors
    /// Those of [`RowLocker::lock`](super::RowLocker::lock).
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

    /// Whether there is a row that a search finds, also when nobody is about to delete it: what is found is locked shared.
    ///
    /// # Errors
    /// Those of [`RowLocker::lock`](super::RowLocker::lock).
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
            // The row may have the key still, under an entry that the search has passed.
            search.restart();
        }
        Ok(false)
    }

    /// The client is going to be told what was found, or not found, committed: that has to be durable by then.
    pub fn note_told(&mut self) {
        self.writes.write().note_seen(self.core.store.log_end());
    }

    /// Keys of live entries, the next batch of a search; `None` at its end.
    fn live_keys(&mut self, search: &mut KeySearch) -> Result<Option<BTreeSet<Vec<u8>>>> {
        let Some(batch) = self.committed_keys(search)? else { return Ok(None) };
        let mut keys: BTreeSet<Vec<u8>> = batch.keys.into_iter().collect();
        let (table, index) = (search.table().id, search.index());
        if self.writes.read().has_table(table) {
            if !self.writes.read().has_view(table, index) {
                self.writes.write().build_view(&self.core, table, index)?;
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
