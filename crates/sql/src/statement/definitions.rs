//! CREATE DATABASE, DROP and TRUNCATE. Each statement commits the open transaction first, as in MySQL, and is atomic.

use super::change::of_table;
use crate::result::Done;
use crate::session::Session;
use crate::system_names;
use crate::system_table::SYSTEM_DATABASE;
use leafline_planner::binder::table_collation;
use leafline_syntax::ast::{
    AlterDatabase, CreateDatabase, DatabaseOptions, DropDatabase, DropTable, TableName,
};
use leafline_table::{CheckDef, TableId};
use leafline_types::MysqlError;
use leafline_types::error::errno;
use std::collections::BTreeSet;

/// Returns the database of a name: the one it names or the current one. Refuses the server's own databases, which DDL does not
/// change.
pub(super) fn database_of(session: &Session, name: &TableName) -> Result<String, MysqlError> {
    let database = match &name.database {
        Some(database) => database.value.clone(),
        None => session.database().ok_or_else(MysqlError::no_database_selected)?.to_owned(),
    };
    refuse_system(session, &database)?;
    Ok(database)
}

pub(super) fn refuse_system(session: &Session, database: &str) -> Result<(), MysqlError> {
    if database == SYSTEM_DATABASE || system_names::database(database).is_some() {
        return Err(MysqlError::database_access_denied(&session.entry.user, &session.entry.host, database));
    }
    Ok(())
}

pub(super) fn create_database(session: &mut Session, create: &CreateDatabase) -> Result<Done, MysqlError> {
    if system_names::database(&create.name.value).is_some() {
        return refuse_system(session, &create.name.value).map(|()| Done::default());
    }
    let DatabaseOptions { charset, collation } = &create.options;
    let default = session.settings.server_collation;
    let collation = table_collation(charset.as_ref(), collation.as_ref(), default)?;
    let created = session.instance.engine().ddl().create_database(
        &create.name.value,
        collation,
        create.if_not_exists,
    )?;
    if !created {
        session.warnings.note(MysqlError::database_exists(&create.name.value));
    }
    Ok(Done { affected: 1, ..Done::default() })
}

/// Runs ALTER DATABASE: changes the default collation of tables that are created later.
pub(super) fn alter_database(session: &mut Session, alter: &AlterDatabase) -> Result<Done, MysqlError> {
    let name = alter.name.as_ref().map(|name| name.value.clone());
    let name = name.or_else(|| session.database().map(str::to_owned));
    let name = name.ok_or_else(MysqlError::no_database_selected)?;
    refuse_system(session, &name)?;
    let engine = session.instance.engine().clone();
    let catalog = engine.catalog();
    let database = catalog.database(&name).ok_or_else(|| MysqlError::unknown_database(&name))?;
    let DatabaseOptions { charset, collation } = &alter.options;
    let collation = table_collation(charset.as_ref(), collation.as_ref(), database.collation)?;
    engine.ddl().alter_database(&name, collation)?;
    if session.database() == Some(&name) {
        session.settings.database_collation = collation;
    }
    Ok(Done { affected: 1, ..Done::default() })
}

pub(super) fn drop_database(session: &mut Session, drop: &DropDatabase) -> Result<Done, MysqlError> {
    refuse_system(session, &drop.name.value)?;
    let unchecked = !session.settings.foreign_key_checks;
    let views = session.instance.engine().catalog().views(&drop.name.value).count();
    let dropped = session.instance.engine().ddl().drop_database(&drop.name.value, drop.if_exists, unchecked);
    let dropped = dropped.map_err(|error| of_table(error, session.as_view()))?;
    match dropped {
        None => session.warnings.note(MysqlError::no_database_to_drop(&drop.name.value)),
        Some(_) if session.database() == Some(&drop.name.value) => session.forget_database(),
        Some(_) => {}
    }
    if dropped.is_some() {
        session.instance.accounts().forget_routines(|(_, database, _)| *database == drop.name.value)?;
    }
    // The count has tables and views.
    let affected = dropped.map_or(0, |tables| tables + views) as u64;
    Ok(Done { affected, ..Done::default() })
}

