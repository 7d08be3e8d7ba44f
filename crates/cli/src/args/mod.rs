//! The command line.
//!
//! `leafline DIR` is short for `leafline shell DIR`, where DIR has a slash, is `.` or `..`, or exists, and is not
//! the name of a verb.

mod backup;
mod dump;
mod import;
mod restore;

pub use backup::BackupOptions;
pub use dump::{Compatible, DumpFormat, DumpOptions};
pub use import::ImportOptions;
pub use restore::RestoreOptions;

use super::size::Size;
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// The parsed command line.
#[derive(Parser, Debug)]
#[command(
    name = "leafline",
    version,
    about = "Leafline: a relational database that embeds like SQLite and speaks MySQL.",
    after_help = "`leafline DIR` is short for `leafline shell DIR`: it opens the database in DIR, or makes one there. \
                  (A DIR that does not exist yet needs a slash: `leafline ./new`.)",
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Arguments {
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
}

/// A verb with its options.
#[derive(Subcommand, Debug)]
pub enum Verb {
    /// SQL, typed or from a script
    Shell(ShellOptions),
    /// Serves a database over the MySQL protocol
    Serve(ServeOptions),
    /// Fills a database with the tables of the TPC-H benchmark
    Tpch(TpchOptions),
    /// Checks a database that nobody has open: every page, every tree, rows against entries; exits with 1 if it is damaged
    Check(CheckOptions),
    /// Says of each index of a database that nobody has open how many pages, levels and entries it has, how full its leaves are and how they lie in the
    /// file: Breaks counts leaves that do not lie right behind the one before; and what space is free
    Inspect(InspectOptions),
    /// Measures the disk and the processor, some seconds, and keeps what plans of this database are priced with
    Calibrate(CalibrateOptions),
    /// Says which indexes would make the statements faster that were run so far, or those of a file, what they would cost, and which there
    /// are that nothing needs, as a script that makes and drops them
    Advise(AdviseOptions),
    /// Writes databases as SQL, CSV or Parquet, at one moment of theirs, while others use them
    Dump(DumpOptions),
    /// Copies a database as it is, page by page, while others use it: all of it, or what has changed since another backup
    Backup(BackupOptions),
    /// Makes a database of a backup, and of incremental ones that follow upon it
    Restore(RestoreOptions),
    /// Takes in SQL dumps, CSV, Parquet, SQLite databases, or what a MySQL or MariaDB server has
    Import(ImportOptions),
    /// Repairs damaged tables: indexes from the rows, rows from what can be read; first says what that comes to. With --into,
    /// writes what can be read of a database that cannot be opened to a new one
    Repair(RepairOptions),
    /// Shows what index condition pushdown does, on a table that does not fit in memory
    Demo(DemoOptions),
}

/// The options of every verb that opens a database.
#[derive(Args, Clone, Debug)]
pub struct OpenArguments {
    /// The database's directory; it is made if it does not exist
    pub dir: PathBuf,
    /// A system variable and its first value, such as optimizer_switch=index_condition_pushdown=off, or an option of MySQL's server that says the same
    /// here, such as innodb-log-file-size=1G; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub set: Vec<(String, String)>,
}

/// How rows are shown.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// An aligned table
    Table,
    /// One line a column
    Vertical,
    /// A line a row, values separated by tabs, escaped as the mysql client does: \t \n \0 \\
    Tab,
    /// Comma-separated (RFC 4180); NULL is an empty field, an empty string is ""
    Csv,
    /// An array of objects; integers and doubles are numbers, DECIMAL a string so that no digit is lost,
    /// binary strings 0x..
    Json,
}

/// The disk that reads are timed as.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disk {
    /// The machine's own
    None,
    /// Emulated: 5 ms a seek, 100 MiB/s; reads only
    Hdd,
    /// Emulated: 0.2 ms a seek, 250 MiB/s; reads only
    Ssd,
}

/// `leafline shell`.
#[derive(Args, Debug)]
pub struct ShellOptions {
    #[command(flatten)]
    pub open: OpenArguments,
    /// Statements to run, instead of those typed or on standard input; may be repeated
    #[arg(short = 'e', long = "execute", value_name = "SQL")]
    pub execute: Vec<String>,
    /// Format of rows [default: table on a terminal, tab elsewhere]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Go on after an error in a script
    #[arg(short, long)]
    pub force: bool,
    /// Leave out the line of column names (table, tab and csv)
    #[arg(short = 'N', long)]
    pub skip_column_names: bool,
    /// Memory for pages
    #[arg(long, value_name = "SIZE", default_value_t = Size(128 << 20))]
    pub buffer_pool_size: Size,
    /// Time reads as a disk does that this machine does not have
    #[arg(long, value_enum, default_value_t = Disk::None)]
    pub disk: Disk,
    /// The current database
    #[arg(short = 'D', long, value_name = "NAME")]
    pub database: Option<String>,
}

