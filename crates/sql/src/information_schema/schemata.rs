//! `information_schema.SCHEMATA`: the databases.

use super::{CATALOG, Columns, Rows, SystemView, name_column, text, text_column};
use leafline_types::{Collation, MysqlError, SqlType, Value};

pub(super) fn columns() -> Columns {
    vec![
        name_column("CATALOG_NAME"),
        name_column("SCHEMA_NAME"),
        name_column("DEFAULT_CHARACTER_SET_NAME"),
        name_column("DEFAULT_COLLATION_NAME"),
        text_column("SQL_PATH", SqlType::Varchar { len: 512 }),
        name_column("DEFAULT_ENCRYPTION"),
    ]
}

pub(super) fn rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let row = |name: &str, collation: Collation| {
        let names = [CATALOG, name, collation.charset().name(), collation.name()].map(text);
        [&names[..], &[Value::Null, text("NO")]].concat()
    };
    let visible = system.visible();
    let stored = visible.databases().map(|database| row(&database.name, database.collation));
    let computed = visible.computed_databases().map(|name| row(name, Collation::Utf8mb3GeneralCi));
    Ok(stored.chain(computed).collect())
}
