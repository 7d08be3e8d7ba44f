//! A segment in memory: its entry in the directory, its pages and its extents.

use super::layout::ExtentNo;
use super::{PageClass, SINGLE_PAGES, SegmentState};
use crate::PageNo;
use std::collections::BTreeSet;

/// The place of a segment's directory entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct EntryAt {
    pub(crate) page: PageNo,
    pub(crate) entry: u16,
}

/// A segment.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) at: EntryAt,
    pub(crate) state: SegmentState,
    pub(crate) root: PageNo,
    pub(crate) singles: [PageNo; SINGLE_PAGES],
    pub(crate) extents: BTreeSet<ExtentNo>,
    /// Owned extents with unused pages, by class.
    pub(super) with_space: [BTreeSet<ExtentNo>; PageClass::COUNT],
    /// Unused pages of owned extents, by class.
    pub(super) unused: [u64; PageClass::COUNT],
    pub(crate) pages: u64,
}

impl Segment {
    pub(super) fn new(at: EntryAt, state: SegmentState) -> Segment {
        Segment {
            at,
            state,
            root: PageNo::NONE,
            singles: [PageNo::NONE; SINGLE_PAGES],
            extents: BTreeSet::new(),
            with_space: Default::default(),
            unused: [0; PageClass::COUNT],
            pages: 0,
        }
    }

    /// Returns the number of single pages that the segment could still take.
    pub(super) fn free_singles(&self) -> u64 {
        self.singles.iter().filter(|page| **page == PageNo::NONE).count() as u64
    }

    /// Returns the unused pages of the extents of each class; `None` if the segment has no extents.
    pub(super) fn unused(&self) -> Option<&[u64; PageClass::COUNT]> {
        (!self.extents.is_empty()).then_some(&self.unused)
    }

    pub(super) fn free_single(&self) -> Option<u8> {
        self.singles.iter().position(|page| *page == PageNo::NONE).map(|slot| slot as u8)
    }
}
