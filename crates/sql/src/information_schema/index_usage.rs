//! `sys.schema_unused_indexes` and `sys.schema_redundant_indexes`.

use super::{SchemaTable, name_column, number_column, text_column};
use crate::advice::redundant_indexes;
use crate::session::Session;
use crate::show::statement_text::quoted;
use crate::system_table::SYSTEM_DATABASE;
use leafline_table::{IndexDef, TableDef};
use leafline_types::{SqlType, Value};
use std::sync::Arc;

/// The tables that are not the server's own.
fn tables(session: &Session) -> Vec<Arc<TableDef>> {
    let catalog = session.instance.engine().catalog();
    let databases = catalog.databases().filter(|database| database.name != SYSTEM_DATABASE);
    databases.flat_map(|database| catalog.tables(&database.name).cloned().collect::<Vec<_>>()).collect()
}

/// Indexes that are not unique and that no plan has used that was run since the database was opened.
pub(super) fn unused(session: &Session) -> SchemaTable {
    let columns = ["object_schema", "object_name", "index_name"].map(name_column).into();
    let uses = session.instance.index_uses();
    let mut rows = Vec::new();
    for table in tables(session) {
        let unused = table.secondary().iter().filter(|index| !index.is_unique() && !uses.has(index.id));
        rows.extend(unused.map(|index| {
            [&table.database, &table.name, &index.name].map(|name| Value::string(name.as_str())).into()
        }));
    }
    SchemaTable { columns, rows }
}

/// Indexes that do nothing that another does not.
pub(super) fn redundant(session: &Session) -> SchemaTable {
    let text = |name| text_column(name, SqlType::Text { max_bytes: 65_535 });
    let number = |name| number_column(name, SqlType::BIGINT);
    let columns = vec![
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
    ];
    let mut rows = Vec::new();
    for table in tables(session) {
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
                Value::string(table.database.as_str()),
                Value::string(table.name.as_str()),
                Value::string(index.name.as_str()),
                Value::string(names(&table, index)),
                non_unique(index),
                Value::string(dominant.name.as_str()),
                Value::string(names(&table, dominant)),
                non_unique(dominant),
                Value::Int(i64::from(index.has_prefixes() || dominant.has_prefixes())),
                Value::string(drop),
            ]);
        }
    }
    SchemaTable { columns, rows }
}

/// The columns of an index.
fn names(table: &TableDef, index: &IndexDef) -> String {
    let parts = index.parts.iter().filter_map(|part| table.columns.get(part.column));
    parts.map(|column| column.name.as_str()).collect::<Vec<_>>().join(",")
}
