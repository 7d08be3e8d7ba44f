//! The runs of a packed leaf that were taken apart for a [view](crate::view): each once, as long as the visitor may refer to them. Their memory is
//! kept for those that come, on this leaf and on others, so a scan allocates nothing.

use std::cell::{Cell, OnceCell, RefCell};

use crate::node::{LeafCell, MISCOUNTED, Node, NodeFault, NodeResult, Unpacked};

/// Runs that are kept when the others are [forgotten](Runs::forget).
const FEW: usize = 4;

/// See above.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "runs move from the one to the other")]
pub(crate) struct Runs {
    /// By slot.
    by_slot: Vec<OnceCell<Box<Unpacked>>>,
    /// The slots of those that there are.
    taken: RefCell<Vec<usize>>,
    spare: RefCell<Vec<Box<Unpacked>>>,
    last: Cell<Last>,
}

/// The slot that was asked for last, and its positions.
#[derive(Clone, Copy, Default)]
struct Last {
    slot: usize,
    first: usize,
    count: usize,
}

impl Runs {
    /// Those of a leaf with that many slots, of which none is taken apart.
    pub(crate) fn begin(&mut self, slots: usize) {
        self.give_back(|_| false);
        self.last.set(Last::default());
        if self.by_slot.len() < slots {
            self.by_slot.resize_with(slots, OnceCell::new);
        }
    }

    /// Nobody refers to them any more.
    #[inline]
    pub(crate) fn forget(&mut self) {
        if self.taken.get_mut().len() > FEW {
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

    /// The entry at a position.
    #[inline]
    pub(crate) fn cell<'v>(&'v self, node: &Node<'v>, position: usize) -> NodeResult<LeafCell<'v>> {
        let (first, run) = self.at(node, position)?;
        let index = position - first;
        Ok(LeafCell { suffix: run.suffix(index)?, entry: run.entry(node.bytes(), index)? })
    }

    /// The run of the entry at a position, and the position of its first one.
    #[inline]
    pub(crate) fn at(&self, node: &Node<'_>, position: usize) -> NodeResult<(usize, &Unpacked)> {
        let last = self.last.get();
        if position.wrapping_sub(last.first) < last.count
            && let Some(run) = self.by_slot.get(last.slot).and_then(OnceCell::get)
        {
            return Ok((last.first, run));
        }
        self.other(node, position)
    }

    fn other(&self, node: &Node<'_>, position: usize) -> NodeResult<(usize, &Unpacked)> {
        let slot = self.slot_of(node, position)?;
        let positions = node.positions(slot);
        self.last.set(Last { slot, first: positions.start, count: positions.len() });
        let place = self.by_slot.get(slot).ok_or(NodeFault("no such slot"))?;
        if let Some(run) = place.get() {
            return Ok((positions.start, run));
        }
        let mut run = self.spare.borrow_mut().pop().unwrap_or_default();
        node.unpack(slot, &mut run)?;
        if run.len() != positions.len() {
            return Err(MISCOUNTED);
        }
        self.taken.borrow_mut().push(slot);
        Ok((positions.start, place.get_or_init(|| run)))
    }

    /// The slot of a position: mostly that beside the last one.
    fn slot_of(&self, node: &Node<'_>, position: usize) -> NodeResult<usize> {
        let last = self.last.get().slot;
        let mut near = [last + 1, last.wrapping_sub(1)].into_iter();
        match near.find(|slot| *slot < node.slots() && node.positions(*slot).contains(&position)) {
            Some(slot) => Ok(slot),
            None => Ok(node.search().slot_of(position)?.0),
        }
    }
}
