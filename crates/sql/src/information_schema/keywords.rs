//! `information_schema.KEYWORDS`: the reserved words. Other words are keywords in some places and names
//! elsewhere.

use super::{Columns, Rows, SystemView, nullable_column, text, text_column};
use leafline_syntax::reserved_words;
use leafline_types::{MysqlError, SqlType, Value};

pub(super) fn columns() -> Columns {
    vec![
        text_column("WORD", SqlType::Varchar { len: 128 }),
        nullable_column("RESERVED", SqlType::Int { unsigned: false }),
    ]
}

pub(super) fn rows(_: &SystemView<'_>) -> Result<Rows, MysqlError> {
    Ok(reserved_words().iter().map(|word| vec![text(*word), Value::Int(1)]).collect())
}
