//! Gives free space back to the file system: cuts off the free end of `data`, and makes holes of other free extents.
//!
//! An extent is given back only once a checkpoint has passed the group that freed it. Otherwise redo would meet
//! zeros, or the end of the file, where its records expect the former pages. Before that its pages leave memory, and
//! batches that are being written end, so that nothing writes to it. The extent is bare from then on (see
//! [`crate::space`]): a user allocates it first. [`SpaceState`](crate::space::SpaceState) says which extents are kept.
//!
//! Holes and cuts need no sync, because nothing relies on them: if the power fails and they are lost, the file has
//! its space again, and free pages may hold anything. A cut is synced all the same, before the file can grow again. A
//! region is cut off only if the file has its map page as it is in memory.

use crate::core::Inner;
use crate::space::{EXTENT_PAGES, ExtentNo, step};
use crate::{Lsn, Result, StorageError};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::atomic::Ordering;

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
