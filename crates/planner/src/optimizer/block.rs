//! A whole query block: the joins, and what comes above them.

use super::distinct::distinct;
use super::early::{computed_early, late_conditions};
use super::emit::{Emitted, demand_all, empty, locator_column, node, number};
use super::equalities::{Class, classes};
use super::first_rows::is_certain;
use super::generated::read_from_columns;
use super::graph::{ColumnMap, Graph, MemberSource, build};
use super::lateral_nest::lateral_nests;
use super::locking::{Locking, lock_rows, locked_relations, rechecked};
use super::members::JoinPlanner;
use super::merge::merged;
use super::order::{InOrder, Wanted};
use super::parallel::shared_by_threads;
use super::partial::{PartialRef, Step};
use super::pushdown::pushed_down;
use super::rollup;
use super::runtime_filters::place_filters;
use super::selectivity::groups;
use super::settings::OptimizerContext;
use super::trace::TraceStep;
use super::unnest::{Pulled, unnested};
use super::window::{first_order, windows};
use crate::bound::{Aggregation, BoundLimit, BoundSelect, OrderKey, RelationSource};
use crate::plan::{
    self, EmptyReason, Estimate, LimitValue, Node, Operator, Plan, PlanParts, RowLimit, SortKey,
    SubqueryPlan, locator_type,
};
use leafline_access::Demand;
use leafline_expr::aggregate::AggregateFunction;
use leafline_expr::{Expr, ExprKind, fold};
use leafline_types::{ExprType, MysqlError, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Plans a query. The plan delivers the columns of its select list.
pub fn plan_select(select: &BoundSelect, cx: &mut OptimizerContext<'_, '_>) -> Result<Plan, MysqlError> {
    plan(select, cx, false)
}

/// Plans the subqueries of a statement whose other plans are made, but for those that became joins there and are not kept, and gives all
/// that the plans refer to.
pub fn plan_parts(cx: &mut OptimizerContext<'_, '_>) -> Result<PlanParts, MysqlError> {
    let mut plans = BTreeMap::new();
    // A subquery inside another has the lower number: it may become a join in the plan of that.
    for (number, subquery) in cx.subqueries.iter().enumerate().rev() {
        let became_join = cx.unnested.contains(&number);
        if !became_join || cx.is_kept(number) {
            let plan = plan_select(&subquery.query, cx)?;
            plans.insert(number, SubqueryPlan { plan, is_dependent: subquery.is_dependent, became_join });
        }
    }
    let commons = std::mem::take(&mut cx.commons);
    Ok(PlanParts { subqueries: plans, commons, row_by_row: cx.eval.row_by_row })
}

/// Plans the query that finds the rows to change or delete: behind the columns of its select list it delivers the clustered key of
/// the row of each relation that is locked, in their order; NULL where an outer join found none.
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
    Ok(Plan::of(root, cx))
}

impl Plan {
    /// The plan of a tree of operators.
    pub(super) fn of(mut root: Node, cx: &OptimizerContext<'_, '_>) -> Plan {
        demand_all(&mut root, true);
        if cx.switches.runtime_filter {
            place_filters(&mut root, cx.filtering, 0);
        }
        shared_by_threads(&mut root, cx.parallelism);
        let node_count = number(&mut root, 0);
        Plan { root, node_count }
    }
}

