//! Plans ORDER BY without a sort, or with a smaller one: a table is read in the order of one of its indexes, or of the first
//! keys. Where a LIMIT asks for few rows, only rows with the first values of these keys are read and sorted. Where earlier parts
//! of the index have several values, each range is in order by itself, and the ranges are merged.

use super::equalities::is_transitive;
use super::graph::{Graph, MemberSource, Relations};
use super::members::{JoinPlanner, PreparedMember};
use super::partial::JoinPlanRef;
use crate::bound::{ColumnOrigin, OrderKey, RelationSource};
use leafline_access::{Candidate, ScanOrder};
use leafline_expr::{CompareOp, Expr, ExprKind};
use leafline_invariant::invariant;
use leafline_table::TableDef;
use leafline_types::{KeyPart, MysqlError};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// A plan whose rows come in the requested order.
pub(super) struct InOrder {
    pub plan: JoinPlanRef,
    /// The plan uses an index that is forced for ORDER BY, and is not compared with sorting.
    pub forced: bool,
    /// Number of keys, from the first, that the plan serves. Rows that are equal in them come in any order.
    pub provided: usize,
    /// The price of reading rows, and of sorting them by the remaining keys, microseconds.
    pub cost_us: f64,
    /// The share of the rows that is read.
    pub share: f64,
}

/// How many rows are wanted in order.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// Number of rows to choose from.
    pub rows: f64,
    /// The share of them that is wanted.
    pub share: f64,
    /// Whether the order of the first keys is enough.
    pub partly_sorted: bool,
}

/// The order in which the index of a candidate delivers rows.
pub(super) struct IndexOrder {
    pub direction: ScanOrder,
    /// Number of keys, from the first, that are provided.
    pub keys: usize,
    /// Number of index parts that provide them, including earlier parts with one value.
    pub parts: usize,
}

