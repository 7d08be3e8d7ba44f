//! Searches for words. Where a search finds the rows of a table, their scores come with them as a column, and the
//! texts are not read for them; and rows come in the order of their scores, if that is the order that is wanted.

use super::block_node::score_column;
use super::graph::{Graph, MemberSource, Relations};
use super::joins::required;
use super::members::{JoinPlanner, PreparedMember};
use super::order::{InOrder, Wanted};
use super::partial::{Partial, Step};
use crate::bound::merge::for_each_expr_mut;
use crate::bound::{BoundSelect, OrderKey, RelationSource};
use crate::plan::SearchPlan;
use leafline_access::{Candidate, ScanOrder, Scores};
use leafline_expr::aggregate::MatchAggregate;
use leafline_expr::{Expr, ExprKind, MatchCall, build};
use leafline_types::MysqlError;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Returns the search whose words a query counts, if it does nothing else.
pub(super) fn search_plan(query: &BoundSelect) -> Option<SearchPlan> {
    let [only] = query.aggregation.as_ref()?.aggregates.as_slice() else { return None };
    let options = only.call.matches.as_ref().filter(|options| options.makes == MatchAggregate::Statistics)?;
    let RelationSource::Base(table) = &query.relations.first()?.source else { return None };
    let (texts, asked) = only.call.args.split_at_checked(options.columns)?;
    let columns: Vec<usize> = texts.iter().map(Expr::as_column).collect::<Option<_>>()?;
    let index = table.fulltext().find(|index| {
        index.parts.iter().map(|part| part.column).eq(columns.iter().copied())
            && index.words.as_deref() == Some(&options.search.rules)
    })?;
    Some(SearchPlan {
        table: table.clone(),
        index: index.clone(),
        search: options.search.clone(),
        query: asked.first()?.clone(),
        expansion: asked.get(1).cloned(),
    })
}

/// Returns a block with the scores that a plan delivers as columns, if it delivers any.
pub(super) fn with_scores(select: &BoundSelect, plan: &Partial) -> Option<BoundSelect> {
    let mut delivered = Vec::new();
    delivered_scores(plan, &mut delivered);
    let mut calls: Vec<(MatchCall, usize)> = Vec::new();
    for (relation, number) in delivered {
        select.for_each_expr(&mut |expr| {
            expr.visit(&mut |e| {
                match &e.kind {
                    ExprKind::Match(call) if call.number() == Some(number) => {
                        calls.push(((**call).clone(), score_column(select, relation)));
                    }
                    _ => {}
                }
                true
            });
        });
    }
    if calls.is_empty() {
        return None;
    }
    let mut scored = select.clone();
    for_each_expr_mut(&mut scored, &mut |expr| replace(expr, &calls));
    Some(scored)
}

/// Adds the relations whose scores a plan delivers, each with the number of its search.
fn delivered_scores(plan: &Partial, found: &mut Vec<(usize, usize)>) {
    match &plan.step {
        Step::Access { relation, candidate } => {
            found.extend(candidate.path.scores.map(|scores| (*relation, scores.number)));
        }
        Step::Derived { .. } => {}
        Step::Filter { input, .. } => delivered_scores(input, found),
        Step::Lookup { left, .. } | Step::Lateral { left, .. } => delivered_scores(left, found),
        Step::Hash { left, right, .. } => {
            delivered_scores(left, found);
            delivered_scores(right, found);
        }
    }
}

fn replace(expr: &mut Expr, calls: &[(MatchCall, usize)]) {
    if let ExprKind::Match(call) = &expr.kind
        && let Some((_, column)) = calls.iter().find(|(known, _)| known.is_same_search(call))
    {
        *expr = build::column(*column, expr.ty.clone());
        return;
    }
    expr.for_each_child_mut(&mut |child| replace(child, calls));
}

