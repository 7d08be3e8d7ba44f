//! Turns subqueries of conditions into joins.
//!
//! | condition | becomes |
//! |---|---|
//! | `EXISTS (..)`, `x IN (..)`, `x op ANY (..)` | a semi join; an inner join where a unique key says that no row has two matches
//! |
//! | `NOT EXISTS (..)`; `x NOT IN (..)`, `x op ALL (..)` where no operand can be NULL | an anti join |
//! | uncorrelated `x IN (..)` | alternatively an inner join with the distinct rows |
//! | `.. (SELECT aggregate .. WHERE inner = outer) ..` | a left join with the aggregates of all groups |
//!
//! Choices are compared by price: alternatives that are not better in every case are planned next to each other and next to the
//! original query. A subquery that became a join is recorded in `OptimizerContext::unnested`, and is not planned by itself.
//!
//! Literature: Kim (1982), Ganski and Wong (1987), Galindo-Legaria and Joshi (2001).

mod price;
mod pull;
mod scalar;

use super::merge::merged;
use super::settings::{OptimizerContext, PulledUpSubquery};
use crate::bound::{BoundLimit, BoundSelect, JoinTree, RelationSource, SetOperation};
use crate::params::MAX_NESTED_CHOICES;
use leafline_expr::{Expr, ExprKind, Subquery, SubqueryUse, conjuncts, push_down_not};
use leafline_types::{MysqlError, Value};
use std::collections::BTreeSet;

/// Whether a block is to be merged into the one around it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pulled {
    /// The block is planned by itself.
    No,
    /// The block is pulled up: values that its subqueries take from the surrounding block are not constant.
    Yes,
}

/// A block in which a subquery has become a join.
struct UnnestedBlock {
    select: BoundSelect,
    /// The subqueries that are joins in the block.
    unnested: BTreeSet<usize>,
    /// No alternative can be cheaper.
    sure: bool,
}

/// Turns the subqueries of the block into joins where that is cheaper.
pub(super) fn unnested(
    mut select: BoundSelect,
    pulled: Pulled,
    cx: &mut OptimizerContext<'_, '_>,
) -> Result<BoundSelect, MysqlError> {
    let locks = select.relations.iter().any(|relation| relation.lock.is_some());
    let hinted = || cx.subqueries.iter().any(|subquery| subquery.query.hints.semijoin == Some(true));
    let wanted = cx.switches.semijoin || cx.switches.subquery_to_derived || hinted();
    if !wanted || cx.subqueries.is_empty() {
        return Ok(select);
    }
    match select.from.take() {
        Some(from) => select.from = Some(hoisted(from, &mut select.filter, &Expr::has_subquery)),
        None => return Ok(select),
    }
    if !select.filter.iter().any(Expr::has_subquery) && !scalar::in_outputs(&select) {
        return Ok(select);
    }
    let filter = std::mem::take(&mut select.filter);
    for condition in filter {
        if condition.has_subquery() {
            select.filter.extend(conjuncts(push_down_not(condition)));
        } else {
            select.filter.push(condition);
        }
    }
    let mut at = 0;
    while let Some(condition) = select.filter.get(at) {
        let choices = match asked(condition) {
            _ if !condition.has_subquery() => Vec::new(),
            Some((subquery, negated)) => {
                let subquery = subquery.clone();
                semi_ways(&select, at, &subquery, negated, pulled, cx)?
            }
            None => Vec::new(),
        };
        match cheapest(&select, choices, cx)? {
            // The next condition has moved to this position.
            Some(way) => select = way,
            None => at += 1,
        }
    }
    if locks && scalar::in_outputs(&select) {
        // The newest version of a locked row may replace the one that was joined.
        return Ok(select);
    }
    let mut refused = BTreeSet::new();
    while let Some(subquery) = scalar::next(&select, &refused) {
        refused.insert(subquery.number);
        let way = scalar::grouped(&select, &subquery, pulled, cx)?;
        if let Some(way) = cheapest(&select, way.into_iter().collect(), cx)? {
            select = way;
        }
    }
    Ok(select)
}

