//! `d IS NULL` in WHERE, for a NOT NULL column of DATE or DATETIME, finds the rows whose date is `0000-00-00`. Drivers that lack
//! such a date read it as NULL. (MySQL manual, "IS NULL".)
//!
//! The rule holds for WHERE, for ON of inner joins that no outer join fills with NULL, and for the conditions that their ANDs and
//! ORs join. It does not hold below NOT, in ON of outer joins, in HAVING or in the select list. For a column that an outer join
//! may fill with NULL, the test finds both zero dates and NULL.

use leafline_expr::{CompareOp, Expr, ExprKind, build};
use leafline_types::temporal::{Date, DateTime};
use leafline_types::{MysqlError, SqlType, Value};

use super::scope::Block;
use crate::bound::{BoundSelect, ColumnId, ColumnOrigin, RelationSource};

/// Rewrites the conditions of a WHERE or ON so that IS NULL finds zero dates.
pub(super) fn found_as_null(block: &Block, condition: &mut Expr) -> Result<(), MysqlError> {
    match &mut condition.kind {
        ExprKind::And(items) | ExprKind::Or(items) => {
            items.iter_mut().try_for_each(|item| found_as_null(block, item))
        }
        ExprKind::IsNull { operand, negated: false } => {
            let zero = match operand.ty.sql {
                SqlType::Date => Value::Date(Date::ZERO),
                SqlType::DateTime { .. } => Value::DateTime(DateTime::ZERO),
                _ => return Ok(()),
            };
            let is_required = match operand.kind {
                ExprKind::Column(id) => is_required(block, id),
                // The operand is a column of a surrounding query.
                ExprKind::Outer(_) => !operand.ty.nullable,
                _ => false,
            };
            if !is_required {
                return Ok(());
            }
            let is_zero = build::compare(CompareOp::Eq, (**operand).clone(), build::literal(zero))?;
            *condition = match operand.ty.nullable {
                true => build::or(vec![condition.clone(), is_zero]),
                false => is_zero,
            };
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Whether the column belongs to a table that declares it NOT NULL.
fn is_required(block: &Block, id: ColumnId) -> bool {
    let Some((relation, ordinal)) = block.relation_of(id) else { return false };
    block.relations.get(relation).is_some_and(|relation| is_required_of(&relation.source, ordinal))
}

fn is_required_of(source: &RelationSource, ordinal: usize) -> bool {
    match source {
        RelationSource::Base(table) => table.columns.get(ordinal).is_some_and(|column| !column.nullable),
        other => other.query().is_some_and(|query| is_required_output(query, ordinal)),
    }
}

fn is_required_output(query: &BoundSelect, ordinal: usize) -> bool {
    let column = query.output.get(ordinal).and_then(|output| output.expr.as_column());
    let origin = column.and_then(|column| query.columns.get(column)).map(|column| column.origin);
    let Some(ColumnOrigin::Relation { relation, ordinal }) = origin else { return false };
    query.relations.get(relation).is_some_and(|relation| is_required_of(&relation.source, ordinal))
}
