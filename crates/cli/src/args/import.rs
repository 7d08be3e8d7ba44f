//! The options of `leafline import`.

use super::super::size::Size;
use super::OpenArguments;
use clap::Args;
use std::path::PathBuf;

/// `leafline import`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "An import that fails or is killed cannot be gone on with. What stands before the statement at which it stopped is in \
                        force, and each table has all rows of a load or none of them. Import a dump that drops its tables before it makes \
                        them again as it is, anything else into a new directory."
)]
pub struct ImportOptions {
    #[command(flatten)]
    pub open: OpenArguments,
    /// Files: SQL as mysqldump, mariadb-dump and `leafline dump` write it, CSV (.csv, .tsv), Parquet (.parquet), SQLite databases; .gz and .zst of
    /// SQL and CSV; - for SQL on standard input; a directory: the files that `leafline dump --output` has left there, in any of its formats
    #[arg(required_unless_present = "from")]
    pub files: Vec<PathBuf>,
    /// A MySQL or MariaDB server whose database, or all of whose databases, are copied: mysql://user:password@host:port/database
    #[arg(long, value_name = "URL", conflicts_with = "files")]
    pub from: Option<String>,
    /// The database that tables go to, unless SQL says otherwise; it is made if it is not there
    #[arg(short = 'D', long, value_name = "NAME")]
    pub database: Option<String>,
    /// The table that rows of CSV and Parquet go to; it is made if it is not there [default: named after the file]. With --from and SQLite: only
    /// this table; may be repeated
    #[arg(long, value_name = "NAME")]
    pub table: Vec<String>,
    /// Columns of the primary key of a table that is made for CSV or Parquet, separated by commas
    #[arg(long, value_name = "COLUMNS")]
    pub primary_key: Option<String>,
    /// CSV has no line of names: values are for the columns of the table in their order, or for c1, c2, ..
    #[arg(long)]
    pub no_header: bool,
    /// What separates the fields of CSV [default: a comma, in .tsv files a tab]
    #[arg(long, value_name = "CHARACTER", value_parser = parse_separator)]
    pub separator: Option<u8>,
    /// Leave out what is not supported (SPATIAL indexes, ..), and list it
    #[arg(long)]
    pub skip_unsupported: bool,
    /// Tables that are read at a time, with --from [default: one for each core]
    #[arg(long, value_name = "N", requires = "from", value_parser = super::parse_threads)]
    pub threads: Option<usize>,
    /// Certificates, in PEM form, one of which has signed that of the server of --from, or is it; without it any certificate is taken
    #[arg(long, value_name = "FILE", requires = "from")]
    pub tls_ca: Option<PathBuf>,
    /// Memory for pages
    #[arg(long, value_name = "SIZE", default_value_t = Size(128 << 20))]
    pub buffer_pool_size: Size,
}

fn parse_separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n') => Ok(*byte),
        _ => Err("one character of ASCII, or \\t".into()),
    }
}
