//! The space maps and the segment directory in memory: owners, free pages, and promises.
//!
//! The mirror is rebuilt from the pages when the store is opened. It runs ahead of the pages in one way only: a page
//! is taken here when a mini-transaction chooses it, and in the space map when that commits. It never runs behind: a
//! page becomes free here only after the group that frees it is in the log, so the next user of the page comes later
//! in the log.
//!
//! Reservations promise pages, not extents, but a segment that grows takes whole extents.
//! [`Demand`](super::demand::Demand) bounds the number of extents that the promised pages can cost; that many extents
//! are kept free.
//!
//! A free extent is *backed* or *bare*. A bare one may have no space on the device: it was given back, or its space
//! has not been verified since the store was opened. Only backed ones count for promises and are taken. An extent in
//! use is backed.

use super::demand::Demand;
use super::layout::{EXTENT_PAGES, ExtentNo};
use super::record::ExtentUse;
use super::segment::{EntryAt, Segment};
use super::{PageClass, SINGLE_PAGES, SegmentInfo, SegmentState, SpaceUsage};
use crate::{Lsn, PageNo, Result, SegmentId, StorageError};
use leafline_invariant::invariant;
use std::collections::{BTreeMap, BTreeSet};

/// Number of extents searched for a page that can be claimed. The first is enough unless other threads still look at
/// its freed pages.
const CANDIDATES: usize = 16;

/// An extent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Use of the extent; `None` if it is free.
    pub(crate) usage: Option<ExtentUse>,
    /// Pages in use, one bit each.
    pub(crate) pages: u64,
    /// End of the group that freed the extent.
    pub(crate) free_lsn: Lsn,
    /// Whether its space was given back to the device.
    pub(crate) is_hole: bool,
}

/// A page taken for a segment, or for the store itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AllocatedPage {
    pub(crate) page: PageNo,
    pub(crate) extent: ExtentNo,
    pub(crate) usage: ExtentUse,
    /// The segment's slot, if the page is a single one.
    pub(crate) single: Option<(EntryAt, u8)>,
}

/// The state of the space manager.
pub(crate) struct SpaceState {
    pub(crate) extents: Vec<Extent>,
    /// Free and backed extents.
    pub(crate) free: BTreeSet<ExtentNo>,
    /// Free and bare extents.
    pub(crate) bare: BTreeSet<ExtentNo>,
    pub(crate) shared_with_space: BTreeSet<ExtentNo>,
    pub(crate) shared_free_pages: u64,
    pub(crate) segments: BTreeMap<SegmentId, Segment>,
    pub(super) demand: Demand,
    pub(crate) next_segment: u64,
    /// Directory pages, in the order of the chain.
    pub(crate) directory: Vec<PageNo>,
    /// Pages promised to reservations.
    pub(super) promised: u64,
    /// Extents beyond the end of the file that a map says are in use by a segment that does not exist, with their
    /// pages.
    pub(crate) ownerless: Vec<(ExtentNo, u64)>,
    /// Recent maximum of the extents needed. Extents that are freed and taken in turns are kept at hand.
    pub(super) recently_needed: u64,
}

impl SpaceState {
    /// Makes a state without extents and segments.
    pub(crate) fn new() -> SpaceState {
        SpaceState {
            extents: Vec::new(),
            free: BTreeSet::new(),
            bare: BTreeSet::new(),
            shared_with_space: BTreeSet::new(),
            shared_free_pages: 0,
            segments: BTreeMap::new(),
            demand: Demand::default(),
            next_segment: 1,
            directory: Vec::new(),
            promised: 0,
            recently_needed: 0,
            ownerless: Vec::new(),
        }
    }

    // ---- reading -----------------------------------------------------------------------------------------------

    /// Returns the segment.
    pub(crate) fn segment(&self, id: SegmentId) -> Result<&Segment> {
        self.segments.get(&id).ok_or(StorageError::NoSuchSegment(id))
    }

