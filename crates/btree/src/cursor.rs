//! Cursors: read a tree a leaf at a time, both ways.
//!
//! A position is a gap between two keys: right before a key that need not exist, or after all keys. A forward visit
//! goes on to its right, a reverse visit to its left. Between visits nothing is latched. The position is kept as a
//! key, so it stays right whatever happens to the pages. When a visit ends within a leaf, the cursor also remembers
//! the page, its LSN and the slot, and goes on there without a descent if the page has not changed. From leaf to leaf
//! it goes by the fence key. A descent begins at the branch that the last one passed, if the target is behind it,
//! else at the root. There are no sibling links to go stale.

use std::borrow::Borrow;
use std::ops::Range;

use leafline_storage::{Lsn, PageNo, SharedGuard};

use crate::error::{OnPage, Result};
use crate::freed::freed_pages;
use crate::node::Node;
use crate::optimistic::Finger;
use crate::target::Target;
use crate::tree::Tree;
use crate::unpacked_cells::UnpackedCells;
use crate::view::LeafView;

/// The direction of a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Reverse,
}

impl Direction {
    /// Returns the other direction.
    #[must_use]
    pub fn opposite(self) -> Direction {
        match self {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
        }
    }
}

/// A visitor's choice of the next visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeafStep {
    /// The leaf is done. The next visit is to its neighbour.
    NextLeaf,
    /// The next visit begins with this slot.
    StayAt(usize),
    /// Forward: the next visit begins with the first entry at or after the key. Reverse: with the last one before it.
    SeekTo(Vec<u8>),
    /// The visit is the last. The position stays where this visit began.
    Stop,
}

/// A position in a tree. Holds no latch between calls. `T` is a [`Tree`], or a reference to one: making a cursor of a
/// reference writes to no memory that threads share.
pub struct Cursor<T: Borrow<Tree> = Tree> {
    tree: T,
    position: Position,
    resume: Option<Resume>,
    /// The branch that the last descent passed.
    finger: Finger,
    /// Number of descents to leaves, and the last leaf.
    leaves: u64,
    leaf: PageNo,
    /// Scratch memory for the leaves that are visited.
    cells: UnpackedCells,
}

/// A gap between keys.
struct Position {
    /// The gap is right before this key...
    key: Vec<u8>,
    /// ...unless it is the one after all keys.
    at_end: bool,
}

/// The place of the gap on a page. Valid as long as the page has not changed.
struct Resume {
    page: PageNo,
    lsn: Lsn,
    freed: u64,
    /// Number of slots before the gap.
    slot: usize,
}

impl Position {
    fn set(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.at_end = false;
    }

    fn set_end(&mut self) {
        self.key.clear();
        self.at_end = true;
    }

    /// Moves to the edge of the leaf. Returns false if the tree ends there.
    fn leave(&mut self, leaf: &LeafView<'_>, direction: Direction) -> bool {
        match (direction, leaf.upper_fence()) {
            (Direction::Forward, Some(upper)) => self.set(upper),
            (Direction::Forward, None) => self.set_end(),
            (Direction::Reverse, _) => self.set(leaf.lower_fence()),
        }
        !self.ends(direction)
    }

    fn ends(&self, direction: Direction) -> bool {
        match direction {
            Direction::Forward => self.at_end,
            Direction::Reverse => !self.at_end && self.key.is_empty(),
        }
    }

    fn target(&self, direction: Direction) -> Target<'_> {
        match direction {
            Direction::Forward => Target::Key(&self.key),
            Direction::Reverse if self.at_end => Target::Before(None),
            Direction::Reverse => Target::Before(Some(&self.key)),
        }
    }
}

impl Tree {
    /// Makes a cursor before the first entry.
    pub fn cursor(&self) -> Cursor<&Tree> {
        Cursor::new(self)
    }

    /// Makes a cursor like [`cursor`](Self::cursor), with a handle of its own to the tree.
    pub fn into_cursor(self) -> Cursor {
        Cursor::new(self)
    }
}

impl<T: Borrow<Tree>> Cursor<T> {
    pub(crate) fn new(tree: T) -> Cursor<T> {
        let position = Position { key: Vec::new(), at_end: false };
        let (finger, cells) = (Finger::NONE, UnpackedCells::default());
        Cursor { tree, position, resume: None, finger, leaves: 0, leaf: PageNo::NONE, cells }
    }

    /// Returns the tree.
    pub fn tree(&self) -> &Tree {
        self.tree.borrow()
    }

    /// Positions the cursor before the first entry at or after `key`.
    pub fn seek(&mut self, key: &[u8]) {
        self.resume = None;
        self.position.set(key);
    }

    /// Positions the cursor for a reverse visit after the last entry before `key`; `None` is the end of the tree.
    pub fn seek_before(&mut self, key: Option<&[u8]>) {
        self.resume = None;
        match key {
            Some(key) => self.position.set(key),
            None => self.position.set_end(),
        }
    }

