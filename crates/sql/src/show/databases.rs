//! SHOW DATABASES, SHOW CREATE DATABASE.

use super::text;
use crate::result::RowSet;
use crate::session::Session;
use leafline_syntax::quoted;
use leafline_types::MysqlError;

pub(super) fn databases(session: &Session) -> RowSet {
    let mut rows = RowSet::text(["Database"]);
    let visible = session.system_view().visible();
    let stored = visible.databases().map(|database| database.name.as_str());
    let mut names: Vec<&str> = stored.chain(visible.computed_databases()).collect();
    names.sort_unstable();
    rows.rows = names.into_iter().map(|name| vec![text(name)]).collect();
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
    let (charset, collation) = (database.collation.charset().name(), database.collation.name());
    let statement = format!(
        "CREATE DATABASE {condition}{} /*!40100 DEFAULT CHARACTER SET {charset} COLLATE {collation} */ /*!80016 DEFAULT ENCRYPTION='N' */",
        quoted(&database.name)
    );
    let mut rows = RowSet::text(["Database", "Create Database"]);
    rows.push(vec![text(database.name.as_str()), text(statement)]);
    Ok(rows)
}
