//! `information_schema.CHARACTER_SETS`, `COLLATIONS` and which belong together.

use super::{Columns, Rows, count_column, name_column, text_column};
use crate::session::Session;
use crate::show;
use leafline_types::{MysqlError, SqlType};

pub(super) fn columns() -> Columns {
    vec![
        name_column("CHARACTER_SET_NAME"),
        name_column("DEFAULT_COLLATE_NAME"),
        text_column("DESCRIPTION", SqlType::Varchar { len: 2048 }),
        count_column("MAXLEN"),
    ]
}

pub(super) fn rows(_: &Session) -> Result<Rows, MysqlError> {
    let mut rows = show::character_sets().rows;
    // Here, description and default collation change places.
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

pub(super) fn collation_rows(_: &Session) -> Result<Rows, MysqlError> {
    Ok(show::collations().rows)
}

pub(super) fn applicability_columns() -> Columns {
    ["COLLATION_NAME", "CHARACTER_SET_NAME"].map(name_column).into()
}

pub(super) fn applicability_rows(session: &Session) -> Result<Rows, MysqlError> {
    let mut rows = collation_rows(session)?;
    rows.iter_mut().for_each(|row| row.truncate(2));
    Ok(rows)
}
