//! CREATE, DROP, ALTER and TRUNCATE. Each commits the open transaction first, as in MySQL, and is atomic by itself.

use crate::accounts::SYSTEM_DATABASE;
use crate::binder::{check_expressions, index_spec, table_collation, table_spec};
use crate::parser::ast::{
    AlterAction, AlterTable, CreateDatabase, CreateIndex, CreateTable, DropDatabase, DropIndex, DropTable,
    KeyKind, TableName,
};
use crate::result::Done;
use crate::session::Session;
use leafline_table::{CheckDef, PRIMARY};
use leafline_types::{Collation, MysqlError};

/// What databases compare by unless they say otherwise.
pub(crate) const DEFAULT_COLLATION: Collation = Collation::DEFAULT;

/// The database a name belongs to: its own or the current one. The server's own tables are not changed by DDL.
fn database_of(session: &Session, name: &TableName) -> Result<String, MysqlError> {
    let database = match &name.database {
        Some(database) => database.value.clone(),
        None => session.database().ok_or_else(MysqlError::no_database_selected)?.to_owned(),
    };
    refuse_system(session, &database)?;
    Ok(database)
}

fn refuse_system(session: &Session, database: &str) -> Result<(), MysqlError> {
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
    check_expressions(create, &spec, &session.bind_context(&[]))?;
    let catalog = session.instance.engine().catalog();
    for table in catalog.tables(&database).filter(|table| table.name != spec.name) {
        let taken =
            |check: &&CheckDef| table.checks.iter().any(|other| other.name.eq_ignore_ascii_case(&check.name));
        if let Some(check) = spec.checks.iter().find(taken) {
            return Err(MysqlError::check_duplicate_name(&check.name));
        }
    }
    if !session.instance.engine().create_table(&spec, create.if_not_exists)? {
        session.warnings.note(MysqlError::table_exists(&create.name.name.value));
    }
    Ok(Done::default())
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

pub(super) fn create_index(session: &mut Session, create: &CreateIndex) -> Result<Done, MysqlError> {
    let database = database_of(session, &create.table)?;
    session.instance.engine().add_indexes(&database, &create.table.name.value, &[index_spec(&create.key)])?;
    Ok(altered())
}

pub(super) fn drop_index(session: &mut Session, drop: &DropIndex) -> Result<Done, MysqlError> {
    let database = database_of(session, &drop.table)?;
    remove_index(session, &database, &drop.table.name.value, &drop.name.value)?;
    Ok(altered())
}

/// ALTER TABLE: keys added and dropped. The keys that one statement adds are built in one scan.
pub(super) fn alter_table(session: &mut Session, alter: &AlterTable) -> Result<Done, MysqlError> {
    let database = database_of(session, &alter.table)?;
    let name = &alter.table.name.value;
    let mut added = Vec::new();
    let mut dropped = Vec::new();
    for action in &alter.actions {
        match action {
            AlterAction::AddKey(key) if key.kind == KeyKind::Primary => {
                return Err(MysqlError::not_supported("ALTER TABLE .. ADD PRIMARY KEY"));
            }
            AlterAction::AddKey(key) => added.push(index_spec(key)),
            AlterAction::DropKey(key) => dropped.push(key.value.as_str()),
        }
    }
    if !dropped.is_empty() && dropped.len() + added.len() > 1 && (!added.is_empty() || dropped.len() > 1) {
        return Err(MysqlError::not_supported("ALTER TABLE that drops a key and does something else"));
    }
    if !added.is_empty() {
        session.instance.engine().add_indexes(&database, name, &added)?;
    }
    for key in dropped {
        remove_index(session, &database, name, key)?;
    }
    Ok(altered())
}

fn remove_index(session: &Session, database: &str, table: &str, index: &str) -> Result<(), MysqlError> {
    if index.eq_ignore_ascii_case(PRIMARY) {
        return Err(MysqlError::not_supported("DROP PRIMARY KEY"));
    }
    Ok(session.instance.engine().drop_index(database, table, index)?)
}

fn altered() -> Done {
    Done { info: "Records: 0  Duplicates: 0  Warnings: 0".into(), ..Done::default() }
}

/// TRUNCATE: the table is dropped and made anew.
pub(super) fn truncate(session: &mut Session, table: &TableName) -> Result<Done, MysqlError> {
    let database = database_of(session, table)?;
    let unchecked = !session.settings.foreign_key_checks;
    session.instance.engine().truncate_table(&database, &table.name.value, unchecked)?;
    Ok(Done::default())
}