/// Returns the cheapest of the choices; `None` if the original query costs less.
fn cheapest(
    select: &BoundSelect,
    choices: Vec<UnnestedBlock>,
    cx: &mut OptimizerContext<'_, '_>,
) -> Result<Option<BoundSelect>, MysqlError> {
    let sure = choices.iter().any(|way| way.sure);
    let mut best: Option<(f64, UnnestedBlock)> = None;
    if choices.len() == 1 && sure {
        best = choices.into_iter().next().map(|way| (0.0, way));
    } else if !choices.is_empty() && cx.choosing < MAX_NESTED_CHOICES && cx.may_choose() {
        cx.choosing += 1;
        let before = cx.unnested.clone();
        let priced = |select: &BoundSelect, cx: &mut OptimizerContext<'_, '_>| {
            let price = price::price(select, cx);
            cx.unnested.clone_from(&before);
            price
        };
        let as_it_is = if sure { Ok(f64::INFINITY) } else { priced(select, cx) };
        let prices: Result<Vec<f64>, MysqlError> =
            choices.iter().map(|way| priced(&way.select, cx)).collect();
        cx.choosing -= 1;
        let as_it_is = as_it_is?;
        let cheaper = prices?.into_iter().zip(choices).filter(|(price, _)| *price < as_it_is);
        best = cheaper.min_by(|a, b| a.0.total_cmp(&b.0));
    }
    Ok(best.map(|(_, way)| {
        cx.unnested = way.unnested;
        way.select
    }))
}

/// Returns the subqueries of an expression, without the subqueries inside them.
fn subqueries_of(expr: &Expr) -> Vec<&Subquery> {
    let mut found = Vec::new();
    expr.visit(&mut |e| {
        if let ExprKind::Subquery(subquery) = &e.kind {
            found.push(subquery.as_ref());
        }
        true
    });
    found
}

/// Moves the `wanted` conditions of inner joins to the filter, where that keeps their meaning.
fn hoisted(tree: JoinTree, filter: &mut Vec<Expr>, wanted: &dyn Fn(&Expr) -> bool) -> JoinTree {
    match tree {
        JoinTree::Inner { children, conditions, straight } => {
            let children = children.into_iter().map(|child| hoisted(child, filter, wanted)).collect();
            let (moved, conditions) = conditions.into_iter().partition::<Vec<_>, _>(wanted);
            filter.extend(moved);
            JoinTree::Inner { children, conditions, straight }
        }
        JoinTree::Left { left, right, conditions } => {
            JoinTree::Left { left: Box::new(hoisted(*left, filter, wanted)), right, conditions }
        }
        tree => tree,
    }
}

/// Moves the values of the surrounding block out of join conditions of the subquery, to its filter. Returns false if some must
/// stay in an ON of an outer join: its tables cannot be joined before the tables of the surrounding block, so that they cannot be
/// pulled up.
fn frees_joins(inner: &mut BoundSelect) -> bool {
    inner.from = inner.from.take().map(|from| hoisted(from, &mut inner.filter, &has_outer));
    let mut in_joins = Vec::new();
    inner.from.iter().for_each(|from| conditions_of(from, &mut in_joins));
    !in_joins.into_iter().any(has_outer)
}

/// Returns the subquery that a condition tests for rows, and whether the test is negated.
fn asked(condition: &Expr) -> Option<(&Subquery, bool)> {
    let (asked, negated) = match &condition.kind {
        ExprKind::Not(operand) => (operand.as_ref(), true),
        _ => (condition, false),
    };
    let ExprKind::Subquery(subquery) = &asked.kind else { return None };
    let is_known = match &subquery.question {
        SubqueryUse::Exists => true,
        // NOT IN is not true where a comparison is NULL.
        SubqueryUse::Any(comparison) => !negated || !comparison.ty.nullable,
        SubqueryUse::Value | SubqueryUse::Row(_) => false,
    };
    (is_known && !subquery.is_volatile).then_some((subquery, negated))
}