    /// Returns the descriptions of all segments.
    pub(crate) fn segment_infos(&self) -> Vec<SegmentInfo> {
        let info = |(&id, segment): (&SegmentId, &Segment)| SegmentInfo {
            id,
            state: segment.state,
            root: segment.root,
            pages: segment.pages,
            extents: segment.extents.len() as u64,
            allocated: segment.extents.len() as u64 * EXTENT_PAGES
                + (SINGLE_PAGES as u64 - segment.free_singles()),
        };
        self.segments.iter().map(info).collect()
    }

    /// Returns how the file's pages are used.
    pub(crate) fn usage(&self) -> SpaceUsage {
        SpaceUsage {
            file_pages: self.extents.len() as u64 * EXTENT_PAGES,
            free_pages: self.unowned_extents() * EXTENT_PAGES,
            shared_free_pages: self.shared_free_pages,
        }
    }

    /// Returns the page's extent and its use, if the page is in use.
    pub(crate) fn usage_of(&self, page: PageNo) -> Option<(ExtentNo, ExtentUse)> {
        let (extent, bit) = ExtentNo::of(page)?;
        let found = self.extents.get(extent.0 as usize)?;
        match found.usage {
            Some(usage) if found.pages & bit != 0 => Some((extent, usage)),
            _ => None,
        }
    }

    /// Returns the segment that a page in use belongs to, or [`SegmentId::NONE`] for the store's own pages.
    pub(crate) fn owner_of(&self, page: PageNo) -> Option<SegmentId> {
        match self.usage_of(page)?.1 {
            ExtentUse::Owned(owner, _) => Some(owner),
            ExtentUse::Shared => {
                let holds = |(_, segment): &(&SegmentId, &Segment)| segment.singles.contains(&page);
                Some(self.segments.iter().find(holds).map_or(SegmentId::NONE, |(id, _)| *id))
            }
        }
    }

    /// Returns the number of free extents that have their space on the device.
    pub(crate) fn free_extents(&self) -> u64 {
        self.free.len() as u64
    }

    /// Returns the number of free extents.
    pub(crate) fn unowned_extents(&self) -> u64 {
        (self.free.len() + self.bare.len()) as u64
    }

    /// Returns the directory entry that a new segment would take. Returns `None` if the directory is full.
    pub(crate) fn unused_entry(&self, per_page: u16) -> Option<EntryAt> {
        let used: BTreeSet<EntryAt> = self.segments.values().map(|segment| segment.at).collect();
        let entries = |&page: &PageNo| (0..per_page).map(move |entry| EntryAt { page, entry });
        self.directory.iter().flat_map(entries).find(|at| !used.contains(at))
    }

    // ---- promises ----------------------------------------------------------------------------------------------

    /// Returns the most free extents that the promised pages, and `pages` more, can cost, whatever segments take
    /// them.
    pub(crate) fn extents_needed(&self, pages: u64) -> u64 {
        self.demand.extents(self.promised + pages, self.shared_free_pages)
    }

    /// Promises `pages` pages if the free extents allow it. Otherwise returns how many extents are lacking.
    pub(crate) fn promise(&mut self, pages: u64) -> std::result::Result<(), u64> {
        let needed = self.extents_needed(pages);
        self.recently_needed = self.recently_needed.max(needed);
        match needed.checked_sub(self.free_extents()) {
            None | Some(0) => {
                self.promised += pages;
                Ok(())
            }
            Some(lacking) => Err(lacking),
        }
    }

    /// Promises that one more segment can be created, which may take pages that are promised already. Otherwise
    /// returns how many extents are lacking. [`end_new_segment`](Self::end_new_segment) ends the promise, whether the
    /// segment was created or not.
    pub(crate) fn promise_new_segment(&mut self) -> std::result::Result<(), u64> {
        self.demand.add_new_segment();
        match self.extents_needed(0).checked_sub(self.free_extents()) {
            None | Some(0) => Ok(()),
            Some(lacking) => {
                self.demand.remove_new_segment();
                Err(lacking)
            }
        }
    }

