//! Reading the space maps and the segment directory at open; both stay in memory from then on.

use super::layout::{DIRECTORY_ROOT, EXTENT_PAGES, Geometry};
use super::mirror::{EntryAt, SpaceState};
use super::record::ExtentUse;
use super::{directory, map_page};
use crate::device::AlignedBuf;
use crate::pool::{Latch, PageCache};
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
    // Who knows what was given back, or whether the file was copied with holes.
    state.doubt_free_extents();
    Ok(state)
}

type Single = (crate::SegmentId, usize, PageNo);

/// Reads the chain of directory pages. The single pages are returned: the maps they are checked against come next.
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

fn load_maps(cache: &PageCache, geometry: Geometry, state: &mut SpaceState) -> Result<()> {
    let extents = cache.file_pages() / EXTENT_PAGES;
    let region_extents = u64::from(geometry.region_extents());
    let regions = extents.div_ceil(region_extents);
    for region in 0..regions {
        let page = geometry.map_of_region(region as u32);
        if region > 0 && region + 1 == regions && !cache.pool.is_resident(page) && is_blank(cache, page)? {
            // The file grew into the region, but the page was not made any more: the next growth makes it.
            return Ok(());
        }
        with_pinned(cache, page, PageKind::SPACE_MAP, |bytes| {
            for index in 0..region_extents.min(extents - region * region_extents) {
                let corrupt = |reason: String| StorageError::Corrupt { page, reason };
                let descriptor = map_page::read(bytes, index as u16).map_err(corrupt)?;
                if let Some((ExtentUse::Owned(owner, _), _)) = descriptor
                    && !state.segments.contains_key(&owner)
                {
                    return Err(corrupt(format!("descriptor {index}: segment {owner} does not exist")));
                }
                state.add_extent(descriptor);
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Whether the page in the file is all zeros.
fn is_blank(cache: &PageCache, page: PageNo) -> Result<bool> {
    let mut bytes = AlignedBuf::zeroed(cache.page_size);
    let offset = page.0 * cache.page_size as u64;
    cache.data.read_at(&mut bytes, offset).map_err(|source| StorageError::io("read", "data", source))?;
    Ok(bytes.iter().all(|byte| *byte == 0))
}

/// Reads a page in for good and gives its bytes to `read`.
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
