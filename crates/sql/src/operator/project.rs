//! Expressions over each row.
//!
//! Where expressions make strings, as many rows are evaluated at a time as make a batch of [`BATCH_BYTES`], judging by those before.

use super::batch_size::BATCH_BYTES;
use super::gather::batch_bytes;
use super::limit::slice;
use super::{BATCH_ROWS, BoxedOperator, ExecutionContext, Operator};
use leafline_types::expr::{Expr, evaluate};
use leafline_types::{Batch, MysqlError, SqlType};
use std::sync::Arc;

/// Rows that are evaluated before it is known how long strings are, and by how much their number grows.
const FIRST_ROWS: usize = 16;
const GROWTH: usize = 16;

pub(super) struct Project {
    input: BoxedOperator,
    expressions: Arc<[Expr]>,
    /// Some of them make strings.
    makes_strings: bool,
    /// How many rows are evaluated at a time.
    rows: usize,
    /// A batch of the input of which the first rows are done.
    rest: Option<(Batch, usize)>,
}

impl Project {
    pub fn new(input: BoxedOperator, expressions: Arc<[Expr]>) -> Project {
        let is_made = |expr: &Expr| expr.as_column().is_none() && expr.as_literal().is_none();
        let is_string = |expr: &Expr| expr.ty.sql.is_string() || matches!(expr.ty.sql, SqlType::Json);
        let makes_strings = expressions.iter().any(|expr| is_made(expr) && is_string(expr));
        let rows = if makes_strings { FIRST_ROWS } else { usize::MAX };
        Project { input, expressions, makes_strings, rows, rest: None }
    }

    fn evaluate(&mut self, batch: &Batch, cx: &mut ExecutionContext<'_>) -> Result<Batch, MysqlError> {
        let mut columns = Vec::with_capacity(self.expressions.len());
        for expression in self.expressions.iter() {
            let value = evaluate(expression, batch, &mut cx.eval)?;
            columns.push(value.into_array(&expression.ty.sql, batch.rows)?);
        }
        Ok(Batch { columns, rows: batch.rows })
    }

    /// Sees from a batch that was made how many rows the next one is to have.
    fn learn(&mut self, made: &Batch) {
        let bytes_of_row = batch_bytes(made) / made.rows.max(1);
        let fitting = BATCH_BYTES / bytes_of_row.max(1);
        self.rows = fitting.min(made.rows.saturating_mul(GROWTH)).clamp(1, BATCH_ROWS);
    }
}

impl Operator for Project {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        let (batch, done) = match self.rest.take() {
            Some(rest) => rest,
            None => match self.input.next(cx)? {
                Some(batch) => (batch, 0),
                None => return Ok(None),
            },
        };
        if !self.makes_strings {
            return self.evaluate(&batch, cx).map(Some);
        }
        let rows = self.rows.min(batch.rows - done);
        let made = self.evaluate(&slice(&batch, done, rows), cx)?;
        self.learn(&made);
        if done + rows < batch.rows {
            self.rest = Some((batch, done + rows));
        }
        Ok(Some(made))
    }

    fn reset(&mut self) -> bool {
        self.rest = None;
        self.input.reset()
    }
}
