//! SHOW TABLES, TABLE STATUS, COLUMNS, CREATE TABLE.

use super::statement_text::{self, current_timestamp, default_text};
use super::{text, yes_no};
use crate::binder::view_faults;
use crate::parser::ast::ShowFilter;
use crate::result::{RowSet, column};
use crate::session::Session;
use leafline_table::{DefaultValue, GeneratedKind, IndexKind, TableDef};
use leafline_types::{MysqlError, SqlType, Value};
use std::sync::Arc;

pub(super) fn tables(
    session: &Session,
    full: bool,
    database: &str,
    filter: Option<&ShowFilter>,
) -> Result<RowSet, MysqlError> {
    let name = SqlType::Varchar { len: 64 };
    let heading = match filter {
        Some(ShowFilter::Like(pattern)) => format!("Tables_in_{database} ({pattern})"),
        _ => format!("Tables_in_{database}"),
    };
    let mut rows = RowSet { columns: vec![column(heading, name.clone())], rows: Vec::new() };
    if full {
        rows.columns.push(column("Table_type", name));
    }
    let catalog = session.instance.engine().catalog();
    let tables = catalog.tables(database).map(|table| (table.name.as_str(), "BASE TABLE"));
    let mut names: Vec<_> =
        tables.chain(catalog.views(database).map(|view| (view.name.as_str(), "VIEW"))).collect();
    names.sort_unstable();
    for (name, kind) in names {
        let mut row = vec![text(name)];
        if full {
            row.push(text(kind));
        }
        rows.push(row);
    }
    Ok(rows)
}

pub(super) fn table_status(session: &Session, database: &str) -> Result<RowSet, MysqlError> {
    let name = || SqlType::Varchar { len: 64 };
    let number = SqlType::BIGINT_UNSIGNED;
    let mut rows = RowSet::new([
        ("Name", name()),
        ("Engine", name()),
        ("Version", number.clone()),
        ("Row_format", name()),
        ("Rows", number.clone()),
        ("Avg_row_length", number.clone()),
        ("Data_length", number.clone()),
        ("Max_data_length", number.clone()),
        ("Index_length", number.clone()),
        ("Data_free", number.clone()),
        ("Auto_increment", number),
        ("Create_time", SqlType::DateTime { fsp: 0 }),
        ("Update_time", SqlType::DateTime { fsp: 0 }),
        ("Check_time", SqlType::DateTime { fsp: 0 }),
        ("Collation", name()),
        ("Checksum", SqlType::BIGINT_UNSIGNED),
        ("Create_options", name()),
        ("Comment", SqlType::Varchar { len: 2048 }),
    ]);
    let engine = session.instance.engine();
    let page = session.instance.facts().page_bytes;
    let sizes = engine.store().segments();
    // Bytes in use, and bytes that are the tree's and unused.
    let bytes_of = |tree| {
        let segment = sizes.iter().find(|segment| segment.id == tree);
        segment.map_or((0, 0), |s| (s.pages * page, s.allocated.saturating_sub(s.pages) * page))
    };
    let catalog = engine.catalog();
    for table in catalog.tables(database) {
        let count = engine.rows_of(table);
        let (mut data, mut index, mut free) = (0, 0, 0);
        for stored in table.stored() {
            let outside = stored.overflow.and_then(|outside| catalog.table_by_id(outside));
            for rows in [Some(stored), outside].into_iter().flatten() {
                let (used, unused) = bytes_of(rows.clustered().tree);
                (data, free) = (data + used, free + unused);
            }
            for (used, unused) in stored.secondary().iter().map(|index| bytes_of(index.tree)) {
                (index, free) = (index + used, free + unused);
            }
        }
        let next = table.auto_increment_column().map(|_| engine.next_auto_increment(table.id));
        let collation = table.options.collation.unwrap_or(crate::statement::definitions::DEFAULT_COLLATION);
        rows.push(vec![
            text(table.name.as_str()),
            text("Leafline"),
            Value::UInt(10),
            text("Dynamic"),
            Value::UInt(count),
            Value::UInt(data.checked_div(count).unwrap_or(0)),
            Value::UInt(data),
            Value::UInt(0),
            Value::UInt(index),
            Value::UInt(free),
            next.map_or(Value::Null, Value::UInt),
            Value::Null,
            Value::Null,
            Value::Null,
            text(collation.name()),
            Value::Null,
            text(create_options(table)),
            text(table.options.comment.as_str()),
        ]);
    }
    for view in catalog.views(database) {
        let unknown = vec![Value::Null; rows.columns.len().saturating_sub(2)];
        let faults = view_faults(view, &session.bind_context(&[]));
        let comment = faults.last().map_or("VIEW", |fault| &fault.message);
        rows.push([vec![text(view.name.as_str())], unknown, vec![text(comment)]].concat());
    }
    rows.rows.sort_by_key(|row| row.first().and_then(Value::as_bytes).map(<[u8]>::to_vec));
    Ok(rows)
}

