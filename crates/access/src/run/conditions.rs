//! Conditions evaluated on entries (index condition pushdown) and on rows, with the outer row at hand.

use crate::path::{AccessPath, Condition};
use arrow_array::UInt32Array;
use arrow_select::take::take;
use leafline_expr::RowPrefilter;
use leafline_expr::{EvalContext, Expr, Selection, bind_parameters, evaluate_filter};
use leafline_types::{Batch, MysqlError};

/// Conditions over a working row and the outer row behind it.
#[derive(Clone, Debug)]
pub(crate) struct ConditionSet {
    /// All conditions, to be evaluated where the ranges are a superset of what is implied.
    all: Vec<Expr>,
    /// The conditions that the ranges never imply.
    rest: Vec<Expr>,
    /// The outer columns that are read, as the columns behind the working row.
    outer_columns: Vec<usize>,
}

impl ConditionSet {
    /// Conditions over a working row of `width` columns.
    pub fn new(conditions: &[Condition], width: usize) -> ConditionSet {
        let mut outer_columns: Vec<usize> = Vec::new();
        let mut renumbered = |condition: &Condition| {
            condition.expr.map_columns(&mut |column| match column.checked_sub(width) {
                None => column,
                Some(outer) => {
                    let known = outer_columns.iter().position(|known| *known == outer);
                    width
                        + known.unwrap_or_else(|| {
                            outer_columns.push(outer);
                            outer_columns.len() - 1
                        })
                }
            })
        };
        let all = conditions.iter().map(&mut renumbered).collect();
        let rest = conditions.iter().filter(|condition| !condition.implied).map(&mut renumbered).collect();
        ConditionSet { all, rest, outer_columns }
    }

    /// Whether there is nothing to evaluate.
    pub fn is_empty(&self, exact: bool) -> bool {
        if exact { self.rest.is_empty() } else { self.all.is_empty() }
    }

    /// The row prefilter: the conditions of the residual filter that can be tested before rows are decoded. None depends on an outer row.
    pub fn screen(&self, path: &AccessPath, exact: bool, eval: &mut EvalContext<'_>) -> RowPrefilter {
        let conditions = if exact { &self.rest } else { &self.all };
        let bound: Vec<Expr> =
            conditions.iter().map_while(|condition| bind_parameters(condition, eval).ok()).collect();
        RowPrefilter::new(&path.index.format, &path.columns, &bound)
    }

    /// The rows for which the conditions are true. `tags` number the outer rows; with `exact` the implied conditions hold
    /// already.
    pub fn filter(
        &self,
        batch: &Batch,
        tags: &[u32],
        outer: Option<&Batch>,
        exact: bool,
        eval: &mut EvalContext<'_>,
    ) -> Result<Selection, MysqlError> {
        let conditions = if exact { &self.rest } else { &self.all };
        if conditions.is_empty() {
            return Ok(Selection::All(batch.rows));
        }
        let (false, Some(outer)) = (self.outer_columns.is_empty(), outer) else {
            return evaluate_filter(conditions, batch, eval);
        };
        let rows = UInt32Array::from_iter_values(tags.iter().copied());
        let mut columns = batch.columns.clone();
        for column in &self.outer_columns {
            let column = outer
                .columns
                .get(*column)
                .ok_or_else(|| MysqlError::internal("a condition reads an outer column that is not there"))?;
            columns.push(take(column, &rows, None).map_err(MysqlError::internal)?);
        }
        evaluate_filter(conditions, &Batch { columns, rows: batch.rows }, eval)
    }
}
