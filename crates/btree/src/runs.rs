//! The unpacked runs of a packed leaf under a [view](crate::view), kept as long as the visitor may refer to them.
//! Their memory is reused for the runs that follow, on this leaf and on others, so a scan allocates nothing.
//!
//! A lookup of a key reads an entry or two. So of the run that is asked for first, by single entries, only the
//! beginning up to these entries is unpacked. All of it is unpacked if that was not enough.

use std::cell::{Cell, OnceCell, RefCell};

use crate::node::{LeafCell, MISCOUNTED, Node, NodeFault, NodeResult, RUN, Unpacked};

/// Number of runs that are kept when the others are [forgotten](Runs::forget).
const RUNS_KEPT: usize = 4;

/// The unpacked runs of a leaf.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "runs move from the one to the other")]
pub(crate) struct Runs {
    /// The beginning of the run that was asked for first.
    beginning: OnceCell<Box<Unpacked>>,
    /// Unpacked runs by slot.
    by_slot: Vec<OnceCell<Box<Unpacked>>>,
    /// The slots whose runs are unpacked.
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

impl Runs {
    /// Begins a leaf with `slots` slots, of which none is unpacked.
    pub(crate) fn begin(&mut self, slots: usize) {
        self.give_back(|_| false);
        self.spare.get_mut().extend(self.beginning.take());
        self.last.set(Last::default());
        if self.by_slot.len() < slots {
            self.by_slot.resize_with(slots, OnceCell::new);
        }
    }

    /// Allows the runs to be reused. No reference to them is left.
    #[inline]
    pub(crate) fn forget(&mut self) {
        if self.taken.get_mut().len() > RUNS_KEPT {
            let last = self.last.get().slot;
            self.give_back(|slot| slot == last);
        }
    }

    fn give_back(&mut self, stays: impl Fn(usize) -> bool) {
        let Runs { by_slot, taken, spare, .. } = self;
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
        let (first, run) = match self.read(position) {
            Some(read) => read,
            None => self.other(node, position, true)?,
        };
        let index = position - first;
        Ok(LeafCell { suffix: run.suffix(index)?, entry: run.entry(index)? })
    }

    /// Returns the run of the entry at a position, and the position of its first entry.
    #[inline]
    pub(crate) fn at(&self, node: &Node<'_>, position: usize) -> NodeResult<(usize, &Unpacked)> {
        match self.read(position) {
            Some(read) if !self.last.get().is_beginning => Ok(read),
            _ => self.other(node, position, false),
        }
    }

    /// Returns the run that was asked for last, if it holds the position.
    #[inline]
    fn read(&self, position: usize) -> Option<(usize, &Unpacked)> {
        let Last { slot, first, read, is_beginning, .. } = self.last.get();
        if position.wrapping_sub(first) >= read {
            return None;
        }
        let place = if is_beginning { &self.beginning } else { self.by_slot.get(slot)? };
        Some((first, place.get()?))
    }

    /// Unpacks the run of a position, if it is not unpacked; with `beginning`, only its beginning, if that is enough.
    fn other(&self, node: &Node<'_>, position: usize, beginning: bool) -> NodeResult<(usize, &Unpacked)> {
        let before = self.last.get();
        let slot = self.slot_of(node, position)?;
        let positions = node.positions(slot);
        let (first, count) = (positions.start, positions.len());
        let is_beginning = beginning && self.beginning.get().is_none() && self.taken.borrow().is_empty();
        let (place, most) = match is_beginning {
            // Unpack the next entry, too: it mostly ends the search.
            true => (&self.beginning, position - first + 2),
            false => (self.by_slot.get(slot).ok_or(NodeFault("no such slot"))?, RUN),
        };
        self.last.set(Last { slot, first, count, read: count.min(most), is_beginning });
        if let Some(run) = place.get() {
            return Ok((first, run));
        }
        if slot.abs_diff(before.slot) == 1 && before.count > 0 {
            node.prefetch_run(before.slot, slot);
        }
        let mut run = self.spare.borrow_mut().pop().unwrap_or_default();
        if node.unpack(slot, most, &mut run)? != count {
            return Err(MISCOUNTED);
        }
        if !is_beginning {
            self.taken.borrow_mut().push(slot);
        }
        Ok((first, place.get_or_init(|| run)))
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
