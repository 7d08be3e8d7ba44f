//! The redo records of handler 0: changes of the store's own pages.
//!
//! | kind | record        | payload                                                     | page              |
//! |-----:|---------------|-------------------------------------------------------------|-------------------|
//! |    1 | InitPage      | page u64, kind u8, owner u64                                | any               |
//! |    2 | SetPages      | descriptor u16, state u8, class u8, owner u64, pages u64    | space map         |
//! |    3 | ClearPages    | descriptor u16, pages u64                                   | space map         |
//! |    4 | CreateSegment | entry u16, id u64                                           | segment directory |
//! |    5 | SetState      | entry u16, state u8                                         | segment directory |
//! |    6 | SetSingle     | entry u16, slot u8, page u64                                | segment directory |
//! |    7 | SetRoot       | entry u16, page u64                                         | segment directory |
//! |    8 | RemoveSegment | entry u16                                                   | segment directory |
//! |    9 | LinkDirectory | page u64                                                    | segment directory |
//!
//! SetPages and ClearPages carry all that makes the descriptor valid, so the records of concurrent mini-transactions
//! on different pages of one extent can be applied in any order. Whatever prefix of the log survives, a descriptor
//! with a page in use names its owner, and one without is free.

use super::{PageClass, SegmentState};
use crate::page::bytes::Reader;
use crate::{PageKind, PageNo, SegmentId};

/// The use of an extent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExtentUse {
    /// Its pages are handed out singly.
    Shared,
    /// It belongs to a segment.
    Owned(SegmentId, PageClass),
}

/// A change of one of the store's own pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SpaceRecord {
    InitPage { page: PageNo, kind: PageKind, owner: SegmentId },
    SetPages { descriptor: u16, usage: ExtentUse, pages: u64 },
    ClearPages { descriptor: u16, pages: u64 },
    CreateSegment { entry: u16, id: SegmentId },
    SetState { entry: u16, state: SegmentState },
    SetSingle { entry: u16, slot: u8, page: PageNo },
    SetRoot { entry: u16, page: PageNo },
    RemoveSegment { entry: u16 },
    LinkDirectory { page: PageNo },
}

/// Log bytes of handing out one page: InitPage, SetPages and SetSingle with their record headers.
pub(crate) const ALLOCATE_LOG_BYTES: usize = 96;
/// Log bytes of giving back one page: ClearPages and SetSingle with their record headers.
pub const FREE_PAGE_LOG_BYTES: usize = 48;

fn class_code(class: PageClass) -> u8 {
    match class {
        PageClass::Leaf => 0,
        PageClass::Branch => 1,
    }
}

pub(super) fn class_of(code: u8) -> Option<PageClass> {
    match code {
        0 => Some(PageClass::Leaf),
        1 => Some(PageClass::Branch),
        _ => None,
    }
}

impl ExtentUse {
    /// Returns state, class and owner as they are stored. State 0 is a free extent.
    pub(super) fn encode(self) -> (u8, u8, u64) {
        match self {
            ExtentUse::Shared => (1, 0, 0),
            ExtentUse::Owned(owner, class) => (2, class_code(class), owner.0),
        }
    }

    pub(super) fn decode(state: u8, class: u8, owner: u64) -> Option<ExtentUse> {
        match (state, owner) {
            (1, 0) => Some(ExtentUse::Shared),
            (2, 1..) => Some(ExtentUse::Owned(SegmentId(owner), class_of(class)?)),
            _ => None,
        }
    }
}

