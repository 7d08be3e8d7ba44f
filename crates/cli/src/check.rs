//! `leafline check`: checks everything that can be checked of a database that nobody has open.
//!
//! It opens the engine without the instance above it, so that damage to a table that the instance would read does not
//! prevent the check.

use super::args::{CheckOptions as Options, ExistingArguments};
use super::failure::Failure;
use super::open;
use super::output::{Column, Kind, format_table};
use super::progress::Progress;
use super::restore::no_database;
use leafline_storage::device::DirectoryEnv;
use leafline_storage::{Env, PageNo, SegmentId, SpaceFault, StorageError};
use leafline_table::{
    CheckDepth, CheckOptions, Engine, EngineOptions, StoreOptions, TableCheck, TableDef, TableError,
};
use leafline_types::CancelToken;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// A row of the result: table, type of the message, text.
type Message = (String, &'static str, String);

/// Runs the verb.
pub fn run(options: &Options) -> Result<(), Failure> {
    let engine = open(&options.existing, false)?;
    let tables = match options.existing.table.as_slice() {
        // A partitioned table is checked as one; messages name the partition.
        [] => listed(&engine, |table| table.partition_of.is_none()),
        named => chosen(&engine, named)?,
    };
    let threads = options.threads.unwrap_or(CheckOptions::default().threads);
    let mut messages: Vec<Message> = Vec::new();
    let mut space = Vec::new();
    if options.existing.table.is_empty() {
        space = check_space(&engine, threads)?;
    }
    let depth = if options.quick { CheckDepth::Quick } else { CheckDepth::Extended };
    let mut named = BTreeSet::new();
    let mut of_tables = Vec::new();
    for table in &tables {
        let check = check_table(&engine, table, CheckOptions { depth, threads, ..CheckOptions::default() })?;
        named.extend(check.faults.iter().filter_map(|fault| fault.page));
        of_tables.extend(describe(table, &check));
    }
    messages.extend(space.into_iter().filter_map(|fault| describe_space(&engine, fault, &named)));
    messages.extend(of_tables);
    let rows = messages.iter().map(|(table, kind, text)| {
        vec![table.as_str().into(), "check".into(), (*kind).into(), text.as_str().into()]
    });
    let column = |name: &str| Column { name: name.into(), kind: Kind::Text };
    let columns = ["Table", "Op", "Msg_type", "Msg_text"].map(column);
    print!("{}", format_table(&columns, &rows.collect::<Vec<_>>()).map_err(Failure::output)?);
    engine.close().map_err(failed)?;
    match messages.iter().any(|(_, kind, _)| *kind != "status") {
        true => Err(Failure::Message(format!(
            "the database is damaged; to see what can be done:\n    leafline repair {}",
            options.existing.dir.display()
        ))),
        false => Ok(()),
    }
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
fn listed(engine: &Engine, wanted: impl Fn(&TableDef) -> bool) -> Vec<Arc<TableDef>> {
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

/// Checks a table and shows a bar.
pub fn check_table(
    engine: &Arc<Engine>,
    table: &Arc<TableDef>,
    options: CheckOptions,
) -> Result<TableCheck, Failure> {
    let name = format!("{}.{}", table.database, table.name);
    let bar = Progress::pages(&name, engine.maintenance().pages_to_check(table, options.depth));
    let check =
        engine.maintenance().check_table_with(table, options, &|pages| bar.add(pages), &CancelToken::new());
    let check = check.map_err(failed)?;
    bar.finish();
    Ok(check)
}

fn check_space(engine: &Engine, threads: usize) -> Result<Vec<SpaceFault>, Failure> {
    let pages: u64 = engine.store().segments().iter().map(|segment| segment.pages).sum();
    let bar = Progress::pages("space", pages);
    let faults = engine
        .store()
        .check_space(threads, &|done, _| bar.set(done))
        .map_err(|error| failed(TableError::from(error)))?;
    bar.finish();
    Ok(faults)
}

fn describe(table: &TableDef, check: &TableCheck) -> Vec<Message> {
    let name = format!("{}.{}", table.database, table.name);
    if check.is_sound() {
        return vec![(name, "status", "OK".into())];
    }
    let faults = check.faults.iter().map(|fault| (name.clone(), "error", fault.to_string()));
    let mut messages: Vec<Message> = faults.collect();
    if check.unlisted > 0 {
        messages.push((name.clone(), "warning", format!("{} more faults", check.unlisted)));
    }
    messages.push((name, "error", "Corrupt".into()));
    messages
}

/// Describes a fault of the space, unless a table's check has named the page already.
fn describe_space(engine: &Engine, fault: SpaceFault, named: &BTreeSet<PageNo>) -> Option<Message> {
    if fault.page.is_some_and(|page| named.contains(&page)) {
        return None;
    }
    let catalog = engine.catalog();
    let owner = fault.segment.filter(|segment| *segment != SegmentId::NONE).and_then(|segment| {
        let mut indexes =
            catalog.all_tables().flat_map(|table| table.indexes.iter().map(move |index| (table, index)));
        indexes.find(|(_, index)| index.tree == segment)
    });
    Some(match owner {
        Some((table, index)) => {
            (format!("{}.{}", table.database, table.name), "error", format!("index {}, {fault}", index.name))
        }
        None => ("(space)".into(), "error", fault.to_string()),
    })
}

/// Converts an error of the engine.
pub fn failed(error: TableError) -> Failure {
    Failure::Sql(error.into())
}
