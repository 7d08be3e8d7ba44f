//! Rows of one table along an access path.

use super::{ExecutionContext, Operator};
use crate::plan;
use leafline_access::{Demand, PathScan};
use leafline_types::{Batch, MysqlError};

pub(super) struct Scan {
    scan: PathScan,
    demand: Demand,
    started: bool,
}

impl Scan {
    pub fn new(scan: &plan::Scan) -> Scan {
        Scan { scan: PathScan::new(&scan.path), demand: scan.demand, started: false }
    }
}

impl Operator for Scan {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        if !std::mem::replace(&mut self.started, true) {
            match cx.piece.take() {
                Some(piece) => self.scan.start_piece(piece, &mut cx.scan())?,
                None => self.scan.start(self.demand, &mut cx.scan())?,
            }
        }
        Ok(self.scan.next(&mut cx.scan())?.map(|found| found.batch))
    }

    fn reset(&mut self) -> bool {
        self.started = false;
        true
    }
}
