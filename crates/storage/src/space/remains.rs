//! Finds the pages of segments in a store whose space maps or segment directory are damaged, from the pages
//! themselves.
//!
//! Every page names its owner, but not whether it is still in use: freeing a page leaves it as it was. Where the
//! space map of its region can be read, the map tells, and the page is *certain*. Where it cannot, the page is
//! *claimed* by the segment that it names: it may be free, and have an old content.
//!
//! Nothing is repaired in the store itself. The caller reads the pages and writes them to another store.

use super::layout::{DIRECTORY_ROOT, EXTENT_PAGES, ExtentNo, Geometry};
use super::map_page::{self, Descriptor};
use super::record::ExtentUse;
use super::{SegmentState, directory};
use crate::device::AlignedBuf;
use crate::pool::PageCache;
use crate::{PageKind, PageNo, Result, SegmentId, page};
use std::collections::{BTreeMap, BTreeSet};

/// The pages that were found of a segment.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SalvagedSegment {
    /// Its state, if the directory has it.
    pub state: Option<SegmentState>,
    /// Its root page, if the directory has it.
    pub root: PageNo,
    /// Pages that are certainly in use by it.
    pub certain: Vec<PageNo>,
    /// Pages that name it as their owner, and may be free.
    pub claimed: Vec<PageNo>,
}

/// The segments and pages that were found of a store.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SalvagedStore {
    /// The segments, and some that were dropped.
    pub segments: BTreeMap<SegmentId, SalvagedSegment>,
    /// Whether the directory is complete.
    pub directory_is_whole: bool,
    /// Pages of the store itself that cannot be used, and why.
    pub damaged: BTreeMap<PageNo, String>,
    /// Pages whose content must not be trusted, and why: redo failed on them.
    pub unusable: BTreeMap<PageNo, String>,
    /// Pages that cannot be read, and whose owner, or whether they are in use, is unknown.
    pub unknown: BTreeSet<PageNo>,
}

impl SalvagedStore {
    /// Returns the segment that became live first: the one with the lowest number.
    pub fn first_segment(&self) -> Option<SegmentId> {
        let lives = |found: &SalvagedSegment| match found.state {
            Some(state) => state == SegmentState::Live,
            None => !self.directory_is_whole,
        };
        self.segments.iter().find(|(_, found)| lives(found)).map(|(id, _)| *id)
    }
}

/// Examines all pages. The log has been replayed on them, except on those that are `unusable`.
pub(crate) fn remains(
    cache: &PageCache,
    geometry: Geometry,
    unusable: BTreeMap<PageNo, String>,
) -> Result<SalvagedStore> {
    let remains = SalvagedStore { unusable, directory_is_whole: true, ..SalvagedStore::default() };
    let mut look = Survey { cache, geometry, remains, maps: Vec::new(), singles: BTreeMap::new() };
    look.read_maps();
    let seen = look.scan()?;
    look.read_directory(&seen);
    seen.into_iter().for_each(|(page, seen)| look.assign(page, seen));
    Ok(look.remains)
}

/// Kind and owner as a page states them; `None` if it cannot be read.
type Seen = Option<(PageKind, SegmentId)>;

struct Survey<'a> {
    cache: &'a PageCache,
    geometry: Geometry,
    remains: SalvagedStore,
    /// The space maps by region; `None` if a map cannot be used.
    maps: Vec<Option<Vec<Descriptor>>>,
    /// Pages that the directory says are held singly.
    singles: BTreeMap<PageNo, SegmentId>,
}

