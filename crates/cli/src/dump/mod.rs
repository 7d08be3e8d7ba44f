//! `leafline dump`: writes databases as SQL, CSV or Parquet.
//!
//! It reads everything through SQL, in a database that this process has opened or on a server, at one snapshot that
//! several connections share ([`crate::snapshot`]); each connection reads tables in its own thread.
//!
//! | module | does |
//! |---|---|
//! | `schema` | reads which databases, tables and views there are |
//! | `programs` | reads and writes stored programs |
//! | `definitions` | writes the statements that create them |
//! | `sql`, `csv`, `parquet` | write rows |
//! | `compressed` | compresses the output |
//! | `target` | writes files |
//! | `stream` | writes standard output |
//!
//! With `--output DIR` there is a self-contained file for each table, `DATABASE.TABLE.sql`, so that they may be
//! loaded in any order, and `views.sql` with views and stored programs, to be loaded after them. With CSV and Parquet, `schema.sql` creates
//! everything.

mod compressed;
mod csv;
pub mod definitions;
mod parquet;
pub mod programs;
pub mod schema;
mod sql;
mod stream;
pub mod target;

use super::address::Address;
use super::args::{DumpFormat, DumpOptions};
use super::failure::Failure;
use super::link::{Link, Place, quoted};
use super::progress::Progress;
use super::snapshot;
use compressed::Compression;
use parquet::ParquetRows;
use programs::{Kind, Program, Wanted};
use schema::{Schema, Table};
use sql::Inserts;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use target::Folder;

/// Rows between two checks whether another thread has failed, and updates of the bar.
const STEP: u64 = 1000;

/// The state that the threads of a dump share.
struct Work<'d> {
    options: &'d DumpOptions,
    schema: &'d Schema,
    programs: &'d [Program],
    bar: Progress,
    rows: AtomicU64,
    bytes: AtomicU64,
    /// Whether one of them has failed.
    is_over: AtomicBool,
}

