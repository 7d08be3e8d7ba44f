//! `information_schema.STATISTICS`: the parts of indexes.

use super::{
    CATALOG, Columns, Rows, SystemView, long_text, name_column, nullable_column, nullable_name,
    number_column, of_current, stored_tables, text, text_column, yes_no,
};
use leafline_table::{ColumnDef, IndexDef, TableDef};
use leafline_types::{MysqlError, SqlType, Value};
use std::sync::Arc;

/// Positions in this table of the columns of SHOW INDEX.
pub(crate) const SHOWN: [usize; 15] = [2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17];

pub(super) fn columns() -> Columns {
    vec![
        name_column("TABLE_CATALOG"),
        name_column("TABLE_SCHEMA"),
        name_column("TABLE_NAME"),
        number_column("NON_UNIQUE", SqlType::BIGINT),
        name_column("INDEX_SCHEMA"),
        name_column("INDEX_NAME"),
        number_column("SEQ_IN_INDEX", SqlType::BIGINT),
        nullable_name("COLUMN_NAME"),
        nullable_name("COLLATION"),
        nullable_column("CARDINALITY", SqlType::BIGINT),
        nullable_column("SUB_PART", SqlType::BIGINT),
        nullable_name("PACKED"),
        name_column("NULLABLE"),
        name_column("INDEX_TYPE"),
        name_column("COMMENT"),
        text_column("INDEX_COMMENT", SqlType::Varchar { len: 2048 }),
        name_column("IS_VISIBLE"),
        long_text("EXPRESSION"),
    ]
}

pub(super) fn rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let mut rows = Rows::new();
    for table in stored_tables(system) {
        rows.extend(of_current(system, &table, |table| rows_of(system, table))?);
    }
    Ok(rows)
}

/// The rows of one table.
///
/// # Errors
/// Errors of sampling an index.
pub(crate) fn rows_of(system: &SystemView<'_>, table: &Arc<TableDef>) -> Result<Rows, MysqlError> {
    let mut rows = Rows::new();
    for (number, index) in
        table.ordered_indexes().iter().enumerate().filter(|(_, index)| !index.parts.is_empty())
    {
        let packed = table.has_packed(number).then_some("PACKED");
        let cardinality = cardinalities(system, table, index)?;
        for (position, part) in index.parts.iter().enumerate() {
            let Some(column) = table.columns.get(part.column) else { continue };
            let (name, expression) = match &column.generated {
                Some(generated) if column.is_hidden() => (None, Some(generated.expression.as_str())),
                _ => (Some(column.name.as_str()), None),
            };
            rows.push(vec![
                text(CATALOG),
                text(table.database.as_str()),
                text(table.name.as_str()),
                Value::Int(i64::from(!index.is_unique())),
                text(table.database.as_str()),
                text(index.name.as_str()),
                Value::Int(position as i64 + 1),
                text(name),
                text(if part.descending { "D" } else { "A" }),
                cardinality.get(position).map_or(Value::Null, |&n| Value::Int(n)),
                part.prefix.map_or(Value::Null, |prefix| Value::Int(prefix.into())),
                text(packed),
                text(if column.nullable { "YES" } else { "" }),
                text("BTREE"),
                text(if index.is_hypothetical() { "hypothetical" } else { "" }),
                text(index.comment.as_str()),
                yes_no(!index.invisible),
                text(expression),
            ]);
        }
    }
    rows.extend(table.fulltext().flat_map(|index| fulltext_rows(table, index)));
    Ok(rows)
}

/// The rows of a FULLTEXT index.
fn fulltext_rows(table: &TableDef, index: &IndexDef) -> Rows {
    let columns = index.parts.iter().filter_map(|part| table.columns.get(part.column));
    let row = |(position, column): (i64, &ColumnDef)| {
        vec![
            text(CATALOG),
            text(table.database.as_str()),
            text(table.name.as_str()),
            Value::Int(1),
            text(table.database.as_str()),
            text(index.name.as_str()),
            Value::Int(position),
            text(column.name.as_str()),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            text(if column.nullable { "YES" } else { "" }),
            text("FULLTEXT"),
            text(""),
            text(index.comment.as_str()),
            yes_no(!index.invisible),
            Value::Null,
        ]
    };
    (1..).zip(columns).map(row).collect()
}

/// Estimated number of distinct values for each prefix of the parts; empty for an index that cannot be read.
fn cardinalities(
    system: &SystemView<'_>,
    table: &TableDef,
    index: &IndexDef,
) -> Result<Vec<i64>, MysqlError> {
    let instance = &system.instance;
    if instance.engine().is_quarantined(index) {
        return Ok(Vec::new());
    }
    let rows = instance.engine().rows_of(table) as f64;
    let statistics = instance.statistics().index(instance.engine(), table, index)?;
    Ok((1..=index.parts.len())
        .map(|parts| (rows / statistics.entries_per(parts).max(1.0)).round() as i64)
        .collect())
}
