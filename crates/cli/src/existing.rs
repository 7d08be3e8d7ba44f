//! Databases that exist and that nobody has open: opens their files, or the engine without the instance above it, so
//! that damage to a table that the instance would read is no obstacle.

use super::args::ExistingArguments;
use super::failure::Failure;
use super::open;
use leafline_storage::device::DirectoryEnv;
use leafline_storage::{Env, StorageError};
use leafline_table::{Engine, EngineOptions, StoreOptions, TableDef, TableError};
use std::path::Path;
use std::sync::Arc;

/// Whether a directory contains what an unfinished restore has left.
pub fn has_unfinished_restore(dir: &Path) -> bool {
    dir.join("restoring").exists()
}

/// Returns the message about a directory without a database.
pub fn no_database(dir: &Path) -> Failure {
    let dir_shown = dir.display();
    Failure::Message(match has_unfinished_restore(dir) {
        true => format!("a restore into {dir_shown} was not completed; restore into it again, or remove it"),
        false => format!("there is no database in {dir_shown}"),
    })
}

/// Opens the engine of a database that exists. Without `background` threads nothing changes by itself, so that all
/// checks see the same state.
pub fn open(existing: &ExistingArguments, background: bool) -> Result<Arc<Engine>, Failure> {
    let dir = &existing.dir;
    if !dir.join("control").exists() {
        return Err(no_database(dir));
    }
    let mut options = engine_options(existing);
    options.store.background = background;
    let engine = Engine::open(environment(dir)?, options);
    let engine = engine.map_err(|error| match error {
        TableError::Storage(StorageError::AlreadyOpen) => Failure::Message(open::already_open(dir)),
        TableError::NotOpened(error) => Failure::Message(format!(
            "the database cannot be opened: {error}\nIt cannot be opened without this: a space map, the segment directory or \
             the catalog. What can be read of it can be written to a new database:\n    leafline repair {} --into NEW_DIRECTORY",
            dir.display()
        )),
        error => failed(error),
    })?;
    open::tell(engine.store().recovery_report());
    Ok(engine)
}

/// Opens the files of a directory.
pub fn environment(dir: &Path) -> Result<Arc<dyn Env>, Failure> {
    let env = DirectoryEnv::open(dir);
    Ok(Arc::new(env.map_err(|source| Failure::io(format!("cannot open {}", dir.display()), source))?))
}

/// Returns the options for opening the engine. Nothing is read in beforehand, so that the check reads it from the
/// disk.
pub fn engine_options(existing: &ExistingArguments) -> EngineOptions {
    let buffer_pool_bytes = existing.buffer_pool_size.0;
    let store = StoreOptions { buffer_pool_bytes, warm_up: false, ..StoreOptions::default() };
    EngineOptions { store, ..EngineOptions::default() }
}

/// Returns the tables for which `wanted` is true. Values that are stored outside rows count as part of the rows'
/// table.
pub fn listed(engine: &Engine, wanted: impl Fn(&TableDef) -> bool) -> Vec<Arc<TableDef>> {
    let catalog = engine.catalog();
    let tables = catalog.all_tables().filter(|table| !table.is_overflow && wanted(table.as_ref()));
    tables.cloned().collect()
}

/// Returns the named tables, or all; the partitions in place of a partitioned table.
pub fn chosen(engine: &Engine, names: &[String]) -> Result<Vec<Arc<TableDef>>, Failure> {
    if names.is_empty() {
        return Ok(listed(engine, |table| !table.is_partitioned()));
    }
    let table = |name: &String| match name.split_once('.') {
        Some((database, table)) => engine.table(database, table).map_err(failed),
        None => Err(Failure::Message(format!("{name}: write DATABASE.TABLE"))),
    };
    names.iter().map(table).collect()
}

/// Converts an error of the engine.
pub fn failed(error: TableError) -> Failure {
    Failure::Sql(error.into())
}
