//! Gives free space back to the file system: cuts off the free end of `data`, and makes holes of other free extents.
//!
//! An extent is given back only once a checkpoint has passed the group that freed it. Otherwise redo would meet
//! zeros, or the end of the file, where its records expect the former pages. Before that its pages leave memory, and
//! batches that are being written end, so that nothing writes to it. The extent is bare from then on (see
//! [`super::mirror`]): a user allocates it first.
//!
//! Extents that are promised, or were needed recently, and as many as the file would grow by ([`step`]), are kept, so
//! that extents that are freed and taken in turns cost nothing. The lowest are kept, and the lowest are taken: files
//! become dense and short.
//!
//! Holes and cuts need no sync, because nothing relies on them: if the power fails and they are lost, the file has
//! its space again, and free pages may hold anything. A cut is synced all the same, before the file can grow again. A
//! region is cut off only if the file has its map page as it is in memory.

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
/// Each round forgets one in this many of the recently needed extents.
const FADING: u64 = 64;

/// Whether holes are made.
pub(crate) struct Releasing {
    /// Whether the user wants holes.
    pub(crate) punch: AtomicBool,
    /// Whether the file system cannot make holes, or has failed to.
    impossible: AtomicBool,
    /// Whether a backup is being made: its log speaks of pages that would be gone.
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

/// The outcome of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReleaseOutcome {
    /// There is nothing to give back.
    Nothing,
    /// Nothing can be given back before a checkpoint passes this LSN.
    Awaiting(Lsn),
    /// Some space was given back, and there may be more.
    Released,
}

impl Inner {
    /// Gives some spare space back: with `everything` all that is not promised, otherwise only the space beyond what
    /// is kept for growth. The caller holds no latch.
    pub(crate) fn release_some_space(&self, everything: bool) -> Result<ReleaseOutcome> {
        let Some(_growing) = self.space.growing.try_lock() else { return Ok(ReleaseOutcome::Nothing) };
        if self.space.releasing.kept.load(Ordering::Acquire) {
            return Ok(ReleaseOutcome::Nothing);
        }
        let passed = self.checkpointer.passed().unwrap_or(Lsn::ZERO);
        let can_punch = self.space.releasing.punch.load(Ordering::Relaxed)
            && !self.space.releasing.impossible.load(Ordering::Relaxed);
        let (spare, awaited_lsn) = {
            let mut state = self.space.state();
            state.fade_recent_needs();
            let awaited_lsn = if can_punch { state.awaited_lsn(everything, passed) } else { None };
            (state.spare(everything, can_punch), awaited_lsn)
        };
        let was_cut = self.cut_end(spare, passed, everything)?;
        let punched = can_punch && self.punch_some(everything, passed)?;
        Ok(match awaited_lsn {
            _ if was_cut || punched => ReleaseOutcome::Released,
            Some(lsn) => ReleaseOutcome::Awaiting(lsn),
            None => ReleaseOutcome::Nothing,
        })
    }

    /// Cuts off the free end of the file, if that is worth it. Returns whether it did.
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
        self.quiesce(&extents);
        let bytes = after as u64 * EXTENT_PAGES * self.cache.page_size as u64;
        self.cache.data.truncate(bytes).map_err(|source| StorageError::io("cut", "data", source))?;
        self.sync_data()?;
        Ok(true)
    }

    /// Returns the LSN of the map page of each region after the first. Map pages that are not in memory are left out.
    fn map_lsns(&self) -> BTreeMap<u32, Lsn> {
        let regions =
            self.space.state().extents.len().div_ceil(self.space.geometry.region_extents() as usize);
        let lsn = |region: u32| {
            let guard = self.cache.try_shared(self.space.geometry.map_of_region(region))?;
            Some((region, guard.lsn()))
        };
        (1..regions as u32).filter_map(lsn).collect()
    }

    /// Makes some holes. Returns whether it did.
    fn punch_some(&self, everything: bool, passed: Lsn) -> Result<bool> {
        let extents = self.space.state().take_for_holes(everything, passed);
        if extents.is_empty() {
            return Ok(false);
        }
        self.quiesce(&extents);
        match self.for_runs(&extents, |from, to| self.cache.data.punch(from, to)) {
            Ok(()) => {
                let mut state = self.space.state();
                extents.iter().for_each(|extent| state.extents[extent.0 as usize].is_hole = true);
                Ok(true)
            }
            Err(error) => {
                // Extents that may have become holes are bare, and stay so.
                self.space.releasing.impossible.store(true, Ordering::Relaxed);
                match error.kind() {
                    ErrorKind::Unsupported => Ok(false),
                    _ => Err(StorageError::io("make a hole in", "data", error)),
                }
            }
        }
    }

    /// Ensures that no thread reads or writes the pages of extents that cannot be taken any more.
    fn quiesce(&self, extents: &[ExtentNo]) {
        extents.iter().for_each(|extent| self.purge_extent(*extent));
        self.cache.wait_for_writes();
    }
}

impl SpaceState {
    /// Treats all free extents as bare, so that they are backed before they are used.
    pub(crate) fn assume_free_are_bare(&mut self) {
        let free = std::mem::take(&mut self.free);
        self.bare.extend(free);
    }

    /// Records that these extents have their space on the device.
    pub(super) fn set_backed(&mut self, extents: &[ExtentNo]) {
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
    fn spare(&self, everything: bool, holes: bool) -> u64 {
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
    fn awaited_lsn(&self, everything: bool, passed: Lsn) -> Option<Lsn> {
        let lsn = |extent: ExtentNo| self.extents[extent.0 as usize].free_lsn.max(Lsn(1));
        self.superfluous(everything).map(lsn).filter(|lsn| *lsn > passed).max()
    }

    /// Takes some extents that are to become holes out of use.
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

    /// Lets the record of recent needs fade.
    fn fade_recent_needs(&mut self) {
        let faded = self.recently_needed - self.recently_needed.div_ceil(FADING);
        self.recently_needed = faded.max(self.extents_needed(0));
    }

    /// Returns the number of extents without the free ones at the end of the file, of which at most `spare` may be
    /// backed. A region is left out with its map page, if `maps` says that the file has the page as it is.
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

    /// Removes the extents from `len` on, which are free or have a map page only.
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
