//! Reads the space maps and the segment directory when a store is opened. Both stay in memory from then on.

use super::layout::{DIRECTORY_ROOT, EXTENT_PAGES, ExtentNo, Geometry};
use super::mirror::SpaceState;
use super::record::ExtentUse;
use super::segment::EntryAt;
use super::{directory, map_page};
use crate::device::AlignedBuf;
use crate::pool::{Latch, MAX_PAGES, PageCache};
use crate::{PageKind, PageNo, Result, StorageError, page};

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
            reach(cache, ExtentNo((first + last as u64) as u32).first_page())?;
        }
        descriptors.truncate((cache.file_pages() / EXTENT_PAGES - first).min(region_extents) as usize);
        descriptors.into_iter().for_each(|descriptor| state.add_extent(descriptor));
    }
    Ok(())
}

/// Extends `data` to hold the page, by whole extents. The log may name pages beyond the end of the file, because
/// the growth of the file was not synced before a crash.
pub(crate) fn reach(cache: &PageCache, page: PageNo) -> Result<()> {
    if page.0 < cache.file_pages() {
        return Ok(());
    }
    if page.0 >= MAX_PAGES {
        return Err(StorageError::Corrupt { page, reason: "no page has this number".into() });
    }
    let pages = (page.0 / EXTENT_PAGES + 1) * EXTENT_PAGES;
    let bytes = pages * cache.page_size as u64;
    cache.data.allocate(bytes).map_err(|source| StorageError::io("allocate", "data", source))?;
    cache.set_file_pages(pages);
    Ok(())
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
