//! Fetches rows by key: locators in ascending order, whose missing leaves are read in batches.

use super::row::{Visible, spilled_row, visible_row};
use super::{LocatorBatch, ReadView, RowRef};
use crate::catalog::TableDef;
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::mvcc::RegisteredSnapshot;
use crate::write_set::State;
use leafline_btree::{Direction, FoundLeaf, LeafView, Tree};
use leafline_storage::PageNo;
use std::sync::Arc;

/// The number of locators whose leaves are found and read ahead as one batch.
const READ_AHEAD: usize = 256;
/// How many locators ahead of a visit the processor prefetches the slots of a leaf.
const SLOTS_AHEAD: usize = 4;

impl ReadView {
    /// Calls `visitor` for each locator in order, with its position and the row that the view has under that key.
    /// Locators ascend and may repeat. Leaves that are not in memory are read in batches. The visitor may run under a
    /// page latch and must not block.
    ///
    /// For a SERIALIZABLE transaction the caller has registered the locators, or ranges of entries that named them.
    ///
    /// # Errors
    /// `DefinitionChanged` (1412), and errors of the store.
    pub fn fetch(
        &self,
        table: &Arc<TableDef>,
        locators: &LocatorBatch,
        visitor: &mut dyn FnMut(usize, Option<RowRef<'_>>),
    ) -> Result<()> {
        if !self.has_writes(table.id) {
            return fetch_rows(&self.core, table, &self.snapshot, locators, &[], visitor);
        }
        let own = (0..locators.len()).map(|at| self.own_row(table.id, locators.get(at)));
        let own: Vec<Option<State>> = own.collect::<Result<_>>()?;
        fetch_rows(&self.core, table, &self.snapshot, locators, &own, visitor)
    }
}

/// Fetches like [`ReadView::fetch`]. `own` holds the transaction's own version for each locator, or is empty.
pub(super) fn fetch_rows(
    core: &Core,
    table: &TableDef,
    snapshot: &RegisteredSnapshot,
    locators: &LocatorBatch,
    own: &[Option<State>],
    visitor: &mut dyn FnMut(usize, Option<RowRef<'_>>),
) -> Result<()> {
    let handle = core.trees.for_reading(table.clustered(), snapshot)?;
    let mut fetch = Fetch { core, table, snapshot, locators, own, visitor, next: 0, spilled: false };
    if locators.len() == 1 {
        fetch.one(&handle.tree)?;
        return snapshot.check();
    }
    let mut ahead = fetch.find_leaves(&handle.tree, 0)?;
    while fetch.next < locators.len() {
        let found = std::mem::replace(&mut ahead, fetch.find_leaves(&handle.tree, fetch.next + READ_AHEAD)?);
        fetch.visit(&handle.tree, &found)?;
    }
    snapshot.check()
}

struct Fetch<'a> {
    core: &'a Core,
    table: &'a TableDef,
    snapshot: &'a RegisteredSnapshot,
    locators: &'a LocatorBatch,
    own: &'a [Option<State>],
    visitor: &'a mut dyn FnMut(usize, Option<RowRef<'_>>),
    next: usize,
    /// Whether the next row's version is in a file, which must not be read under a latch.
    spilled: bool,
}

impl Fetch<'_> {
    /// Finds the leaves of [`READ_AHEAD`] locators from `from` on, and starts to read those that are not in memory.
    fn find_leaves(&self, tree: &Tree, from: usize) -> Result<Vec<FoundLeaf>> {
        let until = (from + READ_AHEAD).min(self.locators.len());
        let keys = (from.min(until)..until).map(|at| Some(self.locators.get(at)));
        let found = tree.find_leaves(Direction::Forward, keys)?;
        let mut missing: Vec<PageNo> = found.iter().map(FoundLeaf::page).collect();
        missing.dedup();
        missing.retain(|page| !self.core.store.is_resident(*page));
        if !missing.is_empty() {
            self.core.store.prefetch(&missing)?;
        }
        Ok(found)
    }

    /// Visits the locators whose leaves were found.
    fn visit(&mut self, tree: &Tree, found: &[FoundLeaf]) -> Result<()> {
        let locators = self.locators;
        let (begun, until) = (self.next, self.next + found.len());
        found.iter().take(SLOTS_AHEAD).for_each(|leaf| tree.fetch_slots(leaf.page()));
        let mut fetched = SLOTS_AHEAD;
        while let Some(leaf) = found.get(self.next - begun) {
            let ahead = self.next - begun + SLOTS_AHEAD;
            for at in fetched..=ahead {
                if let Some(leaf) = found.get(at).filter(|leaf| found.get(at - 1) != Some(*leaf)) {
                    tree.fetch_slots(leaf.page());
                }
            }
            fetched = fetched.max(ahead + 1);
            tree.visit_leaf_of(locators.get(self.next), *leaf, |leaf| self.on_leaf(leaf, until))??;
            if self.spilled {
                self.deliver_spilled()?;
            }
        }
        Ok(())
    }

    /// Delivers the locators before `until` that lie on this leaf, or before it if no leaf has them, and stops at one
    /// whose version is in a file.
    fn on_leaf(&mut self, leaf: &LeafView<'_>, until: usize) -> Result<()> {
        let begun = self.next;
        while self.next < until {
            let key = self.locators.get(self.next);
            if self.next > begun && leaf.upper_fence().is_some_and(|fence| key >= fence) {
                return Ok(());
            }
            let (slot, found) = leaf.find_within(key);
            if !found {
                self.deliver(None);
                continue;
            }
            match visible_row(&self.core.versions, self.table.id, key, &leaf.entry(slot), self.snapshot)? {
                Visible::Row(row) => self.deliver(Some(row.bytes())),
                Visible::Nothing => self.deliver(None),
                Visible::Spilled => {
                    self.spilled = true;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Delivers the next row, whose version is in a file. The caller holds no latch.
    fn deliver_spilled(&mut self) -> Result<()> {
        let key = self.locators.get(self.next);
        let row = spilled_row(&self.core.versions, self.table.id, key, self.snapshot)?;
        self.spilled = false;
        self.deliver(row.as_deref());
        Ok(())
    }

    fn one(&mut self, tree: &Tree) -> Result<()> {
        let key = self.locators.get(0);
        let (versions, table, snapshot) = (&self.core.versions, self.table.id, self.snapshot);
        tree.get(key, |entry| -> Result<(), TableError> {
            let visible = match &entry {
                Some(entry) => visible_row(versions, table, key, entry, snapshot)?,
                None => Visible::Nothing,
            };
            match visible {
                Visible::Row(row) => self.deliver(Some(row.bytes())),
                Visible::Nothing => self.deliver(None),
                Visible::Spilled => self.spilled = true,
            }
            Ok(())
        })??;
        if self.spilled { self.deliver_spilled() } else { Ok(()) }
    }

    /// Delivers the next locator with its row; the transaction's own version replaces the committed one.
    fn deliver(&mut self, payload: Option<&[u8]>) {
        let at = self.next;
        self.next += 1;
        let payload = match self.own.get(at) {
            Some(Some(own)) => own.as_deref(),
            _ => payload,
        };
        let key = self.locators.get(at);
        (self.visitor)(at, payload.map(|payload| RowRef { key, payload }));
    }
}
