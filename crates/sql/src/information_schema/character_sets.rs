//! `information_schema.CHARACTER_SETS`, `COLLATIONS` and their mapping.

use super::{Columns, Rows, SystemView, count_column, name_column, text, text_column};
use crate::result::RowSet;
use leafline_types::{Charset, Collation, MysqlError, SqlType, Value};

pub(super) fn columns() -> Columns {
    vec![
        name_column("CHARACTER_SET_NAME"),
        name_column("DEFAULT_COLLATE_NAME"),
        text_column("DESCRIPTION", SqlType::Varchar { len: 2048 }),
        count_column("MAXLEN"),
    ]
}

pub(super) fn rows(_: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let mut rows = character_sets().rows;
    // This table swaps description and default collation of SHOW CHARACTER SET.
    rows.iter_mut().for_each(|row| row.swap(1, 2));
    Ok(rows)
}

pub(super) fn collation_columns() -> Columns {
    vec![
        name_column("COLLATION_NAME"),
        name_column("CHARACTER_SET_NAME"),
        count_column("ID"),
        name_column("IS_DEFAULT"),
        name_column("IS_COMPILED"),
        count_column("SORTLEN"),
        name_column("PAD_ATTRIBUTE"),
    ]
}

pub(super) fn collation_rows(_: &SystemView<'_>) -> Result<Rows, MysqlError> {
    Ok(collations().rows)
}

pub(super) fn applicability_columns() -> Columns {
    ["COLLATION_NAME", "CHARACTER_SET_NAME"].map(name_column).into()
}

pub(super) fn applicability_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let mut rows = collation_rows(system)?;
    rows.iter_mut().for_each(|row| row.truncate(2));
    Ok(rows)
}

/// SHOW COLLATION.
pub(crate) fn collations() -> RowSet {
    let mut rows = RowSet::new([
        ("Collation", SqlType::Varchar { len: 64 }),
        ("Charset", SqlType::Varchar { len: 64 }),
        ("Id", SqlType::BIGINT_UNSIGNED),
        ("Default", SqlType::Varchar { len: 3 }),
        ("Compiled", SqlType::Varchar { len: 3 }),
        ("Sortlen", SqlType::Int { unsigned: true }),
        ("Pad_attribute", SqlType::Varchar { len: 9 }),
    ]);
    let mut collations = Collation::ALL;
    collations.sort_by_key(|collation| collation.name());
    for collation in collations {
        let charset = collation.charset();
        let default = charset.default_collation() == collation;
        rows.push(vec![
            text(collation.name()),
            text(charset.name()),
            Value::UInt(collation.id().into()),
            text(if default { "Yes" } else { "" }),
            text("Yes"),
            Value::UInt(collation.sort_length()),
            text(if collation.pads_space() { "PAD SPACE" } else { "NO PAD" }),
        ]);
    }
    rows
}

/// SHOW CHARACTER SET.
pub(crate) fn character_sets() -> RowSet {
    let mut rows = RowSet::new([
        ("Charset", SqlType::Varchar { len: 64 }),
        ("Description", SqlType::Varchar { len: 2048 }),
        ("Default collation", SqlType::Varchar { len: 64 }),
        ("Maxlen", SqlType::Int { unsigned: true }),
    ]);
    let mut charsets: Vec<Charset> = Charset::all().collect();
    charsets.sort_by_key(|charset| charset.name());
    for charset in charsets {
        rows.push(vec![
            text(charset.name()),
            text(charset.description()),
            text(charset.default_collation().name()),
            Value::UInt(charset.max_bytes().into()),
        ]);
    }
    rows
}
