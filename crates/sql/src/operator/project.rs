//! Expressions over each row.

use super::{BoxedOperator, ExecutionContext, Operator};
use leafline_types::expr::{Expr, evaluate, evaluate_rows};
use leafline_types::{Batch, MysqlError};
use std::sync::Arc;

pub(super) struct Project {
    input: BoxedOperator,
    expressions: Arc<[Expr]>,
}

impl Project {
    pub fn new(input: BoxedOperator, expressions: Arc<[Expr]>) -> Project {
        Project { input, expressions }
    }
}

impl Operator for Project {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        let Some(batch) = self.input.next(cx)? else { return Ok(None) };
        if cx.eval.row_by_row && self.expressions.iter().any(Expr::is_volatile) {
            let columns = evaluate_rows(&self.expressions, &batch, &mut cx.eval)?;
            return Ok(Some(Batch { columns, rows: batch.rows }));
        }
        let mut columns = Vec::with_capacity(self.expressions.len());
        for expression in self.expressions.iter() {
            let value = evaluate(expression, &batch, &mut cx.eval)?;
            columns.push(value.into_array(&expression.ty.sql, batch.rows)?);
        }
        Ok(Some(Batch { columns, rows: batch.rows }))
    }

    fn reset(&mut self) -> bool {
        self.input.reset()
    }
}
