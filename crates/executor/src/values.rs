//! Delivers rows of constants, or no rows.

use super::{BoxedOperator, Build, Builder, ExecutionContext, Operator};
use leafline_expr::{Expr, evaluate_scalar};
use leafline_planner::plan::{self, Node};
use leafline_types::{Batch, ColumnBuilder, ExprType, MysqlError};
use std::sync::Arc;

pub(super) struct Values {
    rows: Arc<[Vec<Expr>]>,
    types: Arc<[ExprType]>,
    done: bool,
}

impl Values {
    pub fn new(rows: Arc<[Vec<Expr>]>, types: Arc<[ExprType]>) -> Values {
        Values { rows, types, done: false }
    }
}

impl Build for plan::Values {
    fn build(&self, node: &Node, _builder: &Builder<'_>) -> BoxedOperator {
        Box::new(Values::new(self.rows.clone(), node.types.clone()))
    }
}

impl Build for plan::Empty {
    fn build(&self, _node: &Node, _builder: &Builder<'_>) -> BoxedOperator {
        Box::new(Empty)
    }
}

impl Operator for Values {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        if std::mem::replace(&mut self.done, true) || self.rows.is_empty() {
            return Ok(None);
        }
        let mut builders: Vec<ColumnBuilder> =
            self.types.iter().map(|ty| ColumnBuilder::with_capacity(&ty.sql, self.rows.len())).collect();
        for row in self.rows.iter() {
            for (expr, builder) in row.iter().zip(&mut builders) {
                builder.push_value(&evaluate_scalar(expr, &mut cx.eval)?)?;
            }
        }
        let columns = builders.iter_mut().map(ColumnBuilder::finish).collect();
        Ok(Some(Batch { columns, rows: self.rows.len() }))
    }

    fn reset(&mut self) -> bool {
        self.done = false;
        true
    }
}

pub(super) struct Empty;

impl Operator for Empty {
    fn next(&mut self, _cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        Ok(None)
    }

    fn reset(&mut self) -> bool {
        true
    }
}
