//! SHOW CREATE VIEW, and the lookup of views.

use super::text;
use crate::result::RowSet;
use crate::session::Session;
use leafline_planner::binder::view_statement;
use leafline_syntax::ast::TableName;
use leafline_table::ViewDef;
use leafline_types::{MysqlError, SqlType};
use std::sync::Arc;

/// The view of this name.
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
