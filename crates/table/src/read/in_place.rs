//! Reads a leaf under its latch.
//!
//! Visitors get entries one by one, or in slices if they say how far a slice may reach
//! ([`EntryVisitor::slice_bound`]). A slice consists of entries that the snapshot sees as they are on the page, so
//! that nothing is copied or looked up for it. Old versions and [patches](super::patches) come one by one.

use super::patches::{PatchStop, Patches, UnresolvedEntry};
use super::row::{RowPayload, Visible, visible_row};
use super::view::ReadView;
use super::{EntryRef, EntrySlice, EntryStep, EntryVisitor, MAX_SLICE_ENTRIES, SliceBound};
use crate::catalog::TableDef;
use crate::error::TableError;
use leafline_btree::node::LeafCell;
use leafline_btree::{Direction, EntryFlags, LeafStep, LeafView};
use leafline_types::extend_short;
use std::ops::Range;

/// The number of entries prefetched while one is read.
const AHEAD: usize = 8;

/// The way in which the visit of a leaf ended.
pub(super) enum Outcome {
    /// The leaf is done; the next visit continues with its neighbour.
    LeafDone,
    Paused,
    Stopped,
    /// The transaction's own writes must be read first.
    AtReach,
    /// These entries must be decided about first.
    Unresolved(Vec<UnresolvedEntry>),
    Failed(TableError),
}

/// Reads leaves under their latch.
pub(super) struct InPlace<'a> {
    pub view: &'a ReadView,
    pub table: &'a TableDef,
    pub clustered: bool,
    pub direction: Direction,
    /// Whether entries that the snapshot sees must be checked against the transaction's own writes before they are
    /// shown.
    pub hides_own: bool,
    pub patches: &'a mut Patches,
    pub outcome: Outcome,
}

/// The form in which the snapshot sees an entry of the leaf.
enum EntryVisibility<'l> {
    Row(RowPayload<'l>),
    Nothing,
    /// Known only after a look at the row, without the latch.
    Unresolved,
}

/// The slots of a leaf that have not been read yet.
struct RemainingSlots {
    slots: Range<usize>,
    direction: Direction,
    /// How many of the slots come before `stop`.
    free: usize,
    stop: Option<PatchStop>,
    /// How many of the slots the visitor takes together.
    together: usize,
}

impl RemainingSlots {
    fn next(&mut self) -> Option<usize> {
        let slot = self.peek()?;
        self.skip(1);
        Some(slot)
    }

    /// Skips `count` slots, or as many as are left.
    fn skip(&mut self, count: usize) {
        let count = count.min(self.slots.len());
        match self.direction {
            Direction::Forward => self.slots.start += count,
            Direction::Reverse => self.slots.end -= count,
        }
        self.free = self.free.saturating_sub(count);
        self.together = self.together.saturating_sub(count);
    }

    fn peek(&self) -> Option<usize> {
        match (self.slots.is_empty(), self.direction) {
            (true, _) => None,
            (_, Direction::Forward) => Some(self.slots.start),
            (_, Direction::Reverse) => Some(self.slots.end - 1),
        }
    }

    /// The next slots that lie in `slots`, which contains the next one, and that the visitor takes together; at most
    /// `most`.
    fn next_together(&self, slots: &Range<usize>, most: usize) -> Range<usize> {
        let most = most.min(self.together).min(self.free);
        match self.direction {
            Direction::Forward => {
                let start = self.slots.start;
                start..self.slots.end.min(slots.end).min(start + most)
            }
            Direction::Reverse => {
                let end = self.slots.end;
                self.slots.start.max(slots.start).max(end.saturating_sub(most))..end
            }
        }
    }

    /// The slot `by` places after `slot` in the scan's direction; not a slot if there is none.
    fn ahead(&self, slot: usize, by: usize) -> usize {
        match self.direction {
            Direction::Forward => slot + by,
            Direction::Reverse => slot.wrapping_sub(by),
        }
    }

    /// Makes the next visit begin with the next slot.
    fn stay(&self) -> LeafStep {
        self.peek().map_or(LeafStep::NextLeaf, LeafStep::StayAt)
    }

