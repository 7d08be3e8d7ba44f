//! Where the leaves of a tree lie in the file, in the order of keys, and how full those are that are in memory: for who looks at an index from outside.
//!
//! Branch pages are read; a leaf that is not in memory stays where it is.

use crate::cursor::Direction;
use crate::enumerate::LeafWalk;
use crate::error::Result;
use crate::node::LeafFormat;
use crate::tree::Tree;
use leafline_storage::PageNo;

/// Leaves of one stretch, where not all are looked at.
const STRETCH: usize = 32;

/// A leaf from outside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeafPlace {
    /// Its page.
    pub page: PageNo,
    /// What is on it, if it is in memory.
    pub content: Option<LeafContent>,
}

/// What is on a leaf.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeafContent {
    /// The share of it that entries take.
    pub fill: f64,
    /// Its entries, ghosts included.
    pub entries: usize,
    /// Of them, those that are deleted and still there.
    pub ghosts: usize,
    /// Entries are stored as differences to their neighbours.
    pub is_packed: bool,
}

/// The leaves of a tree from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeMap {
    /// In the order of keys; stretches of neighbours.
    pub stretches: Vec<Vec<LeafPlace>>,
    /// How many leaves there are, by estimate unless all are in the stretches.
    pub leaves: u64,
    /// All are.
    pub is_whole: bool,
}

impl Tree {
    /// Its leaves, or about `most` of them in stretches that are spread evenly.
    ///
    /// # Errors
    /// `Corrupt`, what the store returns.
    pub fn map(&self, most: usize) -> Result<TreeMap> {
        let estimated = self.estimate(&[], None)?.leaves;
        if estimated <= most as f64 {
            let (stretch, is_whole) = self.stretch(&[], most * 2)?;
            let leaves = if is_whole { stretch.len() as u64 } else { estimated as u64 };
            return Ok(TreeMap { stretches: vec![stretch], leaves, is_whole });
        }
        let mut bounds = vec![Vec::new()];
        bounds.extend(self.bounds_of_pieces(most.div_ceil(STRETCH))?);
        // There may be more, where branches have many children.
        let step = (bounds.len() * STRETCH).div_ceil(most.max(1)).max(1);
        let mut stretches = Vec::new();
        for bound in bounds.iter().step_by(step) {
            stretches.push(self.stretch(bound, STRETCH)?.0);
        }
        Ok(TreeMap { stretches, leaves: estimated as u64, is_whole: false })
    }

    /// Up to `most` leaves from a key on, and whether these are all.
    fn stretch(&self, from: &[u8], most: usize) -> Result<(Vec<LeafPlace>, bool)> {
        let mut places = Vec::new();
        let rest = self.for_each_leaf(Direction::Forward, from, None, &mut |leaf| {
            if places.len() == most {
                return LeafWalk::Stop;
            }
            places.push(LeafPlace { page: leaf.page, content: None });
            LeafWalk::Next
        })?;
        for place in &mut places {
            place.content = self.content_in_memory(place.page)?;
        }
        Ok((places, rest.is_none()))
    }

    /// What is on a leaf that is in memory. The reference may be stale: of what is no leaf of this tree any more nothing is told.
    fn content_in_memory(&self, page: PageNo) -> Result<Option<LeafContent>> {
        if !self.store().is_resident(page) {
            return Ok(None);
        }
        let Some(guard) = self.store().try_shared(page)? else { return Ok(None) };
        let Ok(leaf) = self.node(&guard, page, Some(0)) else { return Ok(None) };
        let capacity = crate::policy::capacity(leaf.bytes().len());
        Ok(Some(LeafContent {
            fill: leaf.used() as f64 / capacity as f64,
            entries: leaf.count(),
            ghosts: leaf.ghosts(),
            is_packed: leaf.format() == LeafFormat::Packed,
        }))
    }
}