/// `leafline serve`.
#[derive(Args, Debug)]
pub struct ServeOptions {
    #[command(flatten)]
    pub open: OpenArguments,
    /// Address to listen on; the loopback address lets nobody in from other machines
    #[arg(long, default_value = "127.0.0.1")]
    pub host: String,
    /// TCP port; 0 takes one that is free
    #[arg(long, default_value_t = 3306)]
    pub port: u16,
    /// Listen on the socket only
    #[arg(long, conflicts_with_all = ["host", "port"])]
    pub skip_networking: bool,
    /// Unix socket; where it is elsewhere, leafline.sock in the database's directory leads to it [default: leafline.sock in the database's directory]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// The server's certificate, in PEM form, with those that signed it behind it [default: server-cert.pem in the database's
    /// directory, which is made with its key on the first start]
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's private key, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// The certificates that sign those of clients, in PEM form: the server asks clients for theirs (REQUIRE X509, SUBJECT, ISSUER)
    #[arg(long, value_name = "FILE")]
    pub tls_client_ca: Option<PathBuf>,
    /// Do not offer TLS
    #[arg(long, conflicts_with_all = ["tls_cert", "tls_key", "tls_client_ca"])]
    pub no_tls: bool,
    /// Serve metrics for Prometheus on this port of the loopback address, or on another address
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = parse_address)]
    pub metrics: Option<SocketAddr>,
    /// Serve the web console on this port of the loopback address, or on another address: it is in clear, for whoever has the token that is printed
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = parse_address)]
    pub console: Option<SocketAddr>,
    /// Memory for pages [default: a quarter of the machine's memory, from 128M to 64G]
    #[arg(long, value_name = "SIZE")]
    pub buffer_pool_size: Option<Size>,
    /// Read in batches through threads instead of io_uring
    #[arg(long)]
    pub skip_innodb_use_native_aio: bool,
    /// Do not read the pages in that were in memory when the database was closed
    #[arg(long)]
    pub skip_warm_up: bool,
}

/// `leafline tpch`.
#[derive(Args, Debug)]
pub struct TpchOptions {
    #[command(flatten)]
    pub open: OpenArguments,
    /// Scale factor: 1 is about 1 GB of data, 6 million rows in lineitem; 0.01 and the like are fine
    #[arg(long, value_name = "S", value_parser = parse_scale)]
    pub scale: f64,
    /// Memory for pages
    #[arg(long, value_name = "SIZE", default_value_t = Size(128 << 20))]
    pub buffer_pool_size: Size,
}

/// The options of the verbs that look after a database that exists.
#[derive(Args, Clone, Debug)]
pub struct ExistingArguments {
    /// The database's directory
    pub dir: PathBuf,
    /// Only this table, DATABASE.TABLE; may be repeated
    #[arg(long, value_name = "NAME")]
    pub table: Vec<String>,
    /// Memory for pages
    #[arg(long, value_name = "SIZE", default_value_t = Size(128 << 20))]
    pub buffer_pool_size: Size,
}

/// `leafline calibrate`.
#[derive(Args, Debug)]
pub struct CalibrateOptions {
    /// The database's directory
    pub dir: PathBuf,
}

/// `leafline advise`.
#[derive(Args, Debug)]
pub struct AdviseOptions {
    #[command(flatten)]
    pub open: OpenArguments,
    /// The statements, separated by semicolons; one that is there several times counts so often. Without it, those that were run since
    /// `TRUNCATE TABLE performance_schema.events_statements_summary_by_digest`: their digests are kept in the database's directory
    pub workload: Option<PathBuf>,
    /// Build each index that is proposed, run the queries before and after, and drop it again if they are no faster
    #[arg(long)]
    pub verify: bool,
    /// The database of names that do not say theirs
    #[arg(short = 'D', long, value_name = "NAME")]
    pub database: Option<String>,
    /// Memory for pages
    #[arg(long, value_name = "SIZE", default_value_t = Size(128 << 20))]
    pub buffer_pool_size: Size,
}

/// `leafline check`.
#[derive(Args, Debug)]
pub struct CheckOptions {
    #[command(flatten)]
    pub existing: ExistingArguments,
    /// Only pages and trees, not rows against entries
    #[arg(long)]
    pub quick: bool,
    /// Threads that work on it [default: one for each core]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<usize>,
}

