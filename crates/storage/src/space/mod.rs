//! Space: which segment owns which page of `data`. [`crate::allocation`] changes it.
//!
//! | module | holds |
//! |---|---|
//! | `layout` | the division of the file into pages, extents and regions |
//! | `record`, `redo` | the redo records of the store's own pages |
//! | `map_page`, `directory` | the two kinds of page that record ownership |
//! | `mirror` | the state of these pages in memory, and the promises to reservations |
//! | `segment` | a segment in memory |
//! | `demand` | the number of extents that promised pages can cost |
//! | `spare` | the free extents that are not needed |
//! | `open` | reading the maps and the directory when a store is opened |
//! | `unlogged` | tracking of unlogged writes while a backup is made |
//! | `remains` | finding the pages of segments where the maps or the directory are damaged |
//!
//! A segment's first 32 pages come singly from shared extents, so that small tables stay small. After that it takes
//! extents of 64 pages, separate ones for leaves and for branches.

mod demand;
pub(crate) mod directory;
mod layout;
pub(crate) mod map_page;
mod mirror;
#[cfg(test)]
mod mirror_tests;
mod open;
mod record;
mod redo;
mod remains;
mod segment;
mod spare;
mod unlogged;

pub(crate) use layout::{
    DIRECTORY_ROOT, EXTENT_PAGES, ExtentNo, FIRST_USED, Geometry, MAP_BIT, check_superblock, runs, superblock,
};
pub(crate) use mirror::{AllocatedPage, SpaceState};
pub(crate) use open::{load, reach};
pub use record::FREE_PAGE_LOG_BYTES;
pub(crate) use record::{ALLOCATE_LOG_BYTES, ExtentUse, SpaceRecord};
pub(crate) use redo::SpaceRedo;
pub(crate) use remains::remains;
pub use remains::{SalvagedSegment, SalvagedStore};
pub(crate) use segment::{EntryAt, Segment};
pub(crate) use spare::{Releasing, step};
pub(crate) use unlogged::{Unlogged, Write as UnloggedWrite};

use crate::log::Log;
use crate::{Lsn, PageNo, SegmentId};
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of pages that a segment holds singly before it takes extents.
pub(crate) const SINGLE_PAGES: usize = 32;

/// The kind of tree page that an allocation is for. The two classes have separate extents, so that branch pages stay
/// together and leaf pages are read ahead in runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PageClass {
    /// Leaf pages.
    Leaf,
    /// Branch pages.
    Branch,
}

impl PageClass {
    /// Number of classes.
    pub(crate) const COUNT: usize = 2;
}

/// The life stage of a segment, which tells recovery what to do with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentState {
    /// Being filled. The program that opens the store decides whether it lives.
    Building,
    /// In use.
    Live,
    /// Being freed. Recovery goes on with it.
    Dropping,
}

impl SegmentState {
    fn code(self) -> u8 {
        match self {
            SegmentState::Building => 1,
            SegmentState::Live => 2,
            SegmentState::Dropping => 3,
        }
    }

    fn from_code(code: u8) -> Option<SegmentState> {
        match code {
            1 => Some(SegmentState::Building),
            2 => Some(SegmentState::Live),
            3 => Some(SegmentState::Dropping),
            _ => None,
        }
    }
}

/// A segment as [`Store::segments`](crate::Store::segments) reports it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SegmentInfo {
    /// The segment.
    pub id: SegmentId,
    /// Its state.
    pub state: SegmentState,
    /// Its root page, or [`PageNo::NONE`] before it has one.
    pub root: PageNo,
    /// Pages in use.
    pub pages: u64,
    /// Whole extents that it owns.
    pub extents: u64,
    /// Pages allocated to it, in use or not: those of its extents, and its single pages.
    pub allocated: u64,
}

/// The use of the pages of the file.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SpaceUsage {
    /// Pages of the file.
    pub file_pages: u64,
    /// Of these, pages of extents that no segment owns.
    pub free_pages: u64,
    /// Of these, unused pages of extents that small segments share.
    pub shared_free_pages: u64,
}

/// The space manager.
pub(crate) struct Space {
    pub(crate) geometry: Geometry,
    state: Mutex<SpaceState>,
    /// Held by a thread that enlarges or cuts the file, fills holes or makes some.
    pub(crate) growing: Mutex<()>,
    pub(crate) releasing: Releasing,
    /// Extents that are written past the log.
    pub(crate) unlogged: Unlogged,
    /// Pages promised to no particular reservation: see [`Reservation::set_maximum`](crate::Reservation::set_maximum).
    pub(crate) margin: AtomicU64,
    /// Held by a thread that enters a segment into the directory.
    pub(crate) entering: Mutex<()>,
}

impl Space {
    /// Makes a space manager with this state.
    pub(crate) fn new(geometry: Geometry, state: SpaceState) -> Space {
        Space {
            geometry,
            state: Mutex::new(state),
            growing: Mutex::default(),
            releasing: Releasing::default(),
            unlogged: Unlogged::default(),
            margin: AtomicU64::new(0),
            entering: Mutex::default(),
        }
    }

    /// Takes one of the margin's pages, if there is one. The page stays promised, now to the caller.
    pub(crate) fn take_from_margin(&self) -> bool {
        let taken = |left: u64| left.checked_sub(1);
        self.margin.fetch_update(Ordering::AcqRel, Ordering::Acquire, taken).is_ok()
    }

    /// Sets whether free space stays as it is, as it has to while a backup is made.
    pub(crate) fn keep_free_space(&self, keep: bool) {
        let _growing = self.growing.lock();
        self.releasing.kept.store(keep, Ordering::Release);
    }

    /// Returns the end of the log, and the number of extents as of then.
    pub(crate) fn end_and_extents(&self, log: &Log) -> (Lsn, u64) {
        let _growing = self.growing.lock();
        (log.end(), self.state().extents.len() as u64)
    }

    /// Locks the state. It is last in latch order: a thread that holds it latches nothing and waits for nothing.
    pub(crate) fn state(&self) -> MutexGuard<'_, SpaceState> {
        self.state.lock()
    }
}
