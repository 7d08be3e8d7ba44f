//! `sys.schema_unused_indexes` and `sys.schema_redundant_indexes`.

use super::{Columns, Rows, SystemView, name_column, number_column, text, text_column, users_tables};
use crate::advice::redundant_indexes;
use leafline_syntax::quoted;
use leafline_table::{IndexDef, TableDef};
use leafline_types::{MysqlError, SqlType, Value};

pub(super) fn unused_columns() -> Columns {
    ["object_schema", "object_name", "index_name"].map(name_column).into()
}

/// Indexes that are not unique and that no plan has used since the database was opened.
pub(super) fn unused_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let uses = system.instance.index_uses();
    let mut rows = Vec::new();
    for table in users_tables(system) {
        let unused = table.secondary().iter().filter(|index| !index.is_unique() && uses.of(index.id) == 0);
        rows.extend(
            unused.map(|index| {
                [&table.database, &table.name, &index.name].map(|name| text(name.as_str())).into()
            }),
        );
    }
    Ok(rows)
}

pub(super) fn redundant_columns() -> Columns {
    let text = |name| text_column(name, SqlType::Text { max_bytes: 65_535 });
    let number = |name| number_column(name, SqlType::BIGINT);
    vec![
        name_column("table_schema"),
        name_column("table_name"),
        name_column("redundant_index_name"),
        text("redundant_index_columns"),
        number("redundant_index_non_unique"),
        name_column("dominant_index_name"),
        text("dominant_index_columns"),
        number("dominant_index_non_unique"),
        number("subpart_exists"),
        text("sql_drop_index"),
    ]
}

/// Indexes that another index replaces.
pub(super) fn redundant_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let mut rows = Vec::new();
    for table in users_tables(system) {
        for pair in redundant_indexes(&table) {
            let (index, dominant) = (pair.index, pair.dominant);
            let non_unique = |index: &IndexDef| Value::Int(i64::from(!index.is_unique()));
            let drop = format!(
                "ALTER TABLE {}.{} DROP INDEX {}",
                quoted(&table.database),
                quoted(&table.name),
                quoted(&index.name)
            );
            rows.push(vec![
                text(table.database.as_str()),
                text(table.name.as_str()),
                text(index.name.as_str()),
                text(names(&table, index).as_str()),
                non_unique(index),
                text(dominant.name.as_str()),
                text(names(&table, dominant).as_str()),
                non_unique(dominant),
                Value::Int(i64::from(index.has_prefixes() || dominant.has_prefixes())),
                text(drop.as_str()),
            ]);
        }
    }
    Ok(rows)
}

/// Names of the columns of an index.
fn names(table: &TableDef, index: &IndexDef) -> String {
    let parts = index.parts.iter().filter_map(|part| table.columns.get(part.column));
    parts.map(|column| column.name.as_str()).collect::<Vec<_>>().join(",")
}
