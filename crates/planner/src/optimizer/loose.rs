//! GROUP BY and DISTINCT by a loose index scan: where an index begins with their columns, the first entry of each group is
//! enough.
//!
//! A loose scan serves grouping by columns of one table without aggregates other than MIN and MAX of the one column that follows
//! them in the index, and any query that asks only for the distinct combinations of columns. For MIN and MAX together it walks
//! the index once in each direction. A grouping above the scan still groups its few rows, so that several rows of one group do no
//! harm.
//!
//! A loose scan also serves `k IN (..) ORDER BY v LIMIT 10`: it reads the first ten entries of each `k` from an index of both
//! columns, and sorts them.

use super::graph::{Graph, MemberSource, Relations};
use super::joins::JoinChoice;
use super::members::JoinPlanner;
use super::order::order_behind;
use super::partial::JoinPlanRef;
use crate::bound::{BoundSelect, ColumnOrigin, OrderKey, RelationSource};
use leafline_access::{Candidate, ScanOrder};
use leafline_expr::Expr;
use leafline_expr::aggregate::AggregateFunction;
use leafline_table::TableDef;
use leafline_types::MysqlError;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// The groups that a query asks for.
#[derive(Debug)]
struct Loose {
    /// Ordinals of the columns whose combinations are asked for.
    columns: BTreeSet<usize>,
    /// The column whose least or greatest value, or both, is asked for.
    extreme: Option<(usize, MinMax)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MinMax {
    Least,
    Greatest,
    Both,
}

impl JoinPlanner<'_, '_, '_> {
    /// Returns the cheapest loose scan, if it delivers all that the query asks for.
    pub(super) fn plan_loose(&mut self, graph: &Graph) -> Result<Option<JoinChoice>, MysqlError> {
        let Some(wanted) = wanted(self.select).filter(|_| self.cx.switches.skip_scan) else {
            return Ok(None);
        };
        let Some((table, local)) = self.only_table(graph) else { return Ok(None) };
        let relation = 0;
        let fixed = self.fixed_columns(relation, &local);
        let candidates = self.candidates_for_order(relation, &table, &local);
        let mut best: Option<JoinPlanRef> = None;
        for candidate in candidates?.iter() {
            let Some((parts, order)) = prefix(candidate, &wanted, &fixed) else { continue };
            if candidate.path.fetches() {
                continue;
            }
            let skips_nulls = matches!(wanted.extreme, Some((_, MinMax::Least | MinMax::Both)));
            let both_ends =
                matches!(wanted.extreme, Some((column, MinMax::Both)) if !wanted.columns.contains(&column));
            let found = self.cx.planner.first_of(candidate, (parts, 1, both_ends), skips_nulls, order)?;
            let Some(found) = found else { continue };
            let found = Rc::new(self.access(relation, found));
            if best.as_ref().is_none_or(|known| found.cost_us < known.cost_us) {
                best = Some(found);
            }
        }
        Ok(best.map(JoinChoice::unordered))
    }
}

impl JoinPlanner<'_, '_, '_> {
    /// For ORDER BY with LIMIT of `rows` rows: returns the cheapest scan of an index that has the order within each value of its
    /// first parts. The first rows of each value are enough. The caller still sorts them.
    pub(super) fn plan_first_of_each(
        &mut self,
        graph: &Graph,
        order: &[OrderKey],
        rows: usize,
    ) -> Result<Option<JoinPlanRef>, MysqlError> {
        let Some((table, local)) = self.only_table(graph).filter(|_| self.cx.switches.skip_scan) else {
            return Ok(None);
        };
        let Some((relation, keys)) = self.plain_keys(order) else { return Ok(None) };
        let fixed = self.fixed_columns(relation, &local);
        let candidates = self.candidates_for_order(relation, &table, &local);
        let mut best: Option<JoinPlanRef> = None;
        for candidate in candidates?.iter() {
            let parts = candidate.path.index.parts.len();
            let behind = |start: usize| {
                let given = order_behind(candidate, start, &keys, &fixed)?;
                (given.keys == keys.len()).then_some((start, given.direction))
            };
            let Some((parts, direction)) = (1..parts).find_map(behind) else { continue };
            let found = self.cx.planner.first_of(candidate, (parts, rows, false), false, direction)?;
            let Some(found) = found else { continue };
            let found = Rc::new(self.access(relation, found));
            if best.as_ref().is_none_or(|known| found.cost_us < known.cost_us) {
                best = Some(found);
            }
        }
        Ok(best)
    }

    /// Returns the only table of a query, with the conditions on it.
    fn only_table(&self, graph: &Graph) -> Option<(Arc<TableDef>, Vec<Expr>)> {
        let ([member], [bound]) = (graph.members.as_slice(), self.select.relations.as_slice()) else {
            return None;
        };
        let (MemberSource::Relation(relation), RelationSource::Base(table)) = (&member.source, &bound.source)
        else {
            return None;
        };
        let local = self.local_conjuncts(Relations::one(*relation), &graph.conjuncts);
        (bound.lock.is_none() && local.len() == graph.conjuncts.len()).then(|| (table.clone(), local))
    }
}

