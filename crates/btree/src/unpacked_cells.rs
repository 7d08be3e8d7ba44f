//! The unpacked cells of a packed leaf under a [view](crate::view), kept as long as the visitor may refer to them.
//! Their memory is reused for the packed cells that follow, on this leaf and on others, so a scan allocates nothing.
//!
//! A lookup of a key reads an entry or two. So of the packed cell that is asked for first, by single entries, only the
//! beginning up to these entries is unpacked. All of it is unpacked if that was not enough.

use std::cell::{Cell, OnceCell, RefCell};

use crate::node::{LeafCell, MAX_CELL_ENTRIES, MISCOUNTED, Node, NodeFault, NodeResult, Unpacked};

/// Number of packed cells that are kept when the others are [forgotten](UnpackedCells::forget).
const CELLS_KEPT: usize = 4;

/// The unpacked cells of a leaf.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "cells move from the one to the other")]
pub(crate) struct UnpackedCells {
    /// The beginning of the packed cell that was asked for first.
    beginning: OnceCell<Box<Unpacked>>,
    /// The unpacked cells by slot.
    by_slot: Vec<OnceCell<Box<Unpacked>>>,
    /// The slots whose packed cells are unpacked.
    taken: RefCell<Vec<usize>>,
    spare: RefCell<Vec<Box<Unpacked>>>,
    last: Cell<Last>,
}

/// The slot that was asked for last, its positions, and how many of them are unpacked.
#[derive(Clone, Copy, Default)]
struct Last {
    slot: usize,
    first: usize,
    count: usize,
    read: usize,
    is_beginning: bool,
}

impl UnpackedCells {
    /// Begins a leaf with `slots` slots, of which none is unpacked.
    pub(crate) fn begin(&mut self, slots: usize) {
        self.give_back(|_| false);
        self.spare.get_mut().extend(self.beginning.take());
        self.last.set(Last::default());
        if self.by_slot.len() < slots {
            self.by_slot.resize_with(slots, OnceCell::new);
        }
    }

    /// Allows the packed cells to be reused. No reference to them is left.
    #[inline]
    pub(crate) fn forget(&mut self) {
        if self.taken.get_mut().len() > CELLS_KEPT {
            let last = self.last.get().slot;
            self.give_back(|slot| slot == last);
        }
    }

    fn give_back(&mut self, stays: impl Fn(usize) -> bool) {
        let UnpackedCells { by_slot, taken, spare, .. } = self;
        taken.get_mut().retain(|slot| {
            let stays = stays(*slot);
            if !stays {
                spare.get_mut().extend(by_slot.get_mut(*slot).and_then(OnceCell::take));
            }
            stays
        });
    }

    /// Returns the entry at a position.
    #[inline]
    pub(crate) fn cell(&self, node: &Node<'_>, position: usize) -> NodeResult<LeafCell<'_>> {
        let (first, unpacked) = match self.read(position) {
            Some(read) => read,
            None => self.other(node, position, true)?,
        };
        let index = position - first;
        Ok(LeafCell { suffix: unpacked.suffix(index)?, entry: unpacked.entry(index)? })
    }

    /// Returns the packed cell of the entry at a position, and the position of its first entry.
    #[inline]
    pub(crate) fn at(&self, node: &Node<'_>, position: usize) -> NodeResult<(usize, &Unpacked)> {
        match self.read(position) {
            Some(read) if !self.last.get().is_beginning => Ok(read),
            _ => self.other(node, position, false),
        }
    }

    /// Returns the packed cell that was asked for last, if it holds the position.
    #[inline]
    fn read(&self, position: usize) -> Option<(usize, &Unpacked)> {
        let Last { slot, first, read, is_beginning, .. } = self.last.get();
        if position.wrapping_sub(first) >= read {
            return None;
        }
        let place = if is_beginning { &self.beginning } else { self.by_slot.get(slot)? };
        Some((first, place.get()?))
    }

    /// Unpacks the packed cell of a position, if it is not unpacked; with `beginning`, only its beginning, if that is
    /// enough.
    fn other(&self, node: &Node<'_>, position: usize, beginning: bool) -> NodeResult<(usize, &Unpacked)> {
        let before = self.last.get();
        let slot = self.slot_of(node, position)?;
        let positions = node.positions(slot);
        let (first, count) = (positions.start, positions.len());
        let is_beginning = beginning && self.beginning.get().is_none() && self.taken.borrow().is_empty();
        let (place, most) = match is_beginning {
            // Unpack the next entry, too: it mostly ends the search.
            true => (&self.beginning, position - first + 2),
            false => (self.by_slot.get(slot).ok_or(NodeFault("no such slot"))?, MAX_CELL_ENTRIES),
        };
        self.last.set(Last { slot, first, count, read: count.min(most), is_beginning });
        if let Some(unpacked) = place.get() {
            return Ok((first, unpacked));
        }
        if slot.abs_diff(before.slot) == 1 && before.count > 0 {
            node.prefetch_next_cell(before.slot, slot);
        }
        let mut unpacked = self.spare.borrow_mut().pop().unwrap_or_default();
        if node.unpack(slot, most, &mut unpacked)? != count {
            return Err(MISCOUNTED);
        }
        if !is_beginning {
            self.taken.borrow_mut().push(slot);
        }
        Ok((first, place.get_or_init(|| unpacked)))
    }

    /// Returns the slot of a position: mostly the last one, or a neighbour of it.
    #[inline]
    fn slot_of(&self, node: &Node<'_>, position: usize) -> NodeResult<usize> {
        let last = self.last.get();
        if position.wrapping_sub(last.first) < last.count {
            return Ok(last.slot);
        }
        let mut near = [last.slot + 1, last.slot.wrapping_sub(1)].into_iter();
        match near.find(|slot| *slot < node.slots() && node.positions(*slot).contains(&position)) {
            Some(slot) => Ok(slot),
            None => Ok(node.search().slot_of(position)?.0),
        }
    }
}
