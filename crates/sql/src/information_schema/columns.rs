//! `information_schema.COLUMNS`: the columns of stored tables, views and system views.

use super::{
    CATALOG, Columns, Definition, Rows, SystemView, count_column, long_text, name_column, nullable_column,
    nullable_name, stored_tables, text, text_column, yes_no,
};
use crate::accounts::Privileges;
use crate::definition_text::{current_timestamp, default_text};
use leafline_planner::binder::view_columns;
use leafline_planner::{Authority, TableRights};
use leafline_table::{
    ColumnDef, DefaultValue, GeneratedKind, IndexKind, IndexPart, TableDef, TableId, TableSpec, ViewDef,
};
use leafline_types::temporal::Zone;
use leafline_types::{MysqlError, SqlType, Value};
use std::sync::Arc;

/// Positions in this table of the columns of SHOW FULL COLUMNS.
pub(crate) const SHOWN_IN_FULL: [usize; 9] = [3, 15, 14, 6, 16, 5, 17, 18, 19];
/// Positions in this table of the columns of SHOW COLUMNS.
pub(crate) const SHOWN: [usize; 6] = [3, 15, 6, 16, 5, 17];

pub(super) fn columns() -> Columns {
    let number = |name| nullable_column(name, SqlType::BIGINT_UNSIGNED);
    vec![
        name_column("TABLE_CATALOG"),
        name_column("TABLE_SCHEMA"),
        name_column("TABLE_NAME"),
        nullable_name("COLUMN_NAME"),
        count_column("ORDINAL_POSITION"),
        long_text("COLUMN_DEFAULT"),
        name_column("IS_NULLABLE"),
        long_text("DATA_TYPE"),
        nullable_column("CHARACTER_MAXIMUM_LENGTH", SqlType::BIGINT),
        nullable_column("CHARACTER_OCTET_LENGTH", SqlType::BIGINT),
        number("NUMERIC_PRECISION"),
        number("NUMERIC_SCALE"),
        nullable_column("DATETIME_PRECISION", SqlType::Int { unsigned: true }),
        nullable_name("CHARACTER_SET_NAME"),
        nullable_name("COLLATION_NAME"),
        long_text("COLUMN_TYPE"),
        name_column("COLUMN_KEY"),
        text_column("EXTRA", SqlType::Varchar { len: 256 }),
        text_column("PRIVILEGES", SqlType::Varchar { len: 154 }),
        text_column("COLUMN_COMMENT", SqlType::Text { max_bytes: 65_535 }),
        long_text("GENERATION_EXPRESSION"),
        nullable_column("SRS_ID", SqlType::Int { unsigned: true }),
    ]
}

pub(super) fn rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let mut rows = Rows::new();
    for table in stored_tables(system) {
        rows.extend(rows_of(system, &table));
    }
    let visible = system.visible();
    for view in visible.views() {
        // A view that no longer fits its tables has no columns to describe.
        if let Ok(table) = view_as_table(system, view) {
            rows.extend(rows_of(system, &table));
        }
    }
    for table in visible.computed() {
        rows.extend(rows_of_computed(system, table));
    }
    Ok(rows)
}

/// The rows of a system view.
pub(crate) fn rows_of_computed(system: &SystemView<'_>, table: &Definition) -> Rows {
    let zone = system.settings.time_zone.zone();
    let columns = (table.columns)().into_iter();
    let defined = columns.map(|(name, ty)| ColumnDef::new(name, ty.sql, ty.nullable, ty.collation));
    let named = [table.database, table.name];
    let privileges = privileges_of(system.access.on_table(table.database, table.name));
    defined.enumerate().map(|(at, column)| row(named, &column, (at, "", &privileges), zone)).collect()
}

/// The rows of one table: of its columns on which the session has a privilege.
pub(crate) fn rows_of(system: &SystemView<'_>, table: &TableDef) -> Rows {
    let zone = system.settings.time_zone.zone();
    let rights = match table.is_private {
        true => TableRights::EVERYTHING,
        false => system.access.rights_on(&table.database, &table.name),
    };
    let of_whole = privileges_of(rights.whole());
    let mut rows = Rows::new();
    for (at, (ordinal, column)) in table.named_columns().enumerate() {
        let held = rights.on_column(&column.name);
        if !held.has_any(Privileges::OF_COLUMNS) {
            continue;
        }
        let of_column = (held != rights.whole()).then(|| privileges_of(held));
        let privileges = of_column.as_deref().unwrap_or(&of_whole);
        let named = [table.database.as_str(), &table.name];
        rows.push(row(named, column, (at, key_of(table, ordinal), privileges), zone));
    }
    rows
}

/// The names of the privileges that a column can have.
fn privileges_of(held: Privileges) -> String {
    let held = (held & Privileges::OF_COLUMNS).iter();
    held.map(|privilege| privilege.name().to_lowercase()).collect::<Vec<_>>().join(",")
}

/// The row of `column` at position `at` of a table, part of a `key`, with the session's privileges.
fn row(
    table: [&str; 2],
    column: &ColumnDef,
    (at, key, privileges): (usize, &str, &str),
    zone: &Zone,
) -> Vec<Value> {
    let ty = &column.ty;
    let default = match &column.default {
        None | Some(DefaultValue::Constant(Value::Null) | DefaultValue::Dropped) => Value::Null,
        Some(default) => text(&*default_text(default, ty, false, zone)),
    };
    let [database, table] = table;
    let named = [CATALOG, database, table, &column.name].map(text);
    let is = [Value::UInt(at as u64 + 1), default, yes_no(column.nullable)];
    let attributes = [
        text(key),
        text(extra(column).as_str()),
        text(privileges),
        text(column.comment.as_str()),
        text(column.generated.as_ref().map_or("", |generated| &generated.expression)),
        Value::Null,
    ];
    [&named[..], &is, &type_values(column), &attributes].concat()
}