/// The options that a table was created with, as far as it has no columns of their own.
fn create_options(table: &TableDef) -> String {
    let pack_keys = table.options.pack_keys.map(|pack_keys| format!("pack_keys={}", u8::from(pack_keys)));
    let partitioned = table.is_partitioned().then(|| "partitioned".to_owned());
    pack_keys.into_iter().chain(partitioned).collect::<Vec<_>>().join(" ")
}

pub(super) fn columns(session: &Session, table: &TableDef, full: bool) -> RowSet {
    let zone = session.settings.time_zone.zone();
    let names: &[&str] = match full {
        true => &["Field", "Type", "Collation", "Null", "Key", "Default", "Extra", "Privileges", "Comment"],
        false => &["Field", "Type", "Null", "Key", "Default", "Extra"],
    };
    let mut rows = RowSet::new(names.iter().map(|name| (*name, SqlType::Varchar { len: 1024 })));
    for (ordinal, column) in table.named_columns() {
        let default = match &column.default {
            None => Value::Null,
            Some(DefaultValue::Constant(Value::Null) | DefaultValue::Dropped) => Value::Null,
            Some(default) => text(default_text(default, &column.ty, false, zone)),
        };
        let generated =
            matches!(column.default, Some(DefaultValue::CurrentTimestamp | DefaultValue::Expression(_)));
        let on_update = format!("on update {}", current_timestamp(&column.ty));
        let mut extra = Vec::new();
        if column.auto_increment {
            extra.push("auto_increment");
        }
        if let Some(generated) = &column.generated {
            let stored = generated.kind == GeneratedKind::Stored;
            extra.push(if stored { "STORED GENERATED" } else { "VIRTUAL GENERATED" });
        }
        if generated {
            extra.push("DEFAULT_GENERATED");
        }
        if column.on_update_now {
            extra.push(on_update.as_str());
        }
        if column.invisible {
            extra.push("INVISIBLE");
        }
        let mut row = vec![text(column.name.as_str()), text(column.ty.to_string())];
        if full {
            row.push(if column.ty.is_character() { text(column.collation.name()) } else { Value::Null });
        }
        row.extend([yes_no(column.nullable), text(key_of(table, ordinal)), default, text(extra.join(" "))]);
        if full {
            row.extend([text("select,insert,update,references"), text(column.comment.as_str())]);
        }
        rows.push(row);
    }
    rows
}

/// PRI, UNI or MUL, as MySQL shows it: the strongest that applies.
fn key_of(table: &TableDef, ordinal: usize) -> &'static str {
    if table.primary_key().is_some_and(|parts| parts.iter().any(|part| part.column == ordinal)) {
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

pub(super) fn create_table(session: &Session, table: &Arc<TableDef>) -> RowSet {
    let zone = session.settings.time_zone.zone();
    let mut rows = RowSet::new([
        ("Table", SqlType::Varchar { len: 64 }),
        ("Create Table", SqlType::Varchar { len: 16_383 }),
    ]);
    let next = session.instance.engine().next_auto_increment(table.id);
    rows.push(vec![text(table.name.as_str()), text(statement_text::create_table(table, next, zone))]);
    rows
}
