//! Plans a whole query block: the joins, and the steps above them.

use super::block_node::{BlockNode, empty, locator_column, node};
use super::distinct::distinct;
use super::early::{computed_early, late_conditions};
use super::generated::read_from_columns;
use super::joins::{JoinChoice, is_never_true, join_planner};
use super::lateral_nest::lateral_nests;
use super::locking::{Locking, lock_rows, locked_relations, rechecked};
use super::merge::merged;
use super::operators::{ProvidedOrder, enough, filter, project, row_limit, sort_and_limit};
use super::point::{point_lock, point_rows};
use super::pushdown::pushed_down;
use super::rollup;
use super::searches::{search_plan, with_scores};
use super::settings::{BlockPlanner, OptimizerContext, OptimizerSwitches};
use super::unnest::{Pulled, unnested};
use super::window::{first_order, windows};
use crate::bound::{Aggregation, BoundLimit, BoundSelect, BoundSubquery, OrderKey};
use crate::plan::{
    self, EmptyReason, Estimate, LimitValue, Node, Operator, Plan, PlanParts, RowLimit, SortKey,
    SubqueryPlan, locator_type,
};
use leafline_access::Planner;
use leafline_expr::{EvalContext, Expr, fold};
use leafline_types::{ExprType, MysqlError, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Plans a query. The plan delivers the columns of the select list.
pub fn plan_select(select: &BoundSelect, cx: &mut OptimizerContext<'_, '_>) -> Result<Plan, MysqlError> {
    plan(select, cx, false)
}

/// Plans the subqueries of a statement whose other plans are made, except subqueries that became joins and need no plan of their
/// own. Returns all parts that the plans refer to.
pub fn plan_parts(cx: &mut OptimizerContext<'_, '_>) -> Result<PlanParts, MysqlError> {
    let mut plans = BTreeMap::new();
    // A subquery inside another has the lower number, and may become a join in the plan of the outer one.
    for (number, subquery) in cx.subqueries.iter().enumerate().rev() {
        let became_join = cx.unnested.contains(&number);
        if !became_join || cx.is_kept(number) {
            let plan = plan_select(&subquery.query, cx)?;
            let (is_dependent, search) = (subquery.is_dependent, search_plan(&subquery.query).map(Arc::new));
            plans.insert(number, SubqueryPlan { plan, is_dependent, became_join, search });
        }
    }
    let commons = std::mem::take(&mut cx.commons);
    Ok(PlanParts {
        subqueries: plans,
        commons,
        row_by_row: cx.eval.row_by_row,
        calls_programs: cx.calls_programs,
    })
}

/// Plans the query that finds the rows to change or delete. After the columns of its select list the plan delivers the clustered
/// key of the row of each locked relation, in the order of the relations; NULL where an outer join found no row.
pub fn plan_rows_to_change(
    select: &BoundSelect,
    cx: &mut OptimizerContext<'_, '_>,
) -> Result<Plan, MysqlError> {
    plan(select, cx, true)
}

fn plan(
    select: &BoundSelect,
    cx: &mut OptimizerContext<'_, '_>,
    deliver_locators: bool,
) -> Result<Plan, MysqlError> {
    let root = plan_block(select, cx, deliver_locators)?;
    let mut plan = Plan::of(root, cx);
    plan.point = match deliver_locators {
        // Point plans are run without the state that stored functions need.
        _ if cx.calls_programs => None,
        true => point_lock(&plan.root),
        false => point_rows(&plan.root),
    };
    Ok(plan)
}

/// Plans query blocks inside other blocks.
struct Blocks;

impl BlockPlanner for Blocks {
    fn plan_derived(
        &self,
        select: &BoundSelect,
        cx: &mut OptimizerContext<'_, '_>,
    ) -> Result<Node, MysqlError> {
        plan_block(select, cx, false)
    }
}

impl<'c, 'a> OptimizerContext<'c, 'a> {
    /// Makes the context for a statement with these subqueries in its expressions and one thread.
    pub fn new(
        planner: Planner<'c>,
        eval: &'c mut EvalContext<'a>,
        switches: OptimizerSwitches,
        subqueries: &'c [BoundSubquery],
    ) -> OptimizerContext<'c, 'a> {
        OptimizerContext::with(&Blocks, planner, eval, switches, subqueries)
    }
}

fn plan_block(
    select: &BoundSelect,
    cx: &mut OptimizerContext<'_, '_>,
    deliver_locators: bool,
) -> Result<Node, MysqlError> {
    // A statement that assigns variables reads the rows of a derived table in that table's order.
    let merges = cx.switches.derived_merge && !cx.eval.row_by_row;
    let merged = lateral_nests(merged(select.clone(), merges));
    let mut types: Vec<ExprType> = merged.output.iter().map(|output| output.expr.ty.clone()).collect();
    if let Some(BoundLimit { count, .. }) = &merged.limit
        && let Some(Value::Int(0) | Value::UInt(0)) = count.as_literal()
    {
        if deliver_locators {
            types.extend(locked_relations(&merged).map(|_| locator_type()));
        }
        return Ok(empty(EmptyReason::ZeroLimit, types));
    }
    let merged = pushed_down(merged, cx.switches.derived_condition_pushdown);
    let recheck = rechecked(&merged);
    let mut merged = read_from_columns(unnested(merged, Pulled::No, cx)?, cx.eval);
    let late = late_conditions(&mut merged, cx)?;
    recheck.iter().flatten().for_each(|condition| cx.keep_subqueries(condition));
    let (mut planner, graph) = join_planner(&merged, cx)?;
    planner.required.extend(late.iter().flat_map(Expr::columns));
    let impossible = planner.constant_conditions(&graph).iter().any(is_never_true);
    let (mut other_plan, mut scored) = (None, None);
    let joined = match (impossible, &merged.from) {
        (true, _) => None,
        (false, None) => Some(Joined::default()),
        (false, Some(_)) => {
            let JoinChoice { plan, provided, first_row, fallback } =
                planner.cheapest(&graph, !late.is_empty())?;
            let live = (!plan.empty).then(|| planner.emit(&plan)).transpose()?;
            scored = with_scores(&merged, &plan);
            if let Some((other, entries)) = fallback {
                other_plan = Some((planner.emit(&other)?, with_scores(&merged, &other), entries));
            }
            live.map(|emitted| {
                let emitted = if first_row { only_first_row(emitted, provided) } else { emitted };
                Joined { emitted: Some(emitted), provided }
            })
        }
    };
    // Without GROUP BY there is one group, even of no rows.
    let one_row = merged.aggregation.as_ref().is_some_and(|aggregation| aggregation.keys.is_empty());
    if joined.is_none() && !one_row {
        if deliver_locators {
            types.extend(locked_relations(&merged).map(|_| locator_type()));
        }
        return Ok(empty(EmptyReason::ImpossibleWhere, types));
    }
    let (emitted, provided) = match joined {
        Some(Joined { emitted: Some(emitted), provided }) => (emitted, provided),
        Some(Joined { emitted: None, .. }) => {
            let operator = Operator::Values(plan::Values { rows: vec![Vec::new()].into() });
            let mut one = BlockNode { node: node(operator, Vec::new(), 1.0, 0.0), layout: Vec::new() };
            one = filter(one, &planner.constant_conditions(&graph))?;
            (one, ProvidedOrder::default())
        }
        None => {
            let layout: Vec<usize> = planner.required.iter().copied().collect();
            let types = layout.iter().filter_map(|column| merged.columns.get(*column));
            let node = empty(EmptyReason::ImpossibleWhere, types.map(|column| column.ty.clone()).collect());
            (BlockNode { node, layout }, ProvidedOrder::default())
        }
    };
    let emitted = filter(emitted, &late)?;
    let groups = planner.groups(emitted.node.estimate.rows)?;
    let locking = Locking { recheck, deliver_locators };
    let first = above(scored.as_ref().unwrap_or(&merged), emitted, provided, groups, planner.cx, locking)?;
    match (other_plan, &merged.limit) {
        (Some((other, scored, entries)), Some(limit)) => {
            let locking = Locking { recheck: None, deliver_locators: false };
            let select = scored.as_ref().unwrap_or(&merged);
            let fallback = above(select, other, ProvidedOrder::default(), groups, planner.cx, locking)?;
            let (types, Estimate { rows, cost_us }) = (first.types.to_vec(), first.estimate);
            let limit = row_limit(limit)?;
            let (primary, fallback) = (Box::new(first), Box::new(fallback));
            Ok(node(
                Operator::AdaptivePlan(plan::AdaptivePlan {
                    primary,
                    fallback,
                    entry_budget: entries,
                    limit,
                }),
                types,
                rows,
                cost_us,
            ))
        }
        _ => Ok(first),
    }
}

/// The rows of FROM and WHERE: operators, or one row without columns.
#[derive(Default)]
struct Joined {
    emitted: Option<BlockNode>,
    provided: ProvidedOrder,
}

/// Limits a scan to its first row.
fn only_first_row(mut rows: BlockNode, provided: ProvidedOrder) -> BlockNode {
    let limit = RowLimit { offset: LimitValue::Constant(0), count: Some(LimitValue::Constant(1)) };
    enough(&mut rows.node, &limit, true);
    let types = rows.node.types.to_vec();
    let cost_us = provided.asked_us.unwrap_or(rows.node.estimate.cost_us);
    let operator = Operator::Limit(plan::Limit { input: Box::new(rows.node), limit });
    BlockNode { node: node(operator, types, 1.0, cost_us), layout: rows.layout }
}

/// Plans the steps above the joins: locking, grouping, HAVING, select list, DISTINCT, ORDER BY, LIMIT.
fn above(
    select: &BoundSelect,
    mut rows: BlockNode,
    provided: ProvidedOrder,
    groups: f64,
    cx: &mut OptimizerContext<'_, '_>,
    locking: Locking,
) -> Result<Node, MysqlError> {
    let Locking { recheck, deliver_locators } = locking;
    let recheck = recheck.as_deref();
    let locks = select.relations.iter().any(|relation| relation.lock.is_some());
    let gathers = select.aggregation.is_some() || select.distinct || !select.windows.is_empty();
    if gathers {
        rows = lock_rows(rows, select, None, None, cx)?;
    }
    if let Some(aggregation) = &select.aggregation {
        rows = aggregate(rows, aggregation, groups, cx)?;
        if let Some(rollup) = aggregation.rollup.as_ref().filter(|_| select.order_by.is_empty()) {
            rows = rollup::in_order(rows, aggregation, rollup, cx)?;
        }
    }
    let mut having = Vec::new();
    for condition in &select.having {
        having.push(fold(condition.clone(), cx.eval)?);
    }
    if having.iter().any(is_never_true) {
        let types = select.output.iter().map(|output| output.expr.ty.clone()).collect();
        return Ok(empty(EmptyReason::ImpossibleHaving, types));
    }
    rows = filter(rows, &having)?;
    let ordered = provided.keys >= first_order(select).len();
    let (rows, early) = computed_early(rows, select, ordered, cx)?;
    let (mut rows, ordered) = windows(rows, select, ordered, cx)?;
    let provided = if select.windows.is_empty() { provided } else { ProvidedOrder::default() };
    let limit = select.limit.as_ref().map(row_limit).transpose()?;
    let outputs: Vec<Expr> = select.output.iter().map(|output| early.replaced(&output.expr)).collect();
    let outputs: Vec<&Expr> = outputs.iter().collect();
    if select.distinct {
        return distinct(rows, select, groups, limit, cx);
    }
    let keys = if ordered { Vec::new() } else { sort_keys(&rows, &early.order(&select.order_by))? };
    if let (true, Some(limit)) = (keys.is_empty(), &limit) {
        enough(&mut rows.node, limit, !locks);
    }
    let layout = std::mem::take(&mut rows.layout);
    if locks && !gathers {
        // Sort all rows: locking may find that some are not available.
        let node = sort_and_limit(rows.node, (keys, ProvidedOrder::default()), None, cx);
        let locked = lock_rows(BlockNode { node, layout }, select, recheck, limit, cx)?;
        let locators = locked_relations(select).filter(|_| deliver_locators);
        let locators: Vec<usize> = locators.map(|relation| locator_column(select, relation)).collect();
        return project(locked, &outputs, &locators);
    }
    let sorted = sort_and_limit(rows.node, (keys, provided), limit, cx);
    project(BlockNode { node: sorted, layout }, &outputs, &[])
}

fn aggregate(
    mut rows: BlockNode,
    aggregation: &Aggregation,
    groups: f64,
    cx: &OptimizerContext<'_, '_>,
) -> Result<BlockNode, MysqlError> {
    let mut sorted: Vec<_> = aggregation.keys.iter().collect();
    sorted.sort_by_key(|key| key.dependent);
    let mut grouping = sorted.iter().filter(|key| !key.dependent).count();
    let mut keys = rows.bind_all(sorted.iter().map(|key| &key.expr))?;
    let mut outs: Vec<usize> = sorted.iter().map(|key| key.out).collect();
    if let Some(rollup) = &aggregation.rollup {
        (rows, keys) = rollup::expanded(rows, rollup, keys);
        grouping = keys.len();
        outs.push(rollup.level);
    }
    let mut calls = Vec::new();
    for aggregate in &aggregation.aggregates {
        let mut call = aggregate.call.clone();
        call.args = rows.bind_all(&aggregate.call.args)?;
        calls.push(call);
    }
    let types =
        keys.iter().map(|key| key.ty.clone()).chain(calls.iter().map(|call| call.ty.clone())).collect();
    outs.extend(aggregation.aggregates.iter().map(|call| call.out));
    let input = rows.node.estimate;
    let cost = input.cost_us + input.rows * cx.planner.model.cpu.hash_probe * (1 + calls.len()) as f64;
    let operator = Operator::Aggregate(plan::Aggregate {
        input: Box::new(rows.node),
        keys: keys.into(),
        grouping,
        aggregates: calls.into(),
    });
    Ok(BlockNode { node: node(operator, types, groups, cost), layout: outs })
}

fn sort_keys(rows: &BlockNode, order: &[OrderKey]) -> Result<Vec<SortKey>, MysqlError> {
    let exprs = rows.bind_all(order.iter().map(|key| &key.expr))?;
    let keys = exprs.into_iter().zip(order);
    Ok(keys.map(|(expr, key)| SortKey { expr, descending: key.descending }).collect())
}
