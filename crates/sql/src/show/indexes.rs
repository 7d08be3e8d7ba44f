//! SHOW INDEX.

use super::{text, yes_no};
use crate::result::RowSet;
use crate::session::Session;
use leafline_table::{IndexDef, TableDef};
use leafline_types::{MysqlError, SqlType, Value};
use std::sync::Arc;

pub(super) fn indexes(session: &Session, table: &Arc<TableDef>) -> Result<RowSet, MysqlError> {
    let short = || SqlType::Varchar { len: 64 };
    let number = SqlType::BIGINT;
    let mut rows = RowSet::new([
        ("Table", short()),
        ("Non_unique", number.clone()),
        ("Key_name", short()),
        ("Seq_in_index", number.clone()),
        ("Column_name", short()),
        ("Collation", SqlType::Varchar { len: 1 }),
        ("Cardinality", number.clone()),
        ("Sub_part", number),
        ("Packed", short()),
        ("Null", SqlType::Varchar { len: 3 }),
        ("Index_type", short()),
        ("Comment", short()),
        ("Index_comment", SqlType::Varchar { len: 2048 }),
        ("Visible", SqlType::Varchar { len: 3 }),
        ("Expression", SqlType::Varchar { len: 16_383 }),
    ]);
    for (number, index) in table.indexes.iter().enumerate().filter(|(_, index)| !index.parts.is_empty()) {
        let packed = if table.has_packed(number) { text("PACKED") } else { Value::Null };
        let cardinality = cardinalities(session, table, index)?;
        for (position, part) in index.parts.iter().enumerate() {
            let Some(column) = table.columns.get(part.column) else { continue };
            let (name, expression) = match &column.generated {
                Some(generated) if column.is_hidden() => (Value::Null, text(generated.expression.as_str())),
                _ => (text(column.name.as_str()), Value::Null),
            };
            rows.push(vec![
                text(table.name.as_str()),
                Value::Int(i64::from(!index.is_unique())),
                text(index.name.as_str()),
                Value::Int(position as i64 + 1),
                name,
                text(if part.descending { "D" } else { "A" }),
                cardinality.get(position).map_or(Value::Null, |&n| Value::Int(n)),
                part.prefix.map_or(Value::Null, |prefix| Value::Int(prefix.into())),
                packed.clone(),
                text(if column.nullable { "YES" } else { "" }),
                text("BTREE"),
                text(if index.is_hypothetical() { "hypothetical" } else { "" }),
                text(index.comment.as_str()),
                yes_no(!index.invisible),
                expression,
            ]);
        }
    }
    Ok(rows)
}

/// Estimated number of distinct values of each prefix of the parts; none of an index that cannot be read.
fn cardinalities(session: &Session, table: &TableDef, index: &IndexDef) -> Result<Vec<i64>, MysqlError> {
    let instance = &session.instance;
    if instance.engine().is_quarantined(index) {
        return Ok(Vec::new());
    }
    let rows = instance.engine().rows_of(table) as f64;
    let statistics = instance.statistics().index(instance.engine(), table, index)?;
    Ok((1..=index.parts.len())
        .map(|parts| (rows / statistics.entries_per(parts).max(1.0)).round() as i64)
        .collect())
}