    /// Ends the promise of a segment.
    pub(crate) fn end_new_segment(&mut self) {
        self.demand.remove_new_segment();
    }

    /// Takes an unused promise back.
    pub(crate) fn take_back(&mut self, pages: u64) {
        invariant!(pages <= self.promised, "{pages} pages taken back, {} promised", self.promised);
        self.promised -= pages;
    }

    /// Counts a promised page that was taken.
    fn keep_promise(&mut self) {
        invariant!(self.promised > 0, "a page taken that nobody was promised");
        self.promised -= 1;
    }

    // ---- taking pages ------------------------------------------------------------------------------------------

    /// Takes a promised page for `segment`. Calls `claim` for each candidate until it agrees. Returns `None` if it
    /// refused all candidates.
    pub(crate) fn take<G>(
        &mut self,
        segment: SegmentId,
        class: PageClass,
        mut claim: impl FnMut(PageNo) -> Option<G>,
    ) -> Result<Option<(AllocatedPage, G)>> {
        let found = self.segment(segment)?;
        let with_space = &found.with_space[class as usize];
        let full = with_space.is_empty();
        let candidates = with_space.iter().copied().take(CANDIDATES).collect();
        let single =
            if found.extents.is_empty() { found.free_single().map(|slot| (found.at, slot)) } else { None };
        let usage = ExtentUse::Owned(segment, class);
        let mut taken = self.take_from(candidates, usage, &mut claim);
        if taken.is_none() {
            taken = match single {
                Some(_) => self.take_shared(&mut claim),
                None => self.take_fresh(usage, full, &mut claim),
            };
        }
        let Some((mut taken, guard)) = taken else { return Ok(None) };
        if taken.usage == ExtentUse::Shared {
            taken.single = single;
        }
        self.keep_promise();
        self.update(segment, |segment| {
            segment.pages += 1;
            if let Some((_, slot)) = taken.single {
                segment.singles[usize::from(slot)] = taken.page;
            }
        });
        Ok(Some((taken, guard)))
    }

    /// Takes a promised page for the store itself.
    pub(crate) fn take_own<G>(
        &mut self,
        mut claim: impl FnMut(PageNo) -> Option<G>,
    ) -> Option<(AllocatedPage, G)> {
        let taken = self.take_shared(&mut claim)?;
        self.keep_promise();
        Some(taken)
    }

    fn take_shared<G>(&mut self, claim: &mut impl FnMut(PageNo) -> Option<G>) -> Option<(AllocatedPage, G)> {
        let full = self.shared_with_space.is_empty();
        let candidates = self.shared_with_space.iter().copied().take(CANDIDATES).collect();
        self.take_from(candidates, ExtentUse::Shared, claim)
            .or_else(|| self.take_fresh(ExtentUse::Shared, full, claim))
    }

    /// Takes a page of a free extent. If the segment has unused pages elsewhere (not `full`), and only other threads
    /// that look at them stand in the way, it takes only an extent that no promise needs.
    fn take_fresh<G>(
        &mut self,
        usage: ExtentUse,
        full: bool,
        claim: &mut impl FnMut(PageNo) -> Option<G>,
    ) -> Option<(AllocatedPage, G)> {
        if !full && self.free_extents() <= self.extents_needed(0) {
            return None;
        }
        let candidates = self.free.iter().copied().take(CANDIDATES).collect();
        self.take_from(candidates, usage, claim)
    }

