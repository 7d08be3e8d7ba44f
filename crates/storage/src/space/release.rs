//! Giving free space back to the file system: the free end of `data` is cut off, other free extents become holes.
//!
//! An extent is given back only once a checkpoint has passed the group that freed it: else redo would meet zeros, or the end of
//! the file, where its records expect what the pages were. Before that its pages leave memory, and batches that are being written
//! end, so that nothing writes to it. It is bare from then on (see [`super::mirror`]): who needs it allocates it first.
//!
//! What is promised, or was of late, and as many extents as the file would grow by ([`step`]), are kept as they are, so that what is
//! freed and taken in turns costs nothing. The lowest are kept, and the lowest are taken: files become dense and short.
//!
//! Holes and cuts are not synced before they are relied upon, because they are not: if they are lost with the power, the file has again
//! what it had, and free pages may hold anything. A cut is synced all the same, before the file can grow again, and the map page of a region that goes
//! is one that the file has as it is in memory.

use super::grow::{MAP_BIT, step};
use super::layout::{EXTENT_PAGES, ExtentNo, Geometry};
use super::mirror::{Extent, SpaceState};
use super::record::ExtentUse;
use crate::store::Inner;
use crate::{Lsn, Result, StorageError};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};

/// Most extents made holes in one round.
const AT_ONCE: usize = 64;
/// One part in so many of what was needed of late is forgotten each round.
const FADING: u64 = 64;

/// Whether holes are made.
pub(crate) struct Releasing {
    /// The user wants it.
    pub(crate) punch: AtomicBool,
    /// The file system cannot, or has failed to.
    impossible: AtomicBool,
    /// A backup is being made: its log speaks of pages that would not be there.
    pub(super) kept: AtomicBool,
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

/// What came of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Released {
    /// There is nothing to be given back.
    Nothing,
    /// Nothing can be given back before a checkpoint passes this.
    Awaiting(Lsn),
    /// Something was given back, and there may be more.
    Some,
}

impl Inner {
    /// Gives some of what can be spared back, `everything` that is not promised or only what is beyond what is at hand for
    /// growth. The caller holds no latch.
    pub(crate) fn release_some_space(&self, everything: bool) -> Result<Released> {
        let Some(_growing) = self.space.growing.try_lock() else { return Ok(Released::Nothing) };
        if self.space.releasing.kept.load(Ordering::Acquire) {
            return Ok(Released::Nothing);
        }
        let passed = self.checkpointer.passed().unwrap_or(Lsn::ZERO);
        let can_punch = self.space.releasing.punch.load(Ordering::Relaxed)
            && !self.space.releasing.impossible.load(Ordering::Relaxed);
        let (spare, awaited) = {
            let mut state = self.space.state();
            state.forget_needs();
            let awaited = if can_punch { state.awaited(everything, passed) } else { None };
            (state.spare(everything, can_punch), awaited)
        };
        let was_cut = self.cut_end(spare, passed, everything)?;
        let punched = can_punch && self.punch_some(everything, passed)?;
        Ok(match awaited {
            _ if was_cut || punched => Released::Some,
            Some(lsn) => Released::Awaiting(lsn),
            None => Released::Nothing,
        })
    }

    /// Cuts the free end of the file off, if that is worth it; whether it did.
    fn cut_end(&self, spare: u64, passed: Lsn, everything: bool) -> Result<bool> {
        let maps = self.map_lsns();
        let (before, after) = {
            let mut state = self.space.state();
            let before = state.extents.len();
            let after = state.free_end(&self.space.geometry, spare, passed, &maps);
            let worth = if everything { 1 } else { step(before as u64) as usize };
            if before - after < worth {
                return Ok(false);
            }
            state.cut(after);
            (before, after)
        };
        self.cache.set_file_pages(after as u64 * EXTENT_PAGES);
        let extents: Vec<ExtentNo> = (after..before).map(|extent| ExtentNo(extent as u32)).collect();
        self.leave_alone(&extents);
        let bytes = after as u64 * EXTENT_PAGES * self.cache.page_size as u64;
        self.cache.data.truncate(bytes).map_err(|source| StorageError::io("cut", "data", source))?;
        self.sync_data()?;
        Ok(true)
    }

    /// The LSN of each region's map page.
    fn map_lsns(&self) -> BTreeMap<u32, Lsn> {
        let regions =
            self.space.state().extents.len().div_ceil(self.space.geometry.region_extents() as usize);
        let lsn = |region: u32| {
            let guard = self.cache.try_shared(self.space.geometry.map_of_region(region))?;
            Some((region, guard.lsn()))
        };
        (1..regions as u32).filter_map(lsn).collect()
    }

