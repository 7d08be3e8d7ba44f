//! Scans whose order does not matter, in the order of the pages: where leaves lie scattered in the file, and are not in memory, a sweep
//! over the file reads them all, while key order would go to and fro.
//!
//! Targets are cut where leaves begin, as branch pages say, and sorted by the pages of these leaves. They are ranges of keys as before,
//! each walked from its first key to its last: whatever becomes of the tree meanwhile, every row is in one of them. Long ranges are cut
//! a piece at a time, so that what is kept of them is bounded.

use crate::error::Result;
use crate::params::PAGE_ORDER_LEAVES;
use crate::path::{AccessPath, ScanOrder};
use crate::run::targets::{Target, Targets};
use leafline_table::{ReadView, Tree};

/// Targets that are to be walked in the order of their pages.
pub(crate) struct PageOrder {
    /// The ranges not cut yet, in key order, the first of them perhaps in part.
    rest: Vec<Target>,
}

/// The targets that come next, in the order of their pages or of their keys.
pub(crate) enum NextTarget {
    /// Ranges of a leaf each, in the order of their pages.
    ByPage(Targets),
    /// The rest is to be walked in key order: there is nothing to be gained.
    ByKey(Targets),
}

impl AccessPath {
    /// Whether it may be walked in any order, and leaf by leaf.
    pub(crate) fn may_go_by_page(&self, view: &ReadView) -> bool {
        self.order == ScanOrder::Any
            && !self.leaps()
            && self.first_of().is_none()
            && !self.is_unique_lookup()
            && !self.constraint.is_correlated()
            // Rows that are fetched one by one come in the order of the index.
            && (self.batched || !self.fetches())
            && view.read_ahead().may_visit_by_page()
    }
}

impl PageOrder {
    /// Of targets that do not overlap.
    pub fn new(targets: Vec<Target>) -> PageOrder {
        PageOrder { rest: targets }
    }

    /// The next targets; `None` when there are no more. `all` are those that they come from.
    pub fn next(&mut self, all: &Targets, tree: &Tree, view: &ReadView) -> Result<Option<NextTarget>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (mut cut, mut backward, mut missing, mut done) = (Vec::new(), 0, 0, 0);
        let mut rest = None;
        for target in &self.rest {
            let range = &target.range;
            let room = PAGE_ORDER_LEAVES - cut.len();
            let found = tree.leaves_by_page(&range.lower, range.upper.as_deref(), room)?;
            backward += found.backward;
            missing += found.missing;
            for leaf in found.leaves {
                let mut part = target.clone();
                part.continues |= leaf.keys.lower > range.lower;
                (part.range.lower, part.range.upper) = (leaf.keys.lower, leaf.keys.upper);
                cut.push((leaf.page, part));
            }
            if let Some(resume) = found.resume {
                let mut more = target.clone();
                more.continues = true;
                more.range.lower = resume;
                rest = Some(more);
                break;
            }
            done += 1;
            if cut.len() >= PAGE_ORDER_LEAVES {
                break;
            }
        }
        if !view.read_ahead().visits_by_page(cut.len(), missing, backward) {
            return Ok(Some(NextTarget::ByKey(all.of(std::mem::take(&mut self.rest)))));
        }
        self.rest.drain(..done);
        if let (Some(first), Some(rest)) = (self.rest.first_mut(), rest) {
            *first = rest;
        }
        cut.sort_by_key(|(page, _)| *page);
        Ok(Some(NextTarget::ByPage(all.of(cut.into_iter().map(|(_, part)| part).collect()))))
    }
}
