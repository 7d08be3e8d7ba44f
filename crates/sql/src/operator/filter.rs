//! Rows for which every condition is true.

use super::{BoxedOperator, ExecutionContext, Operator};
use leafline_types::expr::{Expr, evaluate_filter};
use leafline_types::{Batch, MysqlError};
use std::sync::Arc;

pub(super) struct Filter {
    input: BoxedOperator,
    conditions: Arc<[Expr]>,
}

impl Filter {
    pub fn new(input: BoxedOperator, conditions: Arc<[Expr]>) -> Filter {
        Filter { input, conditions }
    }
}

impl Operator for Filter {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        while let Some(batch) = self.input.next(cx)? {
            let selection = evaluate_filter(&self.conditions, &batch, &mut cx.eval)?;
            if selection.count() > 0 {
                return selection.apply(&batch).map(Some);
            }
        }
        Ok(None)
    }

    fn reset(&mut self) -> bool {
        self.input.reset()
    }
}
