//! A scan in pieces, for several threads that walk some of them each.
//!
//! The ranges of a path are cut where leaves begin, as branch pages say. Pieces are ranges of keys: every row is in one of them,
//! whatever becomes of the tree meanwhile, and the rows of all pieces, one after the other, are those of the scan in its order. That may
//! be the order of the pages ([`crate::page_order`]).

use crate::error::Result;
use crate::leap_scan::FEW_TARGETS;
use crate::page_order::{PageOrder, Sorted};
use crate::path::{AccessPath, ScanOrder};
use crate::path_scan::ScanContext;
use crate::targets::{Target, Targets, WalkKind};
use leafline_table::{ReadView, Tree};

/// Ranges that follow each other in the index.
#[derive(Clone, Debug)]
pub struct ScanPiece {
    pub(crate) targets: Targets,
    pub(crate) kind: WalkKind,
}

impl AccessPath {
    /// Whether it can be read in pieces: they are walks of an index, forward, that find rows there.
    pub fn can_be_cut(&self) -> bool {
        !self.fetches()
            && self.order != ScanOrder::Reverse
            && self.merged.is_none()
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
        let mut pieces = ScanPieces {
            view: cx.view.clone(),
            targets,
            tree,
            leaves: leaves.max(1),
            next: 0,
            rest: None,
            order: None,
            by_page: false,
        };
        if pieces.targets.len() <= FEW_TARGETS && self.may_go_by_page(cx.view) {
            pieces.order = Some(PageOrder::new(pieces.targets.all().to_vec()));
            pieces.next = pieces.targets.len();
        }
        Ok(pieces)
    }
}

/// The pieces of a scan, one after the other.
pub struct ScanPieces {
    view: ReadView,
    targets: Targets,
    tree: Option<Tree>,
    leaves: usize,
    /// The first target that is in no piece.
    next: usize,
    /// What is left of the one before, if it was cut.
    rest: Option<Target>,
    /// Targets behind these, to be put in the order of their pages.
    order: Option<PageOrder>,
    /// The targets are leaves, in the order of their pages.
    by_page: bool,
}

impl ScanPieces {
    /// The next one; `None` when there are no more.
    ///
    /// # Errors
    /// Those of reading branch pages.
    pub fn next_piece(&mut self) -> Result<Option<ScanPiece>> {
        self.take_more()?;
        if self.by_page {
            let end = self.targets.len().min(self.next + self.leaves);
            let taken = self.targets.all().get(self.next..end).unwrap_or_default().to_vec();
            self.next = end;
            self.take_more()?;
            return Ok(self.piece(taken, self.next < self.targets.len()));
        }
        let mut goes_on = false;
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
                    rest.continues = true;
                    rest.range.lower.clone_from(&bound);
                    target.range.upper = Some(bound);
                    self.rest = Some(rest);
                    goes_on = true;
                    room = 0;
                }
                None => self.next += 1,
            }
            taken.push(target);
        }
        Ok(self.piece(taken, goes_on))
    }

    fn piece(&self, taken: Vec<Target>, goes_on: bool) -> Option<ScanPiece> {
        let kind = WalkKind { all: true, is_part: true, goes_on, by_page: self.by_page };
        (!taken.is_empty()).then(|| ScanPiece { targets: self.targets.of(taken), kind })
    }

    /// Puts more targets in the order of their pages, when all before them are in pieces.
    fn take_more(&mut self) -> Result<()> {
        let (Some(order), Some(tree)) = (&mut self.order, &self.tree) else { return Ok(()) };
        if self.next < self.targets.len() || self.rest.is_some() {
            return Ok(());
        }
        let (targets, by_page) = match order.next(&self.targets, tree, &self.view)? {
            Some(Sorted::ByPage(targets)) => (targets, true),
            Some(Sorted::ByKey(targets)) => (targets, false),
            None => return Ok(()),
        };
        (self.targets, self.next, self.by_page) = (targets, 0, by_page);
        Ok(())
    }
}
