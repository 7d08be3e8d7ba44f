//! The ENGINE clause of a table.
//!
//! | engine | gives |
//! |---|---|
//! | InnoDB, Leafline | clustered tables |
//! | MyISAM | heaps |
//! | another engine of MySQL's | with `leafline_engine_substitution` the default engine; otherwise as the next line |
//! | any other | error 1286 under NO_ENGINE_SUBSTITUTION; without it warning 1286, and the default engine |
//!
//! CREATE TABLE gives warning 1266 when it takes the default engine. ALTER TABLE then keeps the table's engine.

use crate::session::Session;
use crate::settings::Modes;
use leafline_syntax::ast::{AlterAction, AlterTable, CreateTable, TableOptions};
use leafline_table::{Organisation, TableDef};
use leafline_types::MysqlError;

/// Names of MySQL's other engines.
const OTHER_ENGINES: [&str; 11] = [
    "MEMORY",
    "HEAP",
    "CSV",
    "ARCHIVE",
    "BLACKHOLE",
    "MRG_MYISAM",
    "MERGE",
    "FEDERATED",
    "NDB",
    "NDBCLUSTER",
    "EXAMPLE",
];

/// Returns the organisation of a new table.
///
/// # Errors
/// 1286 for an unknown engine, as the module says.
pub(super) fn of_new_table(session: &mut Session, create: &CreateTable) -> Result<Organisation, MysqlError> {
    let default = match create.temporary {
        true => session.settings.temporary_organisation,
        false => session.settings.organisation,
    };
    let unknown =
        create.options.engine.as_ref().filter(|engine| Organisation::of_engine(&engine.value).is_none());
    let organisation = of_options(session, &create.options, default)?;
    if unknown.is_some() {
        let warning = MysqlError::using_other_engine(organisation.engine(), &create.name.name.value);
        session.warnings.warn(warning);
    }
    Ok(organisation)
}

/// Checks the engines that ALTER TABLE names.
///
/// # Errors
/// 1286 as the module says; 3776 for another engine of a table that has foreign keys or is referred to by one.
pub(super) fn of_altered_table(
    session: &mut Session,
    alter: &AlterTable,
    table: &TableDef,
) -> Result<(), MysqlError> {
    let own = table.options.organisation;
    let mut organisation = own;
    for action in &alter.actions {
        if let AlterAction::Options(options) = action
            && options.engine.is_some()
        {
            organisation = of_options(session, options, own)?;
        }
    }
    let catalog = session.instance.engine().catalog();
    let refers = !table.foreign_keys.is_empty();
    let is_referred_to = session.settings.foreign_key_checks
        && catalog.references(&table.database, &table.name).next().is_some();
    match organisation == own || !(refers || is_referred_to) {
        true => Ok(()),
        false => Err(MysqlError::fk_cannot_change_engine()),
    }
}

/// Returns the organisation that options ask for: `own` if they name no engine, or an engine that is substituted.
fn of_options(
    session: &mut Session,
    options: &TableOptions,
    own: Organisation,
) -> Result<Organisation, MysqlError> {
    let Some(engine) = &options.engine else { return Ok(own) };
    if let Some(organisation) = Organisation::of_engine(&engine.value) {
        return Ok(organisation);
    }
    let is_other = OTHER_ENGINES.iter().any(|other| other.eq_ignore_ascii_case(&engine.value));
    if !(is_other && session.settings.engine_substitution) {
        let unknown = MysqlError::unknown_storage_engine(&engine.value);
        if session.settings.sql_mode.has(Modes::NO_ENGINE_SUBSTITUTION) {
            return Err(unknown);
        }
        session.warnings.warn(unknown);
    }
    Ok(own)
}
