//! `leafline check`: checks everything that can be checked of a database that nobody has open.

use super::args::CheckOptions as Options;
use super::existing::{chosen, failed, listed, open};
use super::failure::Failure;
use super::output::{Column, Kind, format_table};
use super::progress::Progress;
use leafline_storage::{PageNo, SegmentId, SpaceFault};
use leafline_table::{CheckDepth, CheckOptions, Engine, TableCheck, TableDef, TableError};
use leafline_types::CancelToken;
use std::collections::BTreeSet;
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