impl Survey<'_> {
    fn read_maps(&mut self) {
        if let Err(reason) = self.image(PageNo(0), PageKind::SUPERBLOCK) {
            self.remains.damaged.insert(PageNo(0), reason);
        }
        let extents = self.cache.file_pages() / EXTENT_PAGES;
        let per_region = u64::from(self.geometry.region_extents());
        for region in 0..extents.div_ceil(per_region) {
            let page = self.geometry.map_of_region(region as u32);
            let map = self.image(page, PageKind::SPACE_MAP).and_then(|bytes| {
                (0..per_region as u16).map(|index| map_page::read(&bytes, index)).collect()
            });
            self.maps.push(map.map_err(|reason| self.remains.damaged.insert(page, reason)).ok());
        }
    }

    /// Returns the bytes of a page of the store itself.
    fn image(&self, page: PageNo, kind: PageKind) -> Result<Vec<u8>, String> {
        if let Some(reason) = self.remains.unusable.get(&page) {
            return Err(reason.clone());
        }
        let guard = self.cache.shared(page).map_err(|error| error.to_string())?;
        page::check_kind(&guard, kind)?;
        Ok(guard.to_vec())
    }

    /// Returns what each page states. Leaves out pages that were never written.
    fn scan(&self) -> Result<Vec<(PageNo, Seen)>> {
        let size = self.cache.page_size;
        let mut seen = Vec::new();
        let mut bytes = AlignedBuf::zeroed(EXTENT_PAGES as usize * size);
        for extent in (0..self.cache.file_pages() / EXTENT_PAGES).map(|number| ExtentNo(number as u32)) {
            let first = extent.first_page();
            let whole = self.cache.data.read_at(&mut bytes, first.0 * size as u64).is_ok();
            for bit in 0..EXTENT_PAGES as u32 {
                let page = extent.page(bit);
                let at = bit as usize * size;
                let image = &mut bytes[at..at + size];
                let readable = whole || self.cache.data.read_at(image, page.0 * size as u64).is_ok();
                let found = if self.remains.unusable.contains_key(&page) {
                    None
                } else if let Some(guard) = self.cache.try_shared(page) {
                    Some((page::kind(&guard), page::owner(&guard)))
                } else if readable && image.iter().all(|byte| *byte == 0) {
                    continue;
                } else if readable && page::verify(image, page).is_ok() {
                    Some((page::kind(image), page::owner(image)))
                } else {
                    None
                };
                seen.push((page, found));
            }
        }
        Ok(seen)
    }

    /// Reads all directory pages, also those that no other page leads to.
    fn read_directory(&mut self, seen: &[(PageNo, Seen)]) {
        let mut expected = BTreeSet::from([DIRECTORY_ROOT]);
        let named = |(page, seen): &(PageNo, Seen)| {
            seen.filter(|(kind, _)| *kind == PageKind::SEGMENT_DIRECTORY).map(|_| *page)
        };
        let found: BTreeSet<PageNo> = seen.iter().filter_map(named).collect();
        for page in &found {
            let entries = self.image(*page, PageKind::SEGMENT_DIRECTORY).and_then(|bytes| {
                expected.insert(directory::next(&bytes));
                (0..directory::entries_per_page(bytes.len()))
                    .map(|entry| directory::read(&bytes, entry))
                    .collect::<Result<Vec<_>, _>>()
            });
            match entries {
                Ok(entries) => {
                    for entry in entries.into_iter().flatten() {
                        let segment = self.remains.segments.entry(entry.id).or_default();
                        (segment.state, segment.root) = (Some(entry.state), entry.root);
                        let used = entry.singles.into_iter().filter(|page| *page != PageNo::NONE);
                        self.singles.extend(used.map(|page| (page, entry.id)));
                    }
                }
                Err(reason) => drop(self.remains.damaged.insert(*page, reason)),
            }
        }
        expected.remove(&PageNo::NONE);
        for lost in expected.difference(&found) {
            let reason = self.image(*lost, PageKind::SEGMENT_DIRECTORY).err().unwrap_or_default();
            self.remains.damaged.insert(*lost, reason);
        }
        let is_damaged = |page: &PageNo| self.remains.damaged.contains_key(page);
        self.remains.directory_is_whole = !found.iter().chain(&expected).any(is_damaged);
    }

    /// Assigns a page to its owner.
    fn assign(&mut self, page: PageNo, seen: Seen) {
        let Some((extent, bit)) = ExtentNo::of(page) else { return };
        let region = (extent.0 / self.geometry.region_extents()) as usize;
        let index = (extent.0 % self.geometry.region_extents()) as usize;
        let owner = seen.map(|(_, owner)| owner);
        let single = self.singles.get(&page).copied();
        let known = match self.maps.get(region).and_then(Option::as_ref).map(|map| map.get(index)) {
            // Without the map nobody knows whether the page is in use.
            None => None,
            Some(Some(Some((usage, pages)))) if pages & bit != 0 => Some(*usage),
            Some(_) => return,
        };
        let (owner, certain) = match (known, single) {
            (Some(ExtentUse::Owned(owner, _)), _) => (Some(owner), true),
            (_, Some(owner)) => (Some(owner), true),
            (Some(ExtentUse::Shared), None) => (owner, true),
            (None, None) => (owner, false),
        };
        match owner {
            Some(SegmentId::NONE) => {}
            Some(owner) => {
                let segment = self.remains.segments.entry(owner).or_default();
                let pages = if certain { &mut segment.certain } else { &mut segment.claimed };
                pages.push(page);
            }
            None if self.remains.damaged.contains_key(&page) => {}
            None => drop(self.remains.unknown.insert(page)),
        }
    }
}
