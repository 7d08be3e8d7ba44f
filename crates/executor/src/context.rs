//! Methods of the execution context that operators use: scans, and figures of what runs.

use super::ExecutionContext;
use leafline_access::ScanContext;
use leafline_planner::plan;
use leafline_types::MysqlError;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl<'a> ExecutionContext<'a> {
    /// The part of the context that access paths need.
    pub fn scan(&mut self) -> ScanContext<'_, 'a> {
        ScanContext {
            eval: &mut self.eval,
            view: self.view,
            counters: self.counters,
            budget: &mut self.budget,
        }
    }

    /// Pages read from the device until now by everybody, and pages asked for by this thread.
    pub(super) fn pages(&self) -> (u64, u64) {
        let stats = self.view.core().store().stats();
        (stats.page_reads.load(Ordering::Relaxed), stats.page_requests.own())
    }

    /// Runs a step of the access path on the inner side of a join, and keeps its figures if wanted.
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

    /// The access path on the inner side of a join is entered so many times.
    pub(super) fn count_loops(&mut self, scan: &plan::Scan, loops: usize) {
        if let Some(node) = self.profile.as_mut().and_then(|profile| profile.node_mut(scan.id)) {
            node.loops += loops as u64;
        }
    }
}