/// Keeps the notes and warnings about options of a definition that have no effect.
pub(super) fn note_options(session: &mut Session, warnings: Vec<MysqlError>) {
    for warning in warnings {
        match warning.code {
            errno::ER_ILLEGAL_HA
            | errno::ER_AUTO_CONVERT
            | errno::ER_DUPLICATED_VALUE_IN_TYPE
            | errno::ER_UNSUPPORTED_INDEX_ALGORITHM
            | errno::ER_WARN_USING_OTHER_HANDLER => session.warnings.note(warning),
            _ => session.warnings.warn(warning),
        }
    }
}

/// Error 3822 if a table other than `own` has a constraint of one of these names: names of constraints are unique in a database.
pub(super) fn refuse_taken_names(
    session: &Session,
    database: &str,
    own: Option<TableId>,
    checks: &[CheckDef],
) -> Result<(), MysqlError> {
    let catalog = session.instance.engine().catalog();
    for table in catalog.tables(database).filter(|table| Some(table.id) != own) {
        let taken =
            |check: &&CheckDef| table.checks.iter().any(|other| other.name.eq_ignore_ascii_case(&check.name));
        if let Some(check) = checks.iter().find(taken) {
            return Err(MysqlError::check_duplicate_name(&check.name));
        }
    }
    Ok(())
}

/// Runs DROP TABLE. A name means the session's own table if there is one. The other tables are dropped all or none.
pub(super) fn drop_table(session: &mut Session, drop: &DropTable) -> Result<Done, MysqlError> {
    let (mut own, mut names, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for table in &drop.tables {
        let database = database_of(session, table)?;
        if !seen.insert((database.clone(), table.name.value.as_str())) {
            return Err(MysqlError::not_unique_table(&table.name.value));
        }
        match session.own_table_named(table) {
            Some(known) => own.push(known.clone()),
            None if drop.temporary => missing.push(format!("{database}.{}", table.name.value)),
            None => names.push((database, table.name.value.as_str())),
        }
    }
    if !missing.is_empty() && !drop.if_exists {
        return Err(MysqlError::unknown_table(missing.join(",")));
    }
    let names: Vec<(&str, &str)> = names.iter().map(|(database, name)| (database.as_str(), *name)).collect();
    let unchecked = !session.settings.foreign_key_checks;
    let dropped = session.instance.engine().ddl().drop_tables(&names, drop.if_exists, unchecked);
    missing.extend(dropped.map_err(|error| of_table(error, session.as_view()))?);
    session.drop_own_tables(&own)?;
    session.unlock_dropped(&drop.tables);
    for missing in missing {
        session.warnings.note(MysqlError::unknown_table(missing));
    }
    Ok(Done::default())
}

/// Runs TRUNCATE: drops the table and creates it anew. For the statement digests of `performance_schema`, clears their counts.
pub(super) fn truncate(session: &mut Session, table: &TableName) -> Result<Done, MysqlError> {
    let named = table.database.as_ref().map(|name| name.value.as_str()).or(session.database());
    if named.is_some_and(|database| system_names::is_statement_digests(database, &table.name.value)) {
        session.instance.digests().clear();
        return Ok(Done::default());
    }
    let database = database_of(session, table)?;
    if let Some(own) = session.own_table_named(table).cloned() {
        let empty = session.instance.engine().ddl().truncate_private_table(&own)?;
        session.replace_own_table(&own, empty);
        return Ok(Done::default());
    }
    let unchecked = !session.settings.foreign_key_checks;
    let emptied = session.instance.engine().ddl().truncate_table(&database, &table.name.value, unchecked);
    emptied.map_err(|error| of_table(error, session.as_view()))?;
    Ok(Done::default())
}
