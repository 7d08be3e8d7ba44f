//! SHOW TABLES, TABLE STATUS, COLUMNS, INDEX, CREATE TABLE.

use super::text;
use crate::definition_text;
use crate::information_schema::{Rows, columns, statistics, tables as catalogue};
use crate::result::{RowSet, column};
use crate::session::Session;
use leafline_syntax::ast::ShowFilter;
use leafline_table::TableDef;
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
    let visible = session.system_view().visible();
    let tables = visible.tables_of(database).map(|table| (table.name.as_str(), "BASE TABLE"));
    let views = visible.views_of(database).map(|view| (view.name.as_str(), "VIEW"));
    let computed = visible.computed_of(database).map(|table| (table.name, table.kind()));
    let mut names: Vec<_> = tables.chain(views).chain(computed).collect();
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
    rows.rows = columns_of(catalogue::rows_of(&session.system_view(), database), &catalogue::SHOWN);
    Ok(rows)
}

/// SHOW COLUMNS, from rows of information_schema.COLUMNS.
pub(super) fn columns(rows: Rows, full: bool) -> RowSet {
    let (names, shown): (&[&str], &[usize]) = match full {
        true => (
            &["Field", "Type", "Collation", "Null", "Key", "Default", "Extra", "Privileges", "Comment"],
            &columns::SHOWN_IN_FULL,
        ),
        false => (&["Field", "Type", "Null", "Key", "Default", "Extra"], &columns::SHOWN),
    };
    let mut result = RowSet::new(names.iter().map(|name| (*name, SqlType::Varchar { len: 1024 })));
    result.rows = columns_of(rows, shown);
    result
}

/// SHOW INDEX, from rows of information_schema.STATISTICS.
pub(super) fn indexes(rows: Rows) -> RowSet {
    let short = || SqlType::Varchar { len: 64 };
    let number = SqlType::BIGINT;
    let mut result = RowSet::new([
        ("Table", short()),
        ("Non_unique", number.clone()),
        ("Key_name", short()),
        ("Seq_in_index", number.clone()),
        ("Column_name", short()),
        ("Collation", SqlType::Varchar { len: 1 }),
        ("Cardinality", number.clone()),
        ("Sub_part", number),
        ("Packed", short()),
        ("Null", SqlType::Varchar { len: 3 }),
        ("Index_type", short()),
        ("Comment", short()),
        ("Index_comment", SqlType::Varchar { len: 2048 }),
        ("Visible", SqlType::Varchar { len: 3 }),
        ("Expression", SqlType::Varchar { len: 16_383 }),
    ]);
    result.rows = columns_of(rows, &statistics::SHOWN);
    result
}

/// The columns at these positions.
fn columns_of(rows: Rows, places: &[usize]) -> Rows {
    let shown = |row: Vec<Value>| places.iter().filter_map(|at| row.get(*at).cloned()).collect();
    rows.into_iter().map(shown).collect()
}

pub(super) fn create_table(session: &Session, table: &Arc<TableDef>) -> RowSet {
    let zone = session.settings.time_zone.zone();
    let mut rows = RowSet::new([
        ("Table", SqlType::Varchar { len: 64 }),
        ("Create Table", SqlType::Varchar { len: 16_383 }),
    ]);
    let next = session.instance.engine().next_auto_increment(table.id);
    rows.push(vec![text(table.name.as_str()), text(definition_text::create_table(table, next, zone))]);
    rows
}
