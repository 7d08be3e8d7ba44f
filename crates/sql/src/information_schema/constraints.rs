//! `information_schema.TABLE_CONSTRAINTS`, `KEY_COLUMN_USAGE`, `REFERENTIAL_CONSTRAINTS` and `CHECK_CONSTRAINTS`.

use super::{
    CATALOG, Columns, Rows, SystemView, count_column, long_text, name_column, nullable_column, nullable_name,
};
use super::{stored_tables, text, yes_no};
use leafline_table::{ForeignKeyDef, IndexDef, TableDef};
use leafline_types::{MysqlError, SqlType, Value};
use std::sync::Arc;

const NAMED: [&str; 3] = ["CONSTRAINT_CATALOG", "CONSTRAINT_SCHEMA", "CONSTRAINT_NAME"];

fn named(table: &TableDef, constraint: &str) -> Vec<Value> {
    [CATALOG, &table.database, constraint].map(text).into()
}

/// The primary key and the unique keys.
fn unique(table: &TableDef) -> impl Iterator<Item = &Arc<IndexDef>> {
    table.indexes.iter().filter(|index| index.is_unique() && !index.parts.is_empty())
}

pub(super) fn table_columns() -> Columns {
    let rest = ["TABLE_SCHEMA", "TABLE_NAME", "CONSTRAINT_TYPE", "ENFORCED"];
    NAMED.into_iter().chain(rest).map(name_column).collect()
}

pub(super) fn table_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let mut rows = Rows::new();
    for table in stored_tables(system) {
        let mut push = |constraint: &str, kind: &str, enforced: bool| {
            let of_table = [&table.database, &table.name, kind].map(text);
            rows.push([named(&table, constraint), of_table.into(), vec![yes_no(enforced)]].concat());
        };
        for index in unique(&table) {
            let kind = if index.is_primary() { "PRIMARY KEY" } else { "UNIQUE" };
            push(&index.name, kind, true);
        }
        table.foreign_keys.iter().for_each(|key| push(&key.name, "FOREIGN KEY", true));
        table.checks.iter().for_each(|check| push(&check.name, "CHECK", check.enforced));
    }
    Ok(rows)
}

pub(super) fn key_columns() -> Columns {
    let mut columns: Columns = NAMED.map(name_column).into();
    columns.extend(["TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME"].map(name_column));
    columns.extend([nullable_name("COLUMN_NAME"), count_column("ORDINAL_POSITION")]);
    columns.push(nullable_column("POSITION_IN_UNIQUE_CONSTRAINT", SqlType::Int { unsigned: true }));
    let referred = ["REFERENCED_TABLE_SCHEMA", "REFERENCED_TABLE_NAME", "REFERENCED_COLUMN_NAME"];
    columns.extend(referred.map(nullable_name));
    columns
}

pub(super) fn key_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let mut rows = Rows::new();
    for table in stored_tables(system) {
        let mut push = |constraint: &str, at: usize, column: usize, referred: [Value; 4]| {
            let column = table.columns.get(column).filter(|column| !column.is_hidden());
            let of_table = [CATALOG, &table.database, &table.name].map(text);
            let position = [text(column.map(|column| &*column.name)), Value::UInt(at as u64 + 1)];
            rows.push([&named(&table, constraint)[..], &of_table, &position, &referred].concat());
        };
        for index in unique(&table) {
            for (at, part) in index.parts.iter().enumerate() {
                push(&index.name, at, part.column, [const { Value::Null }; 4]);
            }
        }
        for key in &table.foreign_keys {
            for (at, (column, parent)) in key.columns.iter().zip(&key.parent_columns).enumerate() {
                let [database, of, parent] =
                    [&key.parent_database, &key.parent_table, parent].map(|name| text(name.as_str()));
                push(&key.name, at, *column, [Value::UInt(at as u64 + 1), database, of, parent]);
            }
        }
    }
    Ok(rows)
}

pub(super) fn referential_columns() -> Columns {
    let mut columns: Columns = NAMED.map(name_column).into();
    columns.extend(["UNIQUE_CONSTRAINT_CATALOG", "UNIQUE_CONSTRAINT_SCHEMA"].map(name_column));
    columns.push(nullable_name("UNIQUE_CONSTRAINT_NAME"));
    columns.extend(
        ["MATCH_OPTION", "UPDATE_RULE", "DELETE_RULE", "TABLE_NAME", "REFERENCED_TABLE_NAME"]
            .map(name_column),
    );
    columns
}

pub(super) fn referential_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let mut rows = Rows::new();
    for table in stored_tables(system) {
        rows.extend(table.foreign_keys.iter().map(|key| {
            let visible = system.visible();
            let parent = visible.table(&key.parent_database, &key.parent_table);
            let referred = [
                text(CATALOG),
                text(key.parent_database.as_str()),
                text(parent.and_then(|parent| referred_key(parent, key))),
            ];
            let rules = ["NONE", key.on_update.name(), key.on_delete.name(), &table.name, &key.parent_table];
            [&named(&table, &key.name)[..], &referred, &rules.map(text)].concat()
        }));
    }
    Ok(rows)
}

/// Name of the unique key that a foreign key refers to.
fn referred_key<'t>(parent: &'t TableDef, key: &ForeignKeyDef) -> Option<&'t str> {
    let is_it = |index: &&Arc<IndexDef>| {
        let names = index.parts.iter().filter_map(|part| parent.columns.get(part.column));
        names
            .map(|column| column.name.to_lowercase())
            .eq(key.parent_columns.iter().map(|name| name.to_lowercase()))
    };
    unique(parent).find(is_it).map(|index| index.name.as_str())
}

pub(super) fn check_columns() -> Columns {
    let mut columns: Columns = NAMED.map(name_column).into();
    columns.push(long_text("CHECK_CLAUSE"));
    columns
}

pub(super) fn check_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let mut rows = Rows::new();
    for table in stored_tables(system) {
        let clause = |text_of: &str| text(format!("({text_of})").as_str());
        let row = table
            .checks
            .iter()
            .map(|check| [named(&table, &check.name), vec![clause(&check.expression)]].concat());
        rows.extend(row);
    }
    Ok(rows)
}
