//! `leafline demo`: shows the effect of index condition pushdown on TPC-H Query 19, on a table that does not fit in
//! memory.
//!
//! The demo loads two tables, builds two indexes, and runs the query in four ways, each in a database just opened
//! with a buffer pool of a tenth of the data: on the machine's own disk, and on an emulated one whose seeks take as
//! long as a spinning disk's.

mod measure;
mod place;
mod query;

use super::args::{DemoDisk, DemoOptions};
use super::failure::Failure;
use super::progress::{Progress, grouped};
use super::size::{Size, human_bytes};
use super::tpch::load::{self, DATABASE};
use super::tpch::schema::Table;
use leafline::{Database, DiskModel, OpenOptions};
use measure::Measurement;
use place::Place;
use query::{INDEXES, WAYS};
use std::path::Path;

/// Memory for pages while loading.
const LOAD_POOL: u64 = 128 << 20;
/// The smallest pool that is chosen: a tenth of very little data would be too little.
const SMALLEST_POOL: u64 = 4 << 20;
/// A way that reads more pages than this on the machine's own disk is left out on the emulated one: each might cost a
/// seek, 5 ms.
const MAX_EMULATED_PAGES: u64 = 4000;

/// Runs the verb.
pub fn run(options: &DemoOptions) -> Result<(), Failure> {
    let place = Place::new(options.dir.as_deref(), options.keep)?;
    let dir = place.path();
    println!("Leafline demo: TPC-H Query 19 at scale {}, in {}\n", options.scale, dir.display());
    let data = build(dir, options.scale)?;
    let pool = options.pool.map_or((data / 10).max(SMALLEST_POOL), |size| size.0);
    let pool = Size(pool >> 20 << 20).max(Size(SMALLEST_POOL));
    println!(
        "\nThe data takes {}; the buffer pool from here on is {}. Each run starts in a database just opened: nothing of \
         it is in memory.",
        human_bytes(data),
        human_bytes(pool.0)
    );
    let open = OpenOptions::new().buffer_pool_size(pool.0);
    warn_of_page_cache(&open, dir)?;
    println!("\nThe query:\n\n{};\n", WAYS[3].query());

    let mut runs = Vec::new();
    for (number, way) in WAYS.iter().enumerate() {
        println!("{}. {}. {}", number + 1, way.name, way.story);
        print!("{}", measure::explain(&open, dir, way)?);
        let run = measure::run(&open, dir, way)?;
        println!("   {:.3} s, revenue {}\n", run.time.as_secs_f64(), run.answer);
        runs.push(run);
    }
    println!("On this machine's disk:\n{}", measure::table(&runs)?);
    let mut all = runs.clone();
    if options.disk == DemoDisk::Hdd {
        all.extend(emulated(&open, dir, &runs)?);
    }
    check_answers(&all)?;
    explain_difference(&runs);
    print_next_steps(dir, options.keep);
    Ok(())
}

/// Loads the tables, builds the indexes, and returns their size in bytes.
fn build(dir: &Path, scale: f64) -> Result<u64, Failure> {
    let database = OpenOptions::new().buffer_pool_size(LOAD_POOL).open(dir)?;
    let mut connection = database.connect()?;
    let tables = [Table::Part, Table::LineItem];
    load::prepare(&database, &mut connection, &tables)?;
    for table in tables {
        load::load(&database, &mut connection, table, scale)?;
    }
    for (name, sql) in INDEXES {
        let progress = Progress::spinner(&format!("index {name}"));
        connection.execute(sql, ())?;
        progress.finish();
    }
    let bytes = data_bytes(&database);
    drop(connection);
    database.close()?;
    Ok(bytes)
}

fn data_bytes(database: &Database) -> u64 {
    let engine = database.instance().engine();
    let catalog = engine.catalog();
    let pages: u64 = catalog.tables(DATABASE).map(|table| load::pages(database, table)).sum();
    pages * engine.store().page_size() as u64
}

fn warn_of_page_cache(open: &OpenOptions, dir: &Path) -> Result<(), Failure> {
    let database = open.open(dir)?;
    if !database.direct_io() {
        println!(
            "Warning: the file system of {} refuses direct I/O, so pages may come from the system's cache: the runs are \
             not really cold, and times on this machine's disk are too good. (--dir names another place.)",
            dir.display()
        );
    }
    Ok(database.close()?)
}

/// Repeats the ways with the seek-time model over the disk, except for those that would take minutes.
fn emulated(open: &OpenOptions, dir: &Path, real: &[Measurement]) -> Result<Vec<Measurement>, Failure> {
    let open = open.clone().emulated_disk(DiskModel::HDD);
    let mut runs = Vec::new();
    let mut left_out = Vec::new();
    for (way, real) in WAYS.iter().zip(real) {
        let sequential = real.fetched == 0;
        if !sequential && real.pages > MAX_EMULATED_PAGES {
            left_out.push(format!("{} ({} pages)", way.name, grouped(real.pages)));
        } else {
            runs.push(measure::run(&open, dir, way)?);
        }
    }
    println!("On an emulated disk: 5 ms seek, 100 MiB/s; reads only:\n{}", measure::table(&runs)?);
    if !left_out.is_empty() {
        println!("Left out, as it might take minutes there: {}.\n", left_out.join(", "));
    }
    Ok(runs)
}

fn check_answers(runs: &[Measurement]) -> Result<(), Failure> {
    let Some(first) = runs.first() else { return Ok(()) };
    match runs.iter().find(|run| run.answer != first.answer) {
        None => {
            println!("All {} runs gave the same answer: {}.", runs.len(), first.answer);
            Ok(())
        }
        Some(other) => Err(Failure::Message(format!(
            "the answers differ, which is a bug: {} gave {}, {} gave {}",
            first.name, first.answer, other.name, other.answer
        ))),
    }
}

fn explain_difference(runs: &[Measurement]) {
    if let [_, without, with, _] = runs {
        println!(
            "Pushdown left {} of {} rows to be fetched from the table: the others were dropped by what the index entry \
             says.",
            grouped(with.fetched),
            grouped(without.fetched)
        );
    }
}

fn print_next_steps(dir: &Path, keep: bool) {
    let program = std::env::args().next().unwrap_or_else(|| "leafline".into());
    println!("\nWhat to try next:");
    let dir = if keep {
        dir.display().to_string()
    } else {
        println!("  {program} demo --keep");
        println!("      the same, and keeps the database to look around in; or load all eight tables:");
        println!("  {program} tpch ./tpch --scale 0.1");
        "./tpch".into()
    };
    println!("  {program} shell {dir} --database {DATABASE}");
    println!("      then: EXPLAIN ANALYZE SELECT ..; SHOW STATUS LIKE 'Handler%';");
    println!("  {program} serve {dir}");
    println!(
        "      then, from another terminal: mariadb --socket={dir}/leafline.sock --user=root {DATABASE}"
    );
}
