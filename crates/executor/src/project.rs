//! Computes expressions for each row. Where the values are long, a batch of the input becomes several.

use super::{BoxedOperator, Build, Builder, ExecutionContext, Operator};
use crate::params::LONG_CHARACTERS;
use leafline_expr::{Expr, build, evaluate_some};
use leafline_planner::plan::{self, Node};
use leafline_types::{Batch, ExprType, MysqlError, SqlType};
use std::sync::Arc;

pub(super) struct Project {
    input: BoxedOperator,
    expressions: Arc<[Expr]>,
    /// Input rows that remain to be computed.
    rest: Option<Batch>,
}

impl Project {
    pub fn new(input: BoxedOperator, expressions: Arc<[Expr]>) -> Project {
        Project { input, expressions, rest: None }
    }
}

/// Whether an expression is computed and may be long, so that a batch of its values may exceed the limit of a batch.
pub(super) fn may_be_long(expr: &Expr) -> bool {
    expr.as_column().is_none()
        && expr.as_literal().is_none()
        && match expr.ty.sql {
            SqlType::Text { max_bytes } | SqlType::Blob { max_bytes } => max_bytes as usize > LONG_CHARACTERS,
            SqlType::Json => true,
            SqlType::Varchar { len } | SqlType::Varbinary { len } => len as usize > LONG_CHARACTERS,
            _ => false,
        }
}

/// Returns the rows of an input with the values of `exprs` after their columns, which have these `types`.
pub(super) fn with_values(input: BoxedOperator, types: &[ExprType], exprs: Vec<Expr>) -> BoxedOperator {
    let columns = types.iter().cloned().enumerate().map(|(n, ty)| build::column(n, ty));
    Box::new(Project::new(input, columns.chain(exprs).collect()))
}

impl Build for plan::Project {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        Box::new(Project::new(builder.build(&self.input), self.expressions.clone()))
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