    /// Makes some holes; whether it did.
    fn punch_some(&self, everything: bool, passed: Lsn) -> Result<bool> {
        let extents = self.space.state().take_for_holes(everything, passed);
        if extents.is_empty() {
            return Ok(false);
        }
        self.leave_alone(&extents);
        match self.for_runs(&extents, |from, to| self.cache.data.punch(from, to)) {
            Ok(()) => {
                let mut state = self.space.state();
                extents.iter().for_each(|extent| state.extents[extent.0 as usize].is_hole = true);
                Ok(true)
            }
            Err(error) => {
                // Those that may have become holes are bare, and stay so.
                self.space.releasing.impossible.store(true, Ordering::Relaxed);
                match error.kind() {
                    ErrorKind::Unsupported => Ok(false),
                    _ => Err(StorageError::io("make a hole in", "data", error)),
                }
            }
        }
    }

    /// Sees to it that nobody reads or writes the pages of extents that nobody takes any more.
    fn leave_alone(&self, extents: &[ExtentNo]) {
        extents.iter().for_each(|extent| self.purge_extent(*extent));
        self.cache.wait_for_writes();
    }
}

impl SpaceState {
    /// All free extents may have to be backed before they are used.
    pub(crate) fn doubt_free_extents(&mut self) {
        let free = std::mem::take(&mut self.free);
        self.bare.extend(free);
    }

    /// These have their space.
    pub(super) fn set_backed(&mut self, extents: &[ExtentNo]) {
        for extent in extents {
            if self.bare.remove(extent) {
                self.free.insert(*extent);
                self.extents[extent.0 as usize].is_hole = false;
            }
        }
    }

    /// Extents to be kept at hand for growth.
    fn at_hand(&self, everything: bool) -> u64 {
        if everything { 0 } else { step(self.extents.len() as u64) }
    }

    /// How many backed extents nobody needs.
    fn unneeded(&self, everything: bool) -> u64 {
        let of_late = if everything { 0 } else { self.needed_of_late };
        self.free_extents().saturating_sub(self.extents_needed(0).max(of_late))
    }

    /// How many backed extents can be given back. Without holes what is bare can be counted upon to be at hand.
    fn spare(&self, everything: bool, holes: bool) -> u64 {
        let bare = if holes { 0 } else { self.bare.len() as u64 };
        self.unneeded(everything).saturating_sub(self.at_hand(everything).saturating_sub(bare))
    }

    /// Bare extents that may have their space, but for the lowest if they are to be at hand.
    fn doubtful(&self, everything: bool) -> impl Iterator<Item = ExtentNo> {
        let at_hand = self.at_hand(everything).saturating_sub(self.unneeded(everything));
        let doubtful = self.bare.iter().filter(|extent| !self.extents[extent.0 as usize].is_hole);
        doubtful.skip(at_hand as usize).copied()
    }

    /// Extents that are to become holes.
    fn superfluous(&self, everything: bool) -> impl Iterator<Item = ExtentNo> {
        let spare = self.spare(everything, true) as usize;
        self.free.iter().rev().take(spare).copied().chain(self.doubtful(everything))
    }

    /// What a checkpoint has to pass so that all that is superfluous can be given back.
    fn awaited(&self, everything: bool, passed: Lsn) -> Option<Lsn> {
        let lsn = |extent: ExtentNo| self.extents[extent.0 as usize].free_lsn.max(Lsn(1));
        self.superfluous(everything).map(lsn).filter(|lsn| *lsn > passed).max()
    }

    /// Takes some extents out of use that are to become holes.
    pub(super) fn take_for_holes(&mut self, everything: bool, passed: Lsn) -> Vec<ExtentNo> {
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

    /// What was needed once is not at hand for ever.
    fn forget_needs(&mut self) {
        let faded = self.needed_of_late - self.needed_of_late.div_ceil(FADING);
        self.needed_of_late = faded.max(self.extents_needed(0));
    }

    /// How many extents the file has without those at its end that nobody needs, at most `spare` backed ones of them. A region
    /// goes with its map page, if `maps` says that the file has that as it is.
    fn free_end(&self, geometry: &Geometry, spare: u64, passed: Lsn, maps: &BTreeMap<u32, Lsn>) -> usize {
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

    /// Forgets the extents from `len` on, which are free, or have a map page only.
    fn cut(&mut self, len: usize) {
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
