//! CREATE, DROP and TRUNCATE. Each commits the open transaction first, as in MySQL, and is atomic by itself.

use crate::accounts::SYSTEM_DATABASE;
use crate::binder::{check_expressions, check_owners, table_collation, table_spec};
use crate::parser::ast::{CreateDatabase, CreateTable, DropDatabase, DropTable, TableName};
use crate::result::Done;
use crate::session::Session;
use leafline_table::{CheckDef, TableId};
use leafline_types::{Collation, MysqlError};

/// What databases compare by unless they say otherwise.
pub(crate) const DEFAULT_COLLATION: Collation = Collation::DEFAULT;

/// The database a name belongs to: its own or the current one. The server's own tables are not changed by DDL.
pub(super) fn database_of(session: &Session, name: &TableName) -> Result<String, MysqlError> {
    let database = match &name.database {
        Some(database) => database.value.clone(),
        None => session.database().ok_or_else(MysqlError::no_database_selected)?.to_owned(),
    };
    refuse_system(session, &database)?;
    Ok(database)
}

pub(super) fn refuse_system(session: &Session, database: &str) -> Result<(), MysqlError> {
    if database == SYSTEM_DATABASE {
        return Err(MysqlError::database_access_denied(&session.entry.user, &session.entry.host, database));
    }
    Ok(())
}

pub(super) fn create_database(session: &mut Session, create: &CreateDatabase) -> Result<Done, MysqlError> {
    let collation = table_collation(create.charset.as_ref(), create.collation.as_ref(), DEFAULT_COLLATION)?;
    let created =
        session.instance.engine().create_database(&create.name.value, collation, create.if_not_exists)?;
    if !created {
        session.warnings.note(MysqlError::database_exists(&create.name.value));
    }
    Ok(Done { affected: 1, ..Done::default() })
}

pub(super) fn drop_database(session: &mut Session, drop: &DropDatabase) -> Result<Done, MysqlError> {
    refuse_system(session, &drop.name.value)?;
    let unchecked = !session.settings.foreign_key_checks;
    let dropped = session.instance.engine().drop_database(&drop.name.value, drop.if_exists, unchecked)?;
    match dropped {
        None => session.warnings.note(MysqlError::no_database_to_drop(&drop.name.value)),
        Some(_) if session.database() == Some(&drop.name.value) => session.forget_database(),
        Some(_) => {}
    }
    Ok(Done { affected: dropped.unwrap_or(0) as u64, ..Done::default() })
}

pub(super) fn create_table(session: &mut Session, create: &CreateTable) -> Result<Done, MysqlError> {
    let database = database_of(session, &create.name)?;
    let offset = session.settings.time_zone.utc_offset_seconds();
    let default = session.instance.engine().catalog().database(&database).map(|database| database.collation);
    let (mut spec, warnings) = table_spec(create, &database, default.unwrap_or(DEFAULT_COLLATION), offset)?;
    for warning in warnings {
        session.warnings.warn(warning);
    }
    spec.unchecked_references = !session.settings.foreign_key_checks;
    check_expressions(&spec, &check_owners(create), &session.bind_context(&[]))?;
    let existing = session.instance.engine().catalog();
    let existing = existing.table(&database, &spec.name).map(|table| table.id);
    refuse_taken_names(session, &database, existing, &spec.checks)?;
    if !session.instance.engine().create_table(&spec, create.if_not_exists)? {
        session.warnings.note(MysqlError::table_exists(&create.name.name.value));
    }
    Ok(Done::default())
}

/// Names of constraints are unique in a database: error 3822 if a table other than `own` has one of these.
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

pub(super) fn drop_table(session: &mut Session, drop: &DropTable) -> Result<Done, MysqlError> {
    let mut names = Vec::with_capacity(drop.tables.len());
    for table in &drop.tables {
        names.push((database_of(session, table)?, table.name.value.as_str()));
    }
    let names: Vec<(&str, &str)> = names.iter().map(|(database, name)| (database.as_str(), *name)).collect();
    let unchecked = !session.settings.foreign_key_checks;
    for missing in session.instance.engine().drop_tables(&names, drop.if_exists, unchecked)? {
        session.warnings.note(MysqlError::unknown_table(missing));
    }
    Ok(Done::default())
}

/// TRUNCATE: the table is dropped and made anew.
pub(super) fn truncate(session: &mut Session, table: &TableName) -> Result<Done, MysqlError> {
    let database = database_of(session, table)?;
    let unchecked = !session.settings.foreign_key_checks;
    session.instance.engine().truncate_table(&database, &table.name.value, unchecked)?;
    Ok(Done::default())
}
