//! Enlarges `data`, and promises pages.
//!
//! Pages are promised only from extents that have their space on the device. The space is allocated beforehand, so
//! that a reservation meets "disk full" and a write never does. Bare free extents are filled first, then the file
//! grows. A hole that is filled is synced before it is used, so that an extent in use is backed after a crash. (Space
//! beyond the end of a file whose growth was lost is allocated by redo, or when the maps are read.)
//!
//! When the file grows into a region, a mini-transaction of its own makes the region's space map page. The region's
//! extents are used only once that is in the log. If a crash comes first, the next growth makes the page again.

use crate::core::Inner;
use crate::pool::MAX_PAGES;
use crate::redo::GROUP_OVERHEAD;
use crate::space::{EXTENT_PAGES, ExtentNo, ExtentUse, MAP_BIT, SpaceRecord, SpaceState, step};
use crate::{FREE_PAGE_LOG_BYTES, MiniTransaction, PageKind, Reservation, Result, SegmentId, StorageError};
use std::sync::Arc;

/// Log bytes of making a space map page.
const MAP_LOG_BYTES: usize = 96 + GROUP_OVERHEAD;
impl Inner {
    /// Promises `pages` pages, enlarging the file if necessary.
    pub(crate) fn reserve_pages(self: &Arc<Self>, pages: u64) -> Result<()> {
        if pages == 0 {
            return Ok(());
        }
        self.grow_until(|state| state.promise(pages))
    }

