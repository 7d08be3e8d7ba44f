//! Reads a leaf under its latch.
//!
//! Entries are shown one by one, or in runs to visitors who say up to where ([`EntryVisitor::run_bound`]): a run is of entries
//! whose payload on the page is what the snapshot sees, so that nothing is copied or looked up for it. Old versions come one by one.

use super::row::{RowPayload, Visible, visible_row};
use super::view::ReadView;
use super::{EntryRef, EntryRun, EntryStep, EntryVisitor, MOST_OF_A_RUN};
use crate::catalog::TableDef;
use crate::error::TableError;
use leafline_btree::node::LeafCell;
use leafline_btree::{Direction, LeafStep, LeafView};
use leafline_types::extend_short;
use std::ops::Range;

/// Entries that are fetched from memory while one is read.
const AHEAD: usize = 8;

/// How a visit of a leaf ended.
pub(super) enum Outcome {
    /// Go on with the neighbour, at the next visit.
    LeafDone,
    Paused,
    Stopped,
    /// The leaf must be read through a window.
    NeedsWindow,
    Failed(TableError),
}

/// What a leaf visit returns to the tree's cursor, or the slots that a window has to read.
pub(super) enum Step {
    Tree(LeafStep),
    Window(Range<usize>),
}

/// Reads leaves under their latch.
pub(super) struct InPlace<'a> {
    pub view: &'a ReadView,
    pub table: &'a TableDef,
    pub clustered: bool,
    pub direction: Direction,
}

/// The slots of a leaf that are still to be read.
struct Left {
    slots: Range<usize>,
    direction: Direction,
}

impl Left {
    fn next(&mut self) -> Option<usize> {
        match self.direction {
            Direction::Forward => self.slots.next(),
            Direction::Reverse => self.slots.next_back(),
        }
    }

    fn peek(&self) -> Option<usize> {
        match (self.slots.is_empty(), self.direction) {
            (true, _) => None,
            (_, Direction::Forward) => Some(self.slots.start),
            (_, Direction::Reverse) => Some(self.slots.end - 1),
        }
    }

    /// So many behind `slot`; a number that is no slot where there is none.
    fn ahead(&self, slot: usize, by: usize) -> usize {
        match self.direction {
            Direction::Forward => slot + by,
            Direction::Reverse => slot.wrapping_sub(by),
        }
    }

    /// With `slot` too, which was the last one taken.
    fn with(&self, slot: usize) -> Range<usize> {
        match self.direction {
            Direction::Forward => slot..self.slots.end,
            Direction::Reverse => self.slots.start..slot + 1,
        }
    }

    fn give_back(&mut self, slot: usize) {
        self.slots = self.with(slot);
    }

    /// How many of them a visitor that takes entries up to `until` may take together.
    fn within(&self, leaf: &LeafView<'_>, until: Option<&[u8]>) -> usize {
        let Some(until) = until else { return self.slots.len() };
        match self.direction {
            Direction::Forward if leaf.upper_fence().is_some_and(|fence| fence <= until) => self.slots.len(),
            Direction::Forward => leaf.lower_bound(until).saturating_sub(self.slots.start),
            Direction::Reverse if until <= leaf.lower_fence() => self.slots.len(),
            Direction::Reverse => self.slots.end.saturating_sub(leaf.lower_bound(until)),
        }
    }
}

