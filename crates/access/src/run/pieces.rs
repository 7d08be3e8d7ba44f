//! A scan in pieces, for several threads that walk some of them each.
//!
//! The ranges of a path are cut where leaves begin, as branch pages say, into pieces of as many leaves each. Pieces are ranges of keys:
//! every row is in one of them, whatever becomes of the tree meanwhile, and the rows of all pieces, one after the other, are those of the
//! scan in its order. That may be the order of the pages ([`crate::page_order`]). A path that fetches rows in the order of its index cuts
//! the index, and each piece fetches its own.
//!
//! Where rows are fetched whose order does not matter, they are cut, and not the entries that name them ([`crate::row_pieces`]).

use crate::error::Result;
use crate::params::{
    CUTS_PER_PIECE, FETCHING_PIECE_FACTOR, FETCHING_PIECES_PER_THREAD, PIECES_PER_THREAD,
    TARGETS_IN_PAGE_ORDER,
};
use crate::path::{AccessPath, ScanOrder};
use crate::run::context::ScanContext;
use crate::run::page_order::{NextTarget, PageOrder};
use crate::run::piece::{Part, ScanPiece, Share};
use crate::run::row_pieces::RowPieces;
use crate::run::targets::{Target, Targets, WalkKind};
use leafline_btree::LeafWalker;
use leafline_table::{Direction, ReadView, Tree};

impl AccessPath {
    /// Whether it can be read in pieces: they are walks of an index, with all that is asked of its entries known beforehand, or rows
    /// that are known to be fetched.
    pub fn can_be_cut(&self) -> bool {
        self.rowid_filter().is_none()
            && self.merged.is_none()
            && !self.table.is_partitioned()
            && !self.is_unique_lookup()
            && !self.constraint.is_correlated()
    }

    /// The pieces of a scan. The path [can be cut](AccessPath::can_be_cut).
    ///
    /// # Errors
    /// The errors of the bounds, and of reading branch pages.
    pub fn pieces(&self, share: Share, cx: &mut ScanContext<'_, '_>) -> Result<ScanPieces> {
        if self.fetches() && self.batched && self.order == ScanOrder::Any {
            return Ok(match RowPieces::new(self, share, cx)? {
                Some(rows) => ScanPieces::Rows(rows),
                None => ScanPieces::Ranges(Box::new(self.without_merge().ranges(share, cx)?)),
            });
        }
        Ok(ScanPieces::Ranges(Box::new(self.ranges(share, cx)?)))
    }

    /// The pieces of a walk of the index, all known beforehand: `most` of them at most, of about as many leaves each. What is read for
    /// that is bounded: branches of the highest level that has children enough. The path [can be cut](AccessPath::can_be_cut).
    ///
    /// # Errors
    /// The errors of the bounds, and of reading branch pages.
    pub fn cut(&self, most: usize, cx: &mut ScanContext<'_, '_>) -> Result<Vec<ScanPiece>> {
        let targets = self.targets(cx.eval)?;
        let tree = if most > 1 { cx.view.core().tree(&self.index).ok() } else { None };
        let bounds = match &tree {
            Some(tree) => bounds_within(tree, targets.all(), most.saturating_mul(CUTS_PER_PIECE))?,
            None => vec![Vec::new(); targets.len()],
        };
        let parts: usize = bounds.iter().map(|bounds| bounds.len() + 1).sum();
        let pieces = parts.clamp(1, most.max(1));
        let reverse = self.order == ScanOrder::Reverse;
        // Of `parts` parts, number `at` belongs to this piece.
        let piece_of = |at: usize| at * pieces / parts;
        let mut cut: Vec<(Vec<Target>, bool)> = vec![(Vec::new(), false); pieces];
        let mut at = 0;
        for (target, bounds) in targets.all().iter().zip(bounds) {
            let last = at + bounds.len();
            let mut rest = target.clone();
            for bound in bounds {
                let (piece, next) = (piece_of(at), piece_of(at + 1));
                at += 1;
                if piece == next {
                    continue;
                }
                let mut part = rest.clone();
                part.range.upper = Some(bound.clone());
                rest.range.lower = bound;
                (part.continues, rest.continues) = (part.continues || reverse, rest.continues || !reverse);
                // The piece that comes first in the order of the scan is the one that goes on.
                let goes_on = if reverse { next } else { piece };
                cut[goes_on].1 = true;
                cut[piece].0.push(part);
            }
            rest.continues &= !reverse;
            cut[piece_of(last)].0.push(rest);
            at = last + 1;
        }
        if reverse {
            cut.reverse();
        }
        let piece = |(taken, goes_on): (Vec<Target>, bool)| {
            let kind = WalkKind { all: true, is_part: true, goes_on, by_page: false };
            (!taken.is_empty()).then(|| ScanPiece(Part::Walk { targets: targets.of(taken), kind }))
        };
        Ok(cut.into_iter().filter_map(piece).collect())
    }

