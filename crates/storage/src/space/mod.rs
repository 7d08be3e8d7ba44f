//! Space: who owns which page of `data`.
//!
//! | module | is |
//! |---|---|
//! | `layout` | how the file is divided into pages, extents and regions |
//! | `record` | the redo records of the store's own pages |
//! | `map_page`, `directory` | the two kinds of page that say who owns what |
//! | `mirror` | the same in memory, and what is promised to reservations |
//! | `demand` | how many extents promised pages can cost |
//! | `reservation` | pages and log bytes set aside |
//! | `grow` | making the file larger, so that a full disk shows before anything is changed |
//! | `release` | giving free space back to the file system |
//! | `segment` | creating and dropping segments |
//! | `bulk` | writing fresh extents past the pool and the log, of a segment that is being built |
//! | `fresh` | the same for single pages of a segment in use |
//! | `requests` | what the crates above ask |
//! | `unlogged` | what is written so while a backup is made |
//! | `remains` | what is left of all this where it is damaged |
//! | `verify`, `scrub` | checking that the maps agree with each other and that every page in use can be read |
//!
//! A segment's first 32 pages come singly from shared extents, so that small tables stay small; after that it takes
//! extents of 64 pages, those for leaves and those for branches apart.

mod bulk;
mod demand;
mod directory;
mod fresh;
mod grow;
mod layout;
mod map_page;
mod mirror;
#[cfg(test)]
mod mirror_tests;
mod open;
mod record;
mod release;
mod remains;
mod requests;
mod reservation;
mod scrub;
mod segment;
mod unlogged;
mod verify;

pub use bulk::BulkWriter;
pub use fresh::FreshPages;
pub(crate) use layout::{
    DIRECTORY_ROOT, EXTENT_PAGES, ExtentNo, FIRST_USED, Geometry, check_superblock, superblock,
};
pub(crate) use mirror::{Segment, SpaceState, Taken};
pub(crate) use open::load;
pub use record::FREE_PAGE_LOG_BYTES;
pub(crate) use record::{ExtentUse, SpaceRecord, SpaceRedo};
pub(crate) use release::{Released, Releasing};
pub(crate) use remains::remains;
pub use remains::{RemainingSegment, Remains};
pub use reservation::Reservation;
pub use segment::SEGMENT_LOG_BYTES;
use unlogged::Unlogged;
pub use verify::SpaceFault;

use crate::log::Log;
use crate::{Lsn, PageNo, SegmentId};
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicU64, Ordering};

/// Pages a segment holds singly before it takes extents.
pub(crate) const SINGLE_PAGES: usize = 32;

/// What recovery does with a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentState {
    /// Being filled; whoever opens the store decides whether it lives.
    Building,
    /// In use.
    Live,
    /// Being freed; recovery goes on with it.
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
    /// Its root page, [`PageNo::NONE`] before it has one.
    pub root: PageNo,
    /// Pages in use.
    pub pages: u64,
    /// Whole extents owned.
    pub extents: u64,
    /// Pages that are its own, in use or not: those of its extents, and those it has singly.
    pub allocated: u64,
}

/// How the pages of the file are used.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SpaceUsage {
    /// Pages of the file.
    pub file_pages: u64,
    /// Of these, pages of extents that are nobody's.
    pub free_pages: u64,
    /// Of these, unused pages of extents that small segments share.
    pub shared_free_pages: u64,
}

/// The space manager.
pub(crate) struct Space {
    pub(crate) geometry: Geometry,
    state: Mutex<SpaceState>,
    /// Held by who makes the file larger or smaller, fills holes or makes some.
    growing: Mutex<()>,
    pub(crate) releasing: Releasing,
    /// Extents that are written past the log.
    pub(crate) unlogged: Unlogged,
    /// Pages promised to nobody in particular: see [`Reservation::allow_more`].
    pub(crate) margin: AtomicU64,
    /// Held by who enters a segment into the directory.
    entering: Mutex<()>,
}

impl Space {
    /// A space manager that knows what `state` holds.
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

    /// Takes one of the margin's pages, if there is one. It stays promised, now to the caller.
    pub(crate) fn take_from_margin(&self) -> bool {
        let taken = |left: u64| left.checked_sub(1);
        self.margin.fetch_update(Ordering::AcqRel, Ordering::Acquire, taken).is_ok()
    }

    /// Whether free space stays as it is from now on, while a backup is made.
    pub(crate) fn keep_free_space(&self, keep: bool) {
        let _growing = self.growing.lock();
        self.releasing.kept.store(keep, Ordering::Release);
    }

    /// The end of the log, and how many extents there are as of then.
    pub(crate) fn end_and_extents(&self, log: &Log) -> (Lsn, u64) {
        let _growing = self.growing.lock();
        (log.end(), self.state().extents.len() as u64)
    }

    /// The state, locked. Last in latch order: nothing is latched or waited for under it.
    pub(crate) fn state(&self) -> MutexGuard<'_, SpaceState> {
        self.state.lock()
    }
}
