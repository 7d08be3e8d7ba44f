//! Turns a correlated aggregate into a table of the aggregates of all groups.
//!
//! `(SELECT f(..) FROM t WHERE t.a = outer.b AND ..)` is the value of `SELECT t.a, f(..) FROM t WHERE .. GROUP BY t.a` in the row
//! with the key `outer.b`. Without such a row, it is the value of the aggregates over no rows.

use super::pull::{add_relation, is_fixed, same_is_equal};
use super::{Pulled, UnnestedBlock, has_outer, source_depends, subqueries_of, takes_from_outside};
use crate::bound::{BoundOutput, BoundSelect, GroupKey, JoinTree, MAX_RELATIONS, RelationSource};
use crate::optimizer::merge::merged;
use crate::optimizer::settings::OptimizerContext;
use leafline_expr::aggregate::AggregateFunction;
use leafline_expr::{
    CompareOp, Expr, ExprKind, Subquery, SubqueryUse, When, build, conjuncts, fold, push_down_not,
};
use leafline_types::{MysqlError, Value};
use std::collections::BTreeSet;

/// Whether the select list has subqueries that could become joins.
pub(super) fn in_outputs(select: &BoundSelect) -> bool {
    gives_rows(select) && select.output.iter().any(|output| output.expr.has_subquery())
}

/// Whether the outputs are over the columns of the tables.
fn gives_rows(select: &BoundSelect) -> bool {
    select.aggregation.is_none() && select.windows.is_empty()
}

/// Returns a correlated scalar subquery that is not in `refused`.
pub(super) fn next(select: &BoundSelect, refused: &BTreeSet<usize>) -> Option<Subquery> {
    let outputs = select.output.iter().map(|output| &output.expr).filter(|_| gives_rows(select));
    select.filter.iter().chain(outputs).flat_map(subqueries_of).find_map(|subquery| {
        let wanted = subquery.question == SubqueryUse::Value
            && !subquery.outer.is_empty()
            && !subquery.is_volatile
            && !refused.contains(&subquery.number);
        wanted.then(|| subquery.clone())
    })
}

/// Returns the block with the subquery as a grouped table, if the subquery has that form.
pub(super) fn grouped(
    select: &BoundSelect,
    subquery: &Subquery,
    pulled: Pulled,
    cx: &mut OptimizerContext<'_, '_>,
) -> Result<Option<UnnestedBlock>, MysqlError> {
    let Some(inner) = cx.subqueries.get(subquery.number) else { return Ok(None) };
    if !cx.switches.subquery_to_derived
        || select.relations.len() >= MAX_RELATIONS
        || (pulled == Pulled::Yes && takes_from_outside(subquery))
    {
        return Ok(None);
    }
    let mut inner = merged(inner.query.clone(), cx.switches.derived_merge);
    let Some(pairs) = take_pairs(&mut inner) else { return Ok(None) };
    let Some(of_nothing) = value_of_nothing(&inner, cx)? else { return Ok(None) };
    inner.order_by.clear();
    inner.distinct = false;
    let mut joined = select.clone();
    let (mut conditions, mut keys) = (Vec::new(), Vec::new());
    let Some(mut output) = inner.output.pop() else { return Ok(None) };
    let Some(aggregation) = &mut inner.aggregation else { return Ok(None) };
    for pair in &pairs {
        let out = inner.columns.len();
        inner.columns.push(crate::bound::BlockColumn {
            origin: crate::bound::ColumnOrigin::GroupKey(aggregation.keys.len()),
            ty: pair.inner.ty.clone(),
        });
        aggregation.keys.push(GroupKey { expr: pair.inner.clone(), out, dependent: false });
        keys.push(BoundOutput { expr: build::column(out, pair.inner.ty.clone()), meta: output.meta.clone() });
    }
    output.expr.ty.nullable = true;
    let width = keys.len();
    inner.output = keys;
    inner.output.push(output);
    let mut types: Vec<_> = inner.output.iter().map(|output| output.expr.ty.clone()).collect();
    types.iter_mut().for_each(|ty| ty.nullable = true);
    let relation = add_relation(&mut joined, RelationSource::Derived(Box::new(inner)), types.clone());
    let Some(start) = joined.relations.get(relation).map(|relation| relation.columns.start) else {
        return Ok(None);
    };
    let column = |at: usize| types.get(at).map(|ty| build::column(start + at, ty.clone()));
    for (at, pair) in pairs.iter().enumerate() {
        let Some(key) = column(at) else { return Ok(None) };
        conditions.push(pair.condition(key, &subquery.outer));
    }
    let (Some(value), Some(first)) = (column(width), column(0)) else { return Ok(None) };
    let value = match of_nothing.as_literal() {
        Some(Value::Null) => value,
        _ => {
            let is_absent = build::is_null(first, false);
            let ty = value.ty.clone();
            let whens = vec![When { condition: is_absent, domain: None, result: of_nothing }];
            let kind = ExprKind::Case { operand: None, whens, otherwise: Some(Box::new(value)) };
            Expr { kind, ty }
        }
    };
    replace(&mut joined, subquery.number, &value);
    let Some(left) = joined.from.take() else { return Ok(None) };
    let right = Box::new(JoinTree::Relation(relation));
    joined.from = Some(JoinTree::Left { left: Box::new(left), right, conditions });
    let mut unnested = cx.unnested.clone();
    unnested.insert(subquery.number);
    Ok(Some(UnnestedBlock { select: joined, unnested, sure: false }))
}

