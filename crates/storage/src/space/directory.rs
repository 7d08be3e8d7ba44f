//! Segment directory pages: the segments of a store, and the pages that they hold singly.
//!
//! A chain of pages that starts at page 2. After the page header:
//!
//! | offset | bytes | field                                                                       |
//! |-------:|------:|-----------------------------------------------------------------------------|
//! |     32 |     8 | next page of the directory, 0 for the last                                   |
//! |     40 |     8 | highest segment id ever created on this page: ids are never reused           |
//! |     48 |       | entries of 280 bytes                                                         |
//!
//! An entry:
//!
//! | offset | bytes | field                                                                       |
//! |-------:|------:|-----------------------------------------------------------------------------|
//! |      0 |     8 | segment id, 0 for an unused entry                                            |
//! |      8 |     1 | state: 1 building, 2 live, 3 dropping                                        |
//! |      9 |     7 | zero                                                                         |
//! |     16 |     8 | root page, 0 before there is one                                             |
//! |     24 |   256 | single pages, 32 slots, 0 for an unused one                                  |

use super::record::SpaceRecord;
use super::{SINGLE_PAGES, SegmentState};
use crate::page::bytes;
use crate::{PageKind, PageNo, RedoError, SegmentId, page};

const NEXT: usize = 32;
const HIGHEST_ID: usize = 40;
const ENTRIES: usize = 48;
const ENTRY: usize = 24 + 8 * SINGLE_PAGES;

/// An entry of the directory, decoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) id: SegmentId,
    pub(crate) state: SegmentState,
    pub(crate) root: PageNo,
    pub(crate) singles: [PageNo; SINGLE_PAGES],
}

/// Returns the number of entries on a directory page of this size.
pub(crate) fn entries_per_page(page_size: usize) -> u16 {
    ((page_size - ENTRIES) / ENTRY) as u16
}

/// Returns the next page of the directory.
pub(crate) fn next(directory: &[u8]) -> PageNo {
    PageNo(bytes::u64_at(directory, NEXT).unwrap_or(0))
}

/// Returns the highest segment id ever created on the page.
pub(crate) fn highest_id(directory: &[u8]) -> u64 {
    bytes::u64_at(directory, HIGHEST_ID).unwrap_or(0)
}

fn offset(directory: &[u8], entry: u16) -> Result<usize, String> {
    match entry < entries_per_page(directory.len()) {
        true => Ok(ENTRIES + usize::from(entry) * ENTRY),
        false => Err(format!("entry {entry} is outside the page")),
    }
}

fn long(directory: &[u8], at: usize) -> Result<u64, String> {
    bytes::u64_at(directory, at).ok_or_else(|| "entry is outside the page".to_string())
}

/// Reads an entry. Returns `None` if it is unused, and an error that says what is wrong if it is invalid.
pub(crate) fn read(directory: &[u8], entry: u16) -> Result<Option<Entry>, String> {
    let at = offset(directory, entry)?;
    let id = SegmentId(long(directory, at)?);
    if id == SegmentId::NONE {
        return Ok(None);
    }
    let code = bytes::u8_at(directory, at + 8).unwrap_or(0);
    let state = SegmentState::from_code(code).ok_or_else(|| format!("segment {id} has state {code}"))?;
    let mut singles = [PageNo::NONE; SINGLE_PAGES];
    for (slot, single) in singles.iter_mut().enumerate() {
        *single = PageNo(long(directory, at + 24 + 8 * slot)?);
    }
    Ok(Some(Entry { id, state, root: PageNo(long(directory, at + 16)?), singles }))
}

fn used(directory: &[u8], entry: u16) -> Result<usize, RedoError> {
    let at = offset(directory, entry)?;
    match long(directory, at)? {
        0 => Err(format!("entry {entry} is not in use").into()),
        _ => Ok(at),
    }
}

/// Applies a record of a directory page.
pub(super) fn redo(record: &SpaceRecord, directory: &mut [u8]) -> Result<(), RedoError> {
    if page::kind(directory) != PageKind::SEGMENT_DIRECTORY {
        return Err("not a segment directory page".into());
    }
    match *record {
        SpaceRecord::CreateSegment { entry, id } => {
            let at = offset(directory, entry)?;
            if long(directory, at)? != 0 {
                return Err(format!("entry {entry} is in use").into());
            }
            if let Some(bytes) = directory.get_mut(at..at + ENTRY) {
                bytes.fill(0);
            }
            bytes::put(directory, at, &id.0.to_le_bytes());
            bytes::put(directory, at + 8, &[SegmentState::Building.code()]);
            let highest = highest_id(directory).max(id.0);
            bytes::put(directory, HIGHEST_ID, &highest.to_le_bytes());
        }
        SpaceRecord::SetState { entry, state } => {
            let at = used(directory, entry)?;
            bytes::put(directory, at + 8, &[state.code()]);
        }
        SpaceRecord::SetSingle { entry, slot, page } => {
            let at = used(directory, entry)?;
            if usize::from(slot) >= SINGLE_PAGES {
                return Err(format!("single page slot {slot}").into());
            }
            bytes::put(directory, at + 24 + 8 * usize::from(slot), &page.0.to_le_bytes());
        }
        SpaceRecord::SetRoot { entry, page } => {
            let at = used(directory, entry)?;
            bytes::put(directory, at + 16, &page.0.to_le_bytes());
        }
        SpaceRecord::RemoveSegment { entry } => {
            let at = used(directory, entry)?;
            if let Some(bytes) = directory.get_mut(at..at + ENTRY) {
                bytes.fill(0);
            }
        }
        SpaceRecord::LinkDirectory { page } => {
            bytes::put(directory, NEXT, &page.0.to_le_bytes());
        }
        _ => return Err("not a record of a segment directory page".into()),
    }
    Ok(())
}
