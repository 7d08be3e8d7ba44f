//! Latch guards.
use crate::{Lsn, PageKind, PageNo, SegmentId};

/// A page under a shared latch.
pub struct SharedGuard<'a> {
    bytes: &'a [u8],
}

impl SharedGuard<'_> {
    /// The page's number.
    pub fn page_no(&self) -> PageNo {
        todo!()
    }
    /// End of the last mini-transaction that changed the page.
    pub fn lsn(&self) -> Lsn {
        todo!()
    }
    /// The page's kind.
    pub fn kind(&self) -> PageKind {
        todo!()
    }
    /// Segment the page belongs to.
    pub fn owner(&self) -> SegmentId {
        todo!()
    }
}

impl std::ops::Deref for SharedGuard<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.bytes
    }
}