/// Returns the choices that turn the condition at `at`, which tests a subquery for rows, into a join.
fn semi_ways(
    select: &BoundSelect,
    at: usize,
    subquery: &Subquery,
    negated: bool,
    pulled: Pulled,
    cx: &mut OptimizerContext<'_, '_>,
) -> Result<Vec<UnnestedBlock>, MysqlError> {
    let depends = !subquery.outer.is_empty();
    let is_any = matches!(subquery.question, SubqueryUse::Any(_));
    let Some(inner) = cx.subqueries.get(subquery.number) else { return Ok(Vec::new()) };
    if !inner.query.hints.semijoin.unwrap_or(cx.switches.semijoin)
        || !(depends || is_any)
        || (pulled == Pulled::Yes && takes_from_outside(subquery))
    {
        return Ok(Vec::new());
    }
    let mut inner = merged(inner.query.clone(), cx.switches.derived_merge);
    if !is_any && ends_at_row(inner.limit.as_ref()) {
        inner.limit = None;
    }
    if inner.relations.iter().any(|relation| relation.lock.is_some())
        || inner.relations.iter().any(|relation| source_depends(&relation.source))
        || inner.output.iter().any(|output| output.expr.is_volatile())
        || inner.filter.iter().any(Expr::is_volatile)
    {
        return Ok(Vec::new());
    }
    let is_flat = inner.aggregation.is_none()
        && inner.having.is_empty()
        && inner.windows.is_empty()
        && inner.limit.is_none()
        && inner.from.is_some()
        && !inner.straight_join;
    if !is_flat && (depends || !is_any) {
        return Ok(Vec::new());
    }
    let before = cx.unnested.clone();
    let mut outside = select.clone();
    outside.filter.remove(at);
    let mut choices = Vec::new();
    let mut pull = |inner: &BoundSelect, cx: &OptimizerContext<'_, '_>, whole: bool| {
        let mut way = outside.clone();
        let one_table = inner.relations.len() == 1 && !whole;
        let is_inner = pull::pull(&mut way, inner, subquery, negated)?;
        let mut unnested = cx.unnested.clone();
        unnested.insert(subquery.number);
        choices.push(UnnestedBlock { select: way, unnested, sure: one_table });
        Some(is_inner)
    };
    if is_flat && !frees_joins(&mut inner) {
        return Ok(Vec::new());
    }
    if is_flat {
        let flat = flattened(&inner, subquery.number, cx)?;
        let is_inner = pull(&flat, cx, false);
        cx.unnested.clone_from(&before);
        if depends
            || negated
            || is_inner != Some(false)
            || !keeps_partners(subquery)
            || !cx.switches.materialization
        {
            return Ok(choices);
        }
        inner.distinct = true;
    }
    inner.order_by.retain(|_| inner.limit.is_some());
    let whole = pull::as_relation(inner);
    let is_inner = pull(&whole, cx, true);
    if is_flat && is_inner != Some(true) {
        choices.pop();
    } else if is_flat && !cx.switches.first_match && choices.len() > 1 {
        choices.remove(0);
    }
    Ok(choices)
}

/// Returns the query of a subquery to be pulled up, with its own subqueries turned into joins. These subqueries are
/// added to the statement's unnested ones. The query is made once, however often the surrounding query is planned.
fn flattened(
    inner: &BoundSelect,
    number: usize,
    cx: &mut OptimizerContext<'_, '_>,
) -> Result<BoundSelect, MysqlError> {
    if let Some(known) = cx.flattened.get(&number) {
        cx.unnested.extend(&known.unnested);
        return Ok(known.query.clone());
    }
    let before = std::mem::take(&mut cx.unnested);
    let query = unnested(inner.clone(), Pulled::Yes, cx)?;
    let unnested = std::mem::replace(&mut cx.unnested, before);
    cx.unnested.extend(&unnested);
    cx.flattened.insert(number, PulledUpSubquery { query: query.clone(), unnested });
    Ok(query)
}