    fn take_from<G>(
        &mut self,
        candidates: Vec<ExtentNo>,
        usage: ExtentUse,
        claim: &mut impl FnMut(PageNo) -> Option<G>,
    ) -> Option<(AllocatedPage, G)> {
        for extent in candidates {
            let mut unused = !self.extents[extent.0 as usize].pages;
            while unused != 0 {
                let index = unused.trailing_zeros();
                unused &= unused - 1;
                let page = extent.page(index);
                if let Some(guard) = claim(page) {
                    self.set_pages(extent, usage, 1 << index);
                    return Some((AllocatedPage { page, extent, usage, single: None }, guard));
                }
            }
        }
        None
    }

    /// Takes a whole extent for unlogged pages of `segment`. The extent is durably free, and no promise needs it.
    pub(crate) fn take_extent(
        &mut self,
        segment: SegmentId,
        class: PageClass,
        durable: Lsn,
    ) -> Option<ExtentNo> {
        // With its first extent, a segment's single pages do not count any more: it may need one extent for each
        // class at once.
        let first = self.segments.get(&segment)?.extents.is_empty();
        let outgrown = if first { self.promised.min(PageClass::COUNT as u64) } else { 0 };
        if self.free_extents() <= self.extents_needed(0) + outgrown {
            return None;
        }
        let usable = |extent: &&ExtentNo| self.extents[extent.0 as usize].free_lsn <= durable;
        let extent = *self.free.iter().find(usable)?;
        self.set_pages(extent, ExtentUse::Owned(segment, class), u64::MAX);
        self.update(segment, |segment| segment.pages += EXTENT_PAGES);
        Some(extent)
    }

    /// Takes all unused pages of an extent if it has this use and at least `least` unused pages, and no promise needs
    /// them.
    pub(crate) fn take_unused(&mut self, extent: ExtentNo, usage: ExtentUse, least: u32) -> Option<u64> {
        let found = self.extents.get(extent.0 as usize)?;
        let (unused, free_lsn) = (!found.pages, found.free_lsn);
        if found.usage != Some(usage) || unused.count_ones() < least {
            return None;
        }
        self.set_pages(extent, usage, unused);
        if let ExtentUse::Owned(segment, _) = usage {
            self.update(segment, |segment| segment.pages += u64::from(unused.count_ones()));
        }
        if self.free_extents() < self.extents_needed(0) {
            self.give_back(extent, unused, free_lsn);
            return None;
        }
        Some(unused)
    }

    /// Returns the newest LSN of a free extent. Once it is durable, all free extents can be written without log.
    pub(crate) fn newest_free_lsn(&self) -> Lsn {
        let lsns = self.free.iter().map(|extent| self.extents[extent.0 as usize].free_lsn);
        lsns.max().unwrap_or(Lsn::ZERO)
    }

    // ---- giving pages back -------------------------------------------------------------------------------------

    /// Gives pages of an extent back, by a group that ends at `lsn`.
    pub(crate) fn give_back(&mut self, extent: ExtentNo, pages: u64, lsn: Lsn) {
        let found = &mut self.extents[extent.0 as usize];
        let usage = found.usage;
        invariant!(
            found.pages & pages == pages,
            "pages {pages:#x} of extent {} freed, {:#x} in use",
            extent.0,
            found.pages
        );
        found.pages &= !pages;
        let empty = found.pages == 0;
        if empty {
            found.usage = None;
            found.free_lsn = lsn;
            self.free.insert(extent);
        }
        let count = u64::from(pages.count_ones());
        match usage {
            Some(ExtentUse::Shared) => {
                self.shared_free_pages += count;
                if empty {
                    self.shared_free_pages -= EXTENT_PAGES;
                    self.shared_with_space.remove(&extent);
                } else {
                    self.shared_with_space.insert(extent);
                }
            }
            Some(ExtentUse::Owned(owner, class)) => self.update(owner, |segment| {
                invariant!(
                    segment.pages >= count,
                    "{count} pages freed of {} of segment {owner}",
                    segment.pages
                );
                segment.pages -= count;
                segment.unused[class as usize] += count;
                let with_space = &mut segment.with_space[class as usize];
                if empty {
                    segment.unused[class as usize] -= EXTENT_PAGES;
                    with_space.remove(&extent);
                    segment.extents.remove(&extent);
                } else {
                    with_space.insert(extent);
                }
            }),
            None => {}
        }
    }