impl JoinPlanner<'_, '_, '_> {
    /// Returns the cheapest plan that needs no sort, or sorts only few rows at a time, if there is one.
    pub(super) fn plan_in_order(
        &mut self,
        graph: &Graph,
        members: &[PreparedMember],
        order: &[OrderKey],
        wanted: Wanted,
    ) -> Result<Option<InOrder>, MysqlError> {
        let Some((relation, keys)) = self.leading_keys(order) else { return Ok(None) };
        if keys.len() < order.len() && !wanted.partly_sorted {
            return Ok(None);
        }
        let position = graph.members.iter().position(|member| {
            member.attached.is_none()
                && matches!(member.source, MemberSource::Relation(found) if found == relation)
        });
        let possible = |position: &usize| self.may_be_first(graph, members, *position);
        let Some(position) = position.filter(possible) else { return Ok(None) };
        let bound = &self.select.relations[relation];
        let RelationSource::Base(table) = &bound.source else { return Ok(None) };
        let (table, forced) = (table.clone(), bound.hints.indexes.order_by.forced);
        let local = self.local_conjuncts(Relations::one(relation), &graph.conjuncts);
        let fixed = self.fixed_columns(relation, &local);
        let candidates = self.candidates_for_order(relation, &table, &local);
        let mut best: Option<InOrder> = None;
        let mut ways: Vec<(Candidate, IndexOrder)> = Vec::new();
        for candidate in candidates?.iter() {
            if let Some(given) = order_behind(candidate, 0, &keys, &fixed) {
                ways.push((candidate.clone().ordered(given.direction), given));
            }
            if self.cx.switches.ordered_merge {
                ways.extend(merged(candidate, &keys, &fixed));
            }
        }
        for (candidate, given) in ways {
            let whole = given.keys == order.len();
            if !whole && !wanted.partly_sorted {
                continue;
            }
            let is_scan = candidate.path.is_table_scan();
            let read = self.share_read(relation, &candidate, (&keys, &fixed), &local, wanted.share)?;
            self.share = match whole {
                true => read,
                false => self.share_partly_sorted(&candidate, &given, read)?,
            };
            let first = Rc::new(self.access(relation, candidate));
            let plan = self.join(graph, members, Some((position, first)));
            let share = std::mem::replace(&mut self.share, 1.0);
            let plan = self.filtered(plan?, self.constant_conditions(graph));
            // No join with the other members keeps the order.
            if !plan.cost_us.is_finite() {
                continue;
            }
            let forced = forced && whole && !is_scan;
            let mut cost_us = self.partly(&plan, share);
            if !whole {
                let kept = (wanted.rows * wanted.share).max(2.0);
                cost_us += plan.rows * share * kept.log2() * self.cx.planner.model.cpu.sort;
            }
            let found = InOrder { plan, forced, provided: given.keys, cost_us, share };
            let rank = |found: &InOrder| (!found.forced, found.cost_us);
            if best.as_ref().is_none_or(|known| rank(&found) < rank(known)) {
                best = Some(found);
            }
        }
        Ok(best)
    }

    /// Returns the share of the rows that is read to find a share of the passing ones, because passing rows may come early or
    /// late in the order. For a range only the number of passing rows is known.
    fn share_read(
        &mut self,
        relation: usize,
        candidate: &Candidate,
        (keys, fixed): (&[(usize, bool)], &BTreeSet<usize>),
        conditions: &[Expr],
        share: f64,
    ) -> Result<f64, MysqlError> {
        let path = &candidate.path;
        let first = keys.iter().find(|(column, _)| !fixed.contains(column));
        let bound = self.select.relations.get(relation);
        let (Some(&order), Some(bound), true) = (first, bound, share < 1.0) else { return Ok(share) };
        if !path.constraint.is_unbounded() || conditions.is_empty() {
            return Ok(share);
        }
        let start = bound.columns.start;
        let own_column = |column: usize| {
            invariant!(bound.columns.contains(&column), "column {column} is none of {:?}", bound.columns);
            column - start
        };
        let own = |condition: &Expr| condition.map_columns(&mut |column| own_column(column));
        let conditions: Vec<Expr> = conditions.iter().map(own).collect();
        Ok(self.cx.planner.share_in_order(&path.table, order, &conditions, share, self.cx.eval)?)
    }

    /// Returns the share of the rows that is read where they come in the order of the first keys. All rows with the last wanted
    /// value of these keys are read.
    fn share_partly_sorted(
        &self,
        candidate: &Candidate,
        given: &IndexOrder,
        read: f64,
    ) -> Result<f64, MysqlError> {
        let planner = &self.cx.planner;
        let (table, index) = (&candidate.path.table, &candidate.path.index);
        let entries = planner.statistics.index(planner.engine, table, index)?.entries_per(given.parts);
        Ok((read + entries / candidate.examined.max(1.0)).min(1.0))
    }

    /// Returns the candidates of a table, including reads of whole indexes for their order.
    pub(super) fn candidates_for_order(
        &mut self,
        relation: usize,
        table: &Arc<TableDef>,
        conditions: &[Expr],
    ) -> Result<Rc<Vec<Candidate>>, MysqlError> {
        self.every_index = true;
        let candidates = self.candidates(relation, table, conditions, &[], Relations::one(relation));
        self.every_index = false;
        candidates
    }

    /// Returns the keys as columns of one relation, if all are such columns.
    pub(super) fn plain_keys(&self, order: &[OrderKey]) -> Option<(usize, Vec<(usize, bool)>)> {
        self.leading_keys(order).filter(|(_, keys)| keys.len() == order.len())
    }

    /// Returns the first keys as far as they are columns of one relation.
    fn leading_keys(&self, order: &[OrderKey]) -> Option<(usize, Vec<(usize, bool)>)> {
        let of_relation = |key: &OrderKey| match self.select.columns.get(key.expr.as_column()?)?.origin {
            ColumnOrigin::Relation { relation, ordinal } => Some((relation, (ordinal, key.descending))),
            _ => None,
        };
        let (first, _) = of_relation(order.first()?)?;
        let same = order.iter().map_while(of_relation).take_while(|(relation, _)| *relation == first);
        Some((first, same.map(|(_, key)| key).collect()))
    }

    /// Returns the columns of a relation that have one value in all rows that pass the conditions.
    pub(super) fn fixed_columns(&self, relation: usize, conditions: &[Expr]) -> BTreeSet<usize> {
        let bound = &self.select.relations[relation];
        conditions
            .iter()
            .filter_map(|condition| match &condition.kind {
                ExprKind::Compare { op: CompareOp::Eq | CompareOp::NullSafeEq, left, right, domain } => {
                    // In other domains several values equal one: texts equal a number.
                    let one_value = |column: &Expr| is_transitive(&column.ty, *domain);
                    match (left.as_column(), right.as_column()) {
                        (Some(column), None) if right.is_constant() && one_value(left) => Some(column),
                        (None, Some(column)) if left.is_constant() && one_value(right) => Some(column),
                        _ => None,
                    }
                }
                _ => None,
            })
            .filter(|column| bound.columns.contains(column))
            .map(|column| column - bound.columns.start)
            .collect()
    }
}

