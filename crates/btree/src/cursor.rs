//! Reading a tree a leaf at a time.
use crate::{LeafView, Result, Tree};
use std::ops::Range;

/// Which way a visit goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Reverse,
}

/// How a visitor wants to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeafStep {
    /// The leaf is done; the next visit is to its neighbour.
    NextLeaf,
    /// The next visit begins with this slot.
    StayAt(usize),
    /// Forward: the next visit begins with the first entry at or after the key; reverse: with the last one before.
    SeekTo(Vec<u8>),
    /// Done; the position stays where this visit began.
    Stop,
}

/// A position in a tree. Holds no latch between calls.
pub struct Cursor {
    tree: Tree,
}

impl Cursor {
    pub(crate) fn new(tree: &Tree) -> Cursor {
        Cursor { tree: tree.clone() }
    }
    /// The tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }
    /// Positions before the first entry at or after `key`.
    pub fn seek(&mut self, _key: &[u8]) {
        todo!()
    }
    /// Positions for a reverse visit after the last entry before `key`; `None` is the end of the tree.
    pub fn seek_before(&mut self, _key: Option<&[u8]>) {
        todo!()
    }
    /// Visits the leaf at the position: `f` gets it, under a shared latch, with the slots still to visit (never
    /// empty; for a reverse visit to be walked from the back), and returns how to go on. After
    /// [`LeafStep::SeekTo`] within the same leaf it is called again. False: there is nothing beyond this visit.
    ///
    /// # Errors
    /// `Corrupt`, what the store returns.
    pub fn visit_leaf(
        &mut self,
        _direction: Direction,
        _f: impl FnMut(&LeafView<'_>, Range<usize>) -> LeafStep,
    ) -> Result<bool> {
        todo!()
    }
}
