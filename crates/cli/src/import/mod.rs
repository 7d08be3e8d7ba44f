//! `leafline import`: imports SQL dumps, CSV, Parquet, SQLite databases and live servers, into a database that this
//! process opens.
//!
//! Except for the statements of SQL scripts, all are loads of rows ([`leafline_sql::RowSource`]): each fills a table
//! by one commit, and builds the trees from the rows if the table was empty. A crash, an error or Ctrl-C leaves each
//! table with all the rows of its load or with none.
//!
//! | module | does |
//! |---|---|
//! | `input` | reads files |
//! | `folder` | imports the files of a dump |
//! | `sql` | imports SQL dumps |
//! | `csv` | imports comma-separated values |
//! | `parquet` | imports Apache Parquet |
//! | `sqlite` | imports databases of SQLite |
//! | `server` | copies from MySQL and MariaDB |
//! | `definitions` | removes what Leafline does not support from definitions |
//! | `target` | finds or creates the table for rows |
//! | `report` | records what was done and left out |

mod csv;
mod definitions;
mod folder;
mod input;
mod parquet;
mod report;
mod server;
mod sql;
mod sqlite;
mod target;

use super::args::{Disk, ImportOptions};
use super::failure::Failure;
use super::open;
use super::progress::Progress;
use super::size::human_bytes;
use folder::Folder;
use leafline::{Connection, Database};
use report::Report;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The kind of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Sql,
    Csv,
    Parquet,
    Sqlite,
}

