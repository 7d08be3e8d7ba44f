//! The options of `leafline backup`.

use super::super::size::Size;
use clap::Args;
use std::path::PathBuf;

/// `leafline backup`.
#[derive(Args, Debug)]
#[command(
    override_usage = "leafline backup [OPTIONS] SOURCE TARGET\n       leafline backup --verify BACKUP",
    after_help = "To make a database of a backup: leafline restore BACKUP [INCREMENTAL...] TARGET"
)]
pub struct BackupOptions {
    /// The database's directory, whether a server has it open or nobody, or a server: mysql://user:password@host:port
    #[arg(value_name = "SOURCE", required_unless_present = "verify")]
    pub source: Option<String>,
    /// A new directory for the backup; of a server's, on the server's machine
    #[arg(value_name = "TARGET", required_unless_present = "verify")]
    pub target: Option<PathBuf>,
    /// Copy only pages that have changed since this backup was made, full or incremental; all of them are needed to restore
    #[arg(long, value_name = "BACKUP")]
    pub incremental_from: Option<PathBuf>,
    /// Make none, but read a backup and check that it is whole: every page, and checksums of all files
    #[arg(long, value_name = "BACKUP", conflicts_with_all = ["source", "target", "incremental_from"])]
    pub verify: Option<PathBuf>,
    /// Memory for pages, if nobody has the database open
    #[arg(long, value_name = "SIZE", default_value_t = Size(128 << 20))]
    pub buffer_pool_size: Size,
}
