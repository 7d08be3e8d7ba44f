//! Foreign keys at work: locks on the keys that rows refer by, and rows found by key as they are now.
//!
//! A *reference key* is what a foreign key compares: the values of the referenced columns of a parent table, encoded as these
//! columns would be in an index. Who makes a row refer to it locks it shared before looking for the parent; who adds, removes or
//! moves a parent row with it locks it exclusively before looking for rows that refer. Both look at what is committed now, and at
//! their own writes, whatever their snapshots show. Locks are held until a commit is applied, so whoever gets one sees what the
//! others have done, and no row is left that refers to nothing. A row whose clustered key changes counts as moved on both sides, because
//! an index shows it nowhere for a moment while that is applied. Other changes of a parent row are in nobody's way.

use super::Transaction;
use super::write_set::NOW;
use crate::catalog::{IndexDef, TableDef};
use crate::error::Result;
use crate::index::entry::locator_of_entry;
use crate::lock::LockStrength;
use leafline_btree::{Direction, LeafStep};
use leafline_types::{KeyPart, Value, encode_part, prefix_successor};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Entries looked at together.
const BATCH: usize = 256;
/// What the bytes of a reference key begin with among the locks on a table: its rows' keys have their own bytes.
const REFERENCE: &[u8] = b"\xff\xffreference";

/// A search for the rows of an index that have a key.
#[derive(Debug)]
pub struct KeySearch {
    table: Arc<TableDef>,
    index: Arc<IndexDef>,
    prefix: Vec<u8>,
    /// The next entry is at or behind this key; `None` at the end.
    next: Option<Vec<u8>>,
}

impl KeySearch {
    /// A search for the rows that have `values` in the first columns of `index`; none of them is NULL.
    ///
    /// # Errors
    /// `Internal` for values of other types.
    pub fn new(table: &Arc<TableDef>, index: &Arc<IndexDef>, values: &[Value]) -> Result<KeySearch> {
        let mut prefix = Vec::new();
        for (part, value) in index.key_parts.iter().zip(values) {
            encode_part(part, value, &mut prefix)?;
        }
        Ok(KeySearch { table: table.clone(), index: index.clone(), next: Some(prefix.clone()), prefix })
    }

    /// Whether a row of the table has the key that is searched for.
    ///
    /// # Errors
    /// `Internal` for values of other types.
    pub fn has_key(&self, row: &[Value]) -> Result<bool> {
        let mut key = Vec::new();
        for (part, column) in self.index.key_parts.iter().zip(&self.index.key_columns) {
            if key.len() >= self.prefix.len() {
                break;
            }
            encode_part(part, row.get(*column).unwrap_or(&Value::Null), &mut key)?;
        }
        Ok(key == self.prefix)
    }
}

/// Keys of committed entries, and where to go on.
type Committed = (Vec<Vec<u8>>, Option<Vec<u8>>);

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
            let Some(column) = parent.columns.get(*at) else { continue };
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
    /// What the store returns.
    pub fn find_rows(&mut self, search: &mut KeySearch) -> Result<Vec<Vec<u8>>> {
        let mut locators = Vec::new();
        while let Some(from) = search.next.take().filter(|_| locators.is_empty()) {
            for key in self.live_keys(search, from)? {
                let mut locator = Vec::new();
                locator_of_entry(&search.index, &key, &mut locator)?;
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
        while let Some(from) = search.next.take() {
            for key in self.live_keys(search, from)? {
                let mut locator = Vec::new();
                locator_of_entry(&search.index, &key, &mut locator)?;
                let table = search.table.clone();
                if self.writes.read().row(table.id, &locator, NOW)?.is_none() {
                    self.lock_duplicate(&table, &locator)?;
                    let tree = self.engine.trees.current(search.index.tree)?;
                    if !tree.tree.get(&key, |entry| entry.is_some_and(|entry| !entry.is_ghost()))? {
                        continue;
                    }
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The client is going to be told what was found, or not found, committed: that has to be durable by then.
    pub fn note_told(&mut self) {
        self.writes.write().note_seen(self.engine.store.log_end());
    }

    /// Keys of live entries at or behind `from`: of one batch. Moves the search behind them.
    fn live_keys(&mut self, search: &mut KeySearch, from: Vec<u8>) -> Result<BTreeSet<Vec<u8>>> {
        let (committed, next) = self.committed_keys(search, &from)?;
        let mut keys: BTreeSet<Vec<u8>> = committed.into_iter().collect();
        let (table, index) = (search.table.id, &search.index);
        if self.writes.read().has_table(table) {
            if !self.writes.read().has_view(table, index) {
                self.writes.write().build_view(&self.engine, table, index)?;
            }
            let end = next.clone().or_else(|| prefix_successor(&search.prefix));
            let range = (from.as_slice(), end.as_deref());
            for own in self.writes.read().overlay(table, index, range, false, NOW, usize::MAX)? {
                if own.state.is_some() {
                    keys.insert(own.key);
                } else {
                    keys.remove(&own.key);
                }
            }
        }
        search.next = next;
        Ok(keys)
    }

    /// Keys of live committed entries.
    fn committed_keys(&self, search: &KeySearch, from: &[u8]) -> Result<Committed> {
        let tree = self.engine.trees.current(search.index.tree)?;
        let mut cursor = tree.tree.cursor();
        cursor.seek(from);
        let mut found: Vec<Vec<u8>> = Vec::new();
        let mut key = Vec::new();
        let mut done = false;
        while !done && found.len() < BATCH {
            let more = cursor.visit_leaf(Direction::Forward, |leaf, slots| {
                for slot in slots {
                    leaf.key_into(slot, &mut key);
                    if !key.starts_with(&search.prefix) {
                        done = true;
                        return LeafStep::Stop;
                    }
                    if !leaf.entry(slot).is_ghost() {
                        found.push(key.clone());
                    }
                }
                LeafStep::NextLeaf
            })?;
            done |= !more;
        }
        let next = match found.last() {
            Some(last) if !done => Some([last.as_slice(), &[0]].concat()),
            _ => None,
        };
        Ok((found, next))
    }
}
