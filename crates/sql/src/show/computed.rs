//! SHOW CREATE TABLE of system views, for dumps of all databases: statements that create something with the
//! same columns.

use super::text;
use crate::definition_text::column;
use crate::information_schema::Definition;
use crate::result::RowSet;
use crate::session::Session;
use leafline_syntax::AccountId;
use leafline_syntax::quoted;
use leafline_table::ColumnDef;
use leafline_types::{SqlType, Value};

/// As in MySQL, system views of `sys` and `information_schema` are views; others are shown as tables of
/// engines that Leafline lacks.
pub(super) fn create(session: &Session, definition: &Definition) -> RowSet {
    let engine = match definition.database {
        "performance_schema" => "PERFORMANCE_SCHEMA",
        "mysql" => "CSV",
        _ => return create_view(session, definition),
    };
    let zone = session.settings.time_zone.zone();
    let columns = (definition.columns)().into_iter();
    let columns = columns.map(|(name, ty)| ColumnDef::new(name, ty.sql, ty.nullable, ty.collation));
    let lines: Vec<String> = columns.map(|one| column(&one, zone)).collect();
    let statement = format!(
        "CREATE TABLE {} (\n  {}\n) ENGINE={engine} DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci",
        quoted(definition.name),
        lines.join(",\n  ")
    );
    let mut rows = RowSet::new([
        ("Table", SqlType::Varchar { len: 64 }),
        ("Create Table", SqlType::Varchar { len: 16_383 }),
    ]);
    rows.push(vec![text(definition.name), text(statement)]);
    rows
}

fn create_view(session: &Session, definition: &Definition) -> RowSet {
    let statement = format!(
        "CREATE ALGORITHM=UNDEFINED DEFINER={} SQL SECURITY INVOKER VIEW {} AS {}",
        AccountId::root().backquoted(),
        quoted(definition.name),
        definition.view_query()
    );
    let mut rows = RowSet::new([
        ("View", SqlType::Varchar { len: 64 }),
        ("Create View", SqlType::Varchar { len: 16_383 }),
        ("character_set_client", SqlType::Varchar { len: 64 }),
        ("collation_connection", SqlType::Varchar { len: 64 }),
    ]);
    let names = [session.settings.client_charset.name(), session.settings.collation.name()];
    let named: [Value; 2] = names.map(text);
    rows.push([&[text(definition.name), text(statement)][..], &named].concat());
    rows
}
