//! The free extents that are not needed: which can be cut off the end of the file, or become holes, and which are
//! kept. [`Releasing`] says whether they may.
//!
//! Extents that are promised, or were needed recently, and as many as the file would grow by ([`step`]), are kept, so
//! that extents that are freed and taken in turns cost nothing. The lowest are kept, and the lowest are taken: files
//! become dense and short.

use super::layout::{EXTENT_PAGES, ExtentNo, Geometry, MAP_BIT};
use super::mirror::{Extent, SpaceState};
use super::record::ExtentUse;
use crate::Lsn;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// Most extents made holes in one round.
const AT_ONCE: usize = 64;
/// Each round forgets one in this many of the recently needed extents.
const FADING: u64 = 64;

/// Returns the number of free extents that a file of `extents` keeps at hand: an eighth, at least one and at most 64.
/// The file grows by this number, and keeps it when space is given back.
pub(crate) fn step(extents: u64) -> u64 {
    const STEP: std::ops::RangeInclusive<u64> = 1..=64;
    (extents / 8).clamp(*STEP.start(), *STEP.end())
}

/// Whether holes are made.
pub(crate) struct Releasing {
    /// Whether the user wants holes.
    pub(crate) punch: AtomicBool,
    /// Whether the file system cannot make holes, or has failed to.
    pub(crate) impossible: AtomicBool,
    /// Whether a backup is being made: its log speaks of pages that would be gone.
    pub(crate) kept: AtomicBool,
}

impl Default for Releasing {
    fn default() -> Releasing {
        Releasing {
            punch: AtomicBool::new(true),
            impossible: AtomicBool::new(false),
            kept: AtomicBool::new(false),
        }
    }
}

impl SpaceState {
    /// Treats all free extents as bare, so that they are backed before they are used.
    pub(crate) fn assume_free_are_bare(&mut self) {
        let free = std::mem::take(&mut self.free);
        self.bare.extend(free);
    }

    /// Records that these extents have their space on the device.
    pub(crate) fn set_backed(&mut self, extents: &[ExtentNo]) {
        for extent in extents {
            if self.bare.remove(extent) {
                self.free.insert(*extent);
                self.extents[extent.0 as usize].is_hole = false;
            }
        }
    }

    /// Returns the number of extents to be kept at hand for growth.
    fn at_hand(&self, everything: bool) -> u64 {
        if everything { 0 } else { step(self.extents.len() as u64) }
    }

    /// Returns the number of backed extents that no promise and no recent need covers.
    fn unneeded(&self, everything: bool) -> u64 {
        let of_late = if everything { 0 } else { self.recently_needed };
        self.free_extents().saturating_sub(self.extents_needed(0).max(of_late))
    }

    /// Returns the number of backed extents that can be given back. If no holes are made, bare extents count as kept
    /// at hand.
    pub(crate) fn spare(&self, everything: bool, holes: bool) -> u64 {
        let bare = if holes { 0 } else { self.bare.len() as u64 };
        self.unneeded(everything).saturating_sub(self.at_hand(everything).saturating_sub(bare))
    }

    /// Iterates over the bare extents that may have their space, except the lowest ones if these are to be kept at
    /// hand.
    fn doubtful(&self, everything: bool) -> impl Iterator<Item = ExtentNo> {
        let at_hand = self.at_hand(everything).saturating_sub(self.unneeded(everything));
        let doubtful = self.bare.iter().filter(|extent| !self.extents[extent.0 as usize].is_hole);
        doubtful.skip(at_hand as usize).copied()
    }

    /// Iterates over the extents that are to become holes.
    fn superfluous(&self, everything: bool) -> impl Iterator<Item = ExtentNo> {
        let spare = self.spare(everything, true) as usize;
        self.free.iter().rev().take(spare).copied().chain(self.doubtful(everything))
    }

    /// Returns the LSN that a checkpoint has to pass before all superfluous extents can be given back, if there is
    /// one.
    pub(crate) fn awaited_lsn(&self, everything: bool, passed: Lsn) -> Option<Lsn> {
        let lsn = |extent: ExtentNo| self.extents[extent.0 as usize].free_lsn.max(Lsn(1));
        self.superfluous(everything).map(lsn).filter(|lsn| *lsn > passed).max()
    }

    /// Takes some extents that are to become holes out of use.
    pub(crate) fn take_for_holes(&mut self, everything: bool, passed: Lsn) -> Vec<ExtentNo> {
        if passed == Lsn::ZERO {
            return Vec::new();
        }
        let usable = |extent: &ExtentNo| self.extents[extent.0 as usize].free_lsn <= passed;
        let mut extents: Vec<ExtentNo> = self.superfluous(everything).filter(usable).take(AT_ONCE).collect();
        for extent in &extents {
            self.free.remove(extent);
            self.bare.insert(*extent);
        }
        extents.sort_unstable();
        extents
    }

    /// Lets the record of recent needs fade.
    pub(crate) fn fade_recent_needs(&mut self) {
        let faded = self.recently_needed - self.recently_needed.div_ceil(FADING);
        self.recently_needed = faded.max(self.extents_needed(0));
    }

    /// Returns the number of extents without the free ones at the end of the file, of which at most `spare` may be
    /// backed. A region is left out with its map page, if `maps` says that the file has the page as it is.
    pub(crate) fn free_end(
        &self,
        geometry: &Geometry,
        spare: u64,
        passed: Lsn,
        maps: &BTreeMap<u32, Lsn>,
    ) -> usize {
        let (mut len, mut spare) = (self.extents.len(), spare);
        let mut shared_unused = self.shared_free_pages;
        let mut backed = self.free_extents();
        while len > 1 && passed > Lsn::ZERO {
            let number = len as u32 - 1;
            let Extent { usage, pages, free_lsn, .. } = self.extents[len - 1];
            let is_map = number.is_multiple_of(geometry.region_extents())
                && usage == Some(ExtentUse::Shared)
                && pages == MAP_BIT;
            if is_map {
                let old = maps.get(&(number / geometry.region_extents())).is_some_and(|lsn| *lsn <= passed);
                let unused = shared_unused - (EXTENT_PAGES - 1);
                if !old || self.demand.extents(self.promised, unused) > backed {
                    break;
                }
                shared_unused = unused;
            } else if usage.is_some() || free_lsn > passed {
                break;
            } else if self.free.contains(&ExtentNo(number)) {
                if spare == 0 || self.demand.extents(self.promised, shared_unused) >= backed {
                    break;
                }
                spare -= 1;
                backed -= 1;
            }
            len -= 1;
        }
        len
    }

    /// Removes the extents from `len` on, which are free or have a map page only.
    pub(crate) fn cut(&mut self, len: usize) {
        for number in len..self.extents.len() {
            let extent = ExtentNo(number as u32);
            self.free.remove(&extent);
            self.bare.remove(&extent);
            if self.extents[number].usage.is_some() {
                self.shared_free_pages -= EXTENT_PAGES - 1;
                self.shared_with_space.remove(&extent);
            }
        }
        self.extents.truncate(len);
    }
}
