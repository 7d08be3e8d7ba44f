//! The options of `leafline restore`.

use super::super::size::Size;
use clap::Args;
use std::path::PathBuf;

/// `leafline restore`.
#[derive(Args, Debug)]
#[command(override_usage = "leafline restore [OPTIONS] BACKUP [INCREMENTAL...] TARGET")]
pub struct RestoreOptions {
    /// A full backup, then the incremental ones that follow upon it, in the order in which they were made
    #[arg(value_name = "BACKUP", required = true, num_args = 1..)]
    pub backups: Vec<PathBuf>,
    /// A new directory for the database
    #[arg(value_name = "TARGET", required = true)]
    pub target: PathBuf,
    /// Check every table and index of the restored database, as `leafline check` does. (Pages and log are checked in any case.)
    #[arg(long)]
    pub check: bool,
    /// Memory for pages while what was not finished is finished
    #[arg(long, value_name = "SIZE", default_value_t = Size(128 << 20))]
    pub buffer_pool_size: Size,
}
