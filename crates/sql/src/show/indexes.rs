//! SHOW INDEX.

use super::{text, yes_no};
use crate::result::RowSet;
use crate::session::Session;
use leafline_table::{IndexDef, TableDef};
use leafline_types::{MysqlError, SqlType, Value};
use std::sync::Arc;

pub(super) fn indexes(session: &Session, table: &Arc<TableDef>) -> Result<RowSet, MysqlError> {
    let name = || SqlType::Varchar { len: 64 };
    let number = SqlType::BIGINT;
    let mut rows = RowSet::new([
        ("Table", name()),
        ("Non_unique", number.clone()),
        ("Key_name", name()),
        ("Seq_in_index", number.clone()),
        ("Column_name", name()),
        ("Collation", SqlType::Varchar { len: 1 }),
        ("Cardinality", number.clone()),
        ("Sub_part", number),
        ("Packed", name()),
        ("Null", SqlType::Varchar { len: 3 }),
        ("Index_type", name()),
        ("Comment", name()),
        ("Index_comment", SqlType::Varchar { len: 2048 }),
        ("Visible", SqlType::Varchar { len: 3 }),
        ("Expression", name()),
    ]);
    for index in &table.indexes {
        let cardinality = cardinalities(session, table, index)?;
        for (position, part) in index.parts.iter().enumerate() {
            let Some(column) = table.columns.get(part.column) else { continue };
            rows.push(vec![
                text(table.name.as_str()),
                Value::Int(i64::from(!index.is_unique())),
                text(index.name.as_str()),
                Value::Int(position as i64 + 1),
                text(column.name.as_str()),
                text(if part.descending { "D" } else { "A" }),
                cardinality.get(position).map_or(Value::Null, |&n| Value::Int(n)),
                part.prefix.map_or(Value::Null, |prefix| Value::Int(prefix.into())),
                Value::Null,
                text(if column.nullable { "YES" } else { "" }),
                text("BTREE"),
                text(""),
                text(index.comment.as_str()),
                yes_no(!index.invisible),
                Value::Null,
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
    let rows = instance.engine().row_count(table.id) as f64;
    let statistics = instance.statistics().index(instance.engine(), table, index)?;
    Ok((1..=index.parts.len())
        .map(|parts| (rows / statistics.entries_per(parts).max(1.0)).round() as i64)
        .collect())
}