    /// The pieces of a walk of the index.
    fn ranges(&self, share: Share, cx: &mut ScanContext<'_, '_>) -> Result<RangePieces> {
        let targets = self.targets(cx.eval)?;
        let (pieces_each, times) = match self.fetches() {
            true => (FETCHING_PIECES_PER_THREAD, FETCHING_PIECE_FACTOR),
            false => (PIECES_PER_THREAD, 1),
        };
        let most = share.most_leaves.max(1) * times;
        let direction = match self.order {
            ScanOrder::Reverse => Direction::Reverse,
            ScanOrder::Any | ScanOrder::Forward => Direction::Forward,
        };
        let mut pieces = RangePieces {
            view: cx.view.clone(),
            targets,
            // An index that was dropped has no tree any more, though older snapshots still read it: that is one piece.
            tree: cx.view.core().tree(&self.index).ok(),
            walker: LeafWalker::default(),
            direction,
            leaves: most,
            next: 0,
            rest: None,
            order: None,
            by_page: false,
        };
        let count = share.threads.max(1) * pieces_each;
        pieces.leaves = pieces.count_leaves(count * most)?.div_ceil(count).clamp(1, most);
        if pieces.targets.len() <= TARGETS_IN_PAGE_ORDER && self.may_go_by_page(cx.view) {
            pieces.order = Some(PageOrder::new(pieces.targets.all().to_vec()));
            pieces.next = pieces.targets.len();
        }
        Ok(pieces)
    }
}

/// Where ranges can be cut, so that there are `enough` parts of them, or as many as they have leaves.
fn bounds_within(tree: &Tree, targets: &[Target], enough: usize) -> Result<Vec<Vec<Vec<u8>>>> {
    let mut found = vec![Vec::new(); targets.len()];
    for level in (1..tree.depth()?).rev() {
        let level = u8::try_from(level).unwrap_or(u8::MAX);
        let mut bounds = Vec::with_capacity(targets.len());
        for target in targets {
            let (lower, upper) = (&target.range.lower, target.range.upper.as_deref());
            bounds.push(tree.child_bounds(lower, upper, level)?.unwrap_or_default());
        }
        found = bounds;
        if found.iter().map(|bounds| bounds.len() + 1).sum::<usize>() >= enough {
            break;
        }
    }
    Ok(found)
}

/// The pieces of a scan, one after the other.
pub enum ScanPieces {
    /// Ranges of an index.
    Ranges(Box<RangePieces>),
    /// Rows.
    Rows(RowPieces),
}

impl ScanPieces {
    /// The next one; `None` when there are no more.
    ///
    /// # Errors
    /// The errors of reading branch pages, and of reading entries.
    pub fn next_piece(&mut self, cx: &mut ScanContext<'_, '_>) -> Result<Option<ScanPiece>> {
        match self {
            ScanPieces::Ranges(ranges) => ranges.next_piece(),
            ScanPieces::Rows(rows) => rows.next_piece(cx),
        }
    }
}

