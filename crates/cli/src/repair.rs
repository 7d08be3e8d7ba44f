//! `leafline repair`: builds new trees in place of damaged ones.
//!
//! It first prints what it would do. What it does is written to a file in the database's directory beforehand.
//!
//! With `--into`, it writes what can be read to a new database; the damaged one only gets its log replayed. That
//! works without an intact space map, segment directory or catalog.

use super::args::RepairOptions as Options;
use super::check::check_table;
use super::existing::{chosen, engine_options, environment, failed, no_database, open};
use super::failure::Failure;
use super::progress::Progress;
use leafline_storage::Env;
use leafline_table::{CheckDepth, CheckOptions, Engine, TableCheck, TableDef, TableRepair};
use std::fs::File;
use std::io::{IsTerminal as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A table to be repaired, its damage, and the plan.
type Planned = (Arc<TableDef>, TableCheck, TableRepair);

/// Runs the verb.
pub fn run(options: &Options) -> Result<(), Failure> {
    if let Some(into) = &options.into {
        return rescue(options, into);
    }
    let engine = open(&options.existing, true)?;
    let check_options = CheckOptions { depth: CheckDepth::Extended, ..CheckOptions::default() };
    let mut plans: Vec<Planned> = Vec::new();
    for table in chosen(&engine, &options.existing.table)? {
        let check = check_table(&engine, &table, check_options)?;
        if !check.is_sound() {
            let plan = repair(&engine, &table, &check, true)?;
            println!("{}:\n{}", plan.table, indented(&plan));
            plans.push((table, check, plan));
        }
    }
    if plans.is_empty() {
        println!("Nothing to repair.");
        return engine.close().map_err(failed);
    }
    if options.dry_run || !(options.yes || confirmed()?) {
        println!("Nothing was changed.{}", if options.dry_run { "" } else { " To repair it, say --yes." });
        engine.close().map_err(failed)?;
        return Err(Failure::Silent);
    }
    let (path, mut file) = report_file(&options.existing.dir)?;
    let written = |result: std::io::Result<()>| {
        result.map_err(|source| Failure::io(format!("cannot write {}", path.display()), source))
    };
    let mut result = Ok(());
    for (table, check, plan) in plans {
        // The report is on disk before anything is taken out of a table.
        written(write!(file, "{}:\n{}", plan.table, indented(&plan)).and_then(|()| file.sync_all()))?;
        let outcome = repair(&engine, &table, &check, false);
        let line = match &outcome {
            Ok(done) if *done == plan => "done".to_owned(),
            Ok(done) => format!("done, otherwise than planned:\n{}", indented(done)),
            Err(failure) => format!("failed, no row was changed: {failure}"),
        };
        println!("{}: {line}", plan.table);
        written(writeln!(file, "{line}").and_then(|()| file.sync_all()))?;
        if outcome.is_err() {
            result = Err(Failure::Silent);
        }
    }
    engine.close().map_err(failed)?;
    println!("The report is in {}", path.display());
    result
}

/// Writes what can be read to a new database.
fn rescue(options: &Options, into: &Path) -> Result<(), Failure> {
    let existing = &options.existing;
    if !existing.dir.join("control").exists() {
        return Err(no_database(&existing.dir));
    }
    if into.exists() {
        return Err(Failure::Message(format!("{} is there already; name a new directory", into.display())));
    }
    let from = environment(&existing.dir)?;
    let data = std::fs::metadata(existing.dir.join("data")).map_or(0, |data| data.len());
    let mut engine_options = engine_options(existing);
    let page_size = page_size(&from)?;
    engine_options.store.page_size = page_size;
    // There are two pools, of the database that is read and of the one that is written.
    engine_options.store.buffer_pool_bytes /= 2;
    let engine = Engine::open(environment(into)?, engine_options.clone()).map_err(failed)?;
    let bar = Progress::pages("pages", data / page_size as u64);
    let rescue = engine.maintenance().rescue(&from, &engine_options, &mut |pages| bar.add(pages));
    bar.clear();
    let rescue = rescue.map_err(failed)?;
    engine.close().map_err(failed)?;
    let mut report = String::new();
    for (page, reason) in &rescue.pages {
        report.push_str(&format!("page {page} of the database itself cannot be used: {reason}\n"));
    }
    for table in &rescue.tables {
        report.push_str(&format!("{}:\n{}", table.table, indented(table)));
    }
    for lost in &rescue.lost {
        report.push_str(&format!("lost: {lost}\n"));
    }
    print!("{report}");
    let (path, mut file) = report_file(into)?;
    file.write_all(report.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(|source| Failure::io(format!("cannot write {}", path.display()), source))?;
    println!("The new database is in {}, the report in {}", into.display(), path.display());
    if rescue.loses() { Err(Failure::Silent) } else { Ok(()) }
}

/// Returns the page size of the database in bytes.
fn page_size(env: &Arc<dyn Env>) -> Result<usize, Failure> {
    leafline_storage::page_size_of(&**env).map_err(|error| failed(error.into()))
}

fn repair(
    engine: &Arc<Engine>,
    table: &Arc<TableDef>,
    check: &TableCheck,
    dry_run: bool,
) -> Result<TableRepair, Failure> {
    let pages = engine
        .store()
        .segments()
        .iter()
        .find(|info| info.id == table.clustered().tree)
        .map(|info| info.pages);
    let bar = Progress::pages(&format!("{}.{}", table.database, table.name), pages.unwrap_or_default());
    let result = engine.maintenance().repair_table(table, check, dry_run, &mut |pages| bar.add(pages));
    bar.clear();
    result.map_err(failed)
}

fn indented(repair: &TableRepair) -> String {
    repair.to_string().lines().map(|line| format!("  {line}\n")).collect()
}

/// Asks for confirmation, if standard input is a terminal.
fn confirmed() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    eprint!("Repair? What is named lost above cannot be had back afterwards. [y/N] ");
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(|source| Failure::io("cannot read the answer", source))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Creates a file for the report, named after the seconds since 1970.
fn report_file(dir: &Path) -> Result<(PathBuf, File), Failure> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let path = dir.join(format!("repair-{now}.txt"));
    match File::options().append(true).create(true).mode(0o600).open(&path) {
        Ok(file) => Ok((path, file)),
        Err(source) => Err(Failure::io(format!("cannot make {}", path.display()), source)),
    }
}