    /// Asks the visitor how many of the slots it takes together.
    fn ask(&mut self, leaf: &LeafView<'_>, visitor: &dyn EntryVisitor) {
        self.together = visitor.slice_bound().map_or(0, |bound| self.within(leaf, bound.until));
    }

    /// How many of the slots may be taken together by a visitor that takes entries up to `until`.
    fn within(&self, leaf: &LeafView<'_>, until: Option<&[u8]>) -> usize {
        let Some(until) = until else { return self.slots.len() };
        match self.direction {
            Direction::Forward if leaf.upper_fence().is_some_and(|fence| fence <= until) => self.slots.len(),
            Direction::Forward => leaf.find(until).0.saturating_sub(self.slots.start),
            Direction::Reverse if until <= leaf.lower_fence() => self.slots.len(),
            Direction::Reverse => self.slots.end.saturating_sub(leaf.find(until).0),
        }
    }

    /// Finds the next patch or the reach, which ends the entries that can be shown unchanged.
    fn find_stop(&mut self, leaf: &LeafView<'_>, patches: &Patches) {
        let found = patches.before(leaf, &self.slots, self.direction);
        (self.free, self.stop) = match found {
            Some((free, stop)) => (free, Some(stop)),
            None => (usize::MAX, None),
        };
    }

    /// Continues at `target`; returns a step to it if it is beyond the leaf.
    fn leap(&mut self, leaf: &LeafView<'_>, target: Vec<u8>) -> Option<LeafStep> {
        let slots = &mut self.slots;
        match self.direction {
            Direction::Forward if leaf.upper_fence().is_some_and(|fence| *target >= *fence) => {
                return Some(LeafStep::SeekTo(target));
            }
            Direction::Forward => slots.start = slots.start.max(leaf.find(&target).0),
            Direction::Reverse if *target <= *leaf.lower_fence() => return Some(LeafStep::SeekTo(target)),
            Direction::Reverse => slots.end = slots.end.min(leaf.find(&target).0),
        }
        None
    }
}

