//! Reads the rows of one table along an access path.

use super::runtime_filters::RuntimeFilters;
use super::{BoxedOperator, Build, Builder, ExecutionContext, Operator};
use leafline_access::PathScan;
use leafline_planner::plan::{self, Node};
use leafline_types::{Batch, MysqlError};
use std::sync::Arc;

pub(super) struct Scan {
    plan: Arc<plan::Scan>,
    filters: Arc<RuntimeFilters>,
    scan: PathScan,
    started: bool,
}

impl Scan {
    pub fn new(scan: &Arc<plan::Scan>, filters: &Arc<RuntimeFilters>) -> Scan {
        let (plan, filters) = (scan.clone(), filters.clone());
        Scan { scan: PathScan::new(&plan.path), plan, filters, started: false }
    }
}

impl Build for Arc<plan::Scan> {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        Box::new(Scan::new(self, builder.filters))
    }
}

impl Operator for Scan {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        if !std::mem::replace(&mut self.started, true) {
            let filters = self.filters.of(&self.plan);
            self.scan.narrow(&self.plan.path, filters, self.plan.examined, &mut cx.scan());
            match cx.piece.take() {
                Some(piece) => self.scan.start_piece(piece, &mut cx.scan())?,
                None => self.scan.start(self.plan.demand, &mut cx.scan())?,
            }
        }
        Ok(self.scan.next(&mut cx.scan())?.map(|found| found.batch))
    }

    fn reset(&mut self) -> bool {
        self.started = false;
        true
    }
}
