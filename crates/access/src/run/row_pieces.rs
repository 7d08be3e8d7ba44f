//! Pieces of a scan that fetches rows in any order: the rows.
//!
//! The entries are read first, by one thread, as many as all threads would fetch the rows of in one sweep each; their locators are sorted
//! and cut. So every leaf of the table is visited by one piece, but for the leaves in which pieces meet, where pieces of the index
//! would each come to nearly all of them. Reading entries takes little beside fetching rows.

use crate::error::Result;
use crate::params::{FETCH_ENTRIES, FETCH_ROWS, PIECES_PER_THREAD, ROWS_PER_PIECE_LEAF};
use crate::path::AccessPath;
use crate::run::context::{Demand, ScanContext};
use crate::run::locators::Locators;
use crate::run::path_scan::PathScan;
use crate::run::piece::{Part, ScanPiece, Share};
use std::sync::Arc;

/// Pieces of the rows of a scan.
pub struct RowPieces {
    /// The scan whose entries name more of them.
    entries: Option<Box<PathScan>>,
    share: Share,
    /// Locators that are in no piece, in order.
    locators: Locators,
    /// The first of them that is in none, and how many are in each.
    next: usize,
    rows: usize,
    exact: bool,
}

impl RowPieces {
    /// The pieces of a path that fetches rows in any order; `None` if it merges indexes, and they name too many rows.
    pub(crate) fn new(
        path: &AccessPath,
        share: Share,
        cx: &mut ScanContext<'_, '_>,
    ) -> Result<Option<RowPieces>> {
        let mut pieces =
            RowPieces { entries: None, share, locators: Locators::default(), next: 0, rows: 0, exact: false };
        if path.is_index_merge() {
            let Some(set) = path.source.locators() else { return Ok(None) };
            let Some(locators) = set.collect(None, cx)? else { return Ok(None) };
            pieces.cut(locators);
        } else {
            let mut scan = PathScan::new(&Arc::new(path.clone()));
            scan.start(Demand::All, cx)?;
            pieces.exact = scan.is_exact();
            pieces.entries = Some(Box::new(scan));
        }
        Ok(Some(pieces))
    }

    /// The next one; `None` when there are no more.
    pub(crate) fn next_piece(&mut self, cx: &mut ScanContext<'_, '_>) -> Result<Option<ScanPiece>> {
        while self.next == self.locators.len() {
            if !self.read_more(cx)? {
                return Ok(None);
            }
        }
        let end = self.locators.len().min(self.next + self.rows);
        let mut locators = Locators::default();
        (self.next..end).for_each(|at| locators.push(self.locators.get(at)));
        self.next = end;
        Ok(Some(ScanPiece(Part::Rows { locators, exact: self.exact })))
    }

    /// Reads entries; false if there are no more.
    fn read_more(&mut self, cx: &mut ScanContext<'_, '_>) -> Result<bool> {
        let Some(entries) = &mut self.entries else { return Ok(false) };
        let mut found = Locators::default();
        while found.len() < self.share.threads.max(1) * FETCH_ENTRIES {
            let Some((locators, _)) = entries.named_rows(cx)? else {
                self.entries = None;
                break;
            };
            found.append(locators);
        }
        self.cut(found.into_set());
        Ok(true)
    }

    /// Goes on with a set of locators.
    fn cut(&mut self, locators: Locators) {
        let pieces = self.share.threads.max(1) * PIECES_PER_THREAD;
        let fewest = self.share.most_leaves * ROWS_PER_PIECE_LEAF;
        self.rows = locators.len().div_ceil(pieces).max(fewest).clamp(1, FETCH_ROWS);
        (self.locators, self.next) = (locators, 0);
    }
}
