//! SHOW DATABASES, SHOW CREATE DATABASE.

use super::statement_text::quoted;
use super::text;
use crate::result::RowSet;
use crate::session::Session;
use leafline_types::MysqlError;

pub(super) fn databases(session: &Session) -> RowSet {
    let mut rows = RowSet::text(["Database"]);
    for database in session.instance.engine().catalog().databases() {
        rows.push(vec![text(database.name.as_str())]);
    }
    rows
}

pub(super) fn create_database(
    session: &Session,
    name: &str,
    if_not_exists: bool,
) -> Result<RowSet, MysqlError> {
    let catalog = session.instance.engine().catalog();
    let database = catalog.database(name).ok_or_else(|| MysqlError::unknown_database(name))?;
    let condition = if if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" };
    let statement = format!("CREATE DATABASE {condition}{}", quoted(&database.name));
    let mut rows = RowSet::text(["Database", "Create Database"]);
    rows.push(vec![text(database.name.as_str()), text(statement)]);
    Ok(rows)
}
