//! `information_schema.TABLES`: stored tables, views and system views.

use super::sizes::{Sizes, TableBytes};
use super::{
    CATALOG, Columns, Definition, Rows, SystemView, name_column, nullable_column, nullable_name, text,
    text_column,
};
use leafline_planner::binder::view_faults;
use leafline_table::{TableDef, ViewDef};
use leafline_types::{Collation, MysqlError, SqlType, Value};
use std::sync::Arc;

/// Positions in this table of the columns of SHOW TABLE STATUS.
pub(crate) const SHOWN: [usize; 18] = [2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20];

pub(super) fn columns() -> Columns {
    let number = |name| nullable_column(name, SqlType::BIGINT_UNSIGNED);
    let moment = |name| nullable_column(name, SqlType::DateTime { fsp: 0 });
    vec![
        name_column("TABLE_CATALOG"),
        name_column("TABLE_SCHEMA"),
        name_column("TABLE_NAME"),
        name_column("TABLE_TYPE"),
        nullable_name("ENGINE"),
        nullable_column("VERSION", SqlType::Int { unsigned: false }),
        nullable_name("ROW_FORMAT"),
        number("TABLE_ROWS"),
        number("AVG_ROW_LENGTH"),
        number("DATA_LENGTH"),
        number("MAX_DATA_LENGTH"),
        number("INDEX_LENGTH"),
        number("DATA_FREE"),
        number("AUTO_INCREMENT"),
        moment("CREATE_TIME"),
        moment("UPDATE_TIME"),
        moment("CHECK_TIME"),
        nullable_name("TABLE_COLLATION"),
        nullable_column("CHECKSUM", SqlType::BIGINT),
        text_column("CREATE_OPTIONS", SqlType::Varchar { len: 256 }),
        text_column("TABLE_COMMENT", SqlType::Text { max_bytes: 65_535 }),
    ]
}

pub(super) fn rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let sizes = Sizes::now(system);
    let visible = system.visible();
    let mut rows: Rows = visible.tables().map(|table| stored(system, table, &sizes)).collect();
    rows.extend(visible.views().map(|one| view(system, one)));
    rows.extend(visible.computed().map(computed));
    Ok(rows)
}

/// The rows of a database's tables and views, by name.
pub(crate) fn rows_of(system: &SystemView<'_>, database: &str) -> Rows {
    let sizes = Sizes::now(system);
    let visible = system.visible();
    let mut rows: Rows = visible.tables_of(database).map(|table| stored(system, table, &sizes)).collect();
    rows.extend(visible.views_of(database).map(|one| view(system, one)));
    rows.extend(visible.computed_of(database).map(computed));
    rows.sort_by_key(|row| row.get(2).and_then(Value::as_bytes).map(<[u8]>::to_vec));
    rows
}

fn stored(system: &SystemView<'_>, table: &Arc<TableDef>, sizes: &Sizes) -> Vec<Value> {
    let engine = system.instance.engine();
    let count = engine.rows_of(table);
    let TableBytes { data, indexes, free } = sizes.of_table(table);
    let next = table.auto_increment_column().map(|_| engine.next_auto_increment(table.id));
    let collation = table.options.collation.unwrap_or(Collation::DEFAULT);
    let engine_name = table.options.organisation.engine();
    let named = [CATALOG, &table.database, &table.name, "BASE TABLE", engine_name].map(text);
    let is = [
        Value::UInt(10),
        text("Dynamic"),
        Value::UInt(count),
        Value::UInt(data.checked_div(count).unwrap_or(0)),
        Value::UInt(data),
        Value::UInt(0),
        Value::UInt(indexes),
        Value::UInt(free),
        next.map_or(Value::Null, Value::UInt),
        Value::Null,
        Value::Null,
        Value::Null,
        text(collation.name()),
        Value::Null,
        text(create_options(table).as_str()),
        text(table.options.comment.as_str()),
    ];
    [&named[..], &is].concat()
}

/// The options of a table that have no column of their own.
fn create_options(table: &TableDef) -> String {
    let pack_keys = table.options.pack_keys.map(|pack_keys| format!("pack_keys={}", u8::from(pack_keys)));
    let partitioned = table.is_partitioned().then(|| "partitioned".to_owned());
    pack_keys.into_iter().chain(partitioned).collect::<Vec<_>>().join(" ")
}

fn computed(table: &Definition) -> Vec<Value> {
    without_rows(&[CATALOG, table.database, table.name, table.kind()].map(text), "")
}

fn view(system: &SystemView<'_>, view: &ViewDef) -> Vec<Value> {
    let faults = view_faults(view, &system.binding);
    let comment = faults.last().map_or("VIEW", |fault| &fault.message);
    without_rows(&[CATALOG, &view.database, &view.name, "VIEW"].map(text), comment)
}

fn without_rows(named: &[Value], comment: &str) -> Vec<Value> {
    let unknown = vec![Value::Null; columns().len() - named.len() - 1];
    [named, &unknown, &[text(comment)]].concat()
}
