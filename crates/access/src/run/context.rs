//! The context that a scan shares with its execution, and the batches that it delivers.

use crate::counters::Counters;
use crate::error::{AccessError, Result};
use leafline_expr::EvalContext;
use leafline_table::ReadView;
use leafline_types::Batch;

/// How many of a scan's rows will be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Perhaps not all: batches begin small and grow.
    Unknown,
    /// So many are enough.
    Rows(usize),
    /// All: batches of entries are as large as may be, so that the rows they name are fetched in as few sweeps over the table as
    /// possible.
    All,
}

/// How many entries may be examined before a plan is given up for another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    /// The value that [`Counters::leafline_entries_examined`] may come to; `None`: no limit.
    pub most: Option<u64>,
    /// It was not enough.
    pub exceeded: bool,
}

/// The part of an execution's context that a scan needs.
pub struct ScanContext<'c, 'a> {
    /// Parameters, time, warnings, cancellation.
    pub eval: &'c mut EvalContext<'a>,
    /// The snapshot: which rows are visible.
    pub view: &'c ReadView,
    /// Where the scan counts.
    pub counters: &'c mut Counters,
    /// How much it may do.
    pub budget: &'c mut Budget,
}

impl ScanContext<'_, '_> {
    /// Checks that the statement is not to end, and that the plan is not to be given up with so many entries `examined` beside those that
    /// were counted.
    pub(crate) fn check(&mut self, examined: u64) -> Result<()> {
        self.eval.cancel.check()?;
        if self.budget.most.is_some_and(|most| self.counters.leafline_entries_examined + examined > most) {
            self.budget.exceeded = true;
            return Err(AccessError::OverBudget);
        }
        Ok(())
    }
}

/// Rows of a table, each with the outer row it was found for.
#[derive(Clone, Debug)]
pub struct ScanBatch {
    /// The delivered columns, and the locators if the path delivers them.
    pub batch: Batch,
    /// Per row, the outer row.
    pub tags: Vec<u32>,
}
