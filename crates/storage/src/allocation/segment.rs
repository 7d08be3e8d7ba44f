//! Creates segments, changes their state, and drops them.
//!
//! A drop is first logged as a state. From then on the segment's pages in memory are worthless and are dropped
//! without being written. Freeing goes on in groups of bounded size, each of which leaves a segment that owns less. A
//! crash between two of them leaves the rest to recovery, which calls the same function.

use crate::core::Inner;
use crate::redo::{GROUP_OVERHEAD, RECORD_OVERHEAD};
use crate::space::{EntryAt, ExtentNo, FREE_PAGE_LOG_BYTES, SINGLE_PAGES, SpaceRecord, directory};
use crate::{
    Lsn, MiniTransaction, PageKind, PageNo, Reservation, Result, SegmentId, SegmentInfo, SegmentState,
};
use std::sync::Arc;

/// Largest number of log bytes of a record of the segment directory.
const ENTRY_LOG_BYTES: usize = RECORD_OVERHEAD + 16;
/// Log bytes of freeing an extent.
const FREE_EXTENT_LOG_BYTES: usize = RECORD_OVERHEAD + 10;
/// Extents freed by one group.
const EXTENTS_AT_ONCE: usize = 64;

/// Largest number of log bytes that [`Store::create_segment`](crate::Store::create_segment) and
/// [`Store::set_segment_state`](crate::Store::set_segment_state) take from their reservation.
pub const SEGMENT_LOG_BYTES: usize = 3 * ENTRY_LOG_BYTES + 96 + GROUP_OVERHEAD;

impl Inner {
    /// Creates a segment in state `Building`.
    pub(crate) fn create_segment(self: &Arc<Self>, reservation: &mut Reservation) -> Result<SegmentId> {
        self.reserve_new_segment()?;
        // The directory may need another page.
        let pages = reservation.pages();
        let created = reservation.add_pages(1).and_then(|()| self.create_segment_with_page(reservation));
        reservation.give_back_pages(reservation.pages().saturating_sub(pages));
        self.space.state().end_new_segment();
        created
    }

    fn create_segment_with_page(&self, reservation: &mut Reservation) -> Result<SegmentId> {
        let _entering = self.space.entering.lock();
        let mut change = MiniTransaction::begin(self, reservation, 1)?;
        let per_page = directory::entries_per_page(self.cache.page_size);
        let unused = self.space.state().unused_entry(per_page);
        let at = match unused {
            Some(at) => at,
            None => EntryAt { page: self.add_directory_page(&mut change)?, entry: 0 },
        };
        let id = self.enter_segment(&mut change, at);
        change.commit();
        self.poison.check()?;
        Ok(id)
    }

    /// Adds a page at the end of the directory's chain.
    fn add_directory_page(&self, change: &mut MiniTransaction<'_>) -> Result<PageNo> {
        let slot = change.allocate_own(PageKind::SEGMENT_DIRECTORY)?;
        change.pin(slot);
        let page = change.page_no(slot);
        let mut state = self.space.state();
        if let Some(last) = state.directory.last() {
            change.change_space(*last, SpaceRecord::LinkDirectory { page });
        }
        state.directory.push(page);
        Ok(page)
    }

    fn enter_segment(&self, change: &mut MiniTransaction<'_>, at: EntryAt) -> SegmentId {
        let mut state = self.space.state();
        let id = SegmentId(state.next_segment);
        change.change_space(at.page, SpaceRecord::CreateSegment { entry: at.entry, id });
        state.add_segment(id, at, SegmentState::Building);
        id
    }

    /// Logs a new state.
    pub(crate) fn set_segment_state(
        self: &Arc<Self>,
        reservation: &mut Reservation,
        id: SegmentId,
        state: SegmentState,
    ) -> Result<()> {
        let at = self.space.state().segment(id)?.at;
        let mut change = MiniTransaction::begin(self, reservation, 0)?;
        change.change_space(at.page, SpaceRecord::SetState { entry: at.entry, state });
        self.space.state().update(id, |segment| segment.state = state);
        change.commit();
        self.poison.check()
    }

    /// Returns all segments.
    pub(crate) fn segments(&self) -> Vec<SegmentInfo> {
        self.space.state().segment_infos()
    }

    /// Frees the pages of the segment, and then its entry.
    pub(crate) fn drop_segment(self: &Arc<Self>, id: SegmentId) -> Result<()> {
        let state = match self.space.state().segments.get(&id) {
            Some(segment) => segment.state,
            None => return Ok(()),
        };
        if state != SegmentState::Dropping {
            let mut reservation = Reservation::new(self, 0, SEGMENT_LOG_BYTES)?;
            self.set_segment_state(&mut reservation, id, SegmentState::Dropping)?;
        }
        while self.free_some_extents(id)? {}
        self.free_singles_and_entry(id)?;
        self.cache.pool.forget_segment(id);
        Ok(())
    }

    /// Frees some extents of the segment. Returns false if it has none.
    fn free_some_extents(self: &Arc<Self>, id: SegmentId) -> Result<bool> {
        let extents: Vec<(ExtentNo, u64)> = {
            let state = self.space.state();
            let owned = state.segment(id)?.extents.iter().take(EXTENTS_AT_ONCE);
            owned.map(|extent| (*extent, state.extents[extent.0 as usize].pages)).collect()
        };
        for (extent, _) in &extents {
            (0..64).for_each(|index| self.cache.pool.purge(extent.page(index)));
        }
        if extents.is_empty() {
            return Ok(false);
        }
        let mut reservation =
            Reservation::new(self, 0, extents.len() * FREE_EXTENT_LOG_BYTES + GROUP_OVERHEAD)?;
        let mut change = MiniTransaction::begin(self, &mut reservation, 0)?;
        for (extent, pages) in &extents {
            let (map, descriptor) = self.space.geometry.descriptor(*extent);
            change.change_space(map, SpaceRecord::ClearPages { descriptor, pages: *pages });
        }
        let end = change.commit();
        self.poison.check()?;
        let mut state = self.space.state();
        for (extent, pages) in extents {
            state.give_back(extent, pages, end);
        }
        Ok(true)
    }

    /// Frees the single pages and removes the entry, in one group.
    fn free_singles_and_entry(self: &Arc<Self>, id: SegmentId) -> Result<()> {
        let (at, singles) = {
            let state = self.space.state();
            let segment = state.segment(id)?;
            (segment.at, segment.singles)
        };
        let used = || (0..SINGLE_PAGES).filter(|slot| singles[*slot] != PageNo::NONE);
        used().for_each(|slot| self.cache.pool.purge(singles[slot]));
        let bytes = SINGLE_PAGES * FREE_PAGE_LOG_BYTES + ENTRY_LOG_BYTES + GROUP_OVERHEAD;
        let mut reservation = Reservation::new(self, 0, bytes)?;
        let mut change = MiniTransaction::begin(self, &mut reservation, 0)?;
        for slot in used() {
            if let Some((extent, bit)) = ExtentNo::of(singles[slot]) {
                let (map, descriptor) = self.space.geometry.descriptor(extent);
                change.change_space(map, SpaceRecord::ClearPages { descriptor, pages: bit });
            }
        }
        change.change_space(at.page, SpaceRecord::RemoveSegment { entry: at.entry });
        let end: Lsn = change.commit();
        self.poison.check()?;
        let mut state = self.space.state();
        for slot in used() {
            state.give_back_single(id, slot as u8, end);
        }
        state.remove_segment(id);
        Ok(())
    }
}
