//! Windows: entries copied out of a leaf, decided about, and merged with own writes.
//!
//! A window covers an interval of keys, from the cursor's position to where its leaf ends (or less). It is filled in
//! three steps:
//! 1. copy the leaf's entries, under the latch, with their timestamps;
//! 2. decide about entries the snapshot does not see as they stand. A clustered one is replaced by its old version: one in
//!    memory when it is copied, one in a file afterwards, when the latch is gone.
//!    For a secondary one the row is visited as the snapshot sees it and the entry derived from it again: it stands
//!    if the keys agree, with the values of that row version, whether it is a ghost now or not;
//! 3. lay the transaction's own writes in the interval over the result.

use super::cursor::EntryCursor;
use super::fetch::fetch_rows;
use super::row::{Visible, spilled_row, visible_row};
use super::{EntryRef, LocatorBatch};
use crate::error::{Result, TableError};
use crate::index::entry::{entry_of_row, locator_of_entry};
use leafline_btree::{Direction, LeafStep, LeafView};
use std::cmp::Ordering;
use std::ops::Range;

/// Own writes laid over one window, at most.
const MAX_OWN: usize = 256;
/// Entries of a window, at most: all of a leaf.
const MAX_WINDOW: usize = usize::MAX / 4;

/// An entry in a window.
#[derive(Debug)]
struct Copied {
    key: Vec<u8>,
    payload: Vec<u8>,
    /// Its row must be visited.
    unsure: bool,
}

/// Entries to be shown, in the order of the scan.
#[derive(Debug)]
pub(super) struct Window {
    entries: Vec<Copied>,
    next: usize,
    /// Where the interval ends: forward, keys from here on are not in it; reverse, keys below are not. `None`: nothing
    /// follows.
    end: Option<Vec<u8>>,
}

impl Window {
    /// The next entry.
    pub(super) fn next(&mut self) -> Option<EntryRef<'_>> {
        let entry = self.entries.get(self.next)?;
        self.next += 1;
        Some(EntryRef { key: &entry.key, payload: &entry.payload })
    }

    /// Goes to `target`: over how many entries, and whether it is in the window's interval.
    pub(super) fn skip_to(&mut self, direction: Direction, target: &[u8]) -> (usize, bool) {
        let rest = self.entries.get(self.next..).unwrap_or_default();
        let (skipped, inside) = match direction {
            Direction::Forward => (
                rest.partition_point(|entry| entry.key.as_slice() < target),
                self.end.as_deref().is_none_or(|end| target < end),
            ),
            Direction::Reverse => (
                rest.partition_point(|entry| entry.key.as_slice() >= target),
                self.end.as_deref().is_none_or(|end| target > end),
            ),
        };
        self.next += skipped;
        (skipped, inside)
    }
}

/// What was copied from a leaf.
#[derive(Default)]
struct Copy {
    entries: Vec<Copied>,
    end: Option<Vec<u8>>,
    error: Option<TableError>,
}

impl EntryCursor {
    /// Fills the window from the position on and moves the position to its end.
    pub(super) fn fill_window(&mut self, direction: Direction) -> Result<()> {
        self.ensure_placed(direction);
        let mut copy = self.copy_leaf(direction)?;
        if copy.entries.iter().any(|entry| entry.unsure) {
            if self.index.is_clustered() {
                self.read_spilled(&mut copy.entries)?;
            } else {
                self.decide(&mut copy.entries)?;
            }
        }
        if self.overlay {
            if !self.index.is_clustered() && self.view.has_unseen_bases(self.table.id) {
                self.hide_own_rows(&mut copy.entries)?;
            }
            self.overlay_own(direction, &mut copy)?;
        }
        self.gap = match (&copy.end, direction) {
            (Some(end), _) => Some(end.clone()),
            (None, Direction::Forward) => None,
            (None, Direction::Reverse) => Some(Vec::new()),
        };
        if copy.end.is_none() {
            self.finish();
        }
        self.window = Some(Window { entries: copy.entries, next: 0, end: copy.end });
        Ok(())
    }

