//! What the operators of one execution share.

use super::subplans::Subplans;
use leafline_access::{Budget, Counters, ScanContext, ScanPiece};
use leafline_expr::EvalContext;
use leafline_planner::Profile;
use leafline_planner::plan;
use leafline_table::{ReadView, RowLocker};
use leafline_types::MysqlError;
use leafline_types::memory::MemoryBudget;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// How a statement locks rows.
#[derive(Clone, Debug)]
pub struct StatementLocks {
    /// For its transaction.
    pub locker: RowLocker,
    /// After a conflict it is run again.
    pub restartable: bool,
}

/// The state of one execution that is not an operator's own. Made anew for each call; what it refers to lasts.
pub struct ExecutionContext<'a> {
    /// Parameters, time, session facts, warnings, cancellation.
    pub eval: EvalContext<'a>,
    /// The snapshot, and the transaction's writes from before the statement.
    pub view: &'a ReadView,
    /// The session's counters.
    pub counters: &'a mut Counters,
    /// For statements that lock rows.
    pub locks: Option<&'a StatementLocks>,
    /// What the operators may hold.
    pub memory: &'a MemoryBudget,
    /// The queries that the statement's expressions run.
    pub subplans: &'a Subplans,
    /// Figures per plan node, for EXPLAIN ANALYZE.
    pub profile: Option<&'a mut Profile>,
    /// The piece of its table that the scan at the bottom is to read, in a thread that shares a scan with others; the scan takes it.
    pub piece: Option<ScanPiece>,
    /// What may be done before a plan is given up for another.
    pub budget: Budget,
}

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
        let stats = self.view.engine().store().stats();
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