/// Whether every row with a match in the subquery also has a match among its distinct rows.
fn keeps_partners(subquery: &Subquery) -> bool {
    let SubqueryUse::Any(comparison) = &subquery.question else { return false };
    conjuncts((**comparison).clone()).iter().all(|equality| match &equality.kind {
        ExprKind::Compare { right, domain, .. } => pull::same_is_equal(&right.ty, *domain),
        _ => false,
    })
}

/// Whether the subquery depends on values from farther outside.
fn takes_from_outside(subquery: &Subquery) -> bool {
    subquery.outer.iter().chain(&subquery.needle).any(has_outer)
}

fn has_outer(expr: &Expr) -> bool {
    expr.any(&mut |e| matches!(e.kind, ExprKind::Outer(_)))
}

/// Whether a LIMIT keeps at least one row if there is any.
fn ends_at_row(limit: Option<&BoundLimit>) -> bool {
    limit.is_none_or(|limit| {
        limit.offset.is_none()
            && limit.count.as_literal().and_then(Value::as_integer).is_some_and(|count| count > 0)
    })
}

/// Whether a query uses values of a surrounding query's row.
fn depends(select: &BoundSelect) -> bool {
    let mut exprs: Vec<&Expr> = select.filter.iter().chain(&select.having).collect();
    exprs.extend(select.output.iter().map(|output| &output.expr));
    exprs.extend(select.order_by.iter().map(|key| &key.expr));
    exprs.extend(select.limit.iter().flat_map(|limit| limit.offset.iter().chain([&limit.count])));
    if let Some(aggregation) = &select.aggregation {
        exprs.extend(aggregation.keys.iter().map(|key| &key.expr));
        exprs.extend(aggregation.aggregates.iter().flat_map(|aggregate| &aggregate.call.args));
    }
    let mut in_joins = Vec::new();
    select.from.iter().for_each(|from| conditions_of(from, &mut in_joins));
    let mut in_windows = false;
    for mut window in select.windows.clone() {
        window.for_each_expr_mut(&mut |e| in_windows |= has_outer(e));
    }
    in_windows
        || exprs.into_iter().chain(in_joins).any(has_outer)
        || select.relations.iter().any(|relation| source_depends(&relation.source))
}

pub(super) fn source_depends(source: &RelationSource) -> bool {
    match source {
        RelationSource::Base(_) => false,
        RelationSource::Derived(query) => depends(query),
        RelationSource::SetOperation(operation) => {
            let SetOperation { first, steps } = operation.as_ref();
            depends(first) || steps.iter().any(|step| depends(&step.operand))
        }
        RelationSource::JsonTable(table) => has_outer(&table.document),
        RelationSource::Values(rows) => rows.iter().flatten().any(has_outer),
        RelationSource::Common(table) => table.is_dependent,
        RelationSource::Lateral(_) => true,
        // The rows of a work table differ in each round.
        RelationSource::WorkTable(_) => true,
    }
}

pub(super) fn conditions_of<'t>(tree: &'t JoinTree, found: &mut Vec<&'t Expr>) {
    match tree {
        JoinTree::Relation(_) => {}
        JoinTree::Inner { children, conditions, .. } => {
            found.extend(conditions);
            children.iter().for_each(|child| conditions_of(child, found));
        }
        JoinTree::Left { left, right, conditions } | JoinTree::Semi { left, right, conditions, .. } => {
            found.extend(conditions);
            conditions_of(left, found);
            conditions_of(right, found);
        }
    }
}
