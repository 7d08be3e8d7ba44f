//! What share of the pairs of two inputs a condition lets pass.

use super::members::JoinPlanner;
use crate::bound::{ColumnOrigin, RelationSource};
use leafline_access::stats::guess_selectivity;
use leafline_types::MysqlError;
use leafline_types::expr::{CompareOp, Expr, ExprKind};

/// Of a column without index, this share of its rows is taken to be distinct.
const DISTINCT_SHARE: f64 = 0.1;

/// The selectivity of a condition between two inputs. An equality keeps one of as many pairs as the side with more distinct
/// values has of them.
pub(super) fn joining(planner: &mut JoinPlanner<'_, '_, '_>, condition: &Expr) -> Result<f64, MysqlError> {
    match &condition.kind {
        ExprKind::Compare { op: CompareOp::Eq | CompareOp::NullSafeEq, left, right, .. } => {
            let mut distinct: f64 = 1.0;
            for side in [left, right] {
                if let Some(column) = side.as_column() {
                    distinct = distinct.max(distinct_values(planner, column)?);
                }
            }
            Ok(if distinct > 1.0 { 1.0 / distinct } else { guess_selectivity(condition) })
        }
        // The branches exclude each other more often than not, and each relation was filtered by its part of them.
        ExprKind::Or(branches) => Ok(1.0 / branches.len().max(1) as f64),
        _ => Ok(guess_selectivity(condition)),
    }
}

/// Distinct values of a column of the block.
fn distinct_values(planner: &mut JoinPlanner<'_, '_, '_>, column: usize) -> Result<f64, MysqlError> {
    if let Some(known) = planner.distinct_values.get(&column) {
        return Ok(*known);
    }
    let Some(ColumnOrigin::Relation { relation, ordinal }) =
        planner.select.columns.get(column).map(|column| column.origin)
    else {
        return Ok(1.0);
    };
    let found = match planner.select.relations.get(relation).map(|relation| &relation.source) {
        Some(RelationSource::Base(table)) => {
            let sources = &planner.cx.planner;
            let rows = sources.engine.row_count(table.id) as f64;
            let leading = table
                .indexes
                .iter()
                .filter(|index| index.key_columns.first() == Some(&ordinal) && !index.parts.is_empty());
            let mut found = (rows * DISTINCT_SHARE).max(1.0);
            for index in leading {
                let statistics = sources.statistics.index(sources.engine, table, index)?;
                found = if index.is_unique() && index.parts.len() == 1 {
                    rows.max(1.0)
                } else {
                    (rows / statistics.entries_per(1)).max(1.0)
                };
            }
            found
        }
        _ => 1.0,
    };
    planner.distinct_values.insert(column, found);
    Ok(found)
}