/// Pieces of a walk of an index.
pub struct RangePieces {
    view: ReadView,
    targets: Targets,
    tree: Option<Tree>,
    walker: LeafWalker,
    direction: Direction,
    /// Leaves of a piece.
    leaves: usize,
    /// The first target that is in no piece, counted in the direction of the scan.
    next: usize,
    /// The rest of the target before, if it was cut.
    rest: Option<Target>,
    /// Targets behind these, to be put in the order of their pages.
    order: Option<PageOrder>,
    /// The targets are leaves, in the order of their pages.
    by_page: bool,
}

impl RangePieces {
    fn next_piece(&mut self) -> Result<Option<ScanPiece>> {
        self.take_more()?;
        if self.by_page {
            let end = self.targets.len().min(self.next + self.leaves);
            let taken = self.targets.all()[self.next..end].to_vec();
            self.next = end;
            self.take_more()?;
            return Ok(self.piece(taken, self.next < self.targets.len()));
        }
        let mut goes_on = false;
        let mut taken = Vec::new();
        let mut room = self.leaves;
        while room > 0 {
            let next = self.targets.at(self.direction, self.next);
            let Some(mut target) = self.rest.take().or_else(|| next.cloned()) else { break };
            let (pages, bound) = self.leaves_of(&target, room)?;
            room -= pages.min(room);
            match bound {
                Some(bound) => {
                    let mut rest = target.clone();
                    rest.continues = true;
                    if self.direction == Direction::Forward {
                        rest.range.lower.clone_from(&bound);
                        target.range.upper = Some(bound);
                    } else {
                        target.range.lower.clone_from(&bound);
                        rest.range.upper = Some(bound);
                    }
                    self.rest = Some(rest);
                    goes_on = true;
                    room = 0;
                }
                None => self.next += 1,
            }
            taken.push(target);
        }
        if self.direction == Direction::Reverse {
            taken.reverse();
        }
        Ok(self.piece(taken, goes_on))
    }

    /// How many leaves a target has, one at least, up to `most`; and where the rest begins, or, in reverse, ends.
    fn leaves_of(&mut self, target: &Target, most: usize) -> Result<(usize, Option<Vec<u8>>)> {
        let (lower, upper) = (&target.range.lower, target.range.upper.as_deref());
        let Some(tree) = &self.tree else { return Ok((1, None)) };
        let found = self.walker.leaves(tree, self.direction, lower, upper, most)?;
        Ok((found.pages.len().max(1), found.resume))
    }

    /// How many leaves all targets have, up to `most`.
    fn count_leaves(&self, most: usize) -> Result<usize> {
        let Some(tree) = &self.tree else { return Ok(self.targets.len().min(most)) };
        let (mut leaves, mut walker) = (0, LeafWalker::default());
        for target in self.targets.all() {
            if leaves >= most {
                break;
            }
            let (lower, upper) = (&target.range.lower, target.range.upper.as_deref());
            leaves +=
                walker.leaves(tree, Direction::Forward, lower, upper, most - leaves)?.pages.len().max(1);
        }
        Ok(leaves)
    }

    fn piece(&self, taken: Vec<Target>, goes_on: bool) -> Option<ScanPiece> {
        let kind = WalkKind { all: true, is_part: true, goes_on, by_page: self.by_page };
        (!taken.is_empty()).then(|| ScanPiece(Part::Walk { targets: self.targets.of(taken), kind }))
    }

    /// Puts more targets in the order of their pages, when all before them are in pieces.
    fn take_more(&mut self) -> Result<()> {
        let (Some(order), Some(tree)) = (&mut self.order, &self.tree) else { return Ok(()) };
        if self.next < self.targets.len() || self.rest.is_some() {
            return Ok(());
        }
        let (targets, by_page) = match order.next(&self.targets, tree, &self.view)? {
            Some(NextTarget::ByPage(targets)) => (targets, true),
            Some(NextTarget::ByKey(targets)) => (targets, false),
            None => return Ok(()),
        };
        (self.targets, self.next, self.by_page) = (targets, 0, by_page);
        Ok(())
    }
}
