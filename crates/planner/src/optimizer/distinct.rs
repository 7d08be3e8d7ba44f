//! Plans SELECT DISTINCT above the joins.

use super::block_node::{BlockNode, bind, node};
use super::operators::{ProvidedOrder, project, sort_and_limit};
use super::settings::OptimizerContext;
use crate::bound::BoundSelect;
use crate::plan::{self, Node, Operator, RowLimit, SortKey};
use leafline_expr::{Expr, build};
use leafline_types::MysqlError;

/// Delivers each distinct row of the select list once, in the order of ORDER BY.
///
/// Without ONLY_FULL_GROUP_BY the order may use columns that are not selected. Each row then has the values of the first row
/// equal to it, as in MySQL's temporary table.
pub(super) fn distinct(
    rows: BlockNode,
    select: &BoundSelect,
    groups: f64,
    limit: Option<RowLimit>,
    cx: &OptimizerContext<'_, '_>,
) -> Result<Node, MysqlError> {
    let outputs: Vec<&Expr> = select.output.iter().map(|output| &output.expr).collect();
    let mut keys: Vec<SortKey> = Vec::with_capacity(select.order_by.len());
    let mut unselected: Vec<&Expr> = Vec::new();
    for key in &select.order_by {
        let expr = select.over_outputs(&key.expr).unwrap_or_else(|_| {
            unselected.push(&key.expr);
            build::column(outputs.len() + unselected.len() - 1, key.expr.ty.clone())
        });
        keys.push(SortKey { expr, descending: key.descending });
    }
    let all: Vec<&Expr> = outputs.iter().copied().chain(unselected.iter().copied()).collect();
    let projected = project(rows, &all, &[])?;
    let (types, estimate) = (projected.types.to_vec(), projected.estimate);
    let input = Box::new(projected);
    let operator = match unselected.is_empty() {
        true => Operator::Distinct(plan::Distinct { input }),
        false => {
            let columns = types.iter().enumerate().map(|(at, ty)| build::column(at, ty.clone()));
            Operator::Aggregate(plan::Aggregate {
                input,
                keys: columns.collect(),
                grouping: outputs.len(),
                aggregates: Vec::new().into(),
            })
        }
    };
    let distinct = node(operator, types, groups.min(estimate.rows), estimate.cost_us);
    let sorted = sort_and_limit(distinct, (keys, ProvidedOrder::default()), limit, cx);
    if unselected.is_empty() {
        return Ok(sorted);
    }
    let layout: Vec<usize> = (0..all.len()).collect();
    let selected = outputs.iter().enumerate().map(|(at, output)| build::column(at, output.ty.clone()));
    let selected = selected.map(|column| bind(&column, &layout)).collect::<Result<Vec<_>, _>>()?;
    project(BlockNode { node: sorted, layout }, &selected.iter().collect::<Vec<_>>(), &[])
}