    /// Step 1. The tree's cursor is at the window's end afterwards.
    fn copy_leaf(&mut self, direction: Direction) -> Result<Copy> {
        let most = self.window_size;
        self.window_size = most.saturating_mul(4).min(MAX_WINDOW);
        let mut copy = Copy::default();
        let (view, table, clustered) = (&self.view, &self.table, self.index.is_clustered());
        let add = |leaf: &LeafView<'_>, slot: usize, entries: &mut Vec<Copied>| -> Result<()> {
            let entry = leaf.entry(slot);
            let seen = view.snapshot.sees(entry.commit_ts);
            if seen && entry.is_ghost() {
                return Ok(());
            }
            let mut key = Vec::new();
            leaf.key_into(slot, &mut key);
            if seen || !clustered {
                entries.push(Copied { key, payload: entry.payload.to_vec(), unsure: !seen });
                return Ok(());
            }
            match visible_row(&view.engine.versions, table.id, &key, &entry, &view.snapshot)? {
                Visible::Row(row) => {
                    entries.push(Copied { key, payload: row.bytes().to_vec(), unsure: false });
                }
                Visible::Nothing => {}
                Visible::Spilled => entries.push(Copied { key, payload: Vec::new(), unsure: true }),
            }
            Ok(())
        };
        self.cursor.visit_leaf(direction, |leaf, slots| {
            // Only the last call counts: the leaf may have to be read again.
            copy = Copy::default();
            let taken = take(direction, &slots, most);
            let rest = slots.len() - taken.len();
            let copied = taken.clone().try_for_each(|position| {
                let slot = match direction {
                    Direction::Forward => position,
                    Direction::Reverse => taken.end - 1 - (position - taken.start),
                };
                add(leaf, slot, &mut copy.entries)
            });
            if let Err(error) = copied {
                copy.error = Some(error);
                return LeafStep::Stop;
            }
            let mut end = Vec::new();
            match (direction, rest > 0) {
                (Direction::Forward, true) => {
                    leaf.key_into(taken.end, &mut end);
                    copy.end = Some(end);
                    LeafStep::StayAt(taken.end)
                }
                (Direction::Reverse, true) => {
                    leaf.key_into(taken.start, &mut end);
                    copy.end = Some(end);
                    LeafStep::StayAt(taken.start - 1)
                }
                (Direction::Forward, false) => {
                    copy.end = leaf.upper_fence().map(<[u8]>::to_vec);
                    LeafStep::NextLeaf
                }
                (Direction::Reverse, false) => {
                    let fence = leaf.lower_fence();
                    copy.end = (!fence.is_empty()).then(|| fence.to_vec());
                    LeafStep::NextLeaf
                }
            }
        })?;
        match copy.error.take() {
            Some(error) => Err(error),
            None => Ok(copy),
        }
    }

    /// Step 2, for rows in files.
    fn read_spilled(&self, entries: &mut Vec<Copied>) -> Result<()> {
        for entry in entries.iter_mut().filter(|entry| entry.unsure) {
            let row =
                spilled_row(&self.view.engine.versions, self.table.id, &entry.key, &self.view.snapshot)?;
            if let Some(row) = row {
                entry.payload = row.to_vec();
                entry.unsure = false;
            }
        }
        entries.retain(|entry| !entry.unsure);
        Ok(())
    }

    /// Step 2, for secondary entries.
    fn decide(&self, entries: &mut Vec<Copied>) -> Result<()> {
        let (mut locators, mut unsure) = (LocatorBatch::new(), Vec::new());
        let mut locator = Vec::new();
        for (position, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.unsure) {
            locator_of_entry(&self.index, &entry.key, &mut locator)?;
            locators.push(&locator);
            unsure.push(position);
        }
        let order = locators.sort();
        let mut derived = vec![None; unsure.len()];
        let mut failed = None;
        fetch_rows(&self.view.engine, &self.table, &self.view.snapshot, &locators, &[], &mut |at, row| {
            let (Some(row), Some(&place)) = (row, order.get(at)) else { return };
            match entry_of_row(&self.table, &self.index, row.key, row.payload) {
                Ok(entry) => {
                    if let Some(slot) = derived.get_mut(place as usize) {
                        *slot = Some(entry);
                    }
                }
                Err(error) => failed = Some(error),
            }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        for (position, derived) in unsure.into_iter().zip(derived) {
            let Some(entry) = entries.get_mut(position) else { continue };
            if let Some(derived) = derived
                && derived.key == entry.key
            {
                entry.payload = derived.payload;
                entry.unsure = false;
            }
        }
        entries.retain(|entry| !entry.unsure);
        Ok(())
    }

    /// Step 3, where the snapshot does not see what some of the writes replaced: drops committed entries of rows that
    /// the transaction has written, whichever they are.
    fn hide_own_rows(&self, entries: &mut Vec<Copied>) -> Result<()> {
        let mut locator = Vec::new();
        let mut failed = None;
        entries.retain(|entry| {
            let own = locator_of_entry(&self.index, &entry.key, &mut locator)
                .and_then(|()| self.view.own_row(self.table.id, &locator));
            own.map(|own| own.is_none()).unwrap_or_else(|error| {
                failed = Some(error);
                true
            })
        });
        failed.map_or(Ok(()), Err)
    }

    /// Step 3.
    fn overlay_own(&mut self, direction: Direction, copy: &mut Copy) -> Result<()> {
        let reverse = direction == Direction::Reverse;
        let range = match direction {
            Direction::Forward => (self.gap.as_deref().unwrap_or_default(), copy.end.as_deref()),
            Direction::Reverse => (copy.end.as_deref().unwrap_or_default(), self.gap.as_deref()),
        };
        let own = self.view.own_entries(self.table.id, &self.index, range, reverse, MAX_OWN)?;
        if own.len() == MAX_OWN
            && let Some(last) = own.last()
        {
            // There may be more of them: the window ends here.
            let mut end = last.key.clone();
            if !reverse {
                end.push(0);
            }
            let inside = |entry: &Copied| if reverse { entry.key >= end } else { entry.key < end };
            let inside = copy.entries.partition_point(inside);
            copy.entries.truncate(inside);
            copy.end = Some(end);
            self.placed = None;
        }
        let mut committed = std::mem::take(&mut copy.entries).into_iter().peekable();
        let merged = &mut copy.entries;
        for own in own {
            while let Some(entry) = committed.peek() {
                let order = entry.key.cmp(&own.key);
                match if reverse { order.reverse() } else { order } {
                    Ordering::Less => merged.extend(committed.next()),
                    Ordering::Equal => drop(committed.next()),
                    Ordering::Greater => break,
                }
            }
            if let Some(payload) = own.state {
                merged.push(Copied { key: own.key, payload: payload.to_vec(), unsure: false });
            }
        }
        merged.extend(committed);
        Ok(())
    }
}

/// The first `most` of `slots` in the direction of the scan.
fn take(direction: Direction, slots: &Range<usize>, most: usize) -> Range<usize> {
    let count = slots.len().min(most);
    match direction {
        Direction::Forward => slots.start..slots.start + count,
        Direction::Reverse => slots.end - count..slots.end,
    }
}
