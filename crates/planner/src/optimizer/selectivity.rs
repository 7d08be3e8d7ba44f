//! Estimates the share of the pairs of two inputs that pass the conditions between them, and the number of groups that rows make.

use super::members::JoinPlanner;
use crate::bound::{ColumnOrigin, RelationSource};
use crate::params::DISTINCT_SHARE;
use leafline_access::stats::guess_selectivity;
use leafline_expr::{CompareOp, Expr, ExprKind};
use leafline_table::TableDef;
use leafline_types::MysqlError;
use std::sync::Arc;

impl JoinPlanner<'_, '_, '_> {
    /// Returns the selectivity of all conditions between two inputs.
    pub(super) fn joining_all(&mut self, conditions: &[Expr]) -> Result<f64, MysqlError> {
        joining_all(self, conditions)
    }

    /// Estimates how many groups `rows` rows make by the values of expressions.
    pub(super) fn groups_of<'e>(
        &mut self,
        keys: impl IntoIterator<Item = &'e Expr>,
        rows: f64,
    ) -> Result<f64, MysqlError> {
        groups(self, keys, rows)
    }
}

/// Returns the selectivity of all conditions between two inputs. Equalities of the leading columns of an index count together:
/// one pair passes of as many as the index has distinct values of these columns.
fn joining_all(planner: &mut JoinPlanner<'_, '_, '_>, conditions: &[Expr]) -> Result<f64, MysqlError> {
    let equalities: Vec<(&Expr, usize, usize)> = conditions
        .iter()
        .filter_map(|condition| match &condition.kind {
            ExprKind::Compare { op: CompareOp::Eq | CompareOp::NullSafeEq, left, right, .. } => {
                Some((condition, left.as_column()?, right.as_column()?))
            }
            _ => None,
        })
        .collect();
    let mut together: Vec<&Expr> = Vec::new();
    let mut distinct: f64 = 1.0;
    if equalities.len() > 1 {
        let columns = equalities.iter().flat_map(|(_, left, right)| [*left, *right]);
        let columns: Vec<usize> = columns.collect();
        for column in &columns {
            let Some((led, values)) = leading(planner, *column, &columns)? else { continue };
            let covered: Vec<&Expr> = equalities
                .iter()
                .filter(|(_, left, right)| led.contains(left) || led.contains(right))
                .map(|(condition, ..)| *condition)
                .collect();
            if covered.len() > together.len() || (covered.len() == together.len() && values > distinct) {
                (together, distinct) = (covered, values);
            }
        }
    }
    let mut selectivity = 1.0 / distinct.max(1.0);
    for condition in conditions.iter().filter(|condition| !together.contains(condition)) {
        selectivity *= joining(planner, condition)?;
    }
    Ok(selectivity)
}

/// Returns the selectivity of a condition between two inputs. For an equality one pair passes of as many as the side with more
/// distinct values has of them.
fn joining(planner: &mut JoinPlanner<'_, '_, '_>, condition: &Expr) -> Result<f64, MysqlError> {
    match &condition.kind {
        ExprKind::Compare { op: CompareOp::Eq | CompareOp::NullSafeEq, left, right, .. } => {
            if let (Some(left), Some(right)) = (left.as_column(), right.as_column())
                && let Some(share) = equal_pairs(planner, left, right)?
            {
                return Ok(share);
            }
            let mut distinct: f64 = 1.0;
            for column in [left, right].into_iter().filter_map(|side| side.as_column()) {
                distinct = distinct.max(distinct_values(planner, column)?.unwrap_or(1.0));
            }
            Ok(if distinct > 1.0 { 1.0 / distinct } else { guess_selectivity(condition) })
        }
        // The branches usually exclude each other, and each relation is already filtered by its own conditions in them.
        ExprKind::Or(branches) => Ok(1.0 / branches.len().max(1) as f64),
        _ => Ok(guess_selectivity(condition)),
    }
}