/// Runs the verb.
pub fn run(options: &DumpOptions) -> Result<(), Failure> {
    if Compression::of(options) != Compression::None && options.format == DumpFormat::Parquet {
        return Err(Failure::Message(
            "the pages of Parquet are compressed as it is; leave --gzip and --compress out".into(),
        ));
    }
    if options.no_data && options.format != DumpFormat::Sql {
        return Err(Failure::Message(
            "there are no definitions in CSV and Parquet; leave --format out".into(),
        ));
    }
    let of_definitions =
        options.no_schema || options.no_database || options.add_drop_table || options.compatible.is_some();
    if of_definitions && options.format != DumpFormat::Sql && options.output.is_none() {
        return Err(Failure::Message(
            "rows on standard output have no definitions with them: leave options of these out".into(),
        ));
    }
    if options.tls_ca.is_some() && !Address::is_one(&options.source) {
        return Err(Failure::Message("--tls-ca is for the address of a server".into()));
    }
    let mut names = options.names.clone();
    let place = match Address::is_one(&options.source) {
        true if options.socket.is_some() => {
            return Err(Failure::Message(
                "the address of a server has its socket in itself: mysql://user@/?socket=PATH".into(),
            ));
        }
        true => {
            let address = Address::parse(&options.source);
            let address = address.and_then(|address| address.vouched_for(options.tls_ca.as_deref()));
            let address = address.map_err(Failure::Message)?;
            if names.is_empty() {
                names.extend(address.database.as_deref().map(quoted));
            }
            Place::Server(address)
        }
        false => match &options.socket {
            Some(socket) => Place::Server(Address::of_socket(socket.clone())),
            None => Place::of_directory(Path::new(&options.source), options.buffer_pool_size)?,
        },
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if options.output.is_some() { options.threads.unwrap_or(cores) } else { 1 };
    let mut links = snapshot::connections(&place, threads)?;
    let Some(leader) = links.first_mut() else { return Ok(()) };
    let schema = schema::read(leader, &names)?;
    let programs = match options.format == DumpFormat::Sql && !options.no_schema {
        true => programs::read(leader, &schema, Wanted::of(options))?,
        false => Vec::new(),
    };
    let rows = if options.no_data { 0 } else { schema.tables.iter().map(|table| table.rows).sum() };
    let work = Work {
        options,
        schema: &schema,
        programs: &programs,
        bar: Progress::rows("dump", rows),
        rows: AtomicU64::default(),
        bytes: AtomicU64::default(),
        is_over: AtomicBool::default(),
    };
    match &options.output {
        Some(into) => to_folder(&work, links, into)?,
        None => stream::run(&work, leader)?,
    }
    let Work { bar, rows, bytes, .. } = work;
    bar.finish_as(rows.into_inner(), bytes.into_inner());
    Ok(())
}

/// Fills a directory.
fn to_folder(work: &Work<'_>, mut links: Vec<Link>, into: &Path) -> Result<(), Failure> {
    let folder = Folder::new(into)?;
    definitions_file(work, &folder)?;
    // The largest table first, so that no thread begins it when the others are done.
    let mut order: Vec<usize> = (0..work.schema.tables.len()).collect();
    order.sort_by_key(|at| work.schema.tables.get(*at).map(|table| table.bytes));
    let waiting = Mutex::new(order);
    let next = || waiting.lock().ok().and_then(|mut order| order.pop());
    let one = |link: &mut Link| {
        while let Some(at) = next() {
            let done = table_file(work, &folder, link, at);
            if done.is_err() {
                work.is_over.store(true, Ordering::Relaxed);
            }
            done?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let one = &one;
        let started: Vec<_> = links.iter_mut().map(|link| scope.spawn(move || one(link))).collect();
        let mut result = Ok(());
        for thread in started {
            let other = thread.join().unwrap_or_else(|_| Err(Failure::Message("a thread has ended".into())));
            // Threads that were told to stop have nothing to report.
            if matches!(result, Ok(()) | Err(Failure::Silent)) {
                result = other.and(result);
            }
        }
        result
    })?;
    folder.finish()
}

/// Writes `views.sql`, or `schema.sql`.
fn definitions_file(work: &Work<'_>, folder: &Folder) -> Result<(), Failure> {
    if work.options.no_schema {
        return Ok(());
    }
    let is_sql = work.options.format == DumpFormat::Sql;
    let mut file = folder.file(if is_sql { "views.sql" } else { "schema.sql" }, Compression::None)?;
    let written = file.write_all(sql::BEFORE.as_bytes()).and_then(|()| {
        for database in &work.schema.databases {
            write_database(work, &database.name, &mut file)?;
            let tables = work.schema.tables.iter().filter(|table| !is_sql && table.database == database.name);
            for table in tables {
                write_definition(work, table, &mut file)?;
            }
        }
        write_views_and_programs(work, &mut file)?;
        file.write_all(sql::BEHIND.as_bytes())
    });
    written.map_err(Failure::output)?;
    file.finish()
}

fn table_file(work: &Work<'_>, folder: &Folder, link: &mut Link, at: usize) -> Result<(), Failure> {
    let Some(table) = work.schema.tables.get(at) else { return Ok(()) };
    let extension = match work.options.format {
        DumpFormat::Sql => "sql",
        DumpFormat::Csv => "csv",
        DumpFormat::Parquet => "parquet",
    };
    let name = target::file_name(&table.database, &table.name, at, extension);
    let mut file = folder.file(&name, Compression::of(work.options))?;
    if work.options.format == DumpFormat::Sql {
        let before = file.write_all(sql::BEFORE.as_bytes());
        before.and_then(|()| write_database(work, &table.database, &mut file)).map_err(Failure::output)?;
        write_table(work, link, table, &mut file)?;
        file.write_all(sql::BEHIND.as_bytes()).map_err(Failure::output)?;
    } else {
        write_table(work, link, table, &mut file)?;
    }
    file.finish()
}

/// Writes the statements that create a database, if needed, and make it current.
fn write_database(work: &Work<'_>, name: &str, out: &mut dyn Write) -> io::Result<()> {
    if work.options.no_database {
        return Ok(());
    }
    let create = work.schema.databases.iter().find(|database| database.name == *name);
    if let Some(database) = create.filter(|_| !work.options.no_schema) {
        writeln!(out, "\n{};", definitions::database(&database.create, work.options.compatible))?;
    }
    writeln!(out, "USE {};", quoted(name))
}

fn write_definition(work: &Work<'_>, table: &Table, out: &mut dyn Write) -> io::Result<()> {
    if work.options.add_drop_table {
        writeln!(out, "\nDROP TABLE IF EXISTS {};", quoted(&table.name))?;
    }
    writeln!(out, "\n{};", definitions::table(&table.create, work.options.compatible))
}

/// Writes functions and procedures, which views may call, then views, then triggers and events, which must not act while rows are
/// loaded.
fn write_views_and_programs(work: &Work<'_>, out: &mut dyn Write) -> io::Result<()> {
    let is_routine = |kind: Kind| matches!(kind, Kind::Function | Kind::Procedure);
    write_programs(work, is_routine, out)?;
    write_views(work, out)?;
    write_programs(work, |kind| !is_routine(kind), out)
}

fn write_programs(work: &Work<'_>, is_one: impl Fn(Kind) -> bool, out: &mut dyn Write) -> io::Result<()> {
    for program in work.programs.iter().filter(|program| is_one(program.kind)) {
        if !work.options.no_database {
            writeln!(out, "\nUSE {};", quoted(&program.database))?;
        }
        program.write(work.options.add_drop_table, work.options.compatible, out)?;
    }
    Ok(())
}

fn write_views(work: &Work<'_>, out: &mut dyn Write) -> io::Result<()> {
    let views = &work.schema.views;
    let to = |name: &str, out: &mut dyn Write| match work.options.no_database {
        true => Ok(()),
        false => writeln!(out, "\nUSE {};", quoted(name)),
    };
    for view in views.iter().filter(|view| view.in_circle) {
        to(&view.database, out)?;
        writeln!(out, "{};", definitions::placeholder(view))?;
    }
    for view in views {
        to(&view.database, out)?;
        if view.in_circle || work.options.add_drop_table {
            writeln!(out, "DROP VIEW IF EXISTS {};", quoted(&view.name))?;
        }
        let collation = definitions::connection_collation(&view.collation, work.options.compatible);
        if let Some(collation) = &collation {
            writeln!(out, "/*!50001 SET collation_connection={collation} */;")?;
        }
        writeln!(out, "{};", definitions::view(&view.create, work.options.compatible))?;
        if collation.is_some() {
            out.write_all(sql::NAMES.as_bytes())?;
        }
    }
    Ok(())
}

/// Writes a table in the chosen format; as SQL with its definition.
fn write_table(
    work: &Work<'_>,
    link: &mut Link,
    table: &Table,
    out: &mut (dyn Write + Send),
) -> Result<(), Failure> {
    let mut out = Counted { out, bytes: &work.bytes };
    match work.options.format {
        DumpFormat::Sql => {
            if !work.options.no_schema {
                write_definition(work, table, &mut out).map_err(Failure::output)?;
            }
            if work.options.no_data || table.columns.is_empty() {
                return Ok(());
            }
            let mut inserts = Inserts::new(table);
            each_row(work, link, table, &mut |cells| inserts.row(cells, &mut out).map_err(Failure::output))?;
            inserts.flush(&mut out).map_err(Failure::output)
        }
        DumpFormat::Csv => {
            csv::head(table, &mut out).map_err(Failure::output)?;
            each_row(work, link, table, &mut |cells| {
                csv::row(table, cells, &mut out).map_err(Failure::output)
            })
        }
        DumpFormat::Parquet => {
            let mut rows = ParquetRows::new(table, &mut out)?;
            each_row(work, link, table, &mut |cells| rows.row(cells))?;
            rows.finish()
        }
    }
}

fn each_row(
    work: &Work<'_>,
    link: &mut Link,
    table: &Table,
    row: &mut dyn FnMut(super::link::Cells<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut rows = 0;
    let read = link.query(&table.select(), &mut |cells| {
        rows += 1;
        if rows % STEP == 0 {
            work.bar.add(STEP);
            if work.is_over.load(Ordering::Relaxed) {
                return Err(Failure::Silent);
            }
        }
        row(cells)
    });
    work.rows.fetch_add(rows, Ordering::Relaxed);
    read.map_err(|failure| match failure {
        Failure::Sql(_) | Failure::Database(_) | Failure::Server { .. } => {
            Failure::Message(format!("{}: {failure}", table.title()))
        }
        other => other,
    })
}

/// Counts the bytes written.
struct Counted<'o> {
    out: &'o mut (dyn Write + Send),
    bytes: &'o AtomicU64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
