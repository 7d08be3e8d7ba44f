//! Bounds the number of free extents that promised pages can cost.
//!
//! Pages of a class come from a segment's extents of that class. When these are full, the segment takes an extent. So
//! its first new extent costs the pages that are unused there and one more, and each further one costs
//! [`EXTENT_PAGES`]. The most extents that `pages` pages can open are found by opening the cheapest ones first. A
//! segment without extents begins with single pages, which come from extents that all segments share. Once it has
//! outgrown these it may open an extent for each class at once, so each class is counted with its part of the single
//! pages that come before. The single pages themselves count as single pages, too.
//!
//! The bound is that of the present state. Taking a page lowers the bound by as many extents as that takes. Giving
//! pages back raises it by no more than the extents that become free. So promises are kept whatever other threads do.
//! Creating a segment would raise the bound, so it is promised itself.

use super::SINGLE_PAGES;
use super::layout::EXTENT_PAGES;
use super::segment::Segment;
use crate::PageClass;
use leafline_invariant::invariant;

/// The counts that the bound depends on, over all segments.
pub(crate) struct Demand {
    /// Number of classes of segments by the pages that they can take before they open an extent. Classes with
    /// [`EXTENT_PAGES`] such pages or more are not counted: opening theirs costs no less than a further extent of
    /// another class.
    openings: [u32; EXTENT_PAGES as usize],
    /// Single pages that segments could still take, and directory pages that new segments could need.
    singles: u64,
}

/// Returns the pages that a segment without extents can take for each class before it opens an extent, if
/// `free_singles` single pages are left.
fn before_first_extent(free_singles: u64) -> u64 {
    free_singles / PageClass::COUNT as u64
}

impl Demand {
    /// Returns the most extents that `pages` pages can cost, if the shared extents have `shared_unused` unused pages.
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

    /// Removes a segment from the counts.
    pub(crate) fn remove(&mut self, segment: &Segment) {
        self.singles -= segment.free_singles();
        for before in openings(segment) {
            self.change_opening(before, -1);
        }
    }

    /// Counts a segment that may be created soon, and the directory page that it may need.
    pub(crate) fn add_new_segment(&mut self) {
        self.singles += SINGLE_PAGES as u64 + 1;
        self.change_opening(before_first_extent(SINGLE_PAGES as u64), PageClass::COUNT as i32);
    }

    /// Removes such a segment from the counts.
    pub(crate) fn remove_new_segment(&mut self) {
        self.singles -= SINGLE_PAGES as u64 + 1;
        self.change_opening(before_first_extent(SINGLE_PAGES as u64), -(PageClass::COUNT as i32));
    }

    fn change_opening(&mut self, before: u64, by: i32) {
        // A segment with all pages of an extent left opens the next one only after them, which is not counted.
        if let Some(count) = self.openings.get_mut(before as usize) {
            let changed = i64::from(*count) + i64::from(by);
            invariant!(changed >= 0, "{count} openings after {before} pages, changed by {by}");
            *count = changed as u32;
        }
    }
}

/// Returns, for each class of a segment, the pages that can be taken before it opens an extent.
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