/// Plans a derived table.
pub(super) fn plan_derived(
    select: &BoundSelect,
    cx: &mut OptimizerContext<'_, '_>,
) -> Result<Node, MysqlError> {
    plan_block(select, cx, false)
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
    let mut other_plan = None;
    let joined = match (impossible, &merged.from) {
        (true, _) => None,
        (false, None) => Some(Joined::default()),
        (false, Some(_)) => {
            let Chosen { plan, served, first_row, fallback } = planner.cheapest(&graph, !late.is_empty())?;
            let live = (!plan.empty).then(|| planner.emit(&plan)).transpose()?;
            if let Some((other, entries)) = fallback {
                other_plan = Some((planner.emit(&other)?, entries));
            }
            live.map(|emitted| {
                let emitted = if first_row { only_first_row(emitted, served) } else { emitted };
                Joined { emitted: Some(emitted), served }
            })
        }
    };
    // Without GROUP BY there is a row even of nothing.
    let one_row = merged.aggregation.as_ref().is_some_and(|aggregation| aggregation.keys.is_empty());
    if joined.is_none() && !one_row {
        if deliver_locators {
            types.extend(locked_relations(&merged).map(|_| locator_type()));
        }
        return Ok(empty(EmptyReason::ImpossibleWhere, types));
    }
    let (emitted, served) = match joined {
        Some(Joined { emitted: Some(emitted), served }) => (emitted, served),
        Some(Joined { emitted: None, .. }) => {
            let operator = Operator::Values(plan::Values { rows: vec![Vec::new()].into() });
            let mut one = Emitted { node: node(operator, Vec::new(), 1.0, 0.0), layout: Vec::new() };
            one = filter(one, &planner.constant_conditions(&graph))?;
            (one, Served::default())
        }
        None => {
            let layout: Vec<usize> = planner.required.iter().copied().collect();
            let types = layout.iter().filter_map(|column| merged.columns.get(*column));
            let node = empty(EmptyReason::ImpossibleWhere, types.map(|column| column.ty.clone()).collect());
            (Emitted { node, layout }, Served::default())
        }
    };
    let emitted = filter(emitted, &late)?;
    let groups = planner.groups(emitted.node.estimate.rows)?;
    let locking = Locking { recheck, deliver_locators };
    let first = above(&merged, emitted, served, groups, planner.cx, locking)?;
    match (other_plan, &merged.limit) {
        (Some((other, entries)), Some(limit)) => {
            let locking = Locking { recheck: None, deliver_locators: false };
            let fallback = above(&merged, other, Served::default(), groups, planner.cx, locking)?;
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

/// What plans the joins of a block, and what there is to join.
pub(super) fn join_planner<'p, 'c, 'a>(
    select: &'p BoundSelect,
    cx: &'p mut OptimizerContext<'c, 'a>,
) -> Result<(JoinPlanner<'p, 'c, 'a>, Graph), MysqlError> {
    let mut graph = build(select, cx.eval)?;
    let mut planner = JoinPlanner {
        select,
        cx,
        required: required(select),
        conditions: Vec::new(),
        classes: Vec::new(),
        every_index: false,
        share: 1.0,
        distinct_values: HashMap::new(),
        equal_pairs: HashMap::new(),
        looked_up: HashMap::new(),
        planned: HashMap::new(),
    };
    take_classes(&mut graph, &ColumnMap { select }, &mut planner.classes);
    collect_conditions(&graph, &mut planner.conditions);
    Ok((planner, graph))
}

/// A plan for the joins.
pub(super) struct Chosen {
    pub(super) plan: PartialRef,
    served: Served,
    /// Its first row is all that is needed.
    first_row: bool,
    /// What is run, unordered, if it examines more than so many entries.
    fallback: Option<(PartialRef, u64)>,
}

impl Chosen {
    /// Rows in any order.
    pub(super) fn unordered(plan: PartialRef) -> Chosen {
        Chosen { plan, served: Served::default(), first_row: false, fallback: None }
    }
}

/// What ORDER BY and LIMIT have of a plan.
#[derive(Clone, Copy, Default)]
pub(super) struct Served {
    /// Its rows come in the order of so many of the keys, from the first.
    keys: usize,
    /// What the rows cost that are asked for, if it is known apart from what all of them do, microseconds; with what sorting is left.
    asked_us: Option<f64>,
}

/// The rows of FROM and WHERE: operators, or one row without columns.
#[derive(Default)]
struct Joined {
    emitted: Option<Emitted>,
    served: Served,
}

impl JoinPlanner<'_, '_, '_> {
    /// The cheapest plan for the joins, with what sorting costs in mind. `filtered`: conditions reject rows of the result, so that its first
    /// rows are not enough.
    pub(super) fn cheapest(&mut self, graph: &Graph, filtered: bool) -> Result<Chosen, MysqlError> {
        let select = self.select;
        let (members, joined) = self.joined(graph)?;
        if filtered {
            return Ok(Chosen::unordered(joined));
        }
        let rows = joined.rows.max(1.0);
        if !joined.empty
            && let Some(loose) = self.plan_loose(graph)?
            && loose.plan.cost_us < joined.cost_us + rows * self.cx.planner.model.cpu.hash_build
        {
            return Ok(loose);
        }
        if let Some(key) = extreme(select).filter(|_| !joined.empty) {
            let found = self.plan_extreme(graph, &key, rows)?;
            let found = found.filter(|found| found.cost_us < joined.cost_us);
            return Ok(match found {
                Some(InOrder { plan, cost_us, .. }) => {
                    let served = Served { keys: 0, asked_us: Some(cost_us) };
                    Chosen { plan, served, first_row: true, fallback: None }
                }
                None => Chosen::unordered(joined),
            });
        }
        let order = first_order(select);
        let wanted = select.limit.as_ref().filter(|_| select.windows.is_empty()).and_then(rows_wanted);
        let as_they_come = order.is_empty() && select.aggregation.is_none() && !select.distinct;
        if let Some(wanted) = wanted.filter(|wanted| as_they_come && *wanted < rows) {
            self.share = wanted / rows;
            let joined = self.joined(graph);
            self.share = 1.0;
            let plan = joined?.1;
            let asked_us = Some(self.partly(&plan, wanted / rows));
            return Ok(Chosen { served: Served { keys: 0, asked_us }, ..Chosen::unordered(plan) });
        }
        let is_sorted = !select.windows.is_empty() || !select.distinct;
        if order.is_empty() || select.aggregation.is_some() || !is_sorted || joined.empty {
            return Ok(Chosen::unordered(joined));
        }
        let share = wanted.map_or(1.0, |wanted| (wanted / rows).min(1.0));
        let sorted_rows = if share < 1.0 { (rows * share).max(2.0) } else { rows.max(2.0) };
        let sort = self.cx.planner.model.cpu.sort;
        let cost = |plan: &PartialRef| plan.cost_us + plan.rows.max(1.0) * sorted_rows.log2() * sort;
        let wanted = wanted.filter(|_| share < 1.0);
        let few = match wanted {
            Some(wanted) => self.plan_first_of_each(graph, &order, wanted as usize)?,
            None => None,
        };
        let joined = few.filter(|few| cost(few) < cost(&joined)).unwrap_or(joined);
        let sorted = cost(&joined);
        let locks = select.relations.iter().any(|relation| relation.lock.is_some());
        let partly_sorted = wanted.is_some() && !locks;
        let found = self.plan_in_order(graph, &members, &order, Wanted { rows, share, partly_sorted })?;
        let pays = |found: &InOrder| {
            let is_bet = share < 1.0 && !is_certain(&found.plan);
            found.cost_us * if is_bet { self.cx.patience.bet } else { 1.0 } <= sorted
        };
        let in_order = found.as_ref().is_some_and(|found| found.forced || pays(found));
        let in_order_us = found.as_ref().map(|found| found.cost_us);
        self.note(|_| TraceStep::Order { in_order_us, sorted_us: sorted, in_order });
        match found.filter(|_| in_order) {
            Some(found) => {
                let repeatable = |expr: &Expr| !expr.is_volatile();
                let repeatable = select.filter.iter().all(repeatable)
                    && select.output.iter().all(|output| repeatable(&output.expr));
                let guarded = share < 1.0 && !locks && !found.forced && repeatable;
                let fallback = guarded.then(|| self.allowance(&found.plan, found.share, sorted)).flatten();
                let fallback = fallback.map(|entries| (joined, entries));
                let asked_us = (share < 1.0).then_some(found.cost_us);
                let served = Served { keys: found.served, asked_us };
                Ok(Chosen { plan: found.plan, served, first_row: false, fallback })
            }
            None => Ok(Chosen::unordered(joined)),
        }
    }

    /// The rows with the least or the greatest value first, those without one left out: MIN and MAX are in the first row. A path
    /// that rejects rows is not worth the risk: all rows with a value near that end may be rejected.
    fn plan_extreme(
        &mut self,
        graph: &Graph,
        key: &OrderKey,
        rows: f64,
    ) -> Result<Option<InOrder>, MysqlError> {
        let mut graph = graph.clone();
        if key.expr.ty.nullable {
            graph.conjuncts.push(leafline_expr::build::is_null(key.expr.clone(), true));
        }
        let members = self.prepare(&graph)?;
        let wanted = Wanted { rows, share: 1.0 / rows, partly_sorted: false };
        let found = self.plan_in_order(&graph, &members, std::slice::from_ref(key), wanted)?;
        Ok(found.filter(|found| match &found.plan.step {
            Step::Access { candidate, .. } => candidate.path.delivers_all(),
            _ => false,
        }))
    }

    /// How many groups, or distinct rows, `rows` rows make.
    fn groups(&mut self, rows: f64) -> Result<f64, MysqlError> {
        let select = self.select;
        match &select.aggregation {
            Some(aggregation) => {
                let keys = aggregation.keys.iter().filter(|key| !key.dependent).map(|key| &key.expr);
                groups(self, keys, rows)
            }
            None if select.distinct => groups(self, select.output.iter().map(|output| &output.expr), rows),
            None => Ok(rows),
        }
    }
}

/// The order whose first row has the only aggregate of a query without GROUP BY, if that is MIN or MAX of a table's column.
fn extreme(select: &BoundSelect) -> Option<OrderKey> {
    let aggregation = select.aggregation.as_ref().filter(|aggregation| aggregation.keys.is_empty())?;
    let ([only], [_]) = (aggregation.aggregates.as_slice(), select.relations.as_slice()) else { return None };
    let descending = match only.call.function {
        AggregateFunction::Min => false,
        AggregateFunction::Max => true,
        _ => return None,
    };
    let [column] = only.call.args.as_slice() else { return None };
    column.as_column()?;
    Some(OrderKey { expr: column.clone(), descending })
}

/// The first row of a scan.
fn only_first_row(mut rows: Emitted, served: Served) -> Emitted {
    let limit = RowLimit { offset: LimitValue::Constant(0), count: Some(LimitValue::Constant(1)) };
    enough(&mut rows.node, &limit);
    let types = rows.node.types.to_vec();
    let cost_us = served.asked_us.unwrap_or(rows.node.estimate.cost_us);
    let operator = Operator::Limit(plan::Limit { input: Box::new(rows.node), limit });
    Emitted { node: node(operator, types, 1.0, cost_us), layout: rows.layout }
}

/// Locking, grouping, HAVING, select list, DISTINCT, ORDER BY, LIMIT.
fn above(
    select: &BoundSelect,
    mut rows: Emitted,
    served: Served,
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
    let ordered = served.keys >= first_order(select).len();
    let (rows, early) = computed_early(rows, select, ordered, cx)?;
    let (mut rows, ordered) = windows(rows, select, ordered, cx)?;
    let served = if select.windows.is_empty() { served } else { Served::default() };
    let limit = select.limit.as_ref().map(row_limit).transpose()?;
    let outputs: Vec<Expr> = select.output.iter().map(|output| early.replaced(&output.expr)).collect();
    let outputs: Vec<&Expr> = outputs.iter().collect();
    if select.distinct {
        return distinct(rows, select, groups, limit, cx);
    }
    let keys = if ordered { Vec::new() } else { sort_keys(&rows, &early.order(&select.order_by))? };
    if let (true, Some(limit)) = (keys.is_empty(), &limit) {
        enough(&mut rows.node, limit);
    }
    let layout = std::mem::take(&mut rows.layout);
    if locks && !gathers {
        // All rows are sorted, as some of them may not be to be had.
        let node = sort_and_limit(rows.node, (keys, Served::default()), None, cx);
        let locked = lock_rows(Emitted { node, layout }, select, recheck, limit, cx)?;
        let locators = locked_relations(select).filter(|_| deliver_locators);
        let locators: Vec<usize> = locators.map(|relation| locator_column(select, relation)).collect();
        return project(locked, &outputs, &locators);
    }
    let sorted = sort_and_limit(rows.node, (keys, served), limit, cx);
    project(Emitted { node: sorted, layout }, &outputs, &[])
}

fn aggregate(
    mut rows: Emitted,
    aggregation: &Aggregation,
    groups: f64,
    cx: &OptimizerContext<'_, '_>,
) -> Result<Emitted, MysqlError> {
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
    Ok(Emitted { node: node(operator, types, groups, cost), layout: outs })
}

pub(super) fn filter(rows: Emitted, conditions: &[Expr]) -> Result<Emitted, MysqlError> {
    if conditions.is_empty() {
        return Ok(rows);
    }
    let bound = rows.bind_all(conditions)?;
    let selectivity: f64 = conditions.iter().map(leafline_access::stats::guess_selectivity).product();
    let estimate = rows.node.estimate;
    let types = rows.node.types.to_vec();
    let operator = Operator::Filter(plan::Filter { input: Box::new(rows.node), conditions: bound.into() });
    Ok(Emitted {
        node: node(operator, types, estimate.rows * selectivity, estimate.cost_us),
        layout: rows.layout,
    })
}

/// The select list. Where the input delivers nothing but its columns in order, there is nothing to do.
pub(super) fn project(rows: Emitted, outputs: &[&Expr], locators: &[usize]) -> Result<Node, MysqlError> {
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

fn sort_keys(rows: &Emitted, order: &[OrderKey]) -> Result<Vec<SortKey>, MysqlError> {
    let exprs = rows.bind_all(order.iter().map(|key| &key.expr))?;
    let keys = exprs.into_iter().zip(order);
    Ok(keys.map(|(expr, key)| SortKey { expr, descending: key.descending }).collect())
}

pub(super) fn sort_and_limit(
    input: Node,
    (keys, served): (Vec<SortKey>, Served),
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
                let cost_us = served.asked_us.unwrap_or(estimate.cost_us);
                node(Operator::Limit(plan::Limit { input, limit }), types, rows, cost_us)
            }
            None => *input,
        };
    }
    let sorting = estimate.rows * rows.max(2.0).log2() * cx.planner.model.cpu.sort;
    let keys: Arc<[SortKey]> = keys.into();
    let operator = match limit {
        Some(limit) if limit.count.is_some() => {
            Operator::TopN(plan::TopN { input, keys, presorted: served.keys, limit })
        }
        Some(limit) => {
            let sort = Operator::Sort(plan::Sort { input, keys });
            let sort = node(sort, types.clone(), estimate.rows, estimate.cost_us + sorting);
            Operator::Limit(plan::Limit { input: Box::new(sort), limit })
        }
        None => Operator::Sort(plan::Sort { input, keys }),
    };
    node(operator, types, rows, served.asked_us.unwrap_or(estimate.cost_us + sorting))
}

