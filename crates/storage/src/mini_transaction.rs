//! Mini-transactions: the unit of change to pages.
use crate::{HandlerId, Lsn, PageNo, Result, SegmentId};
use std::marker::PhantomData;

/// Which kind of tree page an allocation is for: the two classes live in extents of their own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PageClass {
    /// Leaf pages.
    Leaf,
    /// Branch pages.
    Branch,
}

/// A page latched by a mini-transaction; valid for that mini-transaction only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PageSlot(usize);

/// A group of page changes that the log keeps whole or not at all.
pub struct MiniTransaction<'a> {
    store: PhantomData<&'a ()>,
}

impl MiniTransaction<'_> {
    /// Latches page `page` exclusively; a page latched before is found again. `None` if it is not in memory:
    /// drop the mini-transaction (nothing may have been changed), [`Store::fault_in`](crate::Store::fault_in) it
    /// and begin again.
    ///
    /// # Errors
    /// If the store is poisoned.
    pub fn latch(&mut self, _page: PageNo) -> Result<Option<PageSlot>> {
        todo!()
    }

    /// Takes a page from the reservation for `segment`: latched, zeroed after the header, kind
    /// [`PageKind::ALLOCATED`](crate::PageKind::ALLOCATED), owner set.
    ///
    /// # Errors
    /// If more is asked for than was reserved, or the segment does not exist.
    pub fn allocate(&mut self, _segment: SegmentId, _class: PageClass) -> Result<PageSlot> {
        todo!()
    }

    /// Allocates the first page of `segment` and records it as its root.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate), or if the segment has a root already.
    pub fn create_root(&mut self, _segment: SegmentId) -> Result<PageSlot> {
        todo!()
    }

    /// Gives the page back to its segment. Readers that wait for its latch find it evicted.
    ///
    /// # Errors
    /// If the page is not one that a segment owns.
    pub fn free(&mut self, _slot: PageSlot) -> Result<()> {
        todo!()
    }

    /// Unlatches a page that was not changed; a changed one stays latched until the commit.
    pub fn release(&mut self, _slot: PageSlot) {
        todo!()
    }

    /// Number of the latched page.
    pub fn page_no(&self, _slot: PageSlot) -> PageNo {
        todo!()
    }

    /// The whole latched page.
    pub fn page(&self, _slot: PageSlot) -> &[u8] {
        todo!()
    }

    /// Adds a record to the group and has the handler make the change on the page.
    ///
    /// # Errors
    /// If the record does not fit the page or the reservation. The mini-transaction cannot be committed then,
    /// and dropping it poisons the store.
    pub fn apply(&mut self, _slot: PageSlot, _handler: HandlerId, _kind: u8, _payload: &[u8]) -> Result<()> {
        todo!()
    }

    /// Appends the group to the log, stamps the changed pages with its end and unlatches everything. Returns the
    /// end of the group, or the current log end if nothing was changed.
    pub fn commit(self) -> Lsn {
        todo!()
    }
}
