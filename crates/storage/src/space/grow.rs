//! Making `data` larger, and promising pages.
//!
//! The file is grown with [`File::allocate`](crate::File::allocate) before the pages are promised, so that "disk
//! full" is the answer to a reservation and never to a write. A region's space map page is made, by a
//! mini-transaction of its own, when the file grows into the region; until that is in the log the region's extents
//! are not used, and if a crash comes first the next growth does it again.

use super::layout::EXTENT_PAGES;
use super::mirror::SpaceState;
use super::record::{ExtentUse, SpaceRecord};
use crate::pool::MAX_PAGES;
use crate::redo::GROUP_OVERHEAD;
use crate::store::Inner;
use crate::{MiniTransaction, PageKind, Reservation, Result, SegmentId, StorageError};
use std::sync::Arc;

/// The file grows by an eighth of itself, at least and at most by this many extents.
const STEP: std::ops::RangeInclusive<u64> = 1..=64;
/// Log bytes of making a space map page.
const MAP_LOG_BYTES: usize = 96 + GROUP_OVERHEAD;
/// The bit of the space map page in its extent.
const MAP_BIT: u64 = 0b10;

impl Inner {
    /// Promises `pages` pages, growing the file as needed.
    pub(crate) fn reserve_pages(self: &Arc<Self>, pages: u64) -> Result<()> {
        if pages == 0 {
            return Ok(());
        }
        self.grow_until(|state| state.promise(pages))
    }

    /// Promises that there can be one more segment, growing the file as needed.
    pub(crate) fn reserve_newcomer(self: &Arc<Self>) -> Result<()> {
        self.grow_until(SpaceState::promise_newcomer)
    }

    fn grow_until(
        self: &Arc<Self>,
        mut promise: impl FnMut(&mut SpaceState) -> std::result::Result<(), u64>,
    ) -> Result<()> {
        loop {
            let promised = promise(&mut self.space.state());
            match promised {
                Ok(()) => return Ok(()),
                Err(lacking) => self.grow(lacking)?,
            }
        }
    }

    /// Makes the file larger by at least `extents` extents that anybody may use.
    pub(crate) fn grow(self: &Arc<Self>, extents: u64) -> Result<()> {
        let free_before = self.space.state().free_extents();
        let _growing = self.space.growing.lock();
        if self.space.state().free_extents() > free_before {
            // Somebody else has grown it meanwhile: look again whether that is enough.
            return Ok(());
        }
        let current = self.space.state().extents.len() as u64;
        let region = u64::from(self.space.geometry.region_extents());
        // Each new region takes one extent for its space map page.
        let needed = extents + extents / region + 1;
        let step = (current / 8).clamp(*STEP.start(), *STEP.end());
        if needed < step && self.allocate_extents(current, step).is_ok() {
            return self.add_extents(current + step);
        }
        let exact =
            extents + (current..current + extents).filter(|extent| extent % region == 0).count() as u64;
        self.allocate_extents(current, exact)?;
        self.add_extents(current + exact)
    }

    fn allocate_extents(&self, current: u64, extents: u64) -> Result<()> {
        let total = current + extents;
        let page_size = self.cache.page_size as u64;
        let bytes = total * EXTENT_PAGES * page_size;
        if total * EXTENT_PAGES > MAX_PAGES {
            return Err(StorageError::TooLarge {
                what: "data file",
                size: bytes,
                limit: MAX_PAGES * page_size,
            });
        }
        self.cache.data.allocate(bytes).map_err(|source| StorageError::io("allocate", "data", source))
    }

    /// Makes the extents up to `total`, which the file has, usable.
    fn add_extents(self: &Arc<Self>, total: u64) -> Result<()> {
        self.cache.set_file_pages(total * EXTENT_PAGES);
        let region_extents = self.space.geometry.region_extents();
        let mut next = self.space.state().extents.len() as u32;
        while u64::from(next) < total {
            if next.is_multiple_of(region_extents) {
                self.make_map_page(next / region_extents)?;
                self.space.state().add_extent(Some((ExtentUse::Shared, MAP_BIT)));
            } else {
                self.space.state().add_extent(None);
            }
            next += 1;
        }
        Ok(())
    }

    /// Makes the space map page of a region, which describes itself as in use.
    fn make_map_page(self: &Arc<Self>, region: u32) -> Result<()> {
        let page = self.space.geometry.map_of_region(region);
        let mut reservation = Reservation::at_once(self, MAP_LOG_BYTES)?;
        let mut change = MiniTransaction::begin(self, &mut reservation, 1)?;
        let slot = change.claim_own(page)?;
        change.apply_space(
            slot,
            &SpaceRecord::InitPage { page, kind: PageKind::SPACE_MAP, owner: SegmentId::NONE },
        )?;
        change.pin(slot);
        let usage = ExtentUse::Shared;
        change.apply_space(slot, &SpaceRecord::SetPages { descriptor: 0, usage, pages: MAP_BIT })?;
        change.commit();
        self.poison.check()
    }
}