impl InPlace<'_> {
    /// Shows the entries in the slots of a leaf.
    pub fn show_leaf(
        &mut self,
        leaf: &mut LeafView<'_>,
        slots: Range<usize>,
        visitor: &mut dyn EntryVisitor,
    ) -> LeafStep {
        let settled = leaf.max_commit_ts() < self.view.snapshot.low && !self.hides_own;
        let mut left =
            RemainingSlots { slots, direction: self.direction, free: usize::MAX, stop: None, together: 0 };
        if let Some(first) = left.peek() {
            (0..AHEAD).for_each(|by| leaf.prefetch(left.ahead(first, by)));
        }
        left.find_stop(leaf, self.patches);
        left.ask(leaf, visitor);
        let prefix = leaf.prefix();
        let mut key = prefix.to_vec();
        while !left.slots.is_empty() {
            leaf.forget();
            let slice = match left.together.min(left.free) {
                0 => None,
                _ => self.show_slice(leaf, &mut left, settled, visitor),
            };
            let step = match slice {
                Some(step) => Ok(step),
                // Only ghosts were left: a patch beyond the leaf is shown only after the next leaf has been looked
                // at.
                None if left.slots.is_empty() => break,
                None if left.free == 0 => self.show_stop(leaf, &mut left, visitor),
                None => self.show_one(leaf, &mut left, settled, &mut key, visitor),
            };
            let step = match step {
                Ok(step) => step,
                Err(end) => return end,
            };
            match step {
                EntryStep::Next => {}
                EntryStep::AskAnew => left.ask(leaf, visitor),
                EntryStep::SeekTo(target) => {
                    let before = left.slots.len();
                    self.patches.skip_to(self.direction, &target);
                    let beyond = left.leap(leaf, target);
                    visitor.leapt(before - left.slots.len(), beyond.is_some());
                    if let Some(step) = beyond {
                        return step;
                    }
                    left.find_stop(leaf, self.patches);
                    left.ask(leaf, visitor);
                }
                EntryStep::Pause => {
                    self.outcome = Outcome::Paused;
                    return left.stay();
                }
                EntryStep::Stop => {
                    self.outcome = Outcome::Stopped;
                    return LeafStep::Stop;
                }
            }
        }
        LeafStep::NextLeaf
    }

    /// Shows the next patch; fails at the reach.
    fn show_stop(
        &mut self,
        leaf: &LeafView<'_>,
        left: &mut RemainingSlots,
        visitor: &mut dyn EntryVisitor,
    ) -> Result<EntryStep, LeafStep> {
        let Some(PatchStop::Patch { of_entry }) = left.stop.take() else {
            self.outcome = Outcome::AtReach;
            return Err(left.stay());
        };
        let step = self.show_patch(visitor);
        if of_entry {
            left.next();
        }
        left.find_stop(leaf, self.patches);
        Ok(step)
    }

    /// Shows the next entry if the snapshot sees one; fails if that must be decided first.
    fn show_one(
        &mut self,
        leaf: &LeafView<'_>,
        left: &mut RemainingSlots,
        settled: bool,
        key: &mut Vec<u8>,
        visitor: &mut dyn EntryVisitor,
    ) -> Result<EntryStep, LeafStep> {
        let Some(slot) = left.peek() else { return Ok(EntryStep::Next) };
        leaf.prefetch(left.ahead(slot, AHEAD));
        let cell = leaf.cell(slot);
        key.truncate(leaf.prefix().len());
        extend_short(key, cell.suffix);
        match self.shown(key, cell, settled) {
            Ok(EntryVisibility::Row(payload)) => {
                left.next();
                Ok(visitor.entry(EntryRef { key, payload: payload.bytes() }))
            }
            Ok(EntryVisibility::Nothing) => {
                left.next();
                Ok(EntryStep::Next)
            }
            Ok(EntryVisibility::Unresolved) => {
                self.outcome = self.gather(leaf, left.slots.clone());
                Err(left.stay())
            }
            Err(error) => {
                self.outcome = Outcome::Failed(error);
                Err(LeafStep::Stop)
            }
        }
    }

    /// Shows the patches after the last leaf.
    pub fn show_rest(&mut self, visitor: &mut dyn EntryVisitor) {
        while self.patches.has_next() {
            match self.show_patch(visitor) {
                EntryStep::Next | EntryStep::AskAnew => {}
                EntryStep::SeekTo(target) => {
                    self.patches.skip_to(self.direction, &target);
                    visitor.leapt(0, false);
                }
                EntryStep::Pause => {
                    self.outcome = Outcome::Paused;
                    return;
                }
                EntryStep::Stop => {
                    self.outcome = Outcome::Stopped;
                    return;
                }
            }
        }
        if self.patches.has_unread() {
            self.outcome = Outcome::AtReach;
        }
    }

    /// Shows the next patch, if it has an entry to show.
    pub fn show_patch(&mut self, visitor: &mut dyn EntryVisitor) -> EntryStep {
        let Some(patch) = self.patches.take() else { return EntryStep::Next };
        let Some(payload) = &patch.state else { return EntryStep::Next };
        visitor.entry(EntryRef { key: &patch.key, payload })
    }

    /// Shows the next entries as one slice. Returns `None` if there are none, or if the first cannot be shown
    /// unchanged.
    fn show_slice(
        &mut self,
        leaf: &LeafView<'_>,
        left: &mut RemainingSlots,
        settled: bool,
        visitor: &mut dyn EntryVisitor,
    ) -> Option<EntryStep> {
        let SliceBound { entries: most, counted, .. } = visitor.slice_bound()?;
        if counted {
            let count = self.count(leaf, left, settled, most);
            return (count > 0).then(|| visitor.counted(count));
        }
        let mut entries: [(&[u8], &[u8]); MAX_SLICE_ENTRIES] = [(&[], &[]); MAX_SLICE_ENTRIES];
        let mut count = 0;
        while left.together.min(left.free) > 0 && count < most.min(MAX_SLICE_ENTRIES) {
            let Some(slot) = left.peek() else { break };
            if let Some(packed) = leaf.packed_with(slot) {
                if !settled && (self.hides_own || !self.view.snapshot.sees(packed.commit_ts())) {
                    break;
                }
                let some = left.next_together(&packed.slots(), most.min(MAX_SLICE_ENTRIES) - count);
                if !packed.flags().contains(EntryFlags::GHOST) {
                    let to = entries.get_mut(count..count + some.len())?;
                    count += some.len();
                    match self.direction {
                        Direction::Forward => {
                            to.iter_mut().zip(some.clone()).for_each(|(to, slot)| *to = packed.get(slot))
                        }
                        Direction::Reverse => to
                            .iter_mut()
                            .zip(some.clone().rev())
                            .for_each(|(to, slot)| *to = packed.get(slot)),
                    }
                }
                left.skip(some.len());
                continue;
            }
            leaf.prefetch(left.ahead(slot, AHEAD));
            let LeafCell { suffix, entry } = leaf.cell(slot);
            if !settled && (self.hides_own || !self.view.snapshot.sees(entry.commit_ts)) {
                break;
            }
            left.next();
            if !entry.is_ghost() {
                *entries.get_mut(count)? = (suffix, entry.payload);
                count += 1;
            }
        }
        if count == 0 {
            return None;
        }
        let entries = entries.get(..count)?;
        Some(visitor.visit_slice(&EntrySlice { prefix: leaf.prefix(), entries }))
    }

    /// Skips up to `most` of the next slots, as long as their entries can be shown unchanged, and returns how many
    /// entries they would show. It looks at timestamps, but not into cells.
    fn count(&self, leaf: &LeafView<'_>, left: &mut RemainingSlots, settled: bool, most: usize) -> usize {
        let all = left.slots.len().min(left.together).min(left.free).min(most);
        if settled {
            let first = left.slots.clone();
            left.skip(all);
            return leaf.live(match self.direction {
                Direction::Forward => first.start..left.slots.start,
                Direction::Reverse => left.slots.end..first.end,
            });
        }
        let mut count = 0;
        for _ in 0..all {
            let Some(slot) = left.peek() else { break };
            let flags = leaf.flags(slot);
            let has_ts = flags.contains(EntryFlags::HAS_TS);
            if self.hides_own || has_ts && !self.view.snapshot.sees(leaf.entry(slot).commit_ts) {
                break;
            }
            left.skip(1);
            count += usize::from(!flags.contains(EntryFlags::GHOST));
        }
        count
    }

    /// The form in which the snapshot sees an entry.
    #[inline]
    fn shown<'l>(&self, key: &[u8], cell: LeafCell<'l>, settled: bool) -> crate::Result<EntryVisibility<'l>> {
        let entry = cell.entry;
        if settled || self.view.snapshot.sees(entry.commit_ts) {
            return Ok(match entry.is_ghost() {
                true => EntryVisibility::Nothing,
                false if self.hides_own => EntryVisibility::Unresolved,
                false => EntryVisibility::Row(RowPayload::Page(entry.payload)),
            });
        }
        if !self.clustered {
            return Ok(if entry.has_previous() {
                EntryVisibility::Unresolved
            } else {
                EntryVisibility::Nothing
            });
        }
        let visible = visible_row(&self.view.core.versions, self.table.id, key, &entry, &self.view.snapshot)?;
        Ok(match visible {
            Visible::Row(payload) => EntryVisibility::Row(payload),
            Visible::Nothing => EntryVisibility::Nothing,
            Visible::Spilled => EntryVisibility::Unresolved,
        })
    }

    /// Copies the entries in `slots` that cannot be decided about under the latch.
    fn gather(&self, leaf: &LeafView<'_>, slots: Range<usize>) -> Outcome {
        let mut left = RemainingSlots { slots, direction: self.direction, free: 0, stop: None, together: 0 };
        let (mut unresolved, mut key) = (Vec::new(), Vec::new());
        while let Some(slot) = left.next() {
            let cell = leaf.cell(slot);
            leaf.key_into(slot, &mut key);
            match self.shown(&key, cell, false) {
                Ok(EntryVisibility::Unresolved) => {
                    let seen = self.view.snapshot.sees(cell.entry.commit_ts);
                    let seen = seen.then(|| cell.entry.payload.into());
                    unresolved.push(UnresolvedEntry { key: key.clone(), seen });
                    if unresolved.len() == self.patches.most() {
                        break;
                    }
                }
                Ok(EntryVisibility::Row(_) | EntryVisibility::Nothing) => {}
                Err(error) => return Outcome::Failed(error),
            }
        }
        Outcome::Unresolved(unresolved)
    }
}
