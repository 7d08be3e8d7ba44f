//! WITH ROLLUP: every row once for each level, to be grouped by the keys that the level keeps.

use super::{BoxedOperator, ExecutionContext, Operator};
use crate::plan::Levels;
use arrow_array::{ArrayRef, Int64Array};
use leafline_types::column::nulls;
use leafline_types::expr::{Expr, evaluate};
use leafline_types::{Batch, MysqlError};
use std::sync::Arc;

pub(super) struct Rollup {
    input: BoxedOperator,
    keys: Arc<[Expr]>,
    levels: Levels,
    /// A batch of the input with its keys, and how many levels of it are still to be delivered.
    current: Option<(Batch, Vec<ArrayRef>, usize)>,
}

impl Rollup {
    pub fn new(input: BoxedOperator, keys: Arc<[Expr]>, levels: Levels) -> Rollup {
        Rollup { input, keys, levels, current: None }
    }
}

impl Operator for Rollup {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        let (batch, keys, left) = match self.current.take() {
            Some(current) => current,
            None => {
                let Some(batch) = self.input.next(cx)? else { return Ok(None) };
                let mut keys = Vec::with_capacity(self.keys.len());
                for key in self.keys.iter() {
                    let value = evaluate(key, &batch, &mut cx.eval)?;
                    keys.push(value.into_array(&key.ty.sql, batch.rows)?);
                }
                (batch, keys, self.levels.greatest + 1)
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
