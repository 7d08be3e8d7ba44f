//! The options of `leafline dump`.

use super::super::size::Size;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `leafline dump`.
#[derive(Args, Debug)]
pub struct DumpOptions {
    /// The database's directory, also of one that is being served (as root, through its socket; MYSQL_PWD is the password), or a
    /// server: mysql://user:password@host:port
    pub source: String,
    /// Databases and tables, NAME or DATABASE.TABLE; all of them unless some are named
    pub names: Vec<String>,
    /// A new directory for one file of each table; without it, SQL, or the rows of the only table, go to standard output
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// How rows are written
    #[arg(long, value_enum, default_value_t = DumpFormat::Sql)]
    pub format: DumpFormat,
    /// Leave out of definitions, or write otherwise, what the other server does not know
    #[arg(long, value_enum, value_name = "SERVER")]
    pub compatible: Option<Compatible>,
    /// Definitions only
    #[arg(long, conflicts_with = "no_schema")]
    pub no_data: bool,
    /// Rows only
    #[arg(long)]
    pub no_schema: bool,
    /// Leave out CREATE DATABASE and USE, so that the dump is loaded into whichever database is current
    #[arg(long)]
    pub no_database: bool,
    /// Drop each table and view before it is made
    #[arg(long, conflicts_with = "no_schema")]
    pub add_drop_table: bool,
    /// Dump stored procedures and functions as well
    #[arg(short = 'R', long, conflicts_with = "no_schema")]
    pub routines: bool,
    /// Dump events as well
    #[arg(short = 'E', long, conflicts_with = "no_schema")]
    pub events: bool,
    /// Dump the triggers of each table, which is the default
    #[arg(long, overrides_with = "skip_triggers")]
    pub triggers: bool,
    /// Leave out triggers
    #[arg(long)]
    pub skip_triggers: bool,
    /// Compress SQL and CSV with gzip: files end in .gz
    #[arg(long)]
    pub gzip: bool,
    /// Compress SQL and CSV with Zstandard: files end in .zst
    #[arg(long, conflicts_with = "gzip")]
    pub compress: bool,
    /// The socket of the server that has the directory open, if it was started where its socket is not noted in the directory
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Tables that are dumped at a time, with --output [default: one for each core]
    #[arg(long, value_name = "N", requires = "output", value_parser = super::parse_threads)]
    pub threads: Option<usize>,
    /// Certificates, in PEM form, one of which has signed that of the server at an address, or is it (server-cert.pem in a directory of
    /// Leafline's); without it any certificate is taken
    #[arg(long, value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,
    /// Memory for pages
    #[arg(long, value_name = "SIZE", default_value_t = Size(128 << 20))]
    pub buffer_pool_size: Size,
}

/// How rows are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum DumpFormat {
    /// Statements that make the same again, in Leafline, MySQL and MariaDB
    Sql,
    /// Comma-separated (RFC 4180), with a line of names; NULL is an empty field, an empty string is "", bytes are 0x..
    Csv,
    /// Apache Parquet, with the types of the columns
    Parquet,
}

/// A server that is to load the dump.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compatible {
    /// MySQL 8: packed indexes and PACK_KEYS are left out
    Mysql,
    /// MariaDB: besides, collations of MySQL 8 are written as the nearest that MariaDB has, and functional key parts left out
    Mariadb,
}
