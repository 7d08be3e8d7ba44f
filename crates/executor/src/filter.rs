//! Delivers the rows for which every condition is true.

use super::{BoxedOperator, Build, Builder, ExecutionContext, Operator};
use leafline_expr::{Expr, evaluate_filter, row_passes};
use leafline_planner::plan::{self, Node};
use leafline_types::{Batch, MysqlError};
use std::sync::Arc;

pub(super) struct Filter {
    input: BoxedOperator,
    conditions: Arc<[Expr]>,
    /// If the conditions assign user variables: the input rows that remain, and the position of the first of them.
    waiting: Option<(Batch, usize)>,
}

impl Filter {
    pub fn new(input: BoxedOperator, conditions: Arc<[Expr]>) -> Filter {
        Filter { input, conditions, waiting: None }
    }

    /// Delivers a single row, because expressions above and the conditions on the following rows may depend on each other.
    fn next_row(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        loop {
            let (batch, from) = match self.waiting.take() {
                Some(waiting) => waiting,
                None => match self.input.next(cx)? {
                    Some(batch) => (batch, 0),
                    None => return Ok(None),
                },
            };
            cx.eval.cancel.check()?;
            for row in from..batch.rows {
                if row_passes(&self.conditions, &batch, row, &mut cx.eval)? {
                    let columns = batch.columns.iter().map(|column| column.slice(row, 1)).collect();
                    if row + 1 < batch.rows {
                        self.waiting = Some((batch, row + 1));
                    }
                    return Ok(Some(Batch { columns, rows: 1 }));
                }
            }
        }
    }
}

impl Build for plan::Filter {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        Box::new(Filter::new(builder.build(&self.input), self.conditions.clone()))
    }
}

impl Operator for Filter {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        if cx.eval.row_by_row && self.conditions.iter().any(Expr::is_volatile) {
            return self.next_row(cx);
        }
        while let Some(batch) = self.input.next(cx)? {
            let selection = evaluate_filter(&self.conditions, &batch, &mut cx.eval)?;
            if selection.count() > 0 {
                return selection.apply(&batch).map(Some);
            }
        }
        Ok(None)
    }

    fn reset(&mut self) -> bool {
        self.waiting = None;
        self.input.reset()
    }
}
