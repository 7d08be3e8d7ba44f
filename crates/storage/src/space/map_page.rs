//! Space map pages: one descriptor for each extent of a region.
//!
//! The page is the header followed by the descriptors, 24 bytes each:
//!
//! | offset | bytes | field                                                        |
//! |-------:|------:|--------------------------------------------------------------|
//! |      0 |     8 | pages in use, one bit each                                   |
//! |      8 |     8 | owner: segment id, 0 for shared and free extents             |
//! |     16 |     1 | state: 0 free, 1 shared, 2 owned                             |
//! |     17 |     1 | class of the pages: 0 leaf, 1 branch                         |
//! |     18 |     6 | zero                                                         |
//!
//! A descriptor without a page in use is all zeros. The LSN since which an extent is free is not stored: after a
//! restart every free extent is durably free.

use super::layout::DESCRIPTOR;
use super::record::{ExtentUse, SpaceRecord};
use crate::page::bytes;
use crate::{PAGE_HEADER, PageKind, RedoError, page};

/// A descriptor: the use of the extent, and its pages in use. `None` for a free extent.
pub(crate) type Descriptor = Option<(ExtentUse, u64)>;

fn offset(index: u16) -> usize {
    PAGE_HEADER + usize::from(index) * DESCRIPTOR
}

/// Reads descriptor `index`. An error says what is wrong with it.
pub(crate) fn read(map: &[u8], index: u16) -> Result<Descriptor, String> {
    let at = offset(index);
    let (Some(pages), Some(owner), Some(state), Some(class)) = (
        bytes::u64_at(map, at),
        bytes::u64_at(map, at + 8),
        bytes::u8_at(map, at + 16),
        bytes::u8_at(map, at + 17),
    ) else {
        return Err(format!("descriptor {index} is outside the page"));
    };
    if state == 0 && pages == 0 && owner == 0 {
        return Ok(None);
    }
    match ExtentUse::decode(state, class, owner) {
        Some(usage) if pages != 0 => Ok(Some((usage, pages))),
        _ => Err(format!(
            "descriptor {index} has state {state}, class {class}, owner {owner}, pages {pages:x}"
        )),
    }
}

fn write(map: &mut [u8], index: u16, descriptor: Descriptor) {
    let (usage, pages) = match descriptor {
        Some((usage, pages)) => (usage.encode(), pages),
        None => ((0, 0, 0), 0),
    };
    let (state, class, owner) = usage;
    let at = offset(index);
    bytes::put(map, at, &pages.to_le_bytes());
    bytes::put(map, at + 8, &owner.to_le_bytes());
    bytes::put(map, at + 16, &[state, class]);
}

/// Applies a `SetPages` or `ClearPages` record.
pub(super) fn redo(record: &SpaceRecord, map: &mut [u8]) -> Result<(), RedoError> {
    if page::kind(map) != PageKind::SPACE_MAP {
        return Err("not a space map page".into());
    }
    match *record {
        SpaceRecord::SetPages { descriptor, usage, pages } => {
            let before = match read(map, descriptor)? {
                None => 0,
                Some((found, before)) if found == usage => before,
                Some((found, _)) => {
                    return Err(
                        format!("extent {descriptor} is {found:?}, pages are taken for {usage:?}").into()
                    );
                }
            };
            if before & pages != 0 {
                return Err(
                    format!("extent {descriptor}: pages {:x} are in use already", before & pages).into()
                );
            }
            write(map, descriptor, Some((usage, before | pages)));
            Ok(())
        }
        SpaceRecord::ClearPages { descriptor, pages } => match read(map, descriptor)? {
            Some((usage, before)) if before & pages == pages => {
                let left = before & !pages;
                write(map, descriptor, (left != 0).then_some((usage, left)));
                Ok(())
            }
            found => Err(format!("extent {descriptor}: pages {pages:x} of {found:?} are not in use").into()),
        },
        _ => Err("not a record of a space map page".into()),
    }
}
