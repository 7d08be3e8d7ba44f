//! Delivers the first rows in the order of the input.

use super::{BoxedOperator, Build, Builder, ExecutionContext, Operator};
use leafline_planner::plan::{self, Node, RowLimit};
use leafline_types::{Batch, MysqlError, Value};

pub(super) struct Limit {
    input: BoxedOperator,
    limit: RowLimit,
    /// Remaining rows to skip and to deliver, once the parameters are known.
    left: Option<(u64, u64)>,
}

impl Limit {
    pub fn new(input: BoxedOperator, limit: RowLimit) -> Limit {
        Limit { input, limit, left: None }
    }
}

/// Returns offset and count of a limit in an execution.
pub fn resolve(limit: &RowLimit, parameters: &[Value]) -> Result<(u64, u64), MysqlError> {
    let invalid = || MysqlError::wrong_arguments("LIMIT");
    let offset = limit.offset.resolve(parameters).ok_or_else(invalid)?;
    let count = match limit.count {
        Some(count) => count.resolve(parameters).ok_or_else(invalid)?,
        None => u64::MAX,
    };
    Ok((offset, count))
}

/// Returns a slice of the rows of a batch.
pub(super) fn slice(batch: &Batch, start: usize, rows: usize) -> Batch {
    if start == 0 && rows == batch.rows {
        return batch.clone();
    }
    Batch { columns: batch.columns.iter().map(|column| column.slice(start, rows)).collect(), rows }
}

/// The position of a LIMIT's rows, for callers that go through all rows.
pub struct RowWindow {
    skip: u64,
    deliver: u64,
}

impl RowWindow {
    /// Makes the window of `limit` in an execution.
    ///
    /// # Errors
    /// 1210 for a negative number.
    pub fn new(limit: &RowLimit, parameters: &[Value]) -> Result<RowWindow, MysqlError> {
        let (skip, deliver) = resolve(limit, parameters)?;
        Ok(RowWindow { skip, deliver })
    }

    /// Returns the part of the next rows that is in the window.
    pub fn cut(&mut self, batch: Batch) -> Option<Batch> {
        let skipped = self.skip.min(batch.rows as u64);
        self.skip -= skipped;
        let rows = (batch.rows as u64 - skipped).min(self.deliver);
        self.deliver -= rows;
        (rows > 0).then(|| slice(&batch, skipped as usize, rows as usize))
    }
}

impl Build for plan::Limit {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        Box::new(Limit::new(builder.build(&self.input), self.limit.clone()))
    }
}

impl Operator for Limit {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        let (skip, deliver) = match &mut self.left {
            Some((skip, deliver)) => (skip, deliver),
            unknown => {
                let (skip, deliver) = unknown.insert(resolve(&self.limit, cx.eval.parameters)?);
                (skip, deliver)
            }
        };
        while *deliver > 0 {
            let Some(batch) = self.input.next(cx)? else { return Ok(None) };
            let skipped = (*skip).min(batch.rows as u64);
            *skip -= skipped;
            let rows = (batch.rows as u64 - skipped).min(*deliver);
            *deliver -= rows;
            if rows > 0 {
                return Ok(Some(slice(&batch, skipped as usize, rows as usize)));
            }
        }
        Ok(None)
    }

    fn reset(&mut self) -> bool {
        self.left = None;
        self.input.reset()
    }
}
