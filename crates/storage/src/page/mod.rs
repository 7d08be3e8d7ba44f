//! The page header, with which every page of `data` begins, whatever its kind.
//!
//! This module owns the header's byte layout and the checksum. It knows nothing of the bytes after the header.
//!
//! | offset | bytes | field    | meaning                                                            |
//! |-------:|------:|----------|--------------------------------------------------------------------|
//! |      0 |     4 | checksum | crc32c of bytes 4.. of the page, written when the page is written to disk |
//! |      4 |     1 | kind     | [`PageKind`]                                                       |
//! |      5 |     1 | format   | version of the layout of this kind                                 |
//! |      6 |     2 | flags    | owned by the layout of this kind, except the highest: [`SOFT`]      |
//! |      8 |     8 | page_no  | the page's own number: finds misdirected writes                    |
//! |     16 |     8 | lsn      | end of the last mini-transaction that changed the page             |
//! |     24 |     8 | owner    | id of the segment the page belongs to, 0 for the store's own pages |
//!
//! All integers are little-endian. The checksum is right only on disk; pages in memory have a stale one.

pub mod bytes;

use crate::{Lsn, PageNo, SegmentId};

/// Bytes of the header at the start of every page.
pub const PAGE_HEADER: usize = 32;
/// Smallest supported page size, in bytes.
pub const MIN_PAGE_SIZE: usize = 4096;
/// Largest supported page size, in bytes.
pub const MAX_PAGE_SIZE: usize = 65536;
/// How often a page is read before it counts as unreadable. An occasional failure of the device is no damage.
pub(crate) const READ_ATTEMPTS: usize = 5;

/// Version of the layouts of the store's own pages: superblock, space map, segment directory.
const STORE_FORMAT: u8 = 1;

/// Flag of any kind of page: the page has changes that were made in memory alone, neither logged nor written. Never
/// on disk.
pub const SOFT: u16 = 0x8000;

const CHECKSUM: usize = 0;
const KIND: usize = 4;
const FORMAT: usize = 5;
const FLAGS: usize = 6;
const PAGE_NO: usize = 8;
const LSN: usize = 16;
const OWNER: usize = 24;

/// The kind of a page. Values below 16 belong to this crate, the others to the crates above.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageKind(pub u8);

impl PageKind {
    /// A page that was never written: all zeros.
    pub const NONE: PageKind = PageKind(0);
    /// Page 0 of `data`.
    pub const SUPERBLOCK: PageKind = PageKind(1);
    /// Extent descriptors.
    pub const SPACE_MAP: PageKind = PageKind(2);
    /// Segment entries.
    pub const SEGMENT_DIRECTORY: PageKind = PageKind(3);
    /// A page that was allocated and not formatted yet by its owner.
    pub const ALLOCATED: PageKind = PageKind(4);
    /// A B+tree leaf.
    pub const LEAF: PageKind = PageKind(16);
    /// A B+tree branch.
    pub const BRANCH: PageKind = PageKind(17);
}

fn field<const N: usize>(page: &[u8], at: usize) -> [u8; N] {
    bytes::array_at(page, at).expect("a page is longer than its header")
}

/// Returns the page's kind.
pub fn kind(page: &[u8]) -> PageKind {
    PageKind(field::<1>(page, KIND)[0])
}

/// Returns the version of the layout of the page's kind.
pub fn format(page: &[u8]) -> u8 {
    field::<1>(page, FORMAT)[0]
}

/// Checks that one of the store's own pages has the kind and version that this program reads. The error says what is
/// wrong.
pub(crate) fn check_kind(page: &[u8], expected: PageKind) -> Result<(), String> {
    if kind(page) != expected {
        return Err(format!("kind {} where {} was expected", kind(page).0, expected.0));
    }
    match format(page) {
        STORE_FORMAT => Ok(()),
        other => Err(format!("version {other} of kind {}, this program reads {STORE_FORMAT}", expected.0)),
    }
}

/// Returns the flags owned by the layout of the page's kind.
pub fn flags(page: &[u8]) -> u16 {
    u16::from_le_bytes(field(page, FLAGS))
}

/// Returns whether the page holds changes that were made in memory alone.
pub fn is_soft(page: &[u8]) -> bool {
    flags(page) & SOFT != 0
}

/// Returns the number that the page says it has.
pub fn page_no(page: &[u8]) -> PageNo {
    PageNo(u64::from_le_bytes(field(page, PAGE_NO)))
}