/// Returns the groups that a query asks for, if a loose scan can deliver them.
fn wanted(select: &BoundSelect) -> Option<Loose> {
    if !select.windows.is_empty() {
        return None;
    }
    let mut columns = BTreeSet::new();
    let Some(aggregation) = &select.aggregation else {
        if !select.distinct {
            return None;
        }
        for expr in
            select.output.iter().map(|output| &output.expr).chain(select.order_by.iter().map(|key| &key.expr))
        {
            add_columns(select, expr, &mut columns)?;
        }
        return (!columns.is_empty()).then_some(Loose { columns, extreme: None });
    };
    for key in &aggregation.keys {
        add_columns(select, &key.expr, &mut columns)?;
    }
    let mut extreme = None;
    for aggregate in &aggregation.aggregates {
        let call = &aggregate.call;
        let of = match call.function {
            AggregateFunction::Min => MinMax::Least,
            AggregateFunction::Max => MinMax::Greatest,
            // DISTINCT over all rows asks which values there are.
            _ if call.distinct && aggregation.keys.is_empty() => {
                call.args.iter().try_for_each(|arg| add_columns(select, arg, &mut columns))?;
                continue;
            }
            _ => return None,
        };
        let [arg] = call.args.as_slice() else { return None };
        let column = ordinal(select, arg.as_column()?)?;
        let (known, end) = extreme.get_or_insert((column, of));
        if *known != column {
            return None;
        }
        if *end != of {
            *end = MinMax::Both;
        }
    }
    (!columns.is_empty()).then_some(Loose { columns, extreme })
}

/// Adds the columns that an expression is computed from. `None` if it reads anything else, or distinguishes values that are equal
/// in the index, as `HEX(s)` and `s COLLATE utf8mb4_bin` do.
fn add_columns(select: &BoundSelect, expr: &Expr, columns: &mut BTreeSet<usize>) -> Option<()> {
    if expr.is_volatile() || expr.has_subquery() {
        return None;
    }
    for column in expr.columns() {
        let ty = &select.columns.get(column)?.ty;
        let has_same = ty.sql.is_real() || ty.sql.is_character() && !ty.collation.equal_is_same();
        if has_same && expr.as_column().is_none() {
            return None;
        }
        columns.insert(ordinal(select, column)?);
    }
    Some(())
}

/// Returns the ordinal of a query's column in its table.
fn ordinal(select: &BoundSelect, column: usize) -> Option<usize> {
    match select.columns.get(column)?.origin {
        ColumnOrigin::Relation { ordinal, .. } => Some(ordinal),
        _ => None,
    }
}

/// Returns how many parts of a candidate's index hold the columns, and the direction in which the extreme comes first.
fn prefix(candidate: &Candidate, wanted: &Loose, fixed: &BTreeSet<usize>) -> Option<(usize, ScanOrder)> {
    let index = &candidate.path.index;
    let mut missing = wanted.columns.clone();
    let mut parts = index.key_columns.iter().zip(&index.key_parts).enumerate().peekable();
    let mut count = 0;
    while !missing.is_empty() {
        let (position, (column, part)) = parts.next()?;
        let known = missing.remove(column) || wanted.columns.contains(column) || fixed.contains(column);
        if part.prefix.is_some() || !known {
            return None;
        }
        count = position + 1;
    }
    let Some((column, of)) = wanted.extreme else { return Some((count, ScanOrder::Forward)) };
    if wanted.columns.contains(&column) {
        return Some((count, ScanOrder::Forward));
    }
    let (_, (behind, part)) = parts.next()?;
    if *behind != column || part.prefix.is_some() {
        return None;
    }
    let forward = (of != MinMax::Greatest) != part.descending;
    Some((count, if forward { ScanOrder::Forward } else { ScanOrder::Reverse }))
}
