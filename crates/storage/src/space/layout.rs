//! The division of `data` into pages, extents and regions.
//!
//! An extent is 64 pages. A region is as many extents as one space map page describes. The second page of a region is
//! its space map page:
//!
//! | page of `data`            | holds                                                       |
//! |---------------------------|-------------------------------------------------------------|
//! | 0                         | superblock                                                  |
//! | 1                         | space map of region 0                                       |
//! | 2                         | first page of the segment directory                         |
//! | region * region pages + 1 | space map of that region                                    |
//! | all others                | handed out, singly from shared extents or in whole extents  |
//!
//! The superblock is written once, when the store is made: magic "LEAFLINE" at 32, page size u32 at 40, number of the
//! database u64 at 48.

use crate::page::bytes;
use crate::{PAGE_HEADER, PageKind, PageNo, SegmentId, page};

/// Pages of an extent.
pub(crate) const EXTENT_PAGES: u64 = 64;
/// First page of the segment directory.
pub(crate) const DIRECTORY_ROOT: PageNo = PageNo(2);
/// Pages in use in a new store, one bit each: superblock, space map, segment directory.
pub(crate) const FIRST_USED: u64 = 0b111;
/// The bit of the space map page in its extent.
pub(crate) const MAP_BIT: u64 = 0b10;
/// Bytes of an extent descriptor.
pub(super) const DESCRIPTOR: usize = 24;

const MAGIC: &[u8; 8] = b"LEAFLINE";

/// Number of an extent: its first page / 64.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ExtentNo(pub(crate) u32);

impl ExtentNo {
    /// Returns the extent's first page.
    pub(crate) fn first_page(self) -> PageNo {
        PageNo(u64::from(self.0) * EXTENT_PAGES)
    }

    /// Returns page number `index` of the extent.
    pub(crate) fn page(self, index: u32) -> PageNo {
        PageNo(self.first_page().0 + u64::from(index))
    }

    /// Returns the extent of a page, and the page's bit in it. Returns `None` for numbers that no page has.
    pub(crate) fn of(page: PageNo) -> Option<(ExtentNo, u64)> {
        let extent = u32::try_from(page.0 / EXTENT_PAGES).ok()?;
        Some((ExtentNo(extent), 1 << (page.0 % EXTENT_PAGES)))
    }
}

/// Iterates over the runs of ones among the bits of an extent's pages, as first page and length.
pub(crate) fn runs(mut pages: u64) -> impl Iterator<Item = (u32, u32)> {
    std::iter::from_fn(move || {
        let first = (pages != 0).then(|| pages.trailing_zeros())?;
        let count = (pages >> first).trailing_ones();
        pages &= if first + count == u64::BITS { 0 } else { u64::MAX << (first + count) };
        Some((first, count))
    })
}

/// The sizes that depend on the page size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    region_extents: u32,
}

impl Geometry {
    /// Returns the geometry of a store with pages of `page_size` bytes.
    pub(crate) fn new(page_size: usize) -> Geometry {
        let fitting = ((page_size - PAGE_HEADER) / DESCRIPTOR) as u32;
        // The number is a power of two, which leaves space on the page.
        Geometry { region_extents: 1 << fitting.ilog2() }
    }

    /// Returns the number of extents that one space map page describes.
    pub(crate) fn region_extents(&self) -> u32 {
        self.region_extents
    }

    /// Returns the space map page of a region.
    pub(crate) fn map_of_region(&self, region: u32) -> PageNo {
        PageNo(u64::from(region) * u64::from(self.region_extents) * EXTENT_PAGES + 1)
    }

    /// Returns the space map page that describes the extent, and the index of the descriptor.
    pub(crate) fn descriptor(&self, extent: ExtentNo) -> (PageNo, u16) {
        let region = extent.0 / self.region_extents;
        (self.map_of_region(region), (extent.0 % self.region_extents) as u16)
    }

    /// Returns whether the page is a space map page.
    pub(crate) fn is_map(&self, page: PageNo) -> bool {
        page.0 % (u64::from(self.region_extents) * EXTENT_PAGES) == 1
    }
}

/// Returns the superblock of a new store.
pub(crate) fn superblock(page_size: usize, database_id: u64) -> Vec<u8> {
    let mut block = vec![0; page_size];
    page::initialise(&mut block, PageNo(0), PageKind::SUPERBLOCK, SegmentId::NONE);
    bytes::put(&mut block, PAGE_HEADER, MAGIC);
    bytes::put(&mut block, 40, &(page_size as u32).to_le_bytes());
    bytes::put(&mut block, 48, &database_id.to_le_bytes());
    block
}

/// Checks that the verified superblock belongs to this database.
pub(crate) fn check_superblock(block: &[u8], page_size: usize, database_id: u64) -> Result<(), String> {
    page::check_kind(block, PageKind::SUPERBLOCK)?;
    if bytes::array_at(block, PAGE_HEADER).as_ref() != Some(MAGIC) {
        return Err("not a Leafline superblock".into());
    }
    if bytes::u32_at(block, 40) != Some(page_size as u32) {
        return Err("page size differs from the control file's".into());
    }
    if bytes::u64_at(block, 48) != Some(database_id) {
        return Err("belongs to another database than the control file".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_ones() {
        assert_eq!(runs(0).collect::<Vec<_>>(), []);
        assert_eq!(runs(u64::MAX).collect::<Vec<_>>(), [(0, 64)]);
        assert_eq!(runs(0b1011_0110 | 1 << 63).collect::<Vec<_>>(), [(1, 2), (4, 2), (7, 1), (63, 1)]);
    }

    #[test]
    fn every_extent_has_its_own_descriptor_within_the_page() {
        for page_size in [4096, 8192, 16384, 65536] {
            let geometry = Geometry::new(page_size);
            let extents = geometry.region_extents();
            assert!(PAGE_HEADER + extents as usize * DESCRIPTOR <= page_size);
            assert_eq!(geometry.descriptor(ExtentNo(0)), (PageNo(1), 0));
            assert_eq!(geometry.descriptor(ExtentNo(extents - 1)), (PageNo(1), (extents - 1) as u16));
            let second = geometry.map_of_region(1);
            assert_eq!(geometry.descriptor(ExtentNo(extents)), (second, 0));
            assert!(geometry.is_map(PageNo(1)) && geometry.is_map(second) && !geometry.is_map(PageNo(2)));
            assert_eq!(ExtentNo::of(second), Some((ExtentNo(extents), 2)));
        }
    }
}
