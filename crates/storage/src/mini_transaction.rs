//! Mini-transactions: the unit of change to pages, which the log keeps whole or not at all.
//!
//! The life of one: frames and log bytes are set aside while no latch is held. Pages are latched exclusively, in
//! latch order. Each [`apply`](MiniTransaction::apply) adds a redo record to the group and has its handler make the
//! change, so the same code does and redoes it. [`commit`](MiniTransaction::commit) appends the group.
//!
//! The commit has this order, which the checkpoint relies on:
//! 1. the space map and directory pages that allocations and frees concern are latched, last in latch order, by
//!    ascending number, and changed;
//! 2. every changed page is marked dirty from the log's present end on, still latched;
//! 3. the group is appended;
//! 4. the pages are stamped with the group's end and unlatched; freed ones leave memory.
//!
//! A checkpoint reads the log's end before it looks for dirty pages, so the pages of every group before that end are
//! marked. Nothing between the first latch and the last unlatching waits for I/O, frames or log space.
//!
//! Dropping a mini-transaction after a change stops the store: the page in memory has a change that the log lacks.
//! Dropping it before any change only unlatches.

use crate::core::Inner;
use crate::log::PAGE_GROUP;
use crate::pool::{ExclusiveGuard, HeldPage, Latch, OwnedFrame, held};
use crate::redo::{GROUP_OVERHEAD, PageRecord, RECORD_OVERHEAD};
use crate::space::{AllocatedPage, ExtentNo, ExtentUse, SpaceRecord};
use crate::{
    HandlerId, Lsn, PageClass, PageKind, PageNo, RawPage, Reservation, Result, SegmentId, StorageError, page,
};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A page latched by a mini-transaction. Valid for that mini-transaction only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PageSlot(usize);

/// Longest payload of a page record in bytes.
const MAX_PAYLOAD: usize = (1 << 24) - 1;
/// Pause between attempts to claim a page while other threads latch all the candidates.
const CLAIM_PAUSE: Duration = Duration::from_micros(50);

struct Latched<'a> {
    page: PageNo,
    /// `None` once released.
    guard: Option<ExclusiveGuard<'a>>,
    changed: bool,
    freed: bool,
    /// Whether the group makes the page anew.
    formatted: bool,
}

/// A page to give back when the group is in the log.
struct Freed {
    page: PageNo,
    single: Option<(SegmentId, u8)>,
}

/// A group of page changes that the log keeps whole or not at all.
pub struct MiniTransaction<'a> {
    inner: &'a Inner,
    reservation: &'a mut Reservation,
    frames: Vec<OwnedFrame>,
    pages: Vec<Latched<'a>>,
    group: Vec<u8>,
    /// Changes of space map and directory pages, which the commit makes.
    space: BTreeMap<(bool, PageNo), Vec<SpaceRecord>>,
    freed: Vec<Freed>,
    /// Pages freed without having been read. They keep others from reading them before the group is in the log.
    held: Vec<HeldPage>,
    changed: bool,
}

