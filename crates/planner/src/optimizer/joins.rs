//! Plans the joins of a block, with regard to the price of grouping, ORDER BY and LIMIT above them.

use super::equalities::{Class, classes};
use super::first_rows::is_certain;
use super::graph::{ColumnMap, Graph, MemberSource, Relations, build};
use super::members::JoinPlanner;
use super::operators::ProvidedOrder;
use super::order::{InOrder, Wanted};
use super::partial::{JoinPlanRef, Step};
use super::settings::OptimizerContext;
use super::trace::TraceStep;
use super::window::first_order;
use crate::bound::{BoundLimit, BoundSelect, OrderKey, RelationSource};
use leafline_expr::aggregate::AggregateFunction;
use leafline_expr::{Expr, ExprKind};
use leafline_types::{MysqlError, Value};
use std::collections::{BTreeSet, HashMap};

/// Makes the planner of the joins of a block, and the join graph.
pub(super) fn join_planner<'p, 'c, 'a>(
    select: &'p BoundSelect,
    cx: &'p mut OptimizerContext<'c, 'a>,
) -> Result<(JoinPlanner<'p, 'c, 'a>, Graph), MysqlError> {
    let mut graph = build(select, cx.eval)?;
    let mut planner = JoinPlanner {
        select,
        cx,
        required: required(select, &mut |_| false),
        scorable: Relations::default(),
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
    if !planner.cx.eval.row_by_row {
        let scorable = graph.members.iter().filter(|member| member.attached.is_none());
        planner.scorable = scorable.fold(Relations::default(), |all, member| all.union(member.relations));
    }
    Ok((planner, graph))
}

/// The chosen plan for the joins of a block.
pub(super) struct JoinChoice {
    pub plan: JoinPlanRef,
    pub provided: ProvidedOrder,
    /// Only the first row of the plan is needed.
    pub first_row: bool,
    /// The plan, in any order, that runs instead if this one examines more entries than the given number.
    pub fallback: Option<(JoinPlanRef, u64)>,
}

impl JoinChoice {
    /// Makes a choice whose rows have no order.
    pub(super) fn unordered(plan: JoinPlanRef) -> JoinChoice {
        JoinChoice { plan, provided: ProvidedOrder::default(), first_row: false, fallback: None }
    }
}

impl JoinPlanner<'_, '_, '_> {
    /// Returns the cheapest plan for the joins, with regard to the price of sorting. `filtered`: conditions above reject rows of
    /// the result, so that its first rows are not enough.
    pub(super) fn cheapest(&mut self, graph: &Graph, filtered: bool) -> Result<JoinChoice, MysqlError> {
        let select = self.select;
        let (members, joined) = self.joined(graph)?;
        if filtered {
            return Ok(JoinChoice::unordered(joined));
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
                    let provided = ProvidedOrder { keys: 0, asked_us: Some(cost_us) };
                    JoinChoice { plan, provided, first_row: true, fallback: None }
                }
                None => JoinChoice::unordered(joined),
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
            return Ok(JoinChoice {
                provided: ProvidedOrder { keys: 0, asked_us },
                ..JoinChoice::unordered(plan)
            });
        }
        let is_sorted = !select.windows.is_empty() || !select.distinct;
        if order.is_empty() || select.aggregation.is_some() || !is_sorted || joined.empty {
            return Ok(JoinChoice::unordered(joined));
        }
        let share = wanted.map_or(1.0, |wanted| (wanted / rows).min(1.0));
        let sorted_rows = if share < 1.0 { (rows * share).max(2.0) } else { rows.max(2.0) };
        let sort = self.cx.planner.model.cpu.sort;
        let cost = |plan: &JoinPlanRef| plan.cost_us + plan.rows.max(1.0) * sorted_rows.log2() * sort;
        let wanted = wanted.filter(|_| share < 1.0);
        let few = match wanted {
            Some(wanted) => self.plan_first_of_each(graph, &order, wanted as usize)?,
            None => None,
        };
        let joined = few.filter(|few| cost(few) < cost(&joined)).unwrap_or(joined);
        let sorted = cost(&joined);
        let locks = select.relations.iter().any(|relation| relation.lock.is_some());
        let partly_sorted = wanted.is_some() && !locks;
        let wanted = Wanted { rows, share, partly_sorted };
        let found = match self.plan_by_score(graph, &members, &order, wanted)? {
            Some(found) => Some(found),
            None => self.plan_in_order(graph, &members, &order, wanted)?,
        };
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
                let may_switch = share < 1.0 && !locks && !found.forced && repeatable;
                let fallback = may_switch.then(|| self.allowance(&found.plan, found.share, sorted)).flatten();
                let fallback = fallback.map(|entries| (joined, entries));
                let asked_us = (share < 1.0).then_some(found.cost_us);
                let provided = ProvidedOrder { keys: found.provided, asked_us };
                Ok(JoinChoice { plan: found.plan, provided, first_row: false, fallback })
            }
            None => Ok(JoinChoice::unordered(joined)),
        }
    }

    /// Plans the rows with the least or the greatest value first, NULLs excluded: MIN and MAX are in the first row. A path that
    /// rejects rows is too risky, because all rows with a value near that end may be rejected.
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

    /// Estimates how many groups, or distinct rows, `rows` rows make.
    pub(super) fn groups(&mut self, rows: f64) -> Result<f64, MysqlError> {
        let select = self.select;
        match &select.aggregation {
            Some(aggregation) => {
                let keys = aggregation.keys.iter().filter(|key| !key.dependent).map(|key| &key.expr);
                self.groups_of(keys, rows)
            }
            None if select.distinct => self.groups_of(select.output.iter().map(|output| &output.expr), rows),
            None => Ok(rows),
        }
    }
}

/// Returns the order whose first row has the only aggregate of a query without GROUP BY, if that is MIN or MAX of a table's
/// column.
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

fn rows_wanted(limit: &BoundLimit) -> Option<f64> {
    let rows = |expr: &Expr| expr.as_literal()?.as_integer().map(|rows| rows as f64);
    let offset = limit.offset.as_ref().map_or(Some(0.0), rows)?;
    Some(offset + rows(&limit.count)?)
}

/// Whether a condition is a constant that is not true.
pub(super) fn is_never_true(condition: &Expr) -> bool {
    match condition.as_literal() {
        Some(Value::Null) => true,
        Some(value) => value.as_integer() == Some(0),
        None => false,
    }
}

/// Returns the columns that are needed above the joins, but for those of expressions that `is_known` there.
pub(super) fn required(select: &BoundSelect, is_known: &mut dyn FnMut(&Expr) -> bool) -> BTreeSet<usize> {
    let mut columns = BTreeSet::new();
    let mut add = |expr: &Expr| {
        expr.visit(&mut |e| {
            if let ExprKind::Column(column) = e.kind {
                columns.insert(column);
            }
            !is_known(e)
        });
    };
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
