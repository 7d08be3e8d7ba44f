//! Operators above the joins: filters, projections, sorts, limits.

use super::block_node::{BlockNode, node};
use super::settings::OptimizerContext;
use crate::bound::BoundLimit;
use crate::plan::{self, LimitValue, Node, Operator, RowLimit, SortKey, locator_type};
use leafline_access::{Demand, Scores};
use leafline_expr::{Expr, ExprKind};
use leafline_types::{MysqlError, Value};
use std::sync::Arc;

/// Filters rows by conditions that must all be true.
pub(super) fn filter(rows: BlockNode, conditions: &[Expr]) -> Result<BlockNode, MysqlError> {
    if conditions.is_empty() {
        return Ok(rows);
    }
    let bound = rows.bind_all(conditions)?;
    let selectivity: f64 = conditions.iter().map(leafline_access::stats::guess_selectivity).product();
    let estimate = rows.node.estimate;
    let types = rows.node.types.to_vec();
    let operator = Operator::Filter(plan::Filter { input: Box::new(rows.node), conditions: bound.into() });
    Ok(BlockNode {
        node: node(operator, types, estimate.rows * selectivity, estimate.cost_us),
        layout: rows.layout,
    })
}

/// Projects to the select list. Nothing is added where the input already delivers these columns in order.
pub(super) fn project(rows: BlockNode, outputs: &[&Expr], locators: &[usize]) -> Result<Node, MysqlError> {
    let mut expressions = rows.bind_all(outputs.iter().copied())?;
    for &locator in locators {
        expressions.push(rows.bind(&leafline_expr::build::column(locator, locator_type()))?);
    }
    let is_identity = expressions.len() == rows.node.types.len()
        && expressions.iter().enumerate().all(|(position, expr)| expr.as_column() == Some(position));
    if is_identity {
        return Ok(rows.node);
    }
    let estimate = rows.node.estimate;
    let types = expressions.iter().map(|expr| expr.ty.clone()).collect();
    let operator =
        Operator::Project(plan::Project { input: Box::new(rows.node), expressions: expressions.into() });
    Ok(node(operator, types, estimate.rows, estimate.cost_us))
}

/// Sorts the rows, or takes the first of them in order.
pub(super) fn sort_and_limit(
    input: Node,
    (keys, provided): (Vec<SortKey>, ProvidedOrder),
    limit: Option<RowLimit>,
    cx: &OptimizerContext<'_, '_>,
) -> Node {
    let (estimate, types) = (input.estimate, input.types.to_vec());
    let wanted = limit.as_ref().and_then(|limit| match (limit.offset, limit.count) {
        (LimitValue::Constant(offset), Some(LimitValue::Constant(count))) => {
            Some(offset as f64 + count as f64)
        }
        _ => None,
    });
    let rows = wanted.map_or(estimate.rows, |wanted| wanted.min(estimate.rows));
    let input = Box::new(input);
    if keys.is_empty() {
        return match limit {
            Some(limit) => {
                let cost_us = provided.asked_us.unwrap_or(estimate.cost_us);
                node(Operator::Limit(plan::Limit { input, limit }), types, rows, cost_us)
            }
            None => *input,
        };
    }
    let sorting = estimate.rows * rows.max(2.0).log2() * cx.planner.model.cpu.sort;
    let keys: Arc<[SortKey]> = keys.into();
    let operator = match limit {
        Some(limit) if limit.count.is_some() => {
            Operator::TopN(plan::TopN { input, keys, presorted: provided.keys, limit })
        }
        Some(limit) => {
            let sort = Operator::Sort(plan::Sort { input, keys });
            let sort = node(sort, types.clone(), estimate.rows, estimate.cost_us + sorting);
            Operator::Limit(plan::Limit { input: Box::new(sort), limit })
        }
        None => Operator::Sort(plan::Sort { input, keys }),
    };
    node(operator, types, rows, provided.asked_us.unwrap_or(estimate.cost_us + sorting))
}

/// Tells a scan below a chain of projections how many rows are enough. `surely`: no more are asked for.
pub(super) fn enough(rows: &mut Node, limit: &RowLimit, surely: bool) {
    let (LimitValue::Constant(offset), Some(LimitValue::Constant(count))) = (limit.offset, limit.count)
    else {
        return;
    };
    match &mut rows.operator {
        Operator::Scan(scan) => {
            let rows = usize::try_from(offset.saturating_add(count)).unwrap_or(usize::MAX);
            let scan = Arc::make_mut(scan);
            scan.demand = Demand::Rows(rows);
            if surely && !scan.path.evaluates() && scan.path.scores.is_some_and(|scores| scores.in_order) {
                let path = Arc::make_mut(&mut scan.path);
                path.scores = path.scores.map(|scores| Scores { most: Some(rows), ..scores });
            }
        }
        Operator::Project(plan::Project { input, .. })
        | Operator::DerivedTable(plan::DerivedTable { input, .. }) => enough(input, limit, surely),
        _ => {}
    }
}

/// Limits a node to its first rows.
pub(super) fn limited(input: Node, limit: &BoundLimit) -> Result<Node, MysqlError> {
    let (types, estimate) = (input.types.to_vec(), input.estimate);
    let operator = Operator::Limit(plan::Limit { input: Box::new(input), limit: row_limit(limit)? });
    Ok(node(operator, types, estimate.rows, estimate.cost_us))
}

/// Converts a limit to the form that plans have.
pub fn row_limit(limit: &BoundLimit) -> Result<RowLimit, MysqlError> {
    let offset = limit.offset.as_ref().map_or(Ok(LimitValue::Constant(0)), limit_value)?;
    Ok(RowLimit { offset, count: Some(limit_value(&limit.count)?) })
}

fn limit_value(expr: &Expr) -> Result<LimitValue, MysqlError> {
    match &expr.kind {
        ExprKind::Literal(Value::Int(rows)) if *rows >= 0 => Ok(LimitValue::Constant(*rows as u64)),
        ExprKind::Literal(Value::UInt(rows)) => Ok(LimitValue::Constant(*rows)),
        ExprKind::Parameter(position) => Ok(LimitValue::Parameter(*position)),
        _ => Err(MysqlError::wrong_arguments("LIMIT")),
    }
}

/// The part of ORDER BY and LIMIT that a plan for the joins provides.
#[derive(Clone, Copy, Default)]
pub(super) struct ProvidedOrder {
    /// Number of keys, from the first, in whose order the rows come.
    pub keys: usize,
    /// The price of the wanted rows and of their remaining sort, microseconds, if it is known separately from the price of all
    /// rows.
    pub asked_us: Option<f64>,
}
