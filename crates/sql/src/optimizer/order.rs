//! ORDER BY without sorting: a table read in the order of one of its indexes.

use super::equalities::is_transitive;
use super::graph::{Graph, MemberSource, Relations};
use super::members::{JoinPlanner, PreparedMember};
use super::partial::PartialRef;
use crate::bound::{ColumnOrigin, OrderKey, RelationSource};
use leafline_access::{Candidate, ScanOrder};
use leafline_table::TableDef;
use leafline_types::MysqlError;
use leafline_types::expr::{CompareOp, Expr, ExprKind};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// A plan whose rows come in the order asked for.
impl JoinPlanner<'_, '_, '_> {
    /// The cheapest plan that needs no sort, if there is one, and whether it uses an index that is forced for ORDER BY, and
    /// then is not to be compared with sorting. `share`: the part of the rows that will be read.
    pub(super) fn plan_in_order(
        &mut self,
        graph: &Graph,
        members: &[PreparedMember],
        order: &[OrderKey],
        share: f64,
    ) -> Result<Option<(PartialRef, bool)>, MysqlError> {
        let Some((relation, keys)) = self.plain_keys(order) else { return Ok(None) };
        let position = graph.members.iter().position(|member| {
            member.attached.is_none()
                && matches!(member.source, MemberSource::Relation(found) if found == relation)
        });
        let possible =
            |position: &usize| (!graph.straight || *position == 0) && self.may_be_first(members, *position);
        let Some(position) = position.filter(possible) else { return Ok(None) };
        let Some(bound) = self.select.relations.get(relation) else { return Ok(None) };
        let RelationSource::Base(table) = &bound.source else { return Ok(None) };
        let (table, forced) = (table.clone(), bound.hints.indexes.order_by.forced);
        let local = self.local_conditions(Relations::one(relation), &graph.conjuncts);
        let fixed = self.fixed_columns(relation, &local);
        let candidates = self.candidates_for_order(relation, &table, &local);
        let mut best: Option<(PartialRef, bool)> = None;
        for candidate in candidates?.iter() {
            let Some(direction) = index_order(candidate, &keys, &fixed) else { continue };
            let forced = forced && !candidate.path.is_table_scan();
            let first = Rc::new(self.access(relation, candidate.clone().ordered(direction)));
            let joined = self.join(graph, members, Some((position, first)))?;
            let joined = self.filtered(joined, self.constant_conditions(graph));
            let rank = |(plan, forced): &(PartialRef, bool)| (!*forced, partly(plan, share));
            let found = (joined, forced);
            if best.as_ref().is_none_or(|known| rank(&found) < rank(known)) {
                best = Some(found);
            }
        }
        Ok(best)
    }

    /// The candidates of a table, those among them that read a whole index for its order.
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

    /// The keys as columns of one relation, if they are.
    pub(super) fn plain_keys(&self, order: &[OrderKey]) -> Option<(usize, Vec<(usize, bool)>)> {
        let mut found: Option<usize> = None;
        let mut keys = Vec::new();
        for key in order {
            let column = self.select.columns.get(key.expr.as_column()?)?;
            let ColumnOrigin::Relation { relation, ordinal } = column.origin else { return None };
            if *found.get_or_insert(relation) != relation {
                return None;
            }
            keys.push((ordinal, key.descending));
        }
        found.map(|relation| (relation, keys))
    }

    /// The columns of a relation that have one value in all rows that pass the conditions.
    pub(super) fn fixed_columns(&self, relation: usize, conditions: &[Expr]) -> BTreeSet<usize> {
        let Some(bound) = self.select.relations.get(relation) else { return BTreeSet::new() };
        conditions
            .iter()
            .filter_map(|condition| match &condition.kind {
                ExprKind::Compare { op: CompareOp::Eq | CompareOp::NullSafeEq, left, right, domain } => {
                    // Of other domains several values are equal to one: texts to a number.
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

/// The price of a plan of which only a share of the rows is read.
pub(super) fn partly(plan: &PartialRef, share: f64) -> f64 {
    let startup = plan.startup_us.min(plan.cost_us);
    startup + (plan.cost_us - startup) * share
}

/// The direction in which the index of a candidate gives the order, if it does.
fn index_order(candidate: &Candidate, keys: &[(usize, bool)], fixed: &BTreeSet<usize>) -> Option<ScanOrder> {
    order_behind(candidate, 0, keys, fixed)
}

/// The direction in which the index of a candidate gives the order of entries with the same first `start` parts, if it does.
pub(super) fn order_behind(
    candidate: &Candidate,
    start: usize,
    keys: &[(usize, bool)],
    fixed: &BTreeSet<usize>,
) -> Option<ScanOrder> {
    let index = &candidate.path.index;
    let before = index.key_columns.iter().zip(&index.key_parts).take(start);
    let same = before.filter(|(_, part)| part.prefix.is_none()).map(|(column, _)| column);
    let fixed: BTreeSet<usize> = fixed.iter().chain(same).copied().collect();
    let mut wanted = keys.iter().filter(|(column, _)| !fixed.contains(column)).peekable();
    let mut reverse: Option<bool> = None;
    for (column, part) in index.key_columns.iter().zip(&index.key_parts).skip(start) {
        let Some((next, descending)) = wanted.peek() else { break };
        if part.prefix.is_some() {
            // Not even of a column with one value: its key may have several.
            return None;
        }
        if next != column {
            if fixed.contains(column) {
                continue;
            }
            return None;
        }
        if *reverse.get_or_insert(*descending != part.descending) != (*descending != part.descending) {
            return None;
        }
        wanted.next();
    }
    // Behind all parts of the key there is one row: what is left to order by does not matter. A hidden row id follows the
    // parts of a table without primary key.
    if wanted.peek().is_some() && index.hidden_row_id {
        return None;
    }
    Some(if reverse.unwrap_or(false) { ScanOrder::Reverse } else { ScanOrder::Forward })
}
