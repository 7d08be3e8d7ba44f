//! The locators of a set, collected and put together.
//!
//! Of an intersection the set that is expected to be the smallest comes first. The entries of the next are read in full, or, where that
//! is less, the locators found so far are sought among them, all in order: a short list against a long one costs a seek for each of the short.

use crate::constraint::{Bounds, KeyRange, Link};
use crate::error::Result;
use crate::params::{BATCH_ROWS, ENTRIES_PER_SEEK, MAX_LOCATOR_SET_BYTES};
use crate::path::{Located, LocatorSet, continues_as_locator};
use crate::run::conditions::ConditionSet;
use crate::run::context::ScanContext;
use crate::run::leap_scan::LeapScan;
use crate::run::locators::Locators;
use crate::run::targets::{Targets, WalkKind};

impl LocatorSet {
    /// The locators of the set, in order; `None` if they are too many. With `within`, only those that are in it matter.
    pub(crate) fn collect(
        &self,
        within: Option<&Locators>,
        cx: &mut ScanContext<'_, '_>,
    ) -> Result<Option<Locators>> {
        match self {
            LocatorSet::Entries(located) => located.collect(within, cx),
            LocatorSet::Search(searched) => {
                let found = searched.collect(None, cx)?;
                cx.counters.leafline_locators_collected +=
                    found.as_ref().map_or(0, |found| found.locators.len() as u64);
                Ok(found.map(|found| found.locators))
            }
            LocatorSet::All(sets) => {
                let mut both: Option<Locators> = None;
                for set in sets {
                    let so_far = both.as_ref().or(within);
                    if so_far.is_some_and(|found| found.len() == 0) {
                        break;
                    }
                    both = match (set.collect(so_far, cx)?, both) {
                        (Some(found), Some(both)) => Some(both.intersection(&found)),
                        (found, both) => both.or(found),
                    };
                }
                Ok(both)
            }
            LocatorSet::Any(sets) => {
                let mut any = Locators::default();
                for set in sets {
                    let Some(found) = set.collect(within, cx)? else { return Ok(None) };
                    any.append(found);
                    if any.memory() > MAX_LOCATOR_SET_BYTES {
                        return Ok(None);
                    }
                }
                Ok(Some(any.into_set()))
            }
        }
    }
}

impl Located {
    fn collect(&self, within: Option<&Locators>, cx: &mut ScanContext<'_, '_>) -> Result<Option<Locators>> {
        let path = &self.path;
        let mut targets = path.targets(cx.eval)?;
        if path.looks_up(&targets) {
            // Locators of rows that are not there find none later.
            return Ok(Some(targets.into_points().0.into_set()));
        }
        if let Some(within) = within
            && let Some(sought) = self.sought(&targets, within)
        {
            targets = sought;
        }
        let exact = targets.exact();
        let conditions = ConditionSet::new(&path.residual_filter, path.columns.len());
        let columns = if conditions.is_empty(exact) { &[] } else { path.columns.as_slice() };
        let mut scan = LeapScan::new(path, columns, BATCH_ROWS, cx)?;
        let kind = WalkKind { all: true, ..WalkKind::default() };
        scan.start(targets, Some(BATCH_ROWS), kind, cx)?;
        let mut found = Locators::default();
        while let Some(entries) = scan.next(cx)? {
            let passed = conditions.filter(&entries.batch, &entries.tags, None, exact, cx.eval)?;
            if passed.count() == entries.batch.rows {
                found.append(entries.locators);
            } else {
                passed.indices().into_iter().for_each(|at| found.push(entries.locators.get(at)));
            }
            if found.memory() > MAX_LOCATOR_SET_BYTES {
                return Ok(None);
            }
        }
        cx.counters.leafline_locators_collected += found.len() as u64;
        Ok(Some(found.into_set()))
    }

    /// The entries of some locators in the ranges, if these are sought sooner than all are read.
    fn sought(&self, targets: &Targets, locators: &Locators) -> Option<Targets> {
        let parts = targets.range(0)?.equal.parts;
        let seeks = targets.len() * locators.len();
        let found_by_locator = continues_as_locator(&self.path, parts)
            && targets.all().iter().all(|target| target.range.is_of_equal(parts));
        if !found_by_locator || seeks as f64 * ENTRIES_PER_SEEK > self.expected {
            return None;
        }
        let all_parts = self.path.index.key_parts.len();
        let mut ranges = Vec::with_capacity(seeks);
        let mut key = Vec::new();
        for target in targets.all() {
            for locator in locators.iter() {
                key.clear();
                key.extend_from_slice(&target.range.lower);
                key.extend_from_slice(locator);
                ranges.push(KeyRange::beginning(&key, all_parts, Link::Accept));
            }
        }
        Some(Targets::new([(0, Bounds { ranges, exact: targets.exact() })]))
    }
}
