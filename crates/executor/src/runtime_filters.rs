//! Runtime filters on their way from the hash joins that make them to the scans that they are for.
//!
//! A join reads its build side before it asks its probe side for the first row, so that a scan there, which looks when it starts, finds what it is told
//! of. A filter that is not there, as the build side did not fit into memory or has too many keys, is no filter.

use leafline_access::RuntimeFilter;
use leafline_planner::plan;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The filters of the operators of a plan, by their numbers.
#[derive(Debug, Default)]
pub(super) struct RuntimeFilters {
    known: Mutex<BTreeMap<usize, Arc<RuntimeFilter>>>,
}

impl RuntimeFilters {
    /// Scans that start from now on see this filter, or none.
    pub fn set(&self, number: usize, filter: Option<RuntimeFilter>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match filter {
            Some(filter) => known.insert(number, Arc::new(filter)),
            None => known.remove(&number),
        };
    }

    /// The filters that are for a scan.
    pub fn of(&self, scan: &plan::Scan) -> Vec<Arc<RuntimeFilter>> {
        if scan.filters.is_empty() {
            return Vec::new();
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        scan.filters.iter().filter_map(|(number, _)| known.get(number).cloned()).collect()
    }
}
