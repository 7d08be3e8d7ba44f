//! Space: extents, segments, reservations.
mod bulk;
mod reservation;
use crate::{PageNo, SegmentId};
pub use bulk::BulkWriter;
pub use reservation::Reservation;

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
}
