//! Checks that every page is used once or free, and that memory and disk agree on it.

use super::layout::{EXTENT_PAGES, ExtentNo};
use super::record::ExtentUse;
use super::{SpaceState, directory, map_page};
use crate::store::Inner;
use crate::{PageNo, Result, SegmentId, page};
use std::collections::{BTreeMap, BTreeSet};

impl Inner {
    /// What does not agree, as text; empty if all is well. For when nobody changes anything.
    pub(crate) fn verify_space(&self) -> Result<Vec<String>> {
        let mut faults = Vec::new();
        self.verify_maps(&mut faults)?;
        self.verify_directory(&mut faults)?;
        let used = self.used_pages(&mut faults);
        self.verify_headers(&used, &mut faults)?;
        Ok(faults)
    }

    /// Each descriptor on disk against the one in memory.
    fn verify_maps(&self, faults: &mut Vec<String>) -> Result<()> {
        let count = self.space.state().extents.len() as u32;
        let mut free = 0;
        for extent in (0..count).map(ExtentNo) {
            let (map, index) = self.space.geometry.descriptor(extent);
            let guard = self.cache.shared(map)?;
            let stored = map_page::read(&guard, index);
            let state = self.space.state();
            let known = &state.extents[extent.0 as usize];
            let known = known.usage.map(|usage| (usage, known.pages));
            free += u64::from(known.is_none());
            if stored != Ok(known) {
                faults.push(format!("extent {}: {stored:?} on page {map}, {known:?} in memory", extent.0));
            }
        }
        if free != self.space.state().free_extents() {
            faults
                .push(format!("{free} extents are free, {} are counted", self.space.state().free_extents()));
        }
        Ok(())
    }

    /// Each directory entry on disk against the segment in memory.
    fn verify_directory(&self, faults: &mut Vec<String>) -> Result<()> {
        let pages = self.space.state().directory.clone();
        let mut found = BTreeSet::new();
        for page in pages {
            let guard = self.cache.shared(page)?;
            for entry in 0..directory::entries_per_page(guard.len()) {
                match directory::read(&guard, entry) {
                    Err(reason) => faults.push(format!("directory page {page}: {reason}")),
                    Ok(None) => {}
                    Ok(Some(stored)) => {
                        found.insert(stored.id);
                        let state = self.space.state();
                        let same = state.segments.get(&stored.id).is_some_and(|known| {
                            (known.state, known.root, known.singles)
                                == (stored.state, stored.root, stored.singles)
                        });
                        if !same {
                            faults.push(format!("segment {} differs from its directory entry", stored.id));
                        }
                    }
                }
            }
        }
        if !self.space.state().segments.keys().eq(found.iter()) {
            faults.push("segments in memory are not those of the directory".into());
        }
        Ok(())
    }

    /// Pages in use with their owners, gathered from the owners' side.
    fn used_pages(&self, faults: &mut Vec<String>) -> BTreeMap<PageNo, SegmentId> {
        let state = self.space.state();
        let mut used: BTreeMap<PageNo, SegmentId> = BTreeMap::from([(PageNo(0), SegmentId::NONE)]);
        let own = self.own_pages(&state);
        let singles = state.segments.iter().flat_map(|(id, segment)| {
            segment.singles.iter().filter(|page| **page != PageNo::NONE).map(|page| (*page, *id))
        });
        for (page, owner) in own.into_iter().map(|page| (page, SegmentId::NONE)).chain(singles) {
            if let Some(other) = used.insert(page, owner) {
                faults.push(format!("page {page} is used by segments {other} and {owner}"));
            }
        }
        for (index, extent) in state.extents.iter().enumerate() {
            let number = ExtentNo(index as u32);
            let bits = (0..EXTENT_PAGES as u32).filter(|bit| extent.pages & (1 << bit) != 0);
            match extent.usage {
                Some(ExtentUse::Owned(owner, _)) => {
                    let known =
                        state.segments.get(&owner).is_some_and(|found| found.extents.contains(&number));
                    if !known {
                        faults
                            .push(format!("extent {index} is owned by segment {owner}, which does not know"));
                    }
                    for page in bits.map(|bit| number.page(bit)) {
                        if let Some(other) = used.insert(page, owner) {
                            faults.push(format!("page {page} is used by segments {other} and {owner}"));
                        }
                    }
                }
                _ => {
                    let lost = bits.map(|bit| number.page(bit)).filter(|page| !used.contains_key(page));
                    faults.extend(lost.map(|page| format!("page {page} is marked used and nobody uses it")));
                }
            }
        }
        for page in used.keys() {
            if state.usage_of(*page).is_none() {
                faults.push(format!("page {page} is used but marked free"));
            }
        }
        used
    }

    /// Space map and directory pages.
    fn own_pages(&self, state: &SpaceState) -> Vec<PageNo> {
        let regions = (state.extents.len() as u32).div_ceil(self.space.geometry.region_extents());
        let maps = (0..regions).map(|region| self.space.geometry.map_of_region(region));
        maps.chain(state.directory.iter().copied()).collect()
    }

    /// Each page in use can be read and says whose it is.
    fn verify_headers(&self, used: &BTreeMap<PageNo, SegmentId>, faults: &mut Vec<String>) -> Result<()> {
        for (&page, &owner) in used {
            let guard = self.cache.shared(page)?;
            let found = page::owner(&guard);
            if found != owner {
                faults.push(format!("page {page} belongs to segment {owner} and says {found}"));
            }
        }
        Ok(())
    }
}
