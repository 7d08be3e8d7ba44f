//! Passes runtime filters from the hash joins that make them to their scans.
//!
//! A join reads its build side before it asks its probe side for the first row. So a scan below the probe side, which fetches its
//! filters when it starts, finds the filters of the join. A filter is absent if the build side did not fit into memory or has too
//! many keys; the scan then does without it.

use leafline_access::RuntimeFilter;
use leafline_planner::plan;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The runtime filters of a plan's operators, by number.
#[derive(Debug, Default)]
pub(super) struct RuntimeFilters {
    known: Mutex<BTreeMap<usize, Arc<RuntimeFilter>>>,
}

impl RuntimeFilters {
    /// Sets a filter, or its absence, for scans that start from now on.
    pub fn set(&self, number: usize, filter: Option<RuntimeFilter>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match filter {
            Some(filter) => known.insert(number, Arc::new(filter)),
            None => known.remove(&number),
        };
    }

    /// Returns the filters for a scan.
    pub fn of(&self, scan: &plan::Scan) -> Vec<Arc<RuntimeFilter>> {
        if scan.filters.is_empty() {
            return Vec::new();
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        scan.filters.iter().filter_map(|(number, _)| known.get(number).cloned()).collect()
    }
}