/// Returns the end of the last mini-transaction that changed the page.
pub fn lsn(page: &[u8]) -> Lsn {
    Lsn(u64::from_le_bytes(field(page, LSN)))
}

/// Returns the segment that the page belongs to.
pub fn owner(page: &[u8]) -> SegmentId {
    SegmentId(u64::from_le_bytes(field(page, OWNER)))
}

/// Sets the page's kind and layout version. For redo handlers that format a page.
pub fn set_kind(page: &mut [u8], kind: PageKind, format: u8) {
    bytes::put(page, KIND, &[kind.0, format]);
}

/// Sets the flags of the page's kind.
pub fn set_flags(page: &mut [u8], flags: u16) {
    bytes::put(page, FLAGS, &flags.to_le_bytes());
}

pub(crate) fn set_lsn(page: &mut [u8], lsn: Lsn) {
    bytes::put(page, LSN, &lsn.0.to_le_bytes());
}

/// Writes the page's number and owner.
pub(crate) fn set_identity(page: &mut [u8], page_no: PageNo, owner: SegmentId) {
    bytes::put(page, PAGE_NO, &page_no.0.to_le_bytes());
    bytes::put(page, OWNER, &owner.0.to_le_bytes());
}

/// Zeroes the page and writes a new header. The LSN is zero until the mini-transaction commits.
pub(crate) fn initialise(page: &mut [u8], page_no: PageNo, kind: PageKind, owner: SegmentId) {
    page.fill(0);
    set_kind(page, kind, STORE_FORMAT);
    set_identity(page, page_no, owner);
}

fn checksum(page: &[u8]) -> u32 {
    crc32c::crc32c(&page[KIND..])
}

/// Writes the checksum. This is the last step before the page is written.
pub(crate) fn seal(page: &mut [u8]) {
    let sum = checksum(page);
    bytes::put(page, CHECKSUM, &sum.to_le_bytes());
}

/// Returns the checksum stored in the page.
pub(crate) fn stored_checksum(page: &[u8]) -> u32 {
    u32::from_le_bytes(field(page, CHECKSUM))
}

/// Checks a page that was read from disk as page `expected`. The error says what is wrong.
pub(crate) fn verify(page: &[u8], expected: PageNo) -> Result<(), String> {
    let (stored, computed) = (stored_checksum(page), checksum(page));
    if stored != computed {
        if page.iter().all(|&b| b == 0) {
            return Err("page was never written".into());
        }
        return Err(format!("checksum {stored:08x} stored, {computed:08x} computed"));
    }
    let found = page_no(page);
    if found != expected {
        return Err(format!("holds page {}", found.0));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_page_verifies_and_any_flipped_byte_is_found() {
        let mut page = vec![0u8; 4096];
        initialise(&mut page, PageNo(7), PageKind::LEAF, SegmentId(3));
        set_lsn(&mut page, Lsn(99));
        set_flags(&mut page, 0x1234);
        seal(&mut page);
        assert_eq!(verify(&page, PageNo(7)), Ok(()));
        assert_eq!(
            (kind(&page), lsn(&page), owner(&page), flags(&page)),
            (PageKind::LEAF, Lsn(99), SegmentId(3), 0x1234)
        );
        assert!(verify(&page, PageNo(8)).is_err());
        for at in [0, 4, 9, 17, 30, 32, 4095] {
            let mut bad = page.clone();
            bad[at] ^= 1;
            assert!(verify(&bad, PageNo(7)).is_err(), "byte {at}");
        }
    }

    #[test]
    fn pages_of_another_kind_or_version_are_refused() {
        let mut page = vec![0u8; 4096];
        initialise(&mut page, PageNo(1), PageKind::SPACE_MAP, SegmentId::NONE);
        assert_eq!(check_kind(&page, PageKind::SPACE_MAP), Ok(()));
        assert!(check_kind(&page, PageKind::SUPERBLOCK).is_err());
        for version in [0, 2, 255] {
            set_kind(&mut page, PageKind::SPACE_MAP, version);
            let error = check_kind(&page, PageKind::SPACE_MAP).unwrap_err();
            assert!(error.contains("version"), "{error}");
        }
    }

    #[test]
    fn zero_page_is_reported_as_never_written() {
        assert_eq!(verify(&[0u8; 4096], PageNo(5)), Err("page was never written".into()));
    }
}
