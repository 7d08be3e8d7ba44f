//! Candidates that find rows by a search for words.
//!
//! A conjunct that says something about the score of one search, and rejects rows that are not found, is answered by
//! the FULLTEXT index. How many rows a search finds is not known before it runs, so few are expected: where such a
//! conjunct is, the search wins over everything but a unique key, lookups for outer rows, and ranges that are
//! smaller still.

use super::base_relation::BaseRelation;
use super::path_builder::PathRequest;
use crate::error::Result;
use crate::params::{SEARCH_MOST_ROWS, SEARCH_ROW_US, SEARCH_SHARE, SEARCH_US};
use crate::path::{AccessPath, LocatorSet, ScanOrder, Scores, Searched, Source};
use crate::plan::candidate::Candidate;
use crate::plan::planner::Planner;
use leafline_expr::{EvalContext, Expr, ExprKind, MatchCall, build, evaluate_row, truth};
use leafline_table::{IndexDef, TableDef};
use leafline_types::Value;
use std::sync::Arc;

impl Planner<'_> {
    /// The candidates that find rows by a search, one for each conjunct that a search answers.
    pub(super) fn searches(
        &self,
        relation: &BaseRelation<'_>,
        eval: &mut EvalContext<'_>,
    ) -> Result<Vec<Candidate>> {
        let request = &relation.request;
        let mut found = Vec::new();
        for (at, conjunct) in request.conjuncts.iter().enumerate() {
            let Some((call, number)) = only_search(conjunct) else { continue };
            let Some(index) = index_of(call, relation).filter(|index| !self.engine.is_quarantined(index))
            else {
                continue;
            };
            let Some(condition) =
                over_score(conjunct, number).filter(|condition| rejects_zero(condition, eval))
            else {
                continue;
            };
            let rows = self.table_rows(request.table);
            let expected = (rows * SEARCH_SHARE).clamp(1.0, SEARCH_MOST_ROWS);
            let searched = Searched { number, index: index.clone(), condition, expected };
            let scored = relation.scored.iter().find(|(known, _)| *known == number);
            let scored = scored.filter(|_| !request.deliver_locators);
            let wanted = scored.map_or(request.wanted, |(_, wanted)| wanted);
            let scan = PathRequest { wanted, ..request.clone() }.build_scan();
            let mut path = AccessPath {
                source: Source::Merged(Arc::new(LocatorSet::Search(Box::new(searched)))),
                scores: scored.map(|_| Scores { number, in_order: false, most: None, all_rows: false }),
                ..scan
            };
            if let Some(condition) = path.residual_filter.get_mut(at) {
                condition.implied = true;
            }
            let set_us = SEARCH_US + expected * SEARCH_ROW_US;
            let sizes = self.sizes_of_fetch(request.table)?.with_set(set_us, 0.0);
            let (examined, fetched, rows) = (expected, expected, expected);
            found.push(Candidate {
                path,
                examined,
                fetched,
                rows,
                empty: false,
                possible: Arc::default(),
                sizes,
            });
        }
        Ok(found)
    }

    /// The candidate that delivers all rows of a table in the order of the scores of a search, so that few are read where few
    /// are wanted, if an index answers the search. Its columns are those of `relation.scored`.
    pub fn ranked(&self, relation: &BaseRelation<'_>, search: &Expr) -> Result<Option<Candidate>> {
        let request = &relation.request;
        let Some((call, number)) = only_search(search) else { return Ok(None) };
        let (Some(index), Some(condition)) = (index_of(call, relation), over_score(search, number)) else {
            return Ok(None);
        };
        let scored = relation.scored.iter().find(|(known, _)| *known == number);
        let is_plain = request.conjuncts.is_empty() && !request.deliver_locators;
        let is_plain = is_plain && !self.engine.is_quarantined(index);
        let (Some((_, wanted)), true) = (scored, is_plain) else { return Ok(None) };
        let rows = self.table_rows(request.table);
        let searched = Searched { number, index: index.clone(), condition, expected: rows };
        let scores = Scores { number, in_order: true, most: None, all_rows: true };
        let path = AccessPath {
            source: Source::Merged(Arc::new(LocatorSet::Search(Box::new(searched)))),
            scores: Some(scores),
            order: ScanOrder::Forward,
            ..PathRequest { wanted, ..request.clone() }.build_scan()
        };
        let sizes = self.sizes_of_fetch(request.table)?.with_set(SEARCH_US, 0.0);
        let (examined, fetched) = (rows, rows);
        let position = request.table.indexes.iter().position(|known| known.id == index.id);
        let possible = position.into_iter().collect();
        Ok(Some(Candidate { path, examined, fetched, rows, empty: false, possible, sizes }))
    }

    /// Leaves out what a search is expected to beat: what reads all of an index, and ranges that are not clearly
    /// smaller.
    pub(super) fn retain_searches(found: &mut Vec<Candidate>) {
        let searched = found.iter().find(|candidate| candidate.path.search().is_some());
        let Some(expected) = searched.map(|searched| searched.examined) else { return };
        found.retain(|candidate| {
            let path = &candidate.path;
            let is_small = !path.constraint.is_unbounded() && candidate.examined < expected;
            path.search().is_some() || path.constraint.is_correlated() || is_small
        });
    }
}