    /// Returns the key right before which the cursor stands; `None` is the end of the tree.
    pub fn position(&self) -> Option<&[u8]> {
        (!self.position.at_end).then_some(self.position.key.as_slice())
    }

    /// Returns how many leaves the cursor has descended to, and the page of the last one.
    pub fn leaf(&self) -> (u64, PageNo) {
        (self.leaves, self.leaf)
    }

    /// Visits the leaf at the position. Calls `f` with the leaf, under a shared latch, and the slots still to visit
    /// (never empty; a reverse visit goes through them from the back). `f` returns how to go on, and must not block.
    /// After [`LeafStep::SeekTo`] within the same leaf it is called again. Returns false if there is nothing beyond
    /// this visit.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn visit_leaf(
        &mut self,
        direction: Direction,
        mut f: impl FnMut(&mut LeafView<'_>, Range<usize>) -> LeafStep,
    ) -> Result<bool> {
        let Cursor { tree, position, resume, finger, leaves, leaf: last, cells } = self;
        let tree: &Tree = (*tree).borrow();
        if let Some(at) = resume.take()
            && let Some(guard) = tree.store().try_shared(at.page)?
            && guard.lsn() == at.lsn
            && at.freed == freed_pages()
        {
            let mut leaf = view(&guard, cells)?;
            let range = split_range(at.slot, &leaf, direction);
            if !range.is_empty() {
                return visit(position, resume, &mut leaf, direction, range, &mut f);
            }
        }
        loop {
            if position.ends(direction) {
                return Ok(false);
            }
            let guard = tree.descend_near(position.target(direction), finger)?;
            (*leaves, *last) = (*leaves + 1, guard.page_no());
            let mut leaf = view(&guard, cells)?;
            let slot = if position.at_end { leaf.len() } else { leaf.find_within(&position.key).0 };
            leaf.checked()?;
            let range = split_range(slot, &leaf, direction);
            if !range.is_empty() {
                return visit(position, resume, &mut leaf, direction, range, &mut f);
            }
            if !position.leave(&leaf, direction) {
                return Ok(false);
            }
        }
    }
}

fn view<'g>(guard: &'g SharedGuard<'_>, cells: &'g mut UnpackedCells) -> Result<LeafView<'g>> {
    let page = guard.page_no();
    Ok(LeafView::new(Node::open(guard).on(page)?, page, guard.lsn(), cells))
}

/// Returns the slots on the far side of a gap that has `slot` slots before it.
fn split_range(slot: usize, leaf: &LeafView<'_>, direction: Direction) -> Range<usize> {
    match direction {
        Direction::Forward => slot..leaf.len(),
        Direction::Reverse => 0..slot,
    }
}

fn visit(
    position: &mut Position,
    resume: &mut Option<Resume>,
    leaf: &mut LeafView<'_>,
    direction: Direction,
    mut range: Range<usize>,
    f: &mut impl FnMut(&mut LeafView<'_>, Range<usize>) -> LeafStep,
) -> Result<bool> {
    loop {
        let step = f(leaf, range.clone());
        leaf.checked()?;
        match step {
            LeafStep::Stop => return Ok(true),
            LeafStep::NextLeaf => return Ok(position.leave(leaf, direction)),
            LeafStep::StayAt(slot) => {
                if slot >= leaf.len() && direction == Direction::Forward {
                    return Ok(position.leave(leaf, direction));
                }
                let slot = slot.min(leaf.len() - 1);
                leaf.key_into(slot, &mut position.key);
                leaf.checked()?;
                position.at_end = false;
                let mut before = slot;
                if direction == Direction::Reverse {
                    // The gap after the slot is the one before the key's successor.
                    position.key.push(0);
                    before += 1;
                }
                *resume = Some(Resume {
                    page: leaf.page_no(),
                    lsn: leaf.page_lsn(),
                    freed: freed_pages(),
                    slot: before,
                });
                return Ok(true);
            }
            LeafStep::SeekTo(key) => {
                let inside = match direction {
                    Direction::Forward => {
                        key.as_slice() >= leaf.lower_fence()
                            && leaf.upper_fence().is_none_or(|upper| key.as_slice() < upper)
                    }
                    Direction::Reverse => {
                        key.as_slice() > leaf.lower_fence()
                            && leaf.upper_fence().is_none_or(|upper| key.as_slice() <= upper)
                    }
                };
                position.key = key;
                position.at_end = false;
                if !inside {
                    return Ok(!position.ends(direction));
                }
                range = split_range(leaf.find(&position.key).0, leaf, direction);
                leaf.checked()?;
                if range.is_empty() {
                    return Ok(position.leave(leaf, direction));
                }
            }
        }
    }
}
