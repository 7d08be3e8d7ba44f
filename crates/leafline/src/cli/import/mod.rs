//! `leafline import`: SQL dumps, CSV, Parquet, SQLite databases and live servers, into a database that this process opens.
//!
//! All but statements of SQL scripts are loads of rows ([`leafline_sql::RowSource`]): each fills a table by one commit, with trees built from the rows
//! where the table was empty. A crash, an error or Ctrl-C leaves each table with all the rows of its load or with none.
//!
//! | module | is |
//! |---|---|
//! | `options` | the command line |
//! | `input` | files as they are read |
//! | `sql` | dumps |
//! | `csv` | comma-separated values |
//! | `parquet` | Apache Parquet |
//! | `sqlite` | databases of SQLite |
//! | `server` | MySQL and MariaDB |
//! | `definitions` | definitions of others, without what Leafline does not have |
//! | `target` | the table that rows go to |
//! | `report` | what was done, and left out |

mod csv;
mod definitions;
mod input;
mod options;
mod parquet;
mod report;
mod server;
mod sql;
mod sqlite;
mod target;

pub use options::ImportOptions;

use super::failure::Failure;
use super::open;
use super::progress::Progress;
use super::size::human_bytes;
use leafline::{Connection, Database};
use report::Report;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What a file holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Sql,
    Csv,
    Parquet,
    Sqlite,
}

/// Runs the verb.
pub fn run(options: &ImportOptions) -> Result<(), Failure> {
    let files = files(options)?;
    check_options(options, &files)?;
    let open_options = open::options(&options.open, options.buffer_pool_size, super::args::Disk::None);
    let database = open::database(&open_options, &options.open.dir)?;
    let begun = Instant::now();
    let mut report = Report::new(options.skip_unsupported);
    let done = match &options.from {
        Some(url) => server::run(options, url, &database, &mut report),
        None => of_files(options, &files, &database, &mut report),
    };
    // What was left out until an error is worth knowing, too.
    report.tell();
    done?;
    database.close()?;
    let bytes: u64 =
        files.iter().filter_map(|(path, _)| fs::metadata(path).ok()).map(|file| file.len()).sum();
    let rows = super::progress::grouped(report.rows);
    let of = if bytes > 0 { format!(" of {}", human_bytes(bytes)) } else { String::new() };
    let tables = match report.tables.len() {
        1 => "1 table".into(),
        many => format!("{many} tables"),
    };
    eprintln!("imported {rows} rows into {tables}{of} in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// Refuses options that none of the files has a use for.
fn check_options(options: &ImportOptions, files: &[(PathBuf, Kind)]) -> Result<(), Failure> {
    let any = |kinds: &[Kind]| files.iter().any(|(_, kind)| kinds.contains(kind));
    let (is_csv, is_rows) = (any(&[Kind::Csv]), any(&[Kind::Csv, Kind::Parquet]));
    let has_tables = is_rows || any(&[Kind::Sqlite]) || options.from.is_some();
    for (is_given, has_use, what) in [
        (!options.table.is_empty(), has_tables, "--table is for CSV, Parquet, SQLite and --from"),
        (options.primary_key.is_some(), is_rows, "--primary-key is for CSV and Parquet"),
        (options.no_header, is_csv, "--no-header is for CSV"),
        (options.separator.is_some(), is_csv, "--separator is for CSV"),
    ] {
        if is_given && !has_use {
            return Err(Failure::Message(format!("{what}, and nothing of the kind is imported")));
        }
    }
    Ok(())
}

/// The files, and what they hold. Those of a directory are those of a dump, views behind tables.
fn files(options: &ImportOptions) -> Result<Vec<(PathBuf, Kind)>, Failure> {
    let failed = |path: &Path, error| Failure::io(format!("cannot read {}", path.display()), error);
    let mut files = Vec::new();
    for path in &options.files {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let mut inside = Vec::new();
        for entry in fs::read_dir(path).map_err(|error| failed(path, error))? {
            inside.push(entry.map_err(|error| failed(path, error))?.path());
        }
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if inside.iter().any(|path| name(path) == "schema.sql") {
            return Err(Failure::Message(format!(
                "{} is a dump as CSV or Parquet: import its schema.sql first, and then each file with --database and --table",
                path.display()
            )));
        }
        inside.sort_by_key(|path| (name(path) == "views.sql", name(path)));
        files.append(&mut inside);
    }
    files.into_iter().map(|path| kind(&path).map(|kind| (path, kind))).collect()
}

/// What a file holds, by how it begins and what it is called.
fn kind(path: &Path) -> Result<Kind, Failure> {
    if path == Path::new("-") {
        return Ok(Kind::Sql);
    }
    let failed = |error| Failure::io(format!("cannot read {}", path.display()), error);
    if !fs::metadata(path).map_err(failed)?.is_file() {
        // What is read from a pipe is gone.
        return Ok(Kind::Sql);
    }
    let mut first = [0; 16];
    let mut file = fs::File::open(path).map_err(failed)?;
    let read = input::read_up_to(&mut file, &mut first).map_err(failed)?;
    let first = first.get(..read).unwrap_or_default();
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    Ok(match name.rsplit('.').next() {
        _ if first.starts_with(b"SQLite format 3\0") => Kind::Sqlite,
        Some("parquet") => Kind::Parquet,
        _ if first.starts_with(b"PAR1") => Kind::Parquet,
        Some("csv" | "tsv") => Kind::Csv,
        _ => Kind::Sql,
    })
}

fn of_files(
    options: &ImportOptions,
    files: &[(PathBuf, Kind)],
    database: &Database,
    report: &mut Report,
) -> Result<(), Failure> {
    let mut connection = database.connect()?;
    use_database(&mut connection, options.database.as_deref())?;
    for (path, kind) in files {
        let length = fs::metadata(path).map_or(0, |file| file.len());
        let bar = Arc::new(Progress::bytes(&path.display().to_string(), length));
        let done = match kind {
            Kind::Sql => {
                let mut calculator = database.connect()?;
                let file = input::open(path, &bar)?;
                sql::SqlImport::new(&mut connection, &mut calculator, report)
                    .run(file, &path.display().to_string())
            }
            Kind::Csv => csv::run(options, path, &bar, &mut connection, report),
            Kind::Parquet => parquet::run(options, path, &bar, &mut connection, report),
            Kind::Sqlite => sqlite::run(options, path, &bar, &mut connection, report),
        };
        bar.hide();
        done?;
    }
    Ok(())
}

/// Makes a database if it is not there, and the current one.
fn use_database(connection: &mut Connection, name: Option<&str>) -> Result<(), Failure> {
    if let Some(name) = name {
        connection.execute(&format!("CREATE DATABASE IF NOT EXISTS {}", super::link::quoted(name)), ())?;
        connection.session().set_database(name)?;
    }
    Ok(())
}