impl JoinPlanner<'_, '_, '_> {
    /// Returns the searches of the conditions on a relation whose scores are needed above the joins, by number, each
    /// with the columns of the relation that are needed beside the score.
    pub(super) fn scored(
        &mut self,
        relation: usize,
        conditions: &[Expr],
        ranked: Option<&Expr>,
        joined: Relations,
    ) -> Vec<(usize, Vec<usize>)> {
        if !self.scorable.contains(Relations::one(relation)) {
            return Vec::new();
        }
        let mut calls: Vec<&MatchCall> = Vec::new();
        for condition in conditions.iter().chain(ranked) {
            condition.visit(&mut |e| {
                if let ExprKind::Match(call) = &e.kind {
                    calls.push(call);
                }
                true
            });
        }
        let mut scored = Vec::new();
        for call in calls {
            let mut is_needed = false;
            let mut is_call = |expr: &Expr| {
                let found = matches!(&expr.kind, ExprKind::Match(other) if other.is_same_search(call));
                is_needed |= found;
                found
            };
            let columns = required(self.select, &mut is_call);
            if let (true, Some(number)) = (is_needed, call.number()) {
                let all = std::mem::replace(&mut self.required, columns);
                scored.push((number, self.wanted(relation, conditions, joined)));
                self.required = all;
            }
        }
        scored
    }

    /// Returns a plan that begins with a table in the order of the scores of a search, if that is the first key of
    /// the order.
    pub(super) fn plan_by_score(
        &mut self,
        graph: &Graph,
        members: &[PreparedMember],
        order: &[OrderKey],
        wanted: Wanted,
    ) -> Result<Option<InOrder>, MysqlError> {
        let Some(OrderKey { expr, descending: true }) = order.first() else { return Ok(None) };
        let ExprKind::Match(call) = &expr.kind else { return Ok(None) };
        let whole = order.len() == 1;
        if !whole && !wanted.partly_sorted {
            return Ok(None);
        }
        let columns: BTreeSet<usize> = call.columns.iter().flat_map(Expr::columns).collect();
        let of_member = |at: &usize| match graph.members.get(*at).map(|member| &member.source) {
            Some(MemberSource::Relation(relation)) => self
                .select
                .relations
                .get(*relation)
                .is_some_and(|bound| columns.iter().all(|column| bound.columns.contains(column))),
            _ => false,
        };
        let Some(position) = (0..graph.members.len()).find(of_member) else { return Ok(None) };
        let Some(MemberSource::Relation(relation)) = graph.members.get(position).map(|member| &member.source)
        else {
            return Ok(None);
        };
        let relation = *relation;
        let is_scorable = self.scorable.contains(Relations::one(relation));
        let bound = self.select.relations.get(relation).map(|bound| &bound.source);
        let (true, Some(RelationSource::Base(table))) = (is_scorable, bound) else { return Ok(None) };
        if !self.may_be_first(graph, members, position) {
            return Ok(None);
        }
        let (table, local) =
            (table.clone(), self.local_conjuncts(Relations::one(relation), &graph.conjuncts));
        let joined = Relations::one(relation);
        let is_alone = graph.members.len() == 1 && graph.conjuncts.is_empty();
        let first = if is_alone && whole && wanted.share < 1.0 {
            self.compared(relation, &table, (&[], &[]), joined, Some(expr))?.pop()
        } else {
            let candidates = self.candidates(relation, &table, &local, &[], joined)?;
            candidates.iter().find_map(|candidate| by_score(candidate, call, &local))
        };
        let Some(first) = first else { return Ok(None) };
        self.share = if whole { wanted.share } else { 1.0 };
        let first = Rc::new(self.access(relation, first));
        let plan = self.join(graph, members, Some((position, first)));
        let share = std::mem::replace(&mut self.share, 1.0);
        let plan = self.filtered(plan?, self.constant_conditions(graph));
        if !plan.cost_us.is_finite() {
            return Ok(None);
        }
        let cost_us = self.partly(&plan, share);
        // Alone the table is read by this search, whatever the order.
        let forced = graph.members.len() == 1;
        Ok(Some(InOrder { plan, forced, provided: 1, cost_us, share }))
    }
}

/// Returns a candidate whose rows come in the order of the scores of that search, if it can give them so.
fn by_score(candidate: &Candidate, call: &MatchCall, conditions: &[Expr]) -> Option<Candidate> {
    let scores = candidate.path.scores?;
    if !candidate.path.search()?.is_certain() {
        return None;
    }
    let is_same = |e: &Expr| match &e.kind {
        ExprKind::Match(known) => known.number() == Some(scores.number) && known.is_same_search(call),
        _ => false,
    };
    if !conditions.iter().any(|condition| condition.any(&mut |e| is_same(e))) {
        return None;
    }
    let mut ordered = candidate.clone().ordered(ScanOrder::Forward);
    ordered.path.scores = Some(Scores { in_order: true, ..scores });
    Some(ordered)
}
