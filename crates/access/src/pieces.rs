//! A scan in pieces, for several threads that walk some of them each.
//!
//! The ranges of a path are cut where leaves begin, as branch pages say. Pieces are ranges of keys: every row is in one of them,
//! whatever becomes of the tree meanwhile, and the rows of all pieces, one after the other, are those of the scan in its order.

use crate::error::Result;
use crate::path::{AccessPath, ScanOrder};
use crate::path_scan::ScanContext;
use crate::targets::{Target, Targets};
use leafline_table::Tree;

/// Ranges that follow each other in the index.
#[derive(Clone, Debug)]
pub struct ScanPiece {
    pub(crate) targets: Targets,
    pub(crate) cut: Cut,
}

/// Where ranges go on outside of a piece, so that it is known what was begun and ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cut {
    /// The first range is the rest of one that begins in the piece before.
    pub continues: bool,
    /// The last range goes on in the piece behind.
    pub goes_on: bool,
}

impl AccessPath {
    /// Whether it can be read in pieces: they are walks of an index, forward, that find rows there.
    pub fn can_be_cut(&self) -> bool {
        !self.fetches()
            && self.order != ScanOrder::Reverse
            && !self.is_unique_lookup()
            && !self.constraint.is_correlated()
    }

    /// The pieces of a scan, of about so many leaves each. The path [can be cut](AccessPath::can_be_cut).
    ///
    /// # Errors
    /// Those of the bounds.
    pub fn pieces(&self, leaves: usize, cx: &mut ScanContext<'_, '_>) -> Result<ScanPieces> {
        let targets = self.targets(cx.eval)?;
        // An index that was dropped has no tree any more, though older snapshots still read it: that is one piece.
        let tree = cx.view.engine().tree(&self.index).ok();
        Ok(ScanPieces { targets, tree, leaves: leaves.max(1), next: 0, rest: None })
    }
}

/// The pieces of a scan, one after the other.
pub struct ScanPieces {
    targets: Targets,
    tree: Option<Tree>,
    leaves: usize,
    /// The first target that is in no piece.
    next: usize,
    /// What is left of the one before, if it was cut.
    rest: Option<Target>,
}

impl ScanPieces {
    /// The next one; `None` when there are no more.
    ///
    /// # Errors
    /// Those of reading branch pages.
    pub fn next_piece(&mut self) -> Result<Option<ScanPiece>> {
        let mut cut = Cut { continues: self.rest.is_some(), goes_on: false };
        let mut taken = Vec::new();
        let mut room = self.leaves;
        while room > 0 {
            let Some(mut target) = self.rest.take().or_else(|| self.targets.all().get(self.next).cloned())
            else {
                break;
            };
            let (lower, upper) = (&target.range.lower, target.range.upper.as_deref());
            let found = self.tree.as_ref().map(|tree| tree.leaves(lower, upper, room)).transpose()?;
            let (pages, bound) = found.map_or((0, None), |found| (found.pages.len().max(1), found.resume));
            room -= pages.min(room);
            match bound {
                Some(bound) => {
                    let mut rest = target.clone();
                    rest.range.lower.clone_from(&bound);
                    target.range.upper = Some(bound);
                    self.rest = Some(rest);
                    cut.goes_on = true;
                    room = 0;
                }
                None => self.next += 1,
            }
            taken.push(target);
        }
        Ok((!taken.is_empty()).then(|| ScanPiece { targets: self.targets.of(taken), cut }))
    }
}
