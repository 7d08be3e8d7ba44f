//! The map of a tree for tools: the places of its leaves in the file, in key order, and the fill of the leaves that
//! are in memory.
//!
//! Branch pages are read. A leaf that is not in memory is not read.

use crate::cursor::Direction;
use crate::enumerate::LeafWalk;
use crate::error::Result;
use crate::node::LeafFormat;
use crate::tree::Tree;
use leafline_storage::PageNo;

/// Number of leaves in one stretch, where the map shows only some leaves.
const STRETCH: usize = 32;

/// The place of a leaf, and its content if known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeafPlace {
    /// The leaf's page.
    pub page: PageNo,
    /// The content, if the leaf is in memory.
    pub content: Option<LeafContent>,
}

/// Statistics of the content of a leaf.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeafContent {
    /// The share of the page that entries take, from 0 to 1.
    pub fill: f64,
    /// Number of entries, ghosts included.
    pub entries: usize,
    /// Number of ghosts: deleted entries that are still there.
    pub ghosts: usize,
    /// Whether entries are stored as differences to their neighbours.
    pub is_packed: bool,
}

/// The places of the leaves of a tree.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeMap {
    /// Leaves in key order, in stretches of neighbours.
    pub stretches: Vec<Vec<LeafPlace>>,
    /// Number of leaves; an estimate unless the stretches have all of them.
    pub leaves: u64,
    /// Whether the stretches have all leaves.
    pub is_whole: bool,
}

impl Tree {
    /// Returns the tree's leaves, or about `most` of them in stretches that are spread evenly.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn map(&self, most: usize) -> Result<TreeMap> {
        let estimated = self.estimate(&[], None)?.leaves;
        if estimated <= most as f64 {
            let (stretch, is_whole) = self.stretch(&[], most * 2)?;
            let leaves = if is_whole { stretch.len() as u64 } else { estimated as u64 };
            return Ok(TreeMap { stretches: vec![stretch], leaves, is_whole });
        }
        let mut bounds = vec![Vec::new()];
        bounds.extend(self.bounds_of_pieces(most.div_ceil(STRETCH))?);
        // There may be more pieces than asked for, where branches have many children.
        let step = (bounds.len() * STRETCH).div_ceil(most.max(1)).max(1);
        let mut stretches = Vec::new();
        for bound in bounds.iter().step_by(step) {
            stretches.push(self.stretch(bound, STRETCH)?.0);
        }
        Ok(TreeMap { stretches, leaves: estimated as u64, is_whole: false })
    }

    /// Returns up to `most` leaves from a key on, and whether these are all.
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

    /// Returns the content of a leaf that is in memory. The reference may be stale, so a page that is not a leaf of
    /// this tree any more has none.
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
