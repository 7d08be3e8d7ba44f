//! Finds the patches of a cursor, while it holds no latch: reads own writes, and decides about entries that depend on
//! their rows.

use super::LocatorBatch;
use super::cursor::EntryCursor;
use super::fetch::fetch_rows;
use super::patches::{OwnWritesRead, UnresolvedEntry};
use super::row::spilled_row;
use crate::error::Result;
use crate::index::derived::{DerivedFrom, entries_of_row};
use crate::index::entry::{Entry, entry_of_row, locator_of_entry};
use crate::write_set::OverlayEntry as Patch;
use leafline_btree::Direction;

/// The maximum number of own writes read at once.
const MAX_OWN: usize = 256;

impl EntryCursor {
    /// Reads own writes if the scan has come to the reach.
    pub(super) fn read_own(&mut self, direction: Direction) -> Result<()> {
        let patches = &mut self.patches;
        let OwnWritesRead::Unread(gap) = &patches.reach else { return Ok(()) };
        let reverse = direction == Direction::Reverse;
        let range = match gap {
            gap if reverse => Some((&[][..], gap.as_deref())),
            // Nothing lies above the end.
            gap => gap.as_deref().map(|gap| (gap, None)),
        };
        let most = patches.most.min(MAX_OWN);
        patches.most = patches.most.saturating_mul(4);
        let own = match range {
            Some(range) => self.view.own_entries(self.table.id, &self.index, range, reverse, most)?,
            None => Vec::new(),
        };
        patches.reach = match own.last() {
            Some(last) if own.len() == most => {
                let mut gap = last.key.clone();
                if !reverse {
                    gap.push(0);
                }
                OwnWritesRead::To(gap)
            }
            _ => OwnWritesRead::All,
        };
        patches.add(own, true, direction);
        Ok(())
    }

    /// Decides about entries, which are in the order of the scan. The caller holds no latch.
    pub(super) fn decide(&mut self, unresolved: Vec<UnresolvedEntry>, direction: Direction) -> Result<()> {
        self.patches.most = self.patches.most.saturating_mul(4);
        let decided = match self.index.is_clustered() {
            true => self.spilled_rows(unresolved)?,
            false => self.derived_entries(unresolved)?,
        };
        self.patches.add(decided, false, direction);
        Ok(())
    }

    /// Fetches the rows whose version is in a file.
    fn spilled_rows(&self, unresolved: Vec<UnresolvedEntry>) -> Result<Vec<Patch>> {
        let row = |UnresolvedEntry { key, .. }| {
            let row = spilled_row(&self.view.core.versions, self.table.id, &key, &self.view.snapshot)?;
            Ok(Patch { key, state: row })
        };
        unresolved.into_iter().map(row).collect()
    }

    /// Derives secondary entries again from the rows that the snapshot sees.
    fn derived_entries(&mut self, unresolved: Vec<UnresolvedEntry>) -> Result<Vec<Patch>> {
        let hides_own = self.hides_own_rows();
        let (mut locators, mut locator) = (LocatorBatch::new(), Vec::new());
        let mut visited: Vec<usize> = Vec::new();
        let mut patches: Vec<Patch> = Vec::with_capacity(unresolved.len());
        for UnresolvedEntry { key, seen } in unresolved {
            locator_of_entry(&self.index, &key, &mut locator)?;
            // If the transaction has written the row, its own writes show the entry.
            let own = hides_own && self.view.own_row(self.table.id, &locator)?.is_some();
            if !own && seen.is_none() {
                locators.push(&locator);
                visited.push(patches.len());
            }
            patches.push(Patch { key, state: seen.filter(|_| !own) });
        }
        if visited.is_empty() {
            return Ok(patches);
        }
        self.rows_visited += visited.len() as u64;
        let places = locators.sort();
        if self.index.is_words() {
            self.derive_words(&locators, &places, &visited, &mut patches)?;
            return Ok(patches);
        }
        let mut failed = None;
        fetch_rows(&self.view.core, &self.table, &self.view.snapshot, &locators, &[], &mut |at, row| {
            let place = places.get(at).and_then(|place| visited.get(*place as usize));
            let patch = place.and_then(|place| patches.get_mut(*place));
            let (Some(row), Some(patch)) = (row, patch) else { return };
            match entry_of_row(&self.table, &self.index, row.key, row.payload) {
                Ok(entry) => patch.state = (entry.key == patch.key).then(|| entry.payload.into()),
                Err(error) => failed = Some(error),
            }
        })?;
        failed.map_or(Ok(patches), Err)
    }

    /// Derives entries of a FULLTEXT index from the rows of `locators`, which may have values outside them.
    fn derive_words(
        &self,
        locators: &LocatorBatch,
        places: &[u32],
        visited: &[usize],
        patches: &mut [Patch],
    ) -> Result<()> {
        let mut rows: Vec<(usize, Vec<u8>, Vec<u8>)> = Vec::new();
        fetch_rows(&self.view.core, &self.table, &self.view.snapshot, locators, &[], &mut |at, row| {
            rows.extend(row.map(|row| (at, row.key.to_vec(), row.payload.to_vec())));
        })?;
        let mut last: Option<(Vec<u8>, Vec<Entry>)> = None;
        for (at, key, payload) in rows {
            let entries = match last.take().filter(|(of, _)| *of == key) {
                Some((_, entries)) => entries,
                None => {
                    let outside =
                        self.view.texts_outside(&self.table, std::slice::from_ref(&self.index), &payload)?;
                    let row = DerivedFrom { key: &key, payload: &payload, outside: &outside };
                    entries_of_row(&self.table, &self.index, row)?
                }
            };
            let place = places.get(at).and_then(|place| visited.get(*place as usize));
            if let Some(patch) = place.and_then(|place| patches.get_mut(*place)) {
                let found = entries.binary_search_by(|entry| entry.key.cmp(&patch.key));
                let found = found.ok().and_then(|at| entries.get(at));
                patch.state = found.map(|entry| entry.payload.as_slice().into());
            }
            last = Some((key, entries));
        }
        Ok(())
    }
}
