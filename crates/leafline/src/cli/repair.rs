//! `leafline repair`: new trees in the place of damaged ones.
//!
//! First it says what it would do. What it does is written to a file in the database's directory before it is done.

use super::args::RepairOptions as Options;
use super::check::{check_table, chosen, failed, open};
use super::failure::Failure;
use super::progress::Progress;
use leafline_table::{CheckDepth, CheckOptions, Engine, TableCheck, TableDef, TableRepair};
use std::fs::File;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A table to be repaired, and how.
type Planned = (Arc<TableDef>, TableCheck, TableRepair);

/// Runs the verb.
pub fn run(options: &Options) -> Result<(), Failure> {
    let engine = open(&options.existing)?;
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
        // Nothing is taken out of a table before it is on disk what.
        written(write!(file, "{}:\n{}", plan.table, indented(&plan)).and_then(|()| file.sync_all()))?;
        let outcome = repair(&engine, &table, &check, false);
        let line = match &outcome {
            Ok(done) if *done == plan => "done".to_owned(),
            Ok(done) => format!("done, otherwise than planned:\n{}", indented(done)),
            Err(failure) => format!("failed, nothing was changed: {failure}"),
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
    let result = engine.repair_table(table, check, dry_run, &mut |pages| bar.add(pages));
    bar.clear();
    result.map_err(failed)
}

fn indented(repair: &TableRepair) -> String {
    repair.to_string().lines().map(|line| format!("  {line}\n")).collect()
}

/// Asks, where somebody is there to answer.
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

/// A new file for the report, named after the seconds since 1970.
fn report_file(dir: &Path) -> Result<(PathBuf, File), Failure> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let path = dir.join(format!("repair-{now}.txt"));
    match File::options().append(true).create(true).open(&path) {
        Ok(file) => Ok((path, file)),
        Err(source) => Err(Failure::io(format!("cannot make {}", path.display()), source)),
    }
}