impl SpaceRecord {
    /// Returns the kind and the payload of the record.
    pub(crate) fn encode(&self) -> (u8, Vec<u8>) {
        let mut out = Vec::with_capacity(24);
        let entry = |out: &mut Vec<u8>, entry: u16| out.extend_from_slice(&entry.to_le_bytes());
        let long = |out: &mut Vec<u8>, value: u64| out.extend_from_slice(&value.to_le_bytes());
        let kind = match *self {
            SpaceRecord::InitPage { page, kind, owner } => {
                long(&mut out, page.0);
                out.push(kind.0);
                long(&mut out, owner.0);
                1
            }
            SpaceRecord::SetPages { descriptor, usage, pages } => {
                let (state, class, owner) = usage.encode();
                entry(&mut out, descriptor);
                out.extend_from_slice(&[state, class]);
                long(&mut out, owner);
                long(&mut out, pages);
                2
            }
            SpaceRecord::ClearPages { descriptor, pages } => {
                entry(&mut out, descriptor);
                long(&mut out, pages);
                3
            }
            SpaceRecord::CreateSegment { entry: at, id } => {
                entry(&mut out, at);
                long(&mut out, id.0);
                4
            }
            SpaceRecord::SetState { entry: at, state } => {
                entry(&mut out, at);
                out.push(state.code());
                5
            }
            SpaceRecord::SetSingle { entry: at, slot, page } => {
                entry(&mut out, at);
                out.push(slot);
                long(&mut out, page.0);
                6
            }
            SpaceRecord::SetRoot { entry: at, page } => {
                entry(&mut out, at);
                long(&mut out, page.0);
                7
            }
            SpaceRecord::RemoveSegment { entry: at } => {
                entry(&mut out, at);
                8
            }
            SpaceRecord::LinkDirectory { page } => {
                long(&mut out, page.0);
                9
            }
        };
        (kind, out)
    }

    /// Decodes a record. Returns `None` if kind and payload form none.
    pub(crate) fn decode(kind: u8, payload: &[u8]) -> Option<SpaceRecord> {
        let mut r = Reader::new(payload);
        let record = match kind {
            1 => SpaceRecord::InitPage {
                page: PageNo(r.u64()?),
                kind: PageKind(r.u8()?),
                owner: SegmentId(r.u64()?),
            },
            2 => {
                let descriptor = r.u16()?;
                let (state, class) = (r.u8()?, r.u8()?);
                let usage = ExtentUse::decode(state, class, r.u64()?)?;
                SpaceRecord::SetPages { descriptor, usage, pages: r.u64()? }
            }
            3 => SpaceRecord::ClearPages { descriptor: r.u16()?, pages: r.u64()? },
            4 => SpaceRecord::CreateSegment { entry: r.u16()?, id: SegmentId(r.u64()?) },
            5 => SpaceRecord::SetState { entry: r.u16()?, state: SegmentState::from_code(r.u8()?)? },
            6 => SpaceRecord::SetSingle { entry: r.u16()?, slot: r.u8()?, page: PageNo(r.u64()?) },
            7 => SpaceRecord::SetRoot { entry: r.u16()?, page: PageNo(r.u64()?) },
            8 => SpaceRecord::RemoveSegment { entry: r.u16()? },
            9 => SpaceRecord::LinkDirectory { page: PageNo(r.u64()?) },
            _ => return None,
        };
        r.is_empty().then_some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_encoding_and_fit_the_log_bounds() {
        let records = [
            SpaceRecord::InitPage { page: PageNo(77), kind: PageKind::LEAF, owner: SegmentId(4) },
            SpaceRecord::SetPages { descriptor: 3, usage: ExtentUse::Shared, pages: 6 },
            SpaceRecord::SetPages {
                descriptor: 9,
                usage: ExtentUse::Owned(SegmentId(8), PageClass::Branch),
                pages: 1 << 63,
            },
            SpaceRecord::ClearPages { descriptor: 500, pages: 1 },
            SpaceRecord::CreateSegment { entry: 2, id: SegmentId(9) },
            SpaceRecord::SetState { entry: 1, state: SegmentState::Dropping },
            SpaceRecord::SetSingle { entry: 1, slot: 31, page: PageNo(5) },
            SpaceRecord::SetRoot { entry: 6, page: PageNo(8) },
            SpaceRecord::RemoveSegment { entry: 7 },
            SpaceRecord::LinkDirectory { page: PageNo(70) },
        ];
        let size = |record: &SpaceRecord| record.encode().1.len() + crate::redo::RECORD_OVERHEAD;
        for record in &records {
            let (kind, payload) = record.encode();
            assert_eq!(SpaceRecord::decode(kind, &payload).as_ref(), Some(record));
            assert_eq!(SpaceRecord::decode(kind, &payload[..payload.len() - 1]), None);
        }
        assert!(size(&records[0]) + size(&records[1]) + size(&records[6]) <= ALLOCATE_LOG_BYTES);
        assert!(size(&records[3]) + size(&records[6]) <= FREE_PAGE_LOG_BYTES);
    }
}