/// An equality between an expression over the subquery's tables and one over the surrounding row.
struct Pair {
    equality: Expr,
    inner: Expr,
    outer: Expr,
}

impl Pair {
    /// Returns the equality with the key of a group in place of the inner side.
    fn condition(&self, key: Expr, outer: &[Expr]) -> Expr {
        let put_in = |expr: Expr| {
            expr.transform(&mut |e| {
                Ok(match e.kind {
                    ExprKind::Outer(number) => outer[number].clone(),
                    _ => e,
                })
            })
        };
        let other = put_in(self.outer.clone()).unwrap_or_else(|_| self.outer.clone());
        match &self.equality.kind {
            ExprKind::Compare { op, domain, .. } => {
                let (left, right) = (Box::new(key), Box::new(other));
                let mut ty = self.equality.ty.clone();
                ty.nullable = true;
                Expr { kind: ExprKind::Compare { op: *op, left, right, domain: *domain }, ty }
            }
            _ => self.equality.clone(),
        }
    }
}

/// Takes the equalities with the surrounding row out of a subquery, if it is an aggregate that depends on that row only through
/// them.
fn take_pairs(inner: &mut BoundSelect) -> Option<Vec<Pair>> {
    let aggregation = inner.aggregation.as_ref()?;
    let plain = aggregation.keys.is_empty()
        && inner.having.is_empty()
        && inner.windows.is_empty()
        && inner.limit.is_none()
        && inner.from.is_some()
        && inner.output.len() == 1
        && inner
            .relations
            .iter()
            .all(|relation| relation.lock.is_none() && !source_depends(&relation.source));
    let args = aggregation.aggregates.iter().flat_map(|aggregate| &aggregate.call.args);
    let mut in_joins = Vec::new();
    inner.from.iter().for_each(|from| super::conditions_of(from, &mut in_joins));
    let elsewhere = inner.output.iter().map(|output| &output.expr).chain(args).chain(in_joins);
    if !plain || elsewhere.into_iter().any(|e| has_outer(e) || e.is_volatile() || e.has_subquery()) {
        return None;
    }
    let mut pairs = Vec::new();
    let filter = std::mem::take(&mut inner.filter);
    for condition in filter.into_iter().flat_map(|e| conjuncts(push_down_not(e))) {
        if has_outer(&condition) {
            pairs.push(pair(condition)?);
        } else {
            inner.filter.push(condition);
        }
    }
    (!pairs.is_empty()).then_some(pairs)
}

fn pair(equality: Expr) -> Option<Pair> {
    let ExprKind::Compare { op: CompareOp::Eq, left, right, domain } = &equality.kind else { return None };
    let is_inner = |e: &Expr| !has_outer(e) && !e.columns().is_empty();
    let is_outer = |e: &Expr| e.columns().is_empty();
    let (inner, outer) = match (is_inner(left) && is_outer(right), is_inner(right) && is_outer(left)) {
        (true, _) => (left, right),
        (_, true) => (right, left),
        _ => return None,
    };
    // Grouping and the equality must distinguish the same values.
    let alike = is_fixed(&inner.ty, *domain) && same_is_equal(&inner.ty, *domain);
    let known = alike && !equality.is_volatile() && !equality.has_subquery();
    let (inner, outer) = (inner.as_ref().clone(), outer.as_ref().clone());
    known.then(|| Pair { inner, outer, equality })
}

/// Returns the subquery's value over no rows; `None` if that is unknown.
fn value_of_nothing(
    inner: &BoundSelect,
    cx: &mut OptimizerContext<'_, '_>,
) -> Result<Option<Expr>, MysqlError> {
    let Some((aggregation, output)) = inner.aggregation.as_ref().zip(inner.output.first()) else {
        return Ok(None);
    };
    let mut known = true;
    let of_nothing = output.expr.replace_columns(&mut |column| {
        let aggregate = aggregation.aggregates.iter().find(|aggregate| aggregate.out == column);
        let value = match aggregate.map(|aggregate| aggregate.call.function) {
            Some(AggregateFunction::Count | AggregateFunction::CountAll) => Value::Int(0),
            Some(
                AggregateFunction::Sum
                | AggregateFunction::Avg
                | AggregateFunction::Min
                | AggregateFunction::Max,
            ) => Value::Null,
            _ => {
                known = false;
                Value::Null
            }
        };
        let mut ty = aggregate.map_or(leafline_types::ExprType::NULL, |aggregate| aggregate.call.ty.clone());
        ty.nullable = value.is_null();
        Some(Expr { kind: ExprKind::Literal(value), ty })
    });
    let folded = fold(of_nothing, cx.eval)?;
    Ok((known && folded.as_literal().is_some()).then_some(folded))
}

/// Replaces a subquery by a value.
fn replace(select: &mut BoundSelect, number: usize, value: &Expr) {
    fn replaced(expr: &mut Expr, number: usize, value: &Expr) {
        if matches!(&expr.kind, ExprKind::Subquery(subquery) if subquery.number == number) {
            *expr = value.clone();
            return;
        }
        expr.for_each_child_mut(&mut |child| replaced(child, number, value));
    }
    // HAVING without groups can name entries of the select list.
    let conditions = select.filter.iter_mut().chain(&mut select.having);
    conditions.for_each(|condition| replaced(condition, number, value));
    select.output.iter_mut().for_each(|output| replaced(&mut output.expr, number, value));
    select.order_by.iter_mut().for_each(|key| replaced(&mut key.expr, number, value));
}
