//! Unlogged bulk writing.
use crate::mini_transaction::PageClass;
use crate::{PageNo, Result};
use std::marker::PhantomData;

/// Writes the pages of a segment that is being built, past the pool and the log.
pub struct BulkWriter {
    _p: PhantomData<()>,
}

impl BulkWriter {
    /// Number for a new page; pages of a class are handed out in ascending order within an extent.
    ///
    /// # Errors
    /// DiskFull.
    pub fn allocate(&mut self, _class: PageClass) -> Result<PageNo> {
        todo!()
    }

    /// Takes a copy of `page` (one whole page; kind, flags and body as the caller made them; the rest of the
    /// header is filled in here). Each allocated page is to be written once.
    ///
    /// # Errors
    /// I/O errors poison nothing: the segment can still be dropped.
    pub fn write(&mut self, _page_no: PageNo, _page: &[u8]) -> Result<()> {
        todo!()
    }

    /// Writes what is left, syncs, gives unused pages back and records the root.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn finish(self, _root: PageNo) -> Result<()> {
        todo!()
    }
}
