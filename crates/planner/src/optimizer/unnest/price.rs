//! Prices a block with the subqueries that are left in its expressions, to compare choices.

use super::{Pulled, subqueries_of, unnested};
use crate::bound::BoundSelect;
use crate::optimizer::joins::{is_never_true, join_planner};
use crate::optimizer::merge::merged;
use crate::optimizer::settings::OptimizerContext;
use crate::params::SUBQUERY_RUN_US;
use leafline_access::stats::guess_selectivity;
use leafline_expr::Expr;
use leafline_types::MysqlError;

/// Returns the price of the rows of a block before grouping and sorting, with the runs of the subqueries in its expressions.
pub(super) fn price(select: &BoundSelect, cx: &mut OptimizerContext<'_, '_>) -> Result<f64, MysqlError> {
    let (mut planner, graph) = join_planner(select, cx)?;
    let (mut cost, mut rows) = (0.0, 1.0);
    if select.from.is_some() && !planner.constant_conditions(&graph).iter().any(is_never_true) {
        let plan = planner.cheapest(&graph, false)?.plan;
        (cost, rows) = (plan.cost_us, plan.rows);
    }
    let asked: Vec<&Expr> = select.filter.iter().filter(|condition| condition.has_subquery()).collect();
    let passed: f64 = asked.iter().map(|condition| guess_selectivity(condition)).product();
    let outputs = select.output.iter().map(|output| &output.expr);
    let outputs: Vec<&Expr> = outputs.filter(|_| select.aggregation.is_none()).collect();
    let mut runs = Vec::new();
    for (rows, exprs) in [(rows / passed.max(f64::MIN_POSITIVE), asked), (rows, outputs)] {
        for subquery in exprs.into_iter().flat_map(subqueries_of) {
            let times = if subquery.is_volatile { rows } else { planner.groups_of(&subquery.outer, rows)? };
            runs.push((subquery.number, times));
        }
    }
    for (number, times) in runs {
        cost += times * subquery_price(number, cx)?;
    }
    Ok(cost)
}

/// Returns the price of a run of a subquery.
fn subquery_price(number: usize, cx: &mut OptimizerContext<'_, '_>) -> Result<f64, MysqlError> {
    if let Some(known) = cx.subquery_costs.get(&number) {
        return Ok(*known);
    }
    let Some(subquery) = cx.subqueries.get(number) else { return Ok(0.0) };
    let before = cx.unnested.clone();
    let merged = merged(subquery.query.clone(), cx.switches.derived_merge);
    let query = unnested(merged, Pulled::No, cx)?;
    let cost = price(&query, cx)? + SUBQUERY_RUN_US;
    cx.unnested = before;
    cx.subquery_costs.insert(number, cost);
    Ok(cost)
}