/// Runs the verb.
pub fn run(options: &ImportOptions) -> Result<(), Failure> {
    let groups = groups(options)?;
    check_options(options, &groups)?;
    let open_options = open::options(&options.open, options.buffer_pool_size, Disk::None);
    let database = open::database(&open_options, &options.open.dir)?;
    let begun = Instant::now();
    let mut report = Report::new(options.skip_unsupported);
    let done = match &options.from {
        Some(url) => server::run(options, url, &database, &mut report),
        None => of_groups(options, &groups, &database, &mut report),
    };
    // After an error, the list of what was left out is still worth showing.
    report.tell();
    done?;
    database.close()?;
    let files = groups.iter().flat_map(|group| &group.files);
    let bytes: u64 = files.filter_map(|(path, _)| fs::metadata(path).ok()).map(|file| file.len()).sum();
    let rows = super::progress::grouped(report.rows);
    let of = if bytes > 0 { format!(" of {}", human_bytes(bytes)) } else { String::new() };
    let tables = match report.tables.len() {
        1 => "1 table".into(),
        many => format!("{many} tables"),
    };
    eprintln!("imported {rows} rows into {tables}{of} in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// Refuses options that apply to none of the files.
fn check_options(options: &ImportOptions, groups: &[Group]) -> Result<(), Failure> {
    let any =
        |kinds: &[Kind]| groups.iter().flat_map(|group| &group.files).any(|(_, kind)| kinds.contains(kind));
    let (is_csv, is_rows) = (any(&[Kind::Csv]), any(&[Kind::Csv, Kind::Parquet]));
    let has_tables = is_rows || any(&[Kind::Sqlite]) || options.from.is_some();
    for (is_given, has_use, what) in [
        (!options.table.is_empty(), has_tables, "--table is for CSV, Parquet, SQLite and --from"),
        (options.primary_key.is_some(), is_rows, "--primary-key is for CSV and Parquet"),
        (options.no_header, is_csv, "--no-header is for CSV"),
        (options.separator.is_some(), is_csv, "--separator is for CSV"),
    ] {
        if is_given && !has_use {
            return Err(Failure::Message(format!("{what}, and no such file or server is imported")));
        }
    }
    let is_folder = |group: &Group| group.is_folder;
    if !options.table.is_empty() && groups.iter().any(is_folder) {
        return Err(Failure::Message(
            "the files of a directory are for the tables that they are named after; leave --table out".into(),
        ));
    }
    Ok(())
}

/// A file, or the files of a directory, with their kinds.
struct Group {
    is_folder: bool,
    files: Vec<(PathBuf, Kind)>,
}

/// Returns the files in the order of their import.
fn groups(options: &ImportOptions) -> Result<Vec<Group>, Failure> {
    let failed = |path: &Path, error| Failure::io(format!("cannot read {}", path.display()), error);
    let mut groups = Vec::new();
    for path in &options.files {
        if !path.is_dir() {
            groups.push(Group { is_folder: false, files: vec![(path.clone(), kind(path)?)] });
            continue;
        }
        let mut files = Vec::new();
        for entry in fs::read_dir(path).map_err(|error| failed(path, error))? {
            let inside = entry.map_err(|error| failed(path, error))?.path();
            let kind = kind(&inside)?;
            files.push((inside, kind));
        }
        if files.is_empty() {
            return Err(Failure::Message(format!("there is no file in {}", path.display())));
        }
        folder::sort(&mut files);
        groups.push(Group { is_folder: true, files });
    }
    Ok(groups)
}

/// Returns the kind of a file, from its first bytes and its name.
fn kind(path: &Path) -> Result<Kind, Failure> {
    if path == Path::new("-") {
        return Ok(Kind::Sql);
    }
    let failed = |error| Failure::io(format!("cannot read {}", path.display()), error);
    if !fs::metadata(path).map_err(failed)?.is_file() {
        // Bytes read from a pipe would be lost.
        return Ok(Kind::Sql);
    }
    let mut first = [0; 16];
    let mut file = fs::File::open(path).map_err(failed)?;
    let read = input::read_up_to(&mut file, &mut first).map_err(failed)?;
    let first = first.get(..read).unwrap_or_default();
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = [".gz", ".zst"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(&name);
    Ok(match name.rsplit('.').next() {
        _ if first.starts_with(b"SQLite format 3\0") => Kind::Sqlite,
        Some("parquet") => Kind::Parquet,
        _ if first.starts_with(b"PAR1") => Kind::Parquet,
        Some("csv" | "tsv") => Kind::Csv,
        _ => Kind::Sql,
    })
}

fn of_groups(
    options: &ImportOptions,
    groups: &[Group],
    database: &Database,
    report: &mut Report,
) -> Result<(), Failure> {
    let catalog = || database.instance().engine().catalog();
    let was_there = options.database.as_deref().is_some_and(|name| catalog().database(name).is_some());
    let mut connection = database.connect()?;
    use_database(&mut connection, options.database.as_deref())?;
    let done =
        groups.iter().try_for_each(|group| of_group(options, group, database, &mut connection, report));
    if let Some(name) = options.database.as_deref().filter(|_| done.is_err() && !was_there) {
        let now = catalog();
        if now.tables(name).next().is_none() && now.views(name).next().is_none() {
            // An empty database that stays is no reason for another error.
            let _ = connection.execute(&format!("DROP DATABASE IF EXISTS {}", super::link::quoted(name)), ());
        }
    }
    done
}

fn of_group(
    options: &ImportOptions,
    group: &Group,
    database: &Database,
    connection: &mut Connection,
    report: &mut Report,
) -> Result<(), Failure> {
    let mut folder = group.is_folder.then(|| Folder::new(&group.files, database)).transpose()?;
    for (path, kind) in &group.files {
        let length = fs::metadata(path).map_or(0, |file| file.len());
        let bar = Arc::new(Progress::bytes(&path.display().to_string(), length));
        let done = match (kind, &mut folder) {
            (Kind::Sql, folder) => {
                let mut calculator = database.connect()?;
                let file = input::open(path, &bar)?;
                let mut import = sql::SqlImport::new(connection, &mut calculator, report);
                let done = import.run(file, &path.display().to_string());
                if let Some(folder) = folder {
                    folder.says_database |= import.says_database;
                }
                done
            }
            (Kind::Csv | Kind::Parquet, Some(folder)) => {
                let of_table = folder.place(options, path)?;
                rows(&of_table, path, *kind, &bar, &mut folder.connection, report)
            }
            (Kind::Csv | Kind::Parquet, None) => rows(options, path, *kind, &bar, connection, report),
            (Kind::Sqlite, _) => sqlite::run(options, path, &bar, connection, report),
        };
        bar.hide();
        done?;
    }
    Ok(())
}

/// Imports the rows of a CSV or Parquet file.
fn rows(
    options: &ImportOptions,
    path: &Path,
    kind: Kind,
    bar: &Arc<Progress>,
    connection: &mut Connection,
    report: &mut Report,
) -> Result<(), Failure> {
    match kind {
        Kind::Parquet => parquet::run(options, path, bar, connection, report),
        _ => csv::run(options, path, bar, connection, report),
    }
}

/// Creates a database unless it exists, and makes it current.
fn use_database(connection: &mut Connection, name: Option<&str>) -> Result<(), Failure> {
    if let Some(name) = name {
        connection.execute(&format!("CREATE DATABASE IF NOT EXISTS {}", super::link::quoted(name)), ())?;
        connection.session().set_database(name)?;
    }
    Ok(())
}
