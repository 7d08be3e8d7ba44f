//! Checks space: that every page is used once or free, that memory and disk agree on it, and that the pages on disk
//! can be read.

use super::scrub::{Owners, SpaceFault};
use crate::core::Inner;
use crate::space::{EXTENT_PAGES, ExtentNo, ExtentUse, SpaceState, directory, map_page};
use crate::{PageNo, Result, SegmentId};
use std::collections::{BTreeMap, BTreeSet};

/// Collects faults.
#[derive(Default)]
pub(super) struct SpaceFaults(pub(super) Vec<SpaceFault>);

impl SpaceFaults {
    fn note(&mut self, segment: Option<SegmentId>, what: String) {
        self.0.push(SpaceFault { page: None, segment, what });
    }

    fn page(&mut self, page: PageNo, segment: Option<SegmentId>, what: impl Into<String>) {
        self.0.push(SpaceFault { page: Some(page), segment, what: what.into() });
    }
}

impl Inner {
    /// Returns the faults of the space. Nobody may change anything meanwhile. `threads` threads read the pages;
    /// `progress` gets the number of pages read and of pages in all.
    pub(crate) fn check_space(
        &self,
        threads: usize,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Vec<SpaceFault>> {
        // The lock keeps the file from being cut meanwhile.
        let _growing = self.space.growing.lock();
        let mut faults = SpaceFaults::default();
        self.verify_maps(&mut faults)?;
        self.verify_directory(&mut faults)?;
        let owners = self.owners(&mut faults);
        faults.0.extend(self.scrub(&owners, threads, progress)?);
        Ok(faults.0)
    }

    /// Compares each descriptor on disk with the one in memory.
    fn verify_maps(&self, faults: &mut SpaceFaults) -> Result<()> {
        let (count, region) = (self.space.state().extents.len() as u32, self.space.geometry.region_extents());
        let mut free = 0;
        // The last map describes extents beyond the end of the file; it must say that they are free.
        for extent in (count..count.next_multiple_of(region)).map(ExtentNo) {
            let (map, index) = self.space.geometry.descriptor(extent);
            let stored = map_page::read(&self.cache.shared(map)?, index);
            if stored != Ok(None) {
                let what = format!("extent {}: {stored:?} is stored, beyond the end of the file", extent.0);
                faults.page(map, Some(SegmentId::NONE), what);
            }
        }
        for extent in (0..count).map(ExtentNo) {
            let (map, index) = self.space.geometry.descriptor(extent);
            let guard = self.cache.shared(map)?;
            let stored = map_page::read(&guard, index);
            let state = self.space.state();
            let known = &state.extents[extent.0 as usize];
            let known = known.usage.map(|usage| (usage, known.pages));
            free += u64::from(known.is_none());
            if stored != Ok(known) {
                let what = format!("extent {}: {stored:?} is stored, {known:?} in memory", extent.0);
                faults.page(map, Some(SegmentId::NONE), what);
            }
        }
        let counted = self.space.state().unowned_extents();
        if free != counted {
            faults.note(None, format!("{free} extents are free, {counted} are counted"));
        }
        Ok(())
    }

    /// Compares each directory entry on disk with the segment in memory.
    fn verify_directory(&self, faults: &mut SpaceFaults) -> Result<()> {
        let pages = self.space.state().directory.clone();
        let mut found = BTreeSet::new();
        for page in pages {
            let guard = self.cache.shared(page)?;
            for entry in 0..directory::entries_per_page(guard.len()) {
                match directory::read(&guard, entry) {
                    Err(reason) => faults.page(page, Some(SegmentId::NONE), reason),
                    Ok(None) => {}
                    Ok(Some(stored)) => {
                        found.insert(stored.id);
                        let state = self.space.state();
                        let same = state.segments.get(&stored.id).is_some_and(|known| {
                            (known.state, known.root, known.singles)
                                == (stored.state, stored.root, stored.singles)
                        });
                        if !same {
                            let what = format!("segment {} differs from its directory entry", stored.id);
                            faults.page(page, Some(stored.id), what);
                        }
                    }
                }
            }
        }
        if !self.space.state().segments.keys().eq(found.iter()) {
            faults.note(None, "segments in memory are not those of the directory".into());
        }
        Ok(())
    }

    /// Collects the pages in use and their owners, from the owners' side.
    fn owners(&self, faults: &mut SpaceFaults) -> Owners {
        let state = self.space.state();
        let mut singly: BTreeMap<PageNo, SegmentId> = BTreeMap::from([(PageNo(0), SegmentId::NONE)]);
        let own = self.own_pages(&state);
        let singles = state.segments.iter().flat_map(|(id, segment)| {
            segment.singles.iter().filter(|page| **page != PageNo::NONE).map(|page| (*page, *id))
        });
        for (page, owner) in own.into_iter().map(|page| (page, SegmentId::NONE)).chain(singles) {
            if let Some(other) = singly.insert(page, owner) {
                faults.page(page, Some(owner), format!("used by segments {other} and {owner}"));
            }
            match state.usage_of(page) {
                None => faults.page(page, Some(owner), "used, but marked free"),
                Some((_, ExtentUse::Owned(other, _))) => {
                    faults.page(page, Some(owner), format!("used by segments {other} and {owner}"));
                }
                Some((_, ExtentUse::Shared)) => {}
            }
        }
        let mut counts: BTreeMap<SegmentId, u64> = BTreeMap::new();
        singly.values().for_each(|owner| *counts.entry(*owner).or_default() += 1);
        for (index, extent) in state.extents.iter().enumerate() {
            let number = ExtentNo(index as u32);
            match extent.usage {
                Some(ExtentUse::Owned(owner, _)) => {
                    *counts.entry(owner).or_default() += u64::from(extent.pages.count_ones());
                    let known =
                        state.segments.get(&owner).is_some_and(|found| found.extents.contains(&number));
                    if !known {
                        let what = format!("extent {index} is owned by segment {owner}, which does not know");
                        faults.note(Some(owner), what);
                    }
                }
                _ => {
                    let bits = (0..EXTENT_PAGES as u32).filter(|bit| extent.pages & (1 << bit) != 0);
                    let lost = bits.map(|bit| number.page(bit)).filter(|page| !singly.contains_key(page));
                    lost.for_each(|page| faults.page(page, None, "marked used, and nobody uses it"));
                }
            }
        }
        for info in state.segment_infos() {
            let found = counts.get(&info.id).copied().unwrap_or_default();
            if found != info.pages {
                let what = format!("segment {} has {found} pages, {} are counted", info.id, info.pages);
                faults.note(Some(info.id), what);
            }
        }
        let extents = state.extents.iter().map(|extent| (extent.usage, extent.pages)).collect();
        Owners { singly, extents }
    }

    /// Returns the space map and directory pages.
    fn own_pages(&self, state: &SpaceState) -> Vec<PageNo> {
        let regions = (state.extents.len() as u32).div_ceil(self.space.geometry.region_extents());
        let maps = (0..regions).map(|region| self.space.geometry.map_of_region(region));
        maps.chain(state.directory.iter().copied()).collect()
    }

    /// Returns the pages of a segment, in no particular order.
    pub(crate) fn segment_pages(&self, id: SegmentId) -> Result<Vec<PageNo>> {
        let state = self.space.state();
        let segment = state.segment(id)?;
        let mut pages: Vec<PageNo> =
            segment.singles.iter().copied().filter(|page| *page != PageNo::NONE).collect();
        for extent in &segment.extents {
            let used = state.extents[extent.0 as usize].pages;
            let bits = (0..EXTENT_PAGES as u32).filter(|bit| used & (1 << bit) != 0);
            pages.extend(bits.map(|bit| extent.page(bit)));
        }
        Ok(pages)
    }
}