/// `leafline inspect`.
#[derive(Args, Debug)]
pub struct InspectOptions {
    #[command(flatten)]
    pub existing: ExistingArguments,
    /// Only the indexes of this name
    #[arg(long, value_name = "NAME")]
    pub index: Option<String>,
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// `leafline repair`.
#[derive(Args, Debug)]
pub struct RepairOptions {
    #[command(flatten)]
    pub existing: ExistingArguments,
    /// Repair without asking; without it, and nobody to ask, nothing is changed. --into never asks
    #[arg(long)]
    pub yes: bool,
    /// Only say what would be done
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    /// Change nothing, and write what can be read to a new database in this directory: for one that cannot be opened
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dry_run", "table"])]
    pub into: Option<PathBuf>,
}

/// `leafline demo`.
#[derive(Args, Debug)]
pub struct DemoOptions {
    /// TPC-H scale factor of part and lineitem
    #[arg(long, value_name = "S", value_parser = parse_scale, default_value_t = 0.5)]
    pub scale: f64,
    /// Memory for pages while the query runs [default: a tenth of the data]
    #[arg(long, value_name = "SIZE")]
    pub pool: Option<Size>,
    /// none: only the machine's own disk; hdd: the seek-time model too
    #[arg(long, value_enum, default_value_t = DemoDisk::Hdd)]
    pub disk: DemoDisk,
    /// Where the database is made [default: target/leafline-demo if there is a target directory, else ./leafline-demo]
    #[arg(long, value_name = "PATH")]
    pub dir: Option<PathBuf>,
    /// Keep the database when done
    #[arg(long)]
    pub keep: bool,
}

/// Disks the demo runs on besides the machine's own.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum DemoDisk {
    None,
    Hdd,
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().into(), value.trim().into())),
        _ => Err("write NAME=VALUE".into()),
    }
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<u16>() {
        Ok(port) => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        Err(_) => {
            text.parse().map_err(|_| "write PORT, or ADDRESS:PORT with an address in figures".to_owned())
        }
    }
}

fn parse_threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads) if (1..=1024).contains(&threads) => Ok(threads),
        _ => Err("a number from 1 to 1024".into()),
    }
}

fn parse_scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if (0.001..=1000.0).contains(&scale) => Ok(scale),
        _ => Err("a scale factor is a number from 0.001 to 1000".into()),
    }
}

impl Arguments {
    /// From the words of the command line, the program's name first.
    pub fn from_words(mut words: Vec<OsString>) -> Result<Arguments, clap::Error> {
        if words.get(1).is_some_and(|word| is_directory(word)) {
            words.insert(1, "shell".into());
        }
        Arguments::try_parse_from(words)
    }
}

/// Whether the first word is a directory, not a verb.
fn is_directory(word: &OsStr) -> bool {
    let text = word.to_string_lossy();
    let is_verb =
        || text == "help" || Arguments::command().get_subcommands().any(|verb| verb.get_name() == text);
    let looks_like_one = text == "." || text == ".." || text.contains('/') || Path::new(word).exists();
    looks_like_one && !text.starts_with('-') && !is_verb()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Verb, String> {
        let words = std::iter::once("leafline").chain(line.split_whitespace()).map(OsString::from).collect();
        Arguments::from_words(words).map(|arguments| arguments.verb).map_err(|error| error.to_string())
    }

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_directory_alone_is_the_shell() {
        for dir in ["/", ".", "./new", "src"] {
            match parse(dir) {
                Ok(Verb::Shell(shell)) => assert_eq!(shell.open.dir, Path::new(dir)),
                other => panic!("{dir}: {other:?}"),
            }
        }
        assert!(parse("no-such-thing").is_err_and(|text| text.contains("no-such-thing")));
        assert!(matches!(parse("serve /x"), Ok(Verb::Serve(_))));
    }

    #[test]
    fn options_of_the_shell() {
        let Ok(Verb::Shell(shell)) =
            parse("./d -e a -e b --format json --buffer-pool-size 1G --set a=b=c --force")
        else {
            panic!("the shell")
        };
        assert_eq!(shell.execute, ["a", "b"]);
        assert_eq!(shell.format, Some(Format::Json));
        assert_eq!(shell.buffer_pool_size, Size(1 << 30));
        assert_eq!(shell.open.set, [("a".to_owned(), "b=c".to_owned())]);
        assert!(shell.force);
        assert_eq!(shell.disk, Disk::None);
    }

    #[test]
    fn metrics_and_console_listen_on_loopback_by_default() {
        let Ok(Verb::Serve(serve)) = parse("serve d --metrics 9104 --console 10.0.0.1:81") else {
            panic!("serve")
        };
        let addresses =
            [serve.metrics, serve.console].map(|address| address.map(|address| address.to_string()));
        assert_eq!(addresses, [Some("127.0.0.1:9104".to_owned()), Some("10.0.0.1:81".to_owned())]);
    }

    #[test]
    fn repair_with_yes_accepts_another_directory() {
        let Ok(Verb::Repair(repair)) = parse("repair d --into e --yes") else { panic!("repair") };
        assert!(repair.yes && repair.into.is_some());
    }

    #[test]
    fn wrong_options_are_refused() {
        for line in [
            "",
            "shell",
            "shell d --set =1",
            "shell d --set a",
            "shell d --buffer-pool-size 1.5G",
            "tpch d",
            "tpch d --scale 0",
            "tpch d --scale NaN",
            "serve d --port 70000",
            "serve d --metrics host:9",
            "serve d --console",
            "demo --disk floppy",
            "check",
            "check d --threads 0",
            "repair d --yes --dry-run",
            "repair d --into e --dry-run",
            "repair d --into e --table a.b",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