    /// Promises that one more segment can be created, enlarging the file if necessary.
    pub(crate) fn reserve_new_segment(self: &Arc<Self>) -> Result<()> {
        self.grow_until(SpaceState::promise_new_segment)
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

    /// Provides more free extents with space on the device. Fills some of the bare ones, or, if there are none,
    /// enlarges the file by at least `extents`.
    pub(crate) fn grow(self: &Arc<Self>, extents: u64) -> Result<()> {
        let free_before = self.space.state().free_extents();
        let _growing = self.space.growing.lock();
        if self.space.state().free_extents() > free_before {
            // Another thread has enlarged the file meanwhile. The caller looks again whether that is enough.
            return Ok(());
        }
        if self.back_extents(extents)? {
            return Ok(());
        }
        let current = self.space.state().extents.len() as u64;
        let region = u64::from(self.space.geometry.region_extents());
        // Each new region takes one extent for its space map page.
        let needed = extents + extents / region + 1;
        let step = step(current);
        if needed < step && self.allocate_extents(current, step).is_ok() {
            return self.add_extents(current + step);
        }
        let exact =
            extents + (current..current + extents).filter(|extent| extent % region == 0).count() as u64;
        self.allocate_extents(current, exact)?;
        self.add_extents(current + exact)
    }

    /// Allocates the space of `extents` bare extents or somewhat more. Returns false if there are none.
    fn back_extents(&self, extents: u64) -> Result<bool> {
        let (bare, step) = {
            let state = self.space.state();
            let step = step(state.extents.len() as u64).max(extents) as usize;
            (state.bare.iter().copied().take(step).collect::<Vec<_>>(), step)
        };
        if bare.is_empty() {
            return Ok(false);
        }
        let exact = (extents as usize).min(bare.len());
        let backed = match self.allocate_runs(&bare) {
            Ok(()) => &bare[..],
            Err(_) if exact < step.min(bare.len()) => {
                self.allocate_runs(&bare[..exact])?;
                &bare[..exact]
            }
            Err(error) => return Err(error),
        };
        self.sync_data()?;
        self.space.state().set_backed(backed);
        Ok(true)
    }

    /// Allocates the space of all extents in use. The extents of a restored file may lack it.
    pub(crate) fn back_used_extents(&self) -> Result<()> {
        let _growing = self.space.growing.lock();
        let used: Vec<ExtentNo> = {
            let state = self.space.state();
            let extents = (0..).map(ExtentNo).zip(&state.extents);
            extents.filter(|(_, extent)| extent.usage.is_some()).map(|(number, _)| number).collect()
        };
        self.allocate_runs(&used)?;
        self.sync_data()
    }

    fn allocate_runs(&self, extents: &[ExtentNo]) -> Result<()> {
        self.for_runs(extents, |from, to| self.cache.data.allocate_range(from, to))
            .map_err(|source| StorageError::io("allocate", "data", source))
    }

    /// Calls `f` with the byte range of each run of neighbouring extents. `extents` is in ascending order.
    pub(super) fn for_runs(
        &self,
        extents: &[ExtentNo],
        f: impl Fn(u64, u64) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let bytes = EXTENT_PAGES * self.cache.page_size as u64;
        extents.chunk_by(|one, other| one.0 + 1 == other.0).try_for_each(|run| {
            let from = u64::from(run[0].0) * bytes;
            f(from, from + run.len() as u64 * bytes)
        })
    }

    fn allocate_extents(&self, current: u64, extents: u64) -> Result<()> {
        let total = current + extents;
        let page_size = self.cache.page_size as u64;
        let from = current * EXTENT_PAGES * page_size;
        let bytes = total * EXTENT_PAGES * page_size;
        if total * EXTENT_PAGES > MAX_PAGES {
            return Err(StorageError::TooLarge {
                what: "data file",
                size: bytes,
                limit: MAX_PAGES * page_size,
            });
        }
        self.cache
            .data
            .allocate_range(from, bytes)
            .map_err(|source| StorageError::io("allocate", "data", source))
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

    /// Makes the space map page of a region. The page describes itself as in use.
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

    /// Clears the descriptors of extents beyond the end of the file that no segment owns, before the file can reach
    /// them.
    pub(crate) fn forget_ownerless(self: &Arc<Self>) -> Result<()> {
        let ownerless = std::mem::take(&mut self.space.state().ownerless);
        for (extent, pages) in ownerless {
            let mut reservation = Reservation::new(self, 0, FREE_PAGE_LOG_BYTES + GROUP_OVERHEAD)?;
            let mut change = MiniTransaction::begin(self, &mut reservation, 0)?;
            let (map, descriptor) = self.space.geometry.descriptor(extent);
            change.change_space(map, SpaceRecord::ClearPages { descriptor, pages });
            self.log.wait_durable(change.commit())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{OpenMode, SimulatedEnv};
    use crate::{Env, NoReplay, PageClass, SegmentId, Store, StoreOptions};

    #[test]
    fn extents_beyond_the_end_of_the_file_that_a_lost_segment_had_are_free() {
        let env = SimulatedEnv::new();
        let options = StoreOptions {
            page_size: 4096,
            buffer_pool_bytes: 1 << 20,
            background: false,
            ..Default::default()
        };
        let open = || Store::open(Arc::new(env.clone()), options.clone(), Vec::new(), &mut NoReplay).unwrap();
        let store = open();
        store.inner.grow(8).unwrap();
        let extent = *store.inner.space.state().free.iter().next_back().unwrap();
        let from = extent.first_page().0 * 4096;
        let (map, descriptor) = store.inner.space.geometry.descriptor(extent);
        let usage = ExtentUse::Owned(SegmentId(99), PageClass::Leaf);
        let mut reservation = Reservation::new(&store.inner, 0, 200).unwrap();
        let mut change = MiniTransaction::begin(&store.inner, &mut reservation, 0).unwrap();
        change.change_space(map, SpaceRecord::SetPages { descriptor, usage, pages: 0b110 });
        let end = change.commit();
        store.wait_durable(end).unwrap();
        drop((reservation, store));
        let data = env.open("data", OpenMode::Existing).unwrap();
        data.truncate(from).unwrap();
        data.sync().unwrap();
        drop(data);
        for _ in 0..2 {
            // The first round clears the descriptor before the file can reach the extent again.
            let store = open();
            assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
            store.inner.grow(8).unwrap();
            assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
        }
    }
}
