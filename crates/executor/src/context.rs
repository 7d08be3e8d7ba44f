//! Methods of the execution context that operators use: scans, and run-time figures.

use super::ExecutionContext;
use leafline_access::ScanContext;
use leafline_planner::plan;
use leafline_types::MysqlError;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl<'a> ExecutionContext<'a> {
    /// Returns the part of the context that access paths need.
    pub fn scan(&mut self) -> ScanContext<'_, 'a> {
        ScanContext {
            eval: &mut self.eval,
            view: self.view,
            counters: self.counters,
            budget: &mut self.budget,
        }
    }

    /// Returns the number of pages read from the device so far by all threads, and of pages requested by this thread.
    pub(super) fn pages(&self) -> (u64, u64) {
        let stats = self.view.core().store().stats();
        (stats.page_reads.load(Ordering::Relaxed), stats.page_requests.own())
    }

    /// Runs a step of the access path on the inner side of a join, and records its figures if wanted.
    pub(super) fn measured<T>(
        &mut self,
        scan: &plan::Scan,
        rows: impl FnOnce(&T) -> usize,
        step: impl FnOnce(&mut Self) -> Result<T, MysqlError>,
    ) -> Result<T, MysqlError> {
        if self.profile.is_none() {
            return step(self);
        }
        let (started, counters, pages) = (Instant::now(), *self.counters, self.pages());
        let result = step(self);
        let (counted, after) = (self.counters.since(&counters), self.pages());
        let rows = result.as_ref().map_or(0, rows);
        if let Some(node) = self.profile.as_mut().and_then(|profile| profile.node_mut(scan.id)) {
            node.add(started.elapsed(), counted, pages, after, rows);
        }
        result
    }

    /// Counts starts of the access path on the inner side of a join.
    pub(super) fn count_loops(&mut self, scan: &plan::Scan, loops: usize) {
        if let Some(node) = self.profile.as_mut().and_then(|profile| profile.node_mut(scan.id)) {
            node.loops += loops as u64;
        }
    }
}
