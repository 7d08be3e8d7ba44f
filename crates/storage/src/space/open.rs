//! Reads the space maps and the segment directory when a store is opened. Both stay in memory from then on.

use super::layout::{DIRECTORY_ROOT, EXTENT_PAGES, ExtentNo, Geometry};
use super::mirror::{EntryAt, SpaceState};
use super::record::{ExtentUse, FREE_PAGE_LOG_BYTES, SpaceRecord};
use super::{directory, map_page};
use crate::device::AlignedBuf;
use crate::pool::{Latch, PageCache};
use crate::redo::GROUP_OVERHEAD;
use crate::store::Inner;
use crate::{MiniTransaction, PageKind, PageNo, Reservation, Result, StorageError, page};
use std::sync::Arc;

/// Builds the state from the pages. The log has been replayed.
pub(crate) fn load(cache: &PageCache, geometry: Geometry) -> Result<SpaceState> {
    let mut state = SpaceState::new();
    let singles = load_directory(cache, &mut state)?;
    load_maps(cache, geometry, &mut state)?;
    for (id, slot, page) in singles {
        let shared = state.usage_of(page).is_some_and(|(_, usage)| usage == ExtentUse::Shared);
        if !shared {
            return Err(StorageError::Corrupt {
                page,
                reason: format!("held singly by segment {id}, but not in use in a shared extent"),
            });
        }
        state.set_single(id, slot, page);
    }
    // The store does not record which extents were given back, or whether the file was copied with holes.
    state.assume_free_are_bare();
    Ok(state)
}

type Single = (crate::SegmentId, usize, PageNo);

/// Reads the chain of directory pages. Returns the single pages, to be checked against the maps, which are read next.
fn load_directory(cache: &PageCache, state: &mut SpaceState) -> Result<Vec<Single>> {
    let mut singles = Vec::new();
    let mut page = DIRECTORY_ROOT;
    while page != PageNo::NONE {
        let corrupt = |reason: String| StorageError::Corrupt { page, reason };
        if state.directory.contains(&page) {
            return Err(corrupt("the segment directory is a ring".into()));
        }
        let next = with_pinned(cache, page, PageKind::SEGMENT_DIRECTORY, |bytes| {
            for entry in 0..directory::entries_per_page(bytes.len()) {
                let Some(found) = directory::read(bytes, entry).map_err(corrupt)? else { continue };
                if state.segments.contains_key(&found.id) {
                    return Err(corrupt(format!("segment {} has two entries", found.id)));
                }
                state.add_segment(found.id, EntryAt { page, entry }, found.state);
                state.update(found.id, |segment| segment.root = found.root);
                let used = found.singles.iter().enumerate().filter(|(_, page)| **page != PageNo::NONE);
                singles.extend(used.map(|(slot, page)| (found.id, slot, *page)));
            }
            state.next_segment = state.next_segment.max(directory::highest_id(bytes) + 1);
            Ok(directory::next(bytes))
        })?;
        state.directory.push(page);
        page = next;
    }
    Ok(singles)
}

/// Adds the extents of the file, and those beyond its end that a map says are in use. Redo knows nothing of unlogged
/// pages, which take whole extents, so it does not extend a file whose growth was lost to them. Such extents belong
/// to segments that were being built. Earlier versions did not look there, and left some whose segment is gone.
fn load_maps(cache: &PageCache, geometry: Geometry, state: &mut SpaceState) -> Result<()> {
    let region_extents = u64::from(geometry.region_extents());
    for region in 0.. {
        let first = region * region_extents;
        let extents = cache.file_pages() / EXTENT_PAGES;
        if first >= extents {
            break;
        }
        let page = geometry.map_of_region(region as u32);
        let is_last = first + region_extents >= extents;
        if region > 0 && is_last && !cache.pool.is_resident(page) && is_blank(cache, page)? {
            // The file has grown into the region, but the map page was not made. The next growth makes it.
            break;
        }
        let corrupt = |reason: String| StorageError::Corrupt { page, reason };
        let mut descriptors = with_pinned(cache, page, PageKind::SPACE_MAP, |bytes| {
            let descriptors = (0..region_extents as u16).map(|index| map_page::read(bytes, index));
            descriptors.collect::<std::result::Result<Vec<_>, _>>().map_err(corrupt)
        })?;
        for (extent, descriptor) in (first..).zip(&mut descriptors) {
            let Some((ExtentUse::Owned(owner, _), pages)) = *descriptor else { continue };
            if state.segments.contains_key(&owner) {
                continue;
            }
            if extent < extents {
                return Err(corrupt(format!("extent {extent}: segment {owner} does not exist")));
            }
            state.ownerless.push((ExtentNo(extent as u32), pages));
            *descriptor = None;
        }
        if let Some(last) = descriptors.iter().rposition(Option::is_some) {
            cache.reach(ExtentNo((first + last as u64) as u32).first_page())?;
        }
        descriptors.truncate((cache.file_pages() / EXTENT_PAGES - first).min(region_extents) as usize);
        descriptors.into_iter().for_each(|descriptor| state.add_extent(descriptor));
    }
    Ok(())
}

impl Inner {
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

/// Returns whether the page in the file is all zeros.
fn is_blank(cache: &PageCache, page: PageNo) -> Result<bool> {
    let mut bytes = AlignedBuf::zeroed(cache.page_size);
    let offset = page.0 * cache.page_size as u64;
    cache.data.read_at(&mut bytes, offset).map_err(|source| StorageError::io("read", "data", source))?;
    Ok(bytes.iter().all(|byte| *byte == 0))
}

/// Reads a page in, pins it, and calls `read` with its bytes.
fn with_pinned<R>(
    cache: &PageCache,
    page: PageNo,
    kind: PageKind,
    read: impl FnOnce(&[u8]) -> Result<R>,
) -> Result<R> {
    loop {
        cache.fault_in(page)?;
        if let Latch::Held(guard) = cache.pool.exclusive(page) {
            page::check_kind(&guard, kind).map_err(|reason| StorageError::Corrupt { page, reason })?;
            cache.pool.pin(&guard);
            return read(&guard);
        }
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
