//! `information_schema.PARTITIONS`: a row for each partition, and a row for each table without partitions.

use super::sizes::{Sizes, TableBytes};
use super::{
    CATALOG, Columns, Rows, SystemView, name_column, nullable_column, stored_tables, text, text_column,
};
use crate::definition_text::partition_values;
use leafline_syntax::quoted;
use leafline_table::{PartitionKey, PartitionMethod, PartitionScheme, TableDef};
use leafline_types::temporal::Zone;
use leafline_types::{MysqlError, SqlType, Value};
use std::sync::Arc;

pub(super) fn columns() -> Columns {
    let text = |name| text_column(name, SqlType::Varchar { len: 2048 });
    let number = |name| nullable_column(name, SqlType::BIGINT_UNSIGNED);
    let time = |name| nullable_column(name, SqlType::DateTime { fsp: 0 });
    vec![
        name_column("TABLE_CATALOG"),
        name_column("TABLE_SCHEMA"),
        name_column("TABLE_NAME"),
        text("PARTITION_NAME"),
        text("SUBPARTITION_NAME"),
        number("PARTITION_ORDINAL_POSITION"),
        number("SUBPARTITION_ORDINAL_POSITION"),
        text("PARTITION_METHOD"),
        text("SUBPARTITION_METHOD"),
        text("PARTITION_EXPRESSION"),
        text("SUBPARTITION_EXPRESSION"),
        text("PARTITION_DESCRIPTION"),
        number("TABLE_ROWS"),
        number("AVG_ROW_LENGTH"),
        number("DATA_LENGTH"),
        number("MAX_DATA_LENGTH"),
        number("INDEX_LENGTH"),
        number("DATA_FREE"),
        time("CREATE_TIME"),
        time("UPDATE_TIME"),
        time("CHECK_TIME"),
        number("CHECKSUM"),
        text("PARTITION_COMMENT"),
        text("NODEGROUP"),
        text("TABLESPACE_NAME"),
    ]
}

/// The partitions of all tables.
pub(super) fn rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let engine = system.instance.engine();
    let sizes = Sizes::now(system);
    let zone = system.settings.time_zone.zone();
    let mut rows = Vec::new();
    for table in &stored_tables(system) {
        for (at, stored) in table.stored().enumerate() {
            let count = engine.rows_of(stored);
            let TableBytes { data, indexes, free } = sizes.of_stored(stored);
            let of_rows =
                [count, data.checked_div(count).unwrap_or(0), data, 0, indexes, free].map(Value::UInt);
            // Times of changes and checksums are not kept.
            let of_rows = [of_rows.to_vec(), vec![Value::Null; 4]].concat();
            let group = text(if table.is_partitioned() { "default" } else { "" });
            let names = [CATALOG, &table.database, &table.name].map(text);
            let (is, comment) = match &table.partitioning {
                Some(partitioning) => described(table, &partitioning.scheme, at, zone),
                None => (vec![Value::Null; 9], text("")),
            };
            rows.push([names.to_vec(), is, of_rows, vec![comment, group, Value::Null]].concat());
        }
    }
    Ok(rows)
}

/// The columns that describe a partition, and its comment.
fn described(
    table: &Arc<TableDef>,
    scheme: &PartitionScheme,
    number: usize,
    zone: &Zone,
) -> (Vec<Value>, Value) {
    let of_columns = scheme.key == PartitionKey::Columns;
    let each = scheme.tables_of_partition().max(1);
    let (number, place) = (number / each, number % each);
    let method = method(scheme);
    let Some(spec) = scheme.partitions.get(number) else { return (vec![Value::Null; 9], Value::Null) };
    let several = of_columns && scheme.columns.len() > 1 && scheme.method == PartitionMethod::List;
    let rows = spec.values.iter().map(|row| {
        let row = partition_values(scheme, row, &table.columns, zone).join(",");
        if several { format!("({row})") } else { row }
    });
    let description = rows.collect::<Vec<_>>().join(",");
    let description = if spec.values.is_empty() { Value::Null } else { Value::string(description) };
    let below = scheme.subdivision.as_ref();
    let subpartition = spec.subpartitions.get(place);
    let is = vec![
        Value::string(spec.name.as_str()),
        subpartition.map_or(Value::Null, |below| Value::string(below.name.as_str())),
        Value::UInt(number as u64 + 1),
        subpartition.map_or(Value::Null, |_| Value::UInt(place as u64 + 1)),
        Value::string(method),
        below.map_or(Value::Null, |below| Value::string(self::method(below))),
        expression(table, scheme),
        below.map_or(Value::Null, |below| expression(table, below)),
        description,
    ];
    let comment = subpartition.map(|below| &below.comment).filter(|comment| !comment.is_empty());
    (is, Value::string(comment.unwrap_or(&spec.comment).as_str()))
}

fn method(scheme: &PartitionScheme) -> &'static str {
    let of_columns = scheme.key == PartitionKey::Columns;
    match scheme.method {
        PartitionMethod::Range if of_columns => "RANGE COLUMNS",
        PartitionMethod::Range => "RANGE",
        PartitionMethod::List if of_columns => "LIST COLUMNS",
        PartitionMethod::List => "LIST",
        PartitionMethod::Hash { linear: true } => "LINEAR HASH",
        PartitionMethod::Hash { linear: false } => "HASH",
        PartitionMethod::Key { linear: true, .. } => "LINEAR KEY",
        PartitionMethod::Key { linear: false, .. } => "KEY",
    }
}

/// Returns the partitioning expression of a scheme as PARTITION_EXPRESSION and SUBPARTITION_EXPRESSION show it.
fn expression(table: &TableDef, scheme: &PartitionScheme) -> Value {
    let names = || {
        let columns = scheme.columns.iter().filter_map(|at| table.columns.get(*at));
        columns.map(|column| quoted(&column.name)).collect::<Vec<_>>().join(",")
    };
    match &scheme.key {
        PartitionKey::Function(text) => Value::string(text.as_str()),
        PartitionKey::Columns if matches!(scheme.method, PartitionMethod::Key { implicit: true, .. }) => {
            Value::Null
        }
        PartitionKey::Columns => Value::string(names()),
    }
}