/// Tells a scan at the bottom of a row of projections how many rows will be enough.
fn enough(rows: &mut Node, limit: &RowLimit) {
    let (LimitValue::Constant(offset), Some(LimitValue::Constant(count))) = (limit.offset, limit.count)
    else {
        return;
    };
    match &mut rows.operator {
        Operator::Scan(scan) => {
            let rows = usize::try_from(offset.saturating_add(count)).unwrap_or(usize::MAX);
            Arc::make_mut(scan).demand = Demand::Rows(rows);
        }
        Operator::Project(plan::Project { input, .. })
        | Operator::DerivedTable(plan::DerivedTable { input, .. }) => enough(input, limit),
        _ => {}
    }
}

/// The first rows of a node.
pub(super) fn limited(input: Node, limit: &BoundLimit) -> Result<Node, MysqlError> {
    let (types, estimate) = (input.types.to_vec(), input.estimate);
    let operator = Operator::Limit(plan::Limit { input: Box::new(input), limit: row_limit(limit)? });
    Ok(node(operator, types, estimate.rows, estimate.cost_us))
}

/// A limit as plans have it.
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

fn rows_wanted(limit: &BoundLimit) -> Option<f64> {
    let rows = |expr: &Expr| expr.as_literal()?.as_integer().map(|rows| rows as f64);
    let offset = limit.offset.as_ref().map_or(Some(0.0), rows)?;
    Some(offset + rows(&limit.count)?)
}

