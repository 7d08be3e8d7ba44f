//! SHOW CREATE VIEW, and views as SHOW COLUMNS has them.

use super::text;
use crate::result::RowSet;
use crate::session::Session;
use leafline_planner::binder::{view_columns, view_statement};
use leafline_syntax::ast::TableName;
use leafline_table::{ColumnDef, TableDef, TableId, TableSpec, ViewDef};
use leafline_types::{MysqlError, SqlType};
use std::sync::Arc;

/// Pages of the database that the columns of a view are described for.
const PAGE: usize = 16 << 10;

/// The view of that name.
pub(super) fn find(session: &Session, name: &TableName) -> Result<Option<Arc<ViewDef>>, MysqlError> {
    let database = match &name.database {
        Some(name) => &name.value,
        None => session.database().ok_or_else(MysqlError::no_database_selected)?,
    };
    if session.own_table_named(name).is_some() {
        return Ok(None);
    }
    Ok(session.instance.engine().catalog().view(database, &name.name.value).cloned())
}

pub(super) fn create_view(view: &ViewDef) -> RowSet {
    let mut rows = RowSet::new([
        ("View", SqlType::Varchar { len: 64 }),
        ("Create View", SqlType::Varchar { len: 16_383 }),
        ("character_set_client", SqlType::Varchar { len: 64 }),
        ("collation_connection", SqlType::Varchar { len: 64 }),
    ]);
    rows.push(vec![
        text(view.name.as_str()),
        text(view_statement(view)),
        text(view.collation.charset().name()),
        text(view.collation.name()),
    ]);
    rows
}

/// A table with the columns of a view.
pub(crate) fn as_table(session: &Session, view: &ViewDef) -> Result<Arc<TableDef>, MysqlError> {
    let columns = view_columns(view, &session.bind_context(&[]))?.into_iter();
    let columns = columns.map(|(name, ty)| ColumnDef::new(name, ty.sql, ty.nullable, ty.collation));
    let spec = TableSpec {
        database: view.database.clone(),
        name: view.name.clone(),
        columns: columns.collect(),
        ..TableSpec::default()
    };
    Ok(Arc::new(spec.unstored(TableId::CATALOG, PAGE)?))
}