/// The search that a condition is about, with its number, if it is about nothing else.
fn only_search(condition: &Expr) -> Option<(&MatchCall, usize)> {
    let mut found: Option<(&MatchCall, usize)> = None;
    let mut is_only = true;
    condition.visit(&mut |e| match &e.kind {
        ExprKind::Match(call) => {
            let number = call.number();
            is_only &= number.is_some() && found.is_none_or(|(_, known)| Some(known) == number);
            found = number.map(|number| (&**call, number));
            false
        }
        ExprKind::Column(_) => {
            is_only = false;
            false
        }
        _ => true,
    });
    found.filter(|_| is_only)
}

/// The condition with the score as column 0, if it depends on nothing else but constants.
fn over_score(condition: &Expr, number: usize) -> Option<Expr> {
    fn replaced(expr: &Expr, number: usize) -> Expr {
        match &expr.kind {
            ExprKind::Match(call) if call.number() == Some(number) => build::column(0, expr.ty.clone()),
            _ => {
                let mut out = expr.clone();
                out.for_each_child_mut(&mut |child| *child = replaced(child, number));
                out
            }
        }
    }
    let condition = replaced(condition, number);
    (condition.is_constant_for_planning() && !condition.is_volatile()).then_some(condition)
}

/// Whether a condition rejects rows that are not found.
fn rejects_zero(condition: &Expr, eval: &mut EvalContext<'_>) -> bool {
    let accepted = evaluate_row(condition, &[Value::Double(0.0)], eval).and_then(|value| truth(&value, eval));
    accepted.is_ok_and(|accepted| accepted != Some(true))
}

/// The FULLTEXT index that answers a search of a relation's columns, if hints allow it. As in MySQL, hints count in
/// boolean mode only.
fn index_of<'t>(call: &MatchCall, relation: &BaseRelation<'t>) -> Option<&'t Arc<IndexDef>> {
    let table: &'t Arc<TableDef> = relation.request.table;
    let columns: Vec<usize> = call.columns.iter().map(Expr::as_column).collect::<Option<_>>()?;
    let answers = |index: &&Arc<IndexDef>| {
        let own = index.parts.iter().map(|part| part.column);
        let position = table.indexes.iter().position(|known| known.id == index.id);
        own.eq(columns.iter().copied())
            && index.words.as_deref() == Some(&call.search.rules)
            && (!call.search.is_boolean()
                || position.is_none_or(|position| relation.allowed.allows(position)))
    };
    table.fulltext().find(answers)
}