/// Estimates how many groups `rows` rows make by the values of expressions.
fn groups<'e>(
    planner: &mut JoinPlanner<'_, '_, '_>,
    keys: impl IntoIterator<Item = &'e Expr>,
    rows: f64,
) -> Result<f64, MysqlError> {
    let mut groups = 1.0;
    for key in keys {
        match key.as_column().map(|column| distinct_values(planner, column)).transpose()?.flatten() {
            Some(distinct) => groups *= distinct,
            None => return Ok((rows * DISTINCT_SHARE).max(1.0)),
        }
    }
    Ok(groups.min(rows).max(1.0))
}

/// Returns the number of distinct values of a column of the block, if it belongs to a table.
fn distinct_values(planner: &mut JoinPlanner<'_, '_, '_>, column: usize) -> Result<Option<f64>, MysqlError> {
    if let Some(found) = planner.distinct_values.get(&column) {
        return Ok(Some(*found));
    }
    let Some((table, ordinal)) = stored(planner, column) else { return Ok(None) };
    let sources = &planner.cx.planner;
    let found = sources.statistics.distinct_values(sources.engine, &table, ordinal)?;
    planner.distinct_values.insert(column, found);
    Ok(Some(found))
}

/// Returns the share of the pairs of two inputs that are equal in a column of each, if the columns belong to tables and can be
/// compared.
fn equal_pairs(
    planner: &mut JoinPlanner<'_, '_, '_>,
    left: usize,
    right: usize,
) -> Result<Option<f64>, MysqlError> {
    let key = (left.min(right), left.max(right));
    if let Some(known) = planner.equal_pairs.get(&key) {
        return Ok(*known);
    }
    let found = match (stored(planner, left), stored(planner, right)) {
        (Some((left, of_left)), Some((right, of_right))) => {
            let sources = &planner.cx.planner;
            let columns = [(&*left, of_left), (&*right, of_right)];
            sources.statistics.share_of_equal_pairs(sources.engine, columns)?
        }
        _ => None,
    };
    planner.equal_pairs.insert(key, found);
    Ok(found)
}

/// Returns the table column behind a column of the block.
fn stored(planner: &JoinPlanner<'_, '_, '_>, column: usize) -> Option<(Arc<TableDef>, usize)> {
    let ColumnOrigin::Relation { relation, ordinal } = planner.select.columns.get(column)?.origin else {
        return None;
    };
    match &planner.select.relations.get(relation)?.source {
        RelationSource::Base(table) => Some((table.clone(), ordinal)),
        _ => None,
    }
}

/// Returns two or more leading columns, all in `columns`, of an index that begins with `first`, and their number of distinct
/// values together.
fn leading(
    planner: &JoinPlanner<'_, '_, '_>,
    first: usize,
    columns: &[usize],
) -> Result<Option<(Vec<usize>, f64)>, MysqlError> {
    let Some(ColumnOrigin::Relation { relation, ordinal }) =
        planner.select.columns.get(first).map(|column| column.origin)
    else {
        return Ok(None);
    };
    let bound = &planner.select.relations[relation];
    let RelationSource::Base(table) = &bound.source else { return Ok(None) };
    let sources = &planner.cx.planner;
    let rows = sources.engine.rows_of(table) as f64;
    let mut best: Option<(Vec<usize>, f64)> = None;
    for index in table.indexes.iter().filter(|index| index.leading_columns().first() == Some(&ordinal)) {
        let led: Vec<usize> = index
            .leading_columns()
            .iter()
            .take(index.parts.len())
            .map(|ordinal| bound.columns.start + ordinal)
            .take_while(|column| columns.contains(column))
            .collect();
        if led.len() > 1 && best.as_ref().is_none_or(|(known, _)| known.len() < led.len()) {
            let statistics = sources.statistics.index(sources.engine, table, index)?;
            let values = (rows / statistics.entries_per(led.len())).max(1.0);
            best = Some((led, values));
        }
    }
    Ok(best)
}