/// The values that describe a type: its name, lengths, digits, character set, collation, and the type in full.
pub(super) fn type_values(column: &ColumnDef) -> [Value; 9] {
    let ty = &column.ty;
    let (characters, bytes) = lengths(column).map_or((Value::Null, Value::Null), |(characters, bytes)| {
        (Value::Int(characters.into()), Value::Int(bytes.into()))
    });
    let (precision, scale) = digits(ty);
    let fraction = match ty {
        SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } | SqlType::Time { fsp } => {
            Value::UInt((*fsp).into())
        }
        _ => Value::Null,
    };
    let of_text = ty.is_character() || ty.has_members();
    let collation = of_text.then_some(column.collation);
    [
        text(data_type(ty).as_str()),
        characters,
        bytes,
        precision.map_or(Value::Null, Value::UInt),
        scale.map_or(Value::Null, Value::UInt),
        fraction,
        text(collation.map(|collation| collation.charset().name())),
        text(collation.map(|collation| collation.name())),
        text(ty.to_string().as_str()),
    ]
}

/// The name of a type without lengths and attributes.
fn data_type(ty: &SqlType) -> String {
    ty.to_string().split(['(', ' ']).next().unwrap_or_default().to_owned()
}

/// Greatest length of a value in characters (in bytes for binary strings), and in bytes.
fn lengths(column: &ColumnDef) -> Option<(u32, u32)> {
    let of_character = column.collation.charset().max_bytes();
    let in_characters = |len: u32| Some((len, len.saturating_mul(of_character)));
    match &column.ty {
        SqlType::Char { len } | SqlType::Varchar { len } => in_characters(*len),
        SqlType::Enum(members) => in_characters(members.longest()),
        SqlType::Set(members) => in_characters(members.longest_list()),
        SqlType::Text { max_bytes } | SqlType::Blob { max_bytes } => Some((*max_bytes, *max_bytes)),
        SqlType::Binary { len } | SqlType::Varbinary { len } => Some((*len, *len)),
        _ => None,
    }
}

/// Precision and scale of a number.
fn digits(ty: &SqlType) -> (Option<u64>, Option<u64>) {
    match ty {
        SqlType::Bit { len } => (Some((*len).into()), None),
        SqlType::Year => (None, None),
        SqlType::Double => (Some(22), None),
        SqlType::Real { digits: Some((all, scale)), .. } => (Some((*all).into()), Some((*scale).into())),
        SqlType::Real { single, .. } => (Some(if *single { 12 } else { 22 }), None),
        ty => (ty.decimal_precision().map(u64::from), ty.decimal_precision().map(|_| ty.scale().into())),
    }
}

fn extra(column: &ColumnDef) -> String {
    let on_update = format!("on update {}", current_timestamp(&column.ty));
    let by_expression =
        matches!(column.default, Some(DefaultValue::CurrentTimestamp | DefaultValue::Expression(_)));
    let generated = column.generated.as_ref().map(|generated| match generated.kind {
        GeneratedKind::Stored => "STORED GENERATED",
        GeneratedKind::Virtual | GeneratedKind::KeyPart => "VIRTUAL GENERATED",
    });
    let words = [
        column.auto_increment.then_some("auto_increment"),
        generated,
        by_expression.then_some("DEFAULT_GENERATED"),
        column.on_update_now.then_some(on_update.as_str()),
        column.invisible.then_some("INVISIBLE"),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// PRI, UNI or MUL, as in MySQL: the first that applies. In a table without a primary key the first unique key of whole columns
/// without NULLs is shown in its place.
fn key_of(table: &TableDef, ordinal: usize) -> &'static str {
    let is_whole = |part: &IndexPart| {
        part.prefix.is_none() && table.columns.get(part.column).is_some_and(|column| !column.nullable)
    };
    let in_its_place = || {
        let mut unique = table.secondary().iter().filter(|index| index.kind == IndexKind::Unique);
        unique.find(|index| index.parts.iter().all(is_whole)).map(|index| index.parts.as_slice())
    };
    let primary = table.primary_key().or_else(in_its_place);
    if primary.is_some_and(|parts| parts.iter().any(|part| part.column == ordinal)) {
        return "PRI";
    }
    let leading =
        || table.secondary().iter().filter(|index| index.parts.first().is_some_and(|p| p.column == ordinal));
    if leading().any(|index| index.kind == IndexKind::Unique && index.parts.len() == 1) {
        "UNI"
    } else if leading().next().is_some() {
        "MUL"
    } else {
        ""
    }
}

/// Page size that the definition of a view's columns is checked against, in bytes.
const PAGE: usize = 16 << 10;

/// A table with the columns of a view.
pub(crate) fn view_as_table(system: &SystemView<'_>, view: &ViewDef) -> Result<Arc<TableDef>, MysqlError> {
    let columns = view_columns(view, &system.binding)?.into_iter();
    let columns = columns.map(|(name, ty)| ColumnDef::new(name, ty.sql, ty.nullable, ty.collation));
    let spec = TableSpec {
        database: view.database.clone(),
        name: view.name.clone(),
        columns: columns.collect(),
        ..TableSpec::default()
    };
    Ok(Arc::new(spec.unstored(TableId::CATALOG, PAGE)?))
}