impl InPlace<'_> {
    /// Shows the entries in `slots` of a leaf; how many it showed is added to `examined`.
    pub fn leaf(
        &self,
        leaf: &LeafView<'_>,
        slots: Range<usize>,
        visitor: &mut dyn EntryVisitor,
        outcome: &mut Outcome,
        examined: &mut u64,
    ) -> Step {
        let settled = leaf.max_commit_ts() < self.view.snapshot.low;
        if !settled && !self.clustered {
            *outcome = Outcome::NeedsWindow;
            return Step::Window(slots);
        }
        let mut left = Left { slots, direction: self.direction };
        if let Some(first) = left.peek() {
            (0..AHEAD).for_each(|by| leaf.prefetch(left.ahead(first, by)));
        }
        let prefix = leaf.prefix();
        let mut key = prefix.to_vec();
        let mut together = visitor.run_bound().map_or(0, |bound| left.within(leaf, bound.until));
        loop {
            let step = match together {
                0 => None,
                _ => self.run(leaf, &mut left, settled, &mut together, visitor, examined),
            };
            let step = match step {
                Some(step) => step,
                None => {
                    let Some(slot) = left.next() else { break };
                    together = together.saturating_sub(1);
                    leaf.prefetch(left.ahead(slot, AHEAD));
                    let cell = leaf.cell(slot);
                    key.truncate(prefix.len());
                    extend_short(&mut key, cell.suffix);
                    let payload = match self.payload(&key, cell, settled) {
                        Ok(Visible::Row(payload)) => payload,
                        Ok(Visible::Nothing) => continue,
                        Ok(Visible::Spilled) => {
                            *outcome = Outcome::NeedsWindow;
                            return Step::Window(left.with(slot));
                        }
                        Err(error) => {
                            *outcome = Outcome::Failed(error);
                            return Step::Tree(LeafStep::Stop);
                        }
                    };
                    *examined += 1;
                    visitor.entry(EntryRef { key: &key, payload: payload.bytes() })
                }
            };
            match step {
                EntryStep::Next => {}
                EntryStep::SeekTo(target) => {
                    let before = left.slots.len();
                    let beyond = leap(leaf, &mut left, target);
                    visitor.leapt(before - left.slots.len(), beyond.is_some());
                    if let Some(step) = beyond {
                        return Step::Tree(step);
                    }
                    together = visitor.run_bound().map_or(0, |bound| left.within(leaf, bound.until));
                }
                EntryStep::Pause => {
                    *outcome = Outcome::Paused;
                    return Step::Tree(match (self.direction, left.slots.is_empty()) {
                        (_, true) => LeafStep::NextLeaf,
                        (Direction::Forward, _) => LeafStep::StayAt(left.slots.start),
                        (Direction::Reverse, _) => LeafStep::StayAt(left.slots.end - 1),
                    });
                }
                EntryStep::Stop => {
                    *outcome = Outcome::Stopped;
                    return Step::Tree(LeafStep::Stop);
                }
            }
        }
        Step::Tree(LeafStep::NextLeaf)
    }

    /// Shows the next of the first `together` slots as one run; None if that is nothing, or cannot be.
    fn run(
        &self,
        leaf: &LeafView<'_>,
        left: &mut Left,
        settled: bool,
        together: &mut usize,
        visitor: &mut dyn EntryVisitor,
        examined: &mut u64,
    ) -> Option<EntryStep> {
        let next = left.peek()?;
        if !settled && !self.view.snapshot.sees(leaf.entry(next).commit_ts) {
            return None;
        }
        let most = visitor.run_bound()?.entries.min(MOST_OF_A_RUN);
        let mut entries: [(&[u8], &[u8]); MOST_OF_A_RUN] = [(&[], &[]); MOST_OF_A_RUN];
        let mut count = 0;
        while *together > 0 && count < most {
            let Some(slot) = left.next() else { break };
            leaf.prefetch(left.ahead(slot, AHEAD));
            let LeafCell { suffix, entry } = leaf.cell(slot);
            if !settled && !self.view.snapshot.sees(entry.commit_ts) {
                left.give_back(slot);
                break;
            }
            *together -= 1;
            if !entry.is_ghost() {
                *entries.get_mut(count)? = (suffix, entry.payload);
                count += 1;
            }
        }
        if count == 0 {
            return None;
        }
        *examined += count as u64;
        let entries = entries.get(..count)?;
        Some(visitor.run(&EntryRun { prefix: leaf.prefix(), entries }))
    }

    /// What the snapshot sees of an entry.
    #[inline]
    fn payload<'l>(&self, key: &[u8], cell: LeafCell<'l>, settled: bool) -> crate::Result<Visible<'l>> {
        let entry = cell.entry;
        if settled {
            return Ok(match entry.is_ghost() {
                true => Visible::Nothing,
                false => Visible::Row(RowPayload::Page(entry.payload)),
            });
        }
        visible_row(&self.view.engine.versions, self.table.id, key, &entry, &self.view.snapshot)
    }

    /// The gap before the first slot that a window has to read.
    pub fn gap_of(&self, leaf: &LeafView<'_>, step: &Step) -> Option<Vec<u8>> {
        let Step::Window(slots) = step else { return None };
        let mut key = Vec::new();
        match self.direction {
            Direction::Forward => leaf.key_into(slots.start, &mut key),
            Direction::Reverse if slots.end < leaf.len() => leaf.key_into(slots.end, &mut key),
            Direction::Reverse => match leaf.upper_fence() {
                Some(fence) => key.extend_from_slice(fence),
                None => return None,
            },
        }
        Some(key)
    }
}

/// Goes on at `target`; where that is beyond the leaf, the step to it.
fn leap(leaf: &LeafView<'_>, left: &mut Left, target: Vec<u8>) -> Option<LeafStep> {
    let slots = &mut left.slots;
    match left.direction {
        Direction::Forward if leaf.upper_fence().is_some_and(|fence| *target >= *fence) => {
            return Some(LeafStep::SeekTo(target));
        }
        Direction::Forward => slots.start = slots.start.max(leaf.lower_bound(&target)),
        Direction::Reverse if *target <= *leaf.lower_fence() => return Some(LeafStep::SeekTo(target)),
        Direction::Reverse => slots.end = slots.end.min(leaf.lower_bound(&target)),
    }
    None
}