impl<'a> MiniTransaction<'a> {
    /// Begins a mini-transaction that may allocate `frames` pages. The caller holds no latch.
    pub(crate) fn begin(
        inner: &'a Inner,
        reservation: &'a mut Reservation,
        frames: usize,
    ) -> Result<MiniTransaction<'a>> {
        held::assert_none("beginning a mini-transaction");
        inner.poison.check()?;
        inner.log.throttle()?;
        let frames = inner.cache.take_frames(frames)?;
        Ok(MiniTransaction {
            inner,
            reservation,
            frames,
            pages: Vec::new(),
            group: Vec::new(),
            space: BTreeMap::new(),
            freed: Vec::new(),
            held: Vec::new(),
            changed: false,
        })
    }

    /// Latches page `page` exclusively; returns the slot of a page latched before. Returns `None` if the page is not
    /// in memory. The caller then drops the mini-transaction (nothing may have been changed), calls
    /// [`Store::fault_in`](crate::Store::fault_in) for the page, and begins again.
    ///
    /// # Errors
    /// If the store is poisoned.
    pub fn latch(&mut self, page: PageNo) -> Result<Option<PageSlot>> {
        let held = |latched: &Latched<'_>| latched.page == page && latched.guard.is_some();
        if let Some(index) = self.pages.iter().position(held) {
            return Ok(Some(PageSlot(index)));
        }
        self.inner.poison.check()?;
        self.inner.stats.page_requests.add(1);
        match self.inner.cache.pool.exclusive(page) {
            Latch::Held(guard) => Ok(Some(self.hold(guard))),
            Latch::NotResident => Ok(None),
        }
    }

    /// Takes over a page that no other thread has seen, exclusively latched. It must lack nothing when the group is
    /// committed. The caller may hold latches, but ensures first that nothing can fail.
    ///
    /// # Errors
    /// `Misuse` if the page is of another store.
    pub fn adopt(&mut self, page: RawPage) -> Result<PageSlot> {
        match page.into_exclusive(&self.inner.cache.pool) {
            Some(guard) => Ok(self.hold(guard)),
            None => Err(StorageError::Misuse { what: "a page of another store".into() }),
        }
    }

    fn hold(&mut self, guard: ExclusiveGuard<'a>) -> PageSlot {
        let page = guard.page_no();
        self.pages.push(Latched { page, guard: Some(guard), changed: false, freed: false, formatted: false });
        PageSlot(self.pages.len() - 1)
    }

    /// Takes a page from the reservation for `segment`: latched, zeroed after the header, with kind
    /// [`PageKind::ALLOCATED`] and the owner set.
    ///
    /// # Errors
    /// If more pages are allocated than were reserved, or the segment does not exist.
    pub fn allocate(&mut self, segment: SegmentId, class: PageClass) -> Result<PageSlot> {
        self.check_promises()?;
        let (taken, guard) = loop {
            let pool = &self.inner.cache.pool;
            let frames = &mut self.frames;
            let claim = |page| pool.claim(page, segment, frames);
            if let Some(found) = self.inner.space.state().take(segment, class, claim)? {
                break found;
            }
            // Other threads that still latch freed pages stand in the way at every candidate. They hold no latch for
            // long.
            std::thread::sleep(CLAIM_PAUSE);
        };
        self.reservation.use_page();
        self.set_up(taken, guard, PageKind::ALLOCATED, segment)
    }

    /// Takes a page from the reservation for the store itself, like [`allocate`](Self::allocate).
    pub(crate) fn allocate_own(&mut self, kind: PageKind) -> Result<PageSlot> {
        self.check_promises()?;
        let (taken, guard) = loop {
            let pool = &self.inner.cache.pool;
            let frames = &mut self.frames;
            let claim = |page| pool.claim(page, SegmentId::NONE, frames);
            if let Some(found) = self.inner.space.state().take_own(claim) {
                break found;
            }
            std::thread::sleep(CLAIM_PAUSE);
        };
        self.reservation.use_page();
        self.set_up(taken, guard, kind, SegmentId::NONE)
    }

    /// Latches a page that no other thread knows of yet: a new space map page.
    pub(crate) fn claim_own(&mut self, page: PageNo) -> Result<PageSlot> {
        match self.inner.cache.pool.claim(page, SegmentId::NONE, &mut self.frames) {
            Some(guard) => Ok(self.hold(guard)),
            None => Err(StorageError::Misuse { what: format!("new page {page} is in use") }),
        }
    }

    fn check_promises(&mut self) -> Result<()> {
        if self.reservation.pages() == 0 {
            return Err(StorageError::Misuse { what: "more pages allocated than reserved".into() });
        }
        if self.frames.is_empty() {
            return Err(StorageError::Misuse { what: "more pages allocated than frames asked for".into() });
        }
        Ok(())
    }

    fn set_up(
        &mut self,
        taken: AllocatedPage,
        guard: ExclusiveGuard<'a>,
        kind: PageKind,
        owner: SegmentId,
    ) -> Result<PageSlot> {
        let slot = self.hold(guard);
        self.changed = true;
        self.inner.stats.pages_allocated.fetch_add(1, Ordering::Relaxed);
        let bit = 1 << (taken.page.0 - taken.extent.first_page().0);
        let (map, descriptor) = self.inner.space.geometry.descriptor(taken.extent);
        self.change_space(map, SpaceRecord::SetPages { descriptor, usage: taken.usage, pages: bit });
        if let Some((at, single)) = taken.single {
            self.change_space(
                at.page,
                SpaceRecord::SetSingle { entry: at.entry, slot: single, page: taken.page },
            );
        }
        self.apply_space(slot, &SpaceRecord::InitPage { page: taken.page, kind, owner })?;
        self.pages[slot.0].formatted = true;
        Ok(slot)
    }

    /// Allocates the first page of `segment`, a leaf to begin with, and records it as the segment's root.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate), or if the segment has a root already.
    pub fn create_root(&mut self, segment: SegmentId) -> Result<PageSlot> {
        let at = {
            let state = self.inner.space.state();
            let found = state.segment(segment)?;
            if found.root != PageNo::NONE {
                return Err(StorageError::Misuse { what: format!("segment {segment} has a root already") });
            }
            found.at
        };
        let slot = self.allocate(segment, PageClass::Leaf)?;
        let page = self.page_no(slot);
        self.change_space(at.page, SpaceRecord::SetRoot { entry: at.entry, page });
        self.inner.space.state().update(segment, |segment| segment.root = page);
        Ok(slot)
    }

    /// Gives the page back to its segment. It leaves memory at the commit: a thread that waits for its latch then
    /// finds it evicted. Takes [`FREE_PAGE_LOG_BYTES`](crate::FREE_PAGE_LOG_BYTES) of the reservation.
    ///
    /// # Errors
    /// If the owner does not hold the page.
    pub fn free(&mut self, slot: PageSlot) -> Result<()> {
        let page = self.page_no(slot);
        self.note_freed(page, page::owner(self.page(slot)))?;
        self.pages[slot.0].freed = true;
        Ok(())
    }

    /// Gives a page of `owner` that is not in memory back to it, like [`free`](Self::free).
    ///
    /// # Errors
    /// If the owner does not hold the page.
    pub fn free_held(&mut self, held: HeldPage, owner: SegmentId) -> Result<()> {
        self.note_freed(held.page_no(), owner)?;
        self.held.push(held);
        Ok(())
    }

    /// Makes the commit put pages of an extent in use that were taken in memory and written past the log.
    pub(crate) fn put_in_use(&mut self, extent: ExtentNo, usage: ExtentUse, pages: u64) {
        self.changed = true;
        self.inner.stats.pages_allocated.fetch_add(1, Ordering::Relaxed);
        let (map, descriptor) = self.inner.space.geometry.descriptor(extent);
        self.change_space(map, SpaceRecord::SetPages { descriptor, usage, pages });
    }

    /// Makes the commit give a page back.
    fn note_freed(&mut self, page: PageNo, owner: SegmentId) -> Result<()> {
        let (extent, single, usage) = {
            let state = self.inner.space.state();
            let lost = |what: &str| StorageError::Corrupt { page, reason: format!("freed, but {what}") };
            let (extent, usage) = state.usage_of(page).ok_or_else(|| lost("not in use"))?;
            let single = match usage {
                ExtentUse::Owned(found, _) if found == owner => None,
                ExtentUse::Owned(found, _) => return Err(lost(&format!("owned by segment {found}"))),
                ExtentUse::Shared => {
                    let segment = state.segment(owner)?;
                    let index = segment.singles.iter().position(|single| *single == page);
                    Some((segment.at, index.ok_or_else(|| lost("not held by its segment"))? as u8))
                }
            };
            (extent, single, usage)
        };
        debug_assert!(matches!(usage, ExtentUse::Shared) == single.is_some());
        self.changed = true;
        let (_, bit) = ExtentNo::of(page).expect("a page in use is in an extent");
        let (map, descriptor) = self.inner.space.geometry.descriptor(extent);
        self.change_space(map, SpaceRecord::ClearPages { descriptor, pages: bit });
        if let Some((at, slot)) = single {
            self.change_space(at.page, SpaceRecord::SetSingle { entry: at.entry, slot, page: PageNo::NONE });
        }
        self.freed.push(Freed { page, single: single.map(|(_, slot)| (owner, slot)) });
        Ok(())
    }

    /// Unlatches a page that was not changed. A changed one stays latched until the commit.
    pub fn release(&mut self, slot: PageSlot) {
        let latched = &mut self.pages[slot.0];
        if !latched.changed && !latched.freed {
            latched.guard = None;
        }
    }

    /// Returns the number of the latched page.
    pub fn page_no(&self, slot: PageSlot) -> PageNo {
        self.pages[slot.0].page
    }

    /// Returns the bytes of the latched page.
    ///
    /// # Panics
    /// If the page was released.
    pub fn page(&self, slot: PageSlot) -> &[u8] {
        match &self.pages[slot.0].guard {
            Some(guard) => guard,
            None => panic!("page {} was released", self.pages[slot.0].page),
        }
    }

    /// Adds a record to the group and has the handler make the change on the page.
    ///
    /// # Errors
    /// If the record does not fit the page or the reservation. The mini-transaction cannot be committed then, and
    /// dropping it poisons the store.
    pub fn apply(&mut self, slot: PageSlot, handler: HandlerId, kind: u8, payload: &[u8]) -> Result<()> {
        self.apply_parts(slot, handler, kind, &[payload])
    }

    /// Applies a record like [`apply`](Self::apply), with a payload that consists of parts.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn apply_parts(
        &mut self,
        slot: PageSlot,
        handler: HandlerId,
        kind: u8,
        payload: &[&[u8]],
    ) -> Result<()> {
        let latched = &mut self.pages[slot.0];
        let page = latched.page;
        let Some(guard) = &mut latched.guard else {
            return Err(StorageError::Misuse { what: format!("change of page {page}, which was released") });
        };
        if page::is_soft(guard) {
            return Err(StorageError::Misuse {
                what: format!("change of page {page}, which was merged softly"),
            });
        }
        let len: usize = payload.iter().map(|part| part.len()).sum();
        let size = self.group.len() + RECORD_OVERHEAD + len + GROUP_OVERHEAD;
        if len > MAX_PAYLOAD || !self.reservation.covers(size) {
            return Err(StorageError::Misuse {
                what: format!("{size} log bytes needed, {} reserved", self.reservation.log_bytes()),
            });
        }
        self.changed = true;
        latched.changed = true;
        let record = PageRecord::encode((handler, kind, page), payload, &mut self.group);
        self.inner.handlers.redo(&record, guard).map_err(|error| StorageError::Corrupt {
            page,
            reason: format!("record {kind} of handler {}: {error}", handler.0),
        })
    }

    /// Applies a record of this crate.
    pub(crate) fn apply_space(&mut self, slot: PageSlot, record: &SpaceRecord) -> Result<()> {
        let (kind, payload) = record.encode();
        self.apply(slot, HandlerId::STORAGE, kind, &payload)
    }

    /// Makes the commit change a space map or directory page.
    pub(crate) fn change_space(&mut self, page: PageNo, record: SpaceRecord) {
        self.changed = true;
        let is_map = self.inner.space.geometry.is_map(page);
        self.space.entry((is_map, page)).or_default().push(record);
    }

    /// Keeps the page in memory from now on.
    pub(crate) fn pin(&self, slot: PageSlot) {
        if let Some(guard) = &self.pages[slot.0].guard {
            self.inner.cache.pool.pin(guard);
        }
    }

    /// Appends the group to the log, stamps the changed pages with its end and unlatches everything. Returns the end
    /// of the group, or the end of the log if nothing was changed. If the store is poisoned or becomes so, the group
    /// is not in the log, and waiting for it to be durable returns the error.
    pub fn commit(mut self) -> Lsn {
        if !self.changed {
            return self.inner.log.end();
        }
        match self.append() {
            Ok(end) => {
                self.changed = false;
                end
            }
            Err(error) => {
                self.inner.cache.stop(&error);
                self.inner.log.end()
            }
        }
    }

    fn append(&mut self) -> Result<Lsn> {
        for ((_, page), records) in std::mem::take(&mut self.space) {
            let slot = self.latch(page)?.ok_or_else(|| StorageError::Corrupt {
                page,
                reason: "a page of the space manager is not in memory".into(),
            })?;
            for record in records {
                self.apply_space(slot, &record)?;
            }
        }
        let pool = &self.inner.cache.pool;
        let since = self.inner.log.end();
        for latched in self.pages.iter().filter(|latched| latched.changed && !latched.freed) {
            if let Some(guard) = &latched.guard {
                pool.set_dirty(guard, since);
                if latched.formatted {
                    pool.set_unwritten(guard);
                }
            }
        }
        let range = self.reservation.append(&self.inner.log, PAGE_GROUP, &self.group)?;
        for latched in &mut self.pages {
            let Some(mut guard) = latched.guard.take() else { continue };
            if latched.freed {
                guard.evict();
            } else if latched.changed {
                page::set_lsn(&mut guard, range.end);
            }
        }
        if !self.freed.is_empty() {
            let mut state = self.inner.space.state();
            for freed in &self.freed {
                match (freed.single, ExtentNo::of(freed.page)) {
                    (Some((owner, slot)), _) => state.give_back_single(owner, slot, range.end),
                    (None, Some((extent, bit))) => state.give_back(extent, bit, range.end),
                    (None, None) => {}
                }
            }
        }
        Ok(range.end)
    }
}

impl Drop for MiniTransaction<'_> {
    /// Stops the store if pages were changed and not logged. No other thread may see them: they leave memory, and the
    /// older ones in the file are not read in.
    fn drop(&mut self) {
        if !self.changed {
            return;
        }
        let what = "a mini-transaction was given up after it had changed pages".into();
        self.inner.cache.stop(&StorageError::Misuse { what });
        self.inner.cache.end_reading();
        for latched in self.pages.iter_mut().filter(|latched| latched.changed || latched.freed) {
            if let Some(guard) = latched.guard.take() {
                guard.evict();
            }
        }
    }
}