/// Makes a candidate that merges its ranges, for the order of the parts after those with several values.
fn merged(
    candidate: &Candidate,
    keys: &[(usize, bool)],
    fixed: &BTreeSet<usize>,
) -> Option<(Candidate, IndexOrder)> {
    let behind = |parts: usize| {
        let given = order_of(candidate, (parts, false), keys, fixed)?;
        (given.keys == keys.len()).then_some((parts, given))
    };
    let (parts, given) = (1..=candidate.path.constraint.point_parts()).find_map(behind)?;
    Some((candidate.clone().merged(parts, given.direction)?, given))
}

/// Returns the order in which the index of a candidate delivers entries with equal first `start` parts, if the keys begin with
/// it.
pub(super) fn order_behind(
    candidate: &Candidate,
    start: usize,
    keys: &[(usize, bool)],
    fixed: &BTreeSet<usize>,
) -> Option<IndexOrder> {
    order_of(candidate, (start, true), keys, fixed)
}

/// Returns the order after the first `start` parts. `is_same`: these parts have one value; otherwise their entries are merged by
/// the parts that follow.
fn order_of(
    candidate: &Candidate,
    (start, is_same): (usize, bool),
    keys: &[(usize, bool)],
    fixed: &BTreeSet<usize>,
) -> Option<IndexOrder> {
    let index = &candidate.path.index;
    let before = index.key_columns.iter().zip(&index.key_parts).take(if is_same { start } else { 0 });
    let same = before.filter(|(_, part)| part.prefix.is_none()).map(|(column, _)| column);
    let fixed: BTreeSet<usize> = fixed.iter().chain(same).copied().collect();
    let served_by_fixed = |provided: usize| {
        let behind = keys.get(provided..).unwrap_or_default();
        provided + behind.iter().take_while(|(column, _)| fixed.contains(column)).count()
    };
    let mut provided = served_by_fixed(0);
    let (mut parts, mut reverse) = (start, None);
    let mut ended = true;
    for (position, (column, part)) in index.key_columns.iter().zip(&index.key_parts).enumerate().skip(start) {
        let Some((next, descending)) = keys.get(provided) else { break };
        let is_next = next == column && part.prefix.is_none();
        // One value of a column does not fix a part that is a prefix of the column.
        if !is_next && fixed.contains(column) && part.prefix.is_none() {
            continue;
        }
        let turned = *descending != part.descending;
        if !is_next || *reverse.get_or_insert(turned) != turned {
            ended = false;
            break;
        }
        parts = position + 1;
        provided = served_by_fixed(provided + 1);
    }
    // After all parts of the key one row is left, so that further keys of the order do not matter. Where a hidden row id follows
    // the parts, that holds only for unique keys without NULL.
    let is_whole = |part: &KeyPart| !part.nullable && part.prefix.is_none();
    let names_row = !index.hidden_row_id || index.is_unique() && index.key_parts.iter().all(is_whole);
    if ended && is_same && names_row {
        provided = keys.len();
    }
    if reverse.is_none() && provided < keys.len() {
        return None;
    }
    let direction = if reverse.unwrap_or(false) { ScanOrder::Reverse } else { ScanOrder::Forward };
    Some(IndexOrder { direction, keys: provided, parts })
}