    /// Gives back a single page of a segment.
    pub(crate) fn give_back_single(&mut self, owner: SegmentId, slot: u8, lsn: Lsn) {
        let mut page = PageNo::NONE;
        self.update(owner, |segment| {
            page = std::mem::take(&mut segment.singles[usize::from(slot)]);
            invariant!(segment.pages > 0, "page {page} freed of segment {owner}, which has none");
            segment.pages -= 1;
        });
        if let Some((extent, bit)) = ExtentNo::of(page) {
            self.give_back(extent, bit, lsn);
        }
    }

    // ---- building it -------------------------------------------------------------------------------------------

    /// Adds an extent at the end, with its space on the device: free, or as its descriptor says.
    pub(crate) fn add_extent(&mut self, descriptor: Option<(ExtentUse, u64)>) {
        let extent = ExtentNo(self.extents.len() as u32);
        self.extents.push(Extent { usage: None, pages: 0, free_lsn: Lsn::ZERO, is_hole: false });
        self.free.insert(extent);
        if let Some((usage, pages)) = descriptor {
            self.set_pages(extent, usage, pages);
            if let ExtentUse::Owned(owner, _) = usage {
                self.update(owner, |segment| segment.pages += u64::from(pages.count_ones()));
            }
        }
    }

    /// Adds a segment.
    pub(crate) fn add_segment(&mut self, id: SegmentId, at: EntryAt, state: SegmentState) {
        let segment = Segment::new(at, state);
        self.demand.add(&segment);
        self.segments.insert(id, segment);
        self.next_segment = self.next_segment.max(id.0 + 1);
    }

    /// Removes a segment that has no pages.
    pub(crate) fn remove_segment(&mut self, id: SegmentId) {
        if let Some(segment) = self.segments.remove(&id) {
            self.demand.remove(&segment);
        }
    }

    /// Changes a segment, and keeps the counts over all segments right.
    pub(crate) fn update(&mut self, id: SegmentId, change: impl FnOnce(&mut Segment)) {
        if let Some(mut segment) = self.segments.remove(&id) {
            self.demand.remove(&segment);
            change(&mut segment);
            self.demand.add(&segment);
            self.segments.insert(id, segment);
        }
    }

    /// Records a single page found in the directory.
    pub(crate) fn set_single(&mut self, id: SegmentId, slot: usize, page: PageNo) {
        self.update(id, |segment| {
            segment.singles[slot] = page;
            segment.pages += 1;
        });
    }

    fn set_pages(&mut self, extent: ExtentNo, usage: ExtentUse, pages: u64) {
        let found = &mut self.extents[extent.0 as usize];
        let was_free = found.usage.is_none();
        found.usage = Some(usage);
        found.pages |= pages;
        let full = found.pages == u64::MAX;
        if was_free {
            self.free.remove(&extent);
        }
        match usage {
            ExtentUse::Shared => {
                if was_free {
                    self.shared_free_pages += EXTENT_PAGES;
                }
                self.shared_free_pages -= u64::from(pages.count_ones());
                if full {
                    self.shared_with_space.remove(&extent);
                } else {
                    self.shared_with_space.insert(extent);
                }
            }
            ExtentUse::Owned(owner, class) => self.update(owner, |segment| {
                segment.extents.insert(extent);
                segment.unused[class as usize] += if was_free { EXTENT_PAGES } else { 0 };
                segment.unused[class as usize] -= u64::from(pages.count_ones());
                let with_space = &mut segment.with_space[class as usize];
                if full {
                    with_space.remove(&extent);
                } else {
                    with_space.insert(extent);
                }
            }),
        }
    }
}