pub(super) fn is_never_true(condition: &Expr) -> bool {
    match condition.as_literal() {
        Some(Value::Null) => true,
        Some(value) => value.as_integer() == Some(0),
        None => false,
    }
}

/// The columns that are needed above the joins.
fn required(select: &BoundSelect) -> BTreeSet<usize> {
    let mut columns = BTreeSet::new();
    let mut add = |expr: &Expr| columns.extend(expr.columns());
    for relation in &select.relations {
        if let RelationSource::Lateral(lateral) = &relation.source {
            lateral.outer.iter().for_each(&mut add);
        }
    }
    match &select.aggregation {
        Some(aggregation) => {
            aggregation.keys.iter().for_each(|key| add(&key.expr));
            aggregation.aggregates.iter().flat_map(|aggregate| &aggregate.call.args).for_each(add);
        }
        None => {
            select.output.iter().for_each(|output| add(&output.expr));
            select.having.iter().for_each(&mut add);
            for mut window in select.windows.iter().cloned() {
                window.for_each_expr_mut(&mut |expr| add(expr));
            }
            select.order_by.iter().for_each(|key| add(&key.expr));
        }
    }
    columns
}

fn take_classes(graph: &mut Graph, columns: &ColumnMap<'_>, found: &mut Vec<Class>) {
    found.extend(classes(&mut graph.conjuncts, columns));
    for member in &mut graph.members {
        if let MemberSource::Nest(nest) = &mut member.source {
            take_classes(nest, columns, found);
        }
    }
}

fn collect_conditions(graph: &Graph, found: &mut Vec<Expr>) {
    found.extend(graph.conjuncts.iter().cloned());
    for member in &graph.members {
        found.extend(member.attached.iter().flat_map(|attached| attached.conditions.iter().cloned()));
        if let MemberSource::Nest(nest) = &member.source {
            collect_conditions(nest, found);
        }
    }
}
