//! How many free extents promised pages can cost at most.
//!
//! Pages of a class come from a segment's extents of that class. When these are full an extent is taken: so the first costs
//! the pages that are unused there and one more, each further one [`EXTENT_PAGES`]. The most extents that `pages` pages can
//! open are had by taking the cheapest first. A segment without extents begins with single pages, which come from extents
//! that all share; having outgrown these it may open an extent for each class at once, so each is counted with its part of
//! the pages that come before. Its single pages count both there and among the shared ones.
//!
//! The bound is that of the state as it is. Taking a page lowers it by as many extents as that takes, and giving pages back
//! raises it by no more than the extents that become free: promises made are kept whatever others do. A segment that is
//! created would raise it, and is promised itself.

use super::SINGLE_PAGES;
use super::layout::EXTENT_PAGES;
use super::mirror::Segment;
use crate::PageClass;
use leafline_invariant::invariant;

/// What it depends on, over all segments.
pub(crate) struct Demand {
    /// By the pages that can be taken before: how many times an extent may be opened. Where it is an extent's pages or more,
    /// it costs no less than a further extent would.
    openings: [u32; EXTENT_PAGES as usize],
    /// Single pages that segments could have, and pages of the directory that newcomers could need.
    singles: u64,
}

/// Pages that a segment can take for each class before it opens an extent, if so many single ones are left.
fn before_first_extent(free_singles: u64) -> u64 {
    free_singles / PageClass::COUNT as u64
}

impl Demand {
    /// Extents, if the shared ones have `shared_unused` pages unused.
    pub(crate) fn extents(&self, pages: u64, shared_unused: u64) -> u64 {
        let mut left = pages;
        let mut opened = 0;
        for (before, count) in (1..).zip(&self.openings) {
            let affordable = u64::from(*count).min(left / before);
            opened += affordable;
            left -= affordable * before;
            if left < before {
                break;
            }
        }
        opened += left / EXTENT_PAGES;
        opened + pages.min(self.singles).saturating_sub(shared_unused).div_ceil(EXTENT_PAGES)
    }

    /// Counts a segment.
    pub(crate) fn add(&mut self, segment: &Segment) {
        self.singles += segment.free_singles();
        for before in openings(segment) {
            self.change_opening(before, 1);
        }
    }

    /// Counts a segment no more.
    pub(crate) fn remove(&mut self, segment: &Segment) {
        self.singles -= segment.free_singles();
        for before in openings(segment) {
            self.change_opening(before, -1);
        }
    }

    /// Counts a segment that there may be soon, and the directory page that it may need.
    pub(crate) fn add_newcomer(&mut self) {
        self.singles += SINGLE_PAGES as u64 + 1;
        self.change_opening(before_first_extent(SINGLE_PAGES as u64), PageClass::COUNT as i32);
    }

    /// Ends that.
    pub(crate) fn remove_newcomer(&mut self) {
        self.singles -= SINGLE_PAGES as u64 + 1;
        self.change_opening(before_first_extent(SINGLE_PAGES as u64), -(PageClass::COUNT as i32));
    }

    fn change_opening(&mut self, before: u64, by: i32) {
        // A segment that has all pages of an extent left opens the next one only after them: that is not counted.
        if let Some(count) = self.openings.get_mut(before as usize) {
            let changed = i64::from(*count) + i64::from(by);
            invariant!(changed >= 0, "{count} openings after {before} pages, changed by {by}");
            *count = changed as u32;
        }
    }
}

/// For each class of a segment, the pages that can be taken before it opens an extent.
fn openings(segment: &Segment) -> [u64; PageClass::COUNT] {
    match segment.unused() {
        Some(unused) => *unused,
        None => [before_first_extent(segment.free_singles()); PageClass::COUNT],
    }
}

impl Default for Demand {
    fn default() -> Demand {
        Demand { openings: [0; EXTENT_PAGES as usize], singles: 0 }
    }
}
