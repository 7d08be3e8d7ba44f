//! WITH ROLLUP: delivers every row once for each level, with the group keys of that level.

use super::limit::slice;
use super::{BoxedOperator, Build, Builder, ExecutionContext, Operator};
use arrow_array::{ArrayRef, Int64Array};
use leafline_expr::{Expr, evaluate_some};
use leafline_planner::plan::{self, Node};
use leafline_types::column::nulls;
use leafline_types::{Batch, MysqlError};
use std::sync::Arc;

pub(super) struct Rollup {
    input: BoxedOperator,
    keys: Arc<[Expr]>,
    levels: plan::Levels,
    /// A batch of the input with its keys, and the number of levels still to deliver.
    current: Option<(Batch, Vec<ArrayRef>, usize)>,
    /// Input rows whose keys are not computed yet, because they are long.
    rest: Option<Batch>,
}

impl Rollup {
    pub fn new(input: BoxedOperator, keys: Arc<[Expr]>, levels: plan::Levels) -> Rollup {
        Rollup { input, keys, levels, current: None, rest: None }
    }
}

impl Build for plan::Rollup {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        Box::new(Rollup::new(builder.build(&self.input), self.keys.clone(), self.levels.clone()))
    }
}

impl Operator for Rollup {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        let (batch, keys, left) = match self.current.take() {
            Some(current) => current,
            None => {
                let batch = match self.rest.take() {
                    Some(rest) => rest,
                    None => match self.input.next(cx)? {
                        Some(batch) => batch,
                        None => return Ok(None),
                    },
                };
                let (keys, rows) = evaluate_some(&self.keys, &batch, &mut cx.eval)?;
                if rows < batch.rows {
                    self.rest = Some(slice(&batch, rows, batch.rows - rows));
                }
                (slice(&batch, 0, rows), keys, self.levels.greatest + 1)
            }
        };
        let level = left.saturating_sub(1);
        let mut columns = batch.columns.clone();
        for ((key, value), leave_out) in self.keys.iter().zip(&keys).zip(self.levels.leave_out.iter()) {
            let kept = level > *leave_out;
            columns.push(if kept { value.clone() } else { nulls(&key.ty.sql, batch.rows) });
        }
        columns.push(Arc::new(Int64Array::from_value(level as i64, batch.rows)));
        let rows = batch.rows;
        if level > 0 {
            self.current = Some((batch, keys, level));
        }
        Ok(Some(Batch { columns, rows }))
    }
}
