//! Expressions over each row. Where their values are long, a batch of the input becomes several.

use super::{BoxedOperator, ExecutionContext, Operator};
use leafline_types::expr::{Expr, evaluate_some};
use leafline_types::{Batch, MysqlError};
use std::sync::Arc;

pub(super) struct Project {
    input: BoxedOperator,
    expressions: Arc<[Expr]>,
    /// Rows of the input that are still to be computed.
    rest: Option<Batch>,
}

impl Project {
    pub fn new(input: BoxedOperator, expressions: Arc<[Expr]>) -> Project {
        Project { input, expressions, rest: None }
    }
}

impl Operator for Project {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        let batch = match self.rest.take() {
            Some(rest) => rest,
            None => match self.input.next(cx)? {
                Some(batch) => batch,
                None => return Ok(None),
            },
        };
        let (columns, rows) = evaluate_some(&self.expressions, &batch, &mut cx.eval)?;
        if rows < batch.rows {
            let left = |column: &arrow_array::ArrayRef| column.slice(rows, batch.rows - rows);
            self.rest =
                Some(Batch { columns: batch.columns.iter().map(left).collect(), rows: batch.rows - rows });
        }
        Ok(Some(Batch { columns, rows }))
    }

    fn reset(&mut self) -> bool {
        self.rest = None;
        self.input.reset()
    }
}
